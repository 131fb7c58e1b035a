"""Laws of the calculators: answers in other units, order or spelling, and monotonicity and round trips of some rules."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.calculators import Result, calculate, find
from medical_tasks.calculators.drugs import EQUIVALENT_MG
from medical_tasks.calculators.infection import sofa
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.units import convert
from tests.calculators.test_golden import cases

CASES = [
    (slug, case["entities"], frozenset(case.get("conventions", ())))
    for slug, case in cases()
    if "answer" in case
]


def same_answer(first: Result, second: Result) -> bool:
    if isinstance(first.answer, float) and isinstance(second.answer, float):
        return first.answer == pytest.approx(second.answer, rel=1e-9, abs=1e-9)
    return first.answer == second.answer


def in_other_units(slug: str, entities: dict[str, Any], choose: Any) -> dict[str, Any]:
    """Converts each measured value to a unit that `choose` picks from the accepted ones."""
    entry = find(slug)
    converted = dict(entities)
    for name, raw in entities.items():
        item = entry.input_named(name)
        if isinstance(item, Quantity) and item.measure.accepts:
            measure = item.measure
            value, _ = measure.read(raw, name)
            unit = choose(measure.accepts)
            number = convert(value, measure.unit, unit, substance=measure.substance)
            converted[name] = [number, unit]
    return converted


@given(case=st.sampled_from(CASES), data=st.data())
def test_other_units_give_the_same_answer(
    case: tuple[str, dict[str, Any], frozenset[str]], data: st.DataObject
) -> None:
    # Many golden cases are on a threshold, where an error of one part in 10^16 would
    # change a class.
    slug, entities, conventions = case
    converted = in_other_units(
        slug, entities, lambda units: data.draw(st.sampled_from(units))
    )
    assert same_answer(
        calculate(slug, entities, conventions=conventions),
        calculate(slug, converted, conventions=conventions),
    ), converted


@given(case=st.sampled_from(CASES), data=st.data())
def test_another_order_or_spelling_gives_the_same_answer(
    case: tuple[str, dict[str, Any], frozenset[str]], data: st.DataObject
) -> None:
    slug, entities, conventions = case
    names = data.draw(st.permutations(sorted(entities)))
    change = data.draw(
        st.sampled_from(
            [str.upper, str.lower, lambda name: name.replace(" ", "_"), str.strip]
        )
    )
    changed = {change(name): entities[name] for name in names}
    first = calculate(slug, entities, conventions=conventions)
    second = calculate(slug, changed, conventions=conventions)
    assert first.answer == second.answer
    assert first.explanation.splitlines()[-1] == second.explanation.splitlines()[-1]
    assert len(first.ignored) == len(second.ignored)


@given(
    age=st.floats(18, 100),
    creatinine=st.floats(0.2, 15),
    step=st.floats(0.01, 5),
    sex=st.sampled_from(["Male", "Female"]),
    slug=st.sampled_from(["ckd_epi_2021", "mdrd_gfr"]),
)
def test_filtration_falls_with_age_and_creatinine(
    age: float, creatinine: float, step: float, sex: str, slug: str
) -> None:
    def rate(years: float, value: float) -> float:
        answer = calculate(
            slug, {"sex": sex, "age": years, "creatinine": [value, "mg/dL"]}
        ).answer
        assert isinstance(answer, float)
        return answer

    assert rate(age, creatinine + step) < rate(age, creatinine)
    assert rate(age + step, creatinine) < rate(age, creatinine)


@given(weight=st.floats(0.5, 200), step=st.floats(0.001, 5))
def test_maintenance_fluid_grows_without_jumps(weight: float, step: float) -> None:
    def rate(kilograms: float) -> float:
        answer = calculate("maintenance_fluids", {"weight": kilograms}).answer
        assert isinstance(answer, float)
        return answer

    assert 0 < rate(weight + step) - rate(weight) <= 4 * step + 1e-6


@given(heart_rate=st.integers(30, 220), qt=st.integers(200, 700))
def test_corrected_qt_is_longer_only_above_a_heart_rate_of_60(
    heart_rate: int, qt: int
) -> None:
    entities = {"QT interval": [qt, "msec"], "Heart Rate or Pulse": [heart_rate, "bpm"]}
    for slug in (
        "qtc_bazett",
        "qtc_fridericia",
        "qtc_framingham",
        "qtc_hodges",
        "qtc_rautaharju",
    ):
        answer = calculate(slug, entities).answer
        assert isinstance(answer, float)
        assert (answer > qt) == (heart_rate > 60)
        assert (answer < qt) == (heart_rate < 60)


@given(dose=st.integers(1, 1000), data=st.data())
def test_a_steroid_converted_and_back_is_the_same_dose(
    dose: int, data: st.DataObject
) -> None:
    source, target = (
        data.draw(st.sampled_from(sorted(EQUIVALENT_MG))) for _ in range(2)
    )
    converted = calculate(
        24, {"input steroid": [source, dose, "mg"], "target steroid": target}
    ).answer
    back = calculate(
        24, {"input steroid": [target, converted, "mg"], "target steroid": source}
    ).answer
    assert back == pytest.approx(dose, rel=1e-9)


DAYS = st.dates(datetime.date(1950, 1, 1), datetime.date(2100, 12, 31))


@given(day=DAYS, cycle=st.integers(20, 45))
def test_a_longer_cycle_moves_the_due_date_by_as_many_days(
    day: datetime.date, cycle: int
) -> None:
    answer = calculate(
        13, {"Last menstrual date": f"{day:%m/%d/%Y}", "cycle length": cycle}
    ).answer
    due = datetime.datetime.strptime(str(answer), "%m/%d/%Y").date()
    assert (due - day).days == 252 + cycle


@given(day=DAYS, days=st.integers(0, 375))
def test_gestational_age_adds_up(day: datetime.date, days: int) -> None:
    now = day + datetime.timedelta(days=days)
    answer = calculate(69, {"Last menstrual date": day, "Current Date": now}).answer
    assert isinstance(answer, tuple)
    weeks, rest = (int(text.split()[0]) for text in answer)
    assert weeks * 7 + rest == days
    assert rest < 7


def test_a_sofa_ratio_on_the_bound_has_no_rounding_errors_of_floats() -> None:
    healthy: dict[str, Any] = {
        "mechanical_ventilation": False,
        "cpap": False,
        "platelets_10e9_l": 250,
        "glasgow_coma_score": 15,
        "bilirubin_mg_dl": 0.8,
        "hypotension": False,
        **dict.fromkeys(
            ("systolic_mm_hg", "diastolic_mm_hg", "creatinine_mg_dl", "urine_ml_day")
        ),
        **{
            f"{drug}_mcg_kg_min": 0
            for drug in ("dopamine", "dobutamine", "epinephrine", "norepinephrine")
        },
    }
    for tenths in range(150, 1000):
        fio2 = tenths / 10
        pao2 = round(fio2 * 3, 1)  # a ratio of exactly 300
        assert sofa(**healthy, pao2_mm_hg=pao2, fio2_percent=fio2) == 1, fio2
