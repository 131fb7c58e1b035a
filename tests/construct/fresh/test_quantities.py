from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.calculators import find, units
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.shared_inputs import SHARED, quantity
from medical_tasks.calculators.units import convert
from medical_tasks.construct.fresh.chart import draw_person
from medical_tasks.construct.fresh.quantities import (
    AMOUNTS,
    MARGIN,
    Draw,
    System,
    background,
)

# The calculators' own measure of a quantity, which reads the notes' units back.
_NAMES = {
    "coma_score": "glasgow_coma_score",
    "coarse_creatinine": "creatinine_mg_dl",
    "cholesterol": "total_cholesterol_mg_dl",
    "spo2": "oxygen_saturation_percent",
    "cycle_length": "cycle_length_days",
}
MEASURES = {
    name: quantity(matches[0])
    for name in AMOUNTS
    if (
        matches := [
            parameter
            for parameter in SHARED
            if parameter == _NAMES.get(name)
            or parameter.startswith(f"{name}_")
            or parameter == name
        ]
    )
} | {
    name: item
    for item in find(40).inputs
    if isinstance(item, Quantity)
    and (name := item.name.lower().replace(" ", "_")).startswith("urine_")
}


def test_every_quantity_is_checked() -> None:
    private = {"aa_gradient", "urine_output"}  # to their calculators
    # no calculator asks for these
    in_notes_only = set(
        "crp magnesium tsh ferritin alkaline_phosphatase lipase".split()
    )
    assert set(AMOUNTS) == set(MEASURES) | private | in_notes_only
    assert (len(background("vitals")), len(background("labs"))) == (6, 25)
    (celsius, fahrenheit) = AMOUNTS["temperature"].forms
    assert celsius.text(384, Draw("a")).startswith("38.4 ")
    assert fahrenheit.grid(38.0) == 1004
    assert fahrenheit.entity(1004) == [100.4, "degrees fahrenheit"]
    feet = AMOUNTS["height"].forms[-1]
    assert feet.entity(70) == [5, "ft", 10, "in"]
    assert feet.text(70, Draw("a")) == "5 ft 10 in"
    per_microlitre = next(
        form for form in AMOUNTS["platelets"].forms if form.unit == "/µL"
    )
    assert per_microlitre.entity(per_microlitre.grid(149)) == [149_000, "/µL"]
    assert per_microlitre.text(per_microlitre.grid(149), Draw("a")).startswith(
        "149,000"
    )
    assert AMOUNTS["inr"].forms[0].entity(17) == 1.7
    assert AMOUNTS["inr"].forms[0].text(20, Draw("a")) == "2.0"


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_calculators_read_every_form(name: str) -> None:
    amount = AMOUNTS[name]
    low, high = amount.usual
    for form in amount.forms:
        for grid in {form.grid(low), form.grid((low + high) / 2), form.grid(high)}:
            steps: list[str] = []
            value = MEASURES[name].read(form.entity(grid), steps.append)
            assert value == pytest.approx(form.base(grid), rel=1e-9), form.unit
            # Half a printed step at most is lost between a drawn value and its form.
            assert form.grid(form.base(grid)) == grid


@given(key=st.integers())
def test_values_avoid_thresholds_that_rounding_crosses(key: int) -> None:
    # 2.0 mg/dL of creatinine is 177 µmol/L in tables and 176.8 by arithmetic.
    reading = AMOUNTS["creatinine"].read(Draw(str(key)), "si", 0.7, 3.4, near=(2.0,))
    assert isinstance(reading.entity, list)
    number, unit = reading.entity
    assert unit == "µmol/L"
    exact = convert(number, unit, "mg/dL", substance=units.CREATININE)
    assert abs(exact - 2.0) > 2.0 * MARGIN * 0.99


@given(key=st.text(), low=st.integers(-50, 50), span=st.integers(0, 40))
def test_draws_keep_their_bounds_and_their_key(key: str, low: int, span: int) -> None:
    draw, again = Draw(key), Draw(key)
    for _ in range(20):
        value = draw.whole(low, low + span)
        assert low <= value <= low + span
        assert again.whole(low, low + span) == value
    choices = list(range(span + 1))
    assert draw.pick(choices) in choices
    assert sorted(draw.shuffled(choices)) == choices
    assert len(set(draw.some(choices, 5))) == min(5, len(choices))
    assert low <= draw.between(low, low + 1) < low + 1


def test_draws() -> None:
    draw = Draw("even")
    counts = Counter(draw.whole(1, 4) for _ in range(2000))
    assert set(counts) == {1, 2, 3, 4}
    assert min(counts.values()) > 400
    assert not any(draw.chance(0.0) for _ in range(100))
    assert all(draw.chance(1.0) for _ in range(100))
    first = Counter(Draw(str(key)).shuffled("abc")[0] for key in range(900))
    assert min(first.values()) > 230
    readings: Counter[float] = Counter()
    for key in range(2000):
        reading = AMOUNTS["hemoglobin"].read(Draw(str(key)), "si", 7, 15, near=(10, 12))
        readings[round(reading.base, 6)] += 1
    for value in (9.9, 10.0, 10.1, 11.9, 12.0, 12.1):
        assert readings[value] > 60, value
    assert readings[8.0] < 40
    # 19 mg/dL of urea nitrogen is 6.8 mmol/L of urea, and tables print 7: no value lies
    # between.
    for key in range(1500):
        system: System = "si" if key % 2 else "us"
        reading = AMOUNTS["bun"].read(Draw(str(key)), system, 8, 46, near=(19.0,))
        assert isinstance(reading.entity, list)
        number, unit = reading.entity
        assert unit == "mg/dL" or not 6.5 < number < 7.1, number


def test_persons() -> None:
    ages = Counter(
        draw_person(Draw(str(key)), 20, 95, near=(65, 75)).age for key in range(3000)
    )
    assert min(ages) == 20
    assert max(ages) == 95
    for age in (64, 65, 66, 74, 75, 76):
        assert ages[age] > 2 * ages[40], age
    assert ages[65] > ages[64]
    woman = draw_person(Draw("a"), 82, 82, sex="female")
    assert (woman.article, woman.described, woman.brief) == (
        "An",
        "82-year-old woman",
        "82 y F",
    )
    assert woman.title.startswith("Ms ")
    assert woman.words["His"] == "Her"
    boy = draw_person(Draw("b"), 7, 7, sex="male")
    assert (boy.article, boy.described, boy.child) == ("A", "7-year-old boy", True)
    infant = draw_person(Draw("c"), 11, 11, sex="female", months=True)
    assert (infant.article, infant.described, infant.brief) == (
        "An",
        "11-month-old girl",
        "11 mo F",
    )
