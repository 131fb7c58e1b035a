"""Pregnancy: dates that exist, cycles that shift, and dates in the wrong order."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import CalculatorInputError, calculate

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
