"""Body size, pregnancy and the Charlson index."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.person import body_mass_index, ideal_body_weight, target_weight


@pytest.mark.parametrize(
    "height", [[5, "ft", 10, "in"], [70, "in"], [177.8, "cm"], [1.778, "m"], [1778, "mm"], "5'10\""]
)
def test_one_height_in_any_form(height: object) -> None:
    assert calculate(10, {"sex": "Male", "height": height}).answer == 73.0


def test_target_weight_is_the_bmi_solved() -> None:
    weight = target_weight(bmi_kg_m2=22.4, height_cm=168)
    assert body_mass_index(weight_kg=weight, height_cm=168) == pytest.approx(22.4)


def test_weight_is_no_part_of_the_ideal_weight() -> None:
    result = calculate(10, {"sex": "Female", "height": [60, "in"], "weight": [90, "kg"]})
    assert (result.answer, result.ignored) == (45.5, ("weight",))
    assert ideal_body_weight(sex="female", height_cm=152.4) == pytest.approx(45.5)


@pytest.mark.parametrize(
    ("calculator", "entities", "message"),
    [
        (6, {"weight": [-80, "kg"], "height": [180, "cm"]}, "weight: -80 kg is outside what is possible"),
        (6, {"weight": [80, "kg"], "height": [0, "cm"]}, "height: 0 cm is outside what is possible"),
        (60, {"weight": [80, "L"], "height": [180, "cm"]}, "weight: unit 'L' is not accepted; give one of: kg, g, lbs"),
        (61, {"BMI": [220, "lbs"], "height": [180, "cm"]}, r"Body Mass Index \(BMI\): unit 'lbs' is not accepted"),
        (62, {"sex": "Male", "weight": [80, "kg"]}, "Adjusted Body Weight: missing required input: height"),
    ],
)
def test_impossible_bodies(calculator: int, entities: dict[str, object], message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        calculate(calculator, entities)


DAYS = st.dates(datetime.date(1950, 1, 1), datetime.date(2100, 12, 31))


@settings(deadline=None, max_examples=100)
@given(day=DAYS, cycle=st.integers(20, 45))
def test_a_longer_cycle_moves_the_due_date_by_as_many_days(day: datetime.date, cycle: int) -> None:
    answer = calculate(13, {"Last menstrual date": f"{day:%m/%d/%Y}", "cycle length": cycle}).answer
    due = datetime.datetime.strptime(str(answer), "%m/%d/%Y").date()
    assert (due - day).days == 252 + cycle


@settings(deadline=None, max_examples=100)
@given(day=DAYS, days=st.integers(0, 375))
def test_gestational_age_adds_up(day: datetime.date, days: int) -> None:
    now = day + datetime.timedelta(days=days)
    answer = calculate(69, {"Last menstrual date": day, "Current Date": now}).answer
    assert isinstance(answer, tuple)
    weeks, rest = (int(part.split()[0]) for part in answer)
    assert (weeks * 7 + rest, rest < 7) == (days, True)


@pytest.mark.parametrize("text", ["6/5/2002", "06/05/2002", "2002-06-05", " 06/05/2002 "])
def test_dates_in_any_padding(text: str) -> None:
    assert calculate(68, {"Last menstrual date": text}).answer == "06/19/2002"


@pytest.mark.parametrize("text", ["02/30/2020", "13/01/2020", "05/06/20", "yesterday", 20200506, "01/01/1492", ["x"]])
def test_dates_that_are_none(text: object) -> None:
    with pytest.raises(CalculatorInputError, match="Last menstrual date: expected a date as MM/DD/YYYY"):
        calculate(68, {"Last menstrual date": text})


def test_swapped_dates_are_an_error() -> None:
    with pytest.raises(CalculatorInputError, match="got 01/01/2020 and 02/01/2020, -31 days apart: are they swapped?"):
        calculate(69, {"Current Date": "01/01/2020", "Last menstrual date": "02/01/2020"})
    with pytest.raises(CalculatorInputError, match="expected 0 to 375 days after"):
        calculate(69, {"Current Date": "01/12/2021", "Last menstrual date": "01/01/2020"})


@pytest.mark.parametrize(
    ("cycle", "message"), [(28.5, "expected whole days"), (5, "5 days is outside"), (-28, "outside")]
)
def test_cycles_that_cannot_be(cycle: float, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=f"cycle length: .*{message}"):
        calculate(13, {"Last menstrual date": "01/01/2020", "cycle length": cycle})


def test_conception_ignores_the_cycle() -> None:
    result = calculate(68, {"Last menstrual date": "04/13/2009", "cycle length": 23})
    assert (result.answer, result.ignored) == ("04/27/2009", ("cycle length",))


@pytest.mark.parametrize(
    ("name", "value", "points"),
    [
        ("Liver disease severity", "None", 0),
        ("Liver disease severity", "Mild", 1),
        ("Liver disease severity", "Moderate to Severe", 3),
        ("Liver disease severity", "Moderate", 3),
        ("Liver disease severity", "Severe", 3),
        ("Diabetes mellitus criteria for CCI rule", "None or Diet-controlled", 0),
        ("Diabetes mellitus criteria for CCI rule", "Uncomplicated", 1),
        ("Diabetes mellitus", "End-organ damage", 2),
        ("Solid tumor", "None", 0),
        ("Solid tumor", False, 0),
        ("Solid tumor", True, 2),  # the least it can mean
        ("Solid tumor", "Localized", 2),
        ("Solid tumor", "Metastatic", 6),
        ("Moderate to severe Chronic Kidney Disease", "Severe", 2),
        ("Moderate to severe Chronic Kidney Disease", "Mild", 0),
        ("Chronic Obstructive Pulmonary Disease", True, 1),
        ("Chronic Pulmonary Disease", True, 1),
        ("Congestive Heart Faliure", True, 1),
    ],
)
def test_names_and_words_of_the_data(name: str, value: object, points: int) -> None:
    result = calculate(32, {"age": [40, "years"], name: value})
    assert result.answer == points
    assert not result.ignored


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(
        CalculatorInputError, match="Solid tumor: expected one of 'None', 'Localized', 'Metastatic'; got"
    ):
        calculate(32, {"age": [40, "years"], "Solid tumor": "benign"})
