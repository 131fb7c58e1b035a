"""Maintenance fluid and mean pressure at and around their steps."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import calculate


@pytest.mark.parametrize(
    ("weight", "rate"),
    [(0.5, 2.0), (9.9, 39.6), (10, 40.0), (10.1, 40.2), (19.9, 59.8), (20, 60.0), (20.1, 60.1), (100, 140.0)],
)
def test_4_2_1(weight: float, rate: float) -> None:
    assert calculate("maintenance_fluids", {"weight": [weight, "kg"]}).answer == pytest.approx(rate)


def test_mean_pressure_stays_between_the_two() -> None:
    for systolic, diastolic in ((120, 80), (90, 90), (70, 110)):
        answer = calculate("map", {"SBP": [systolic, "mmHg"], "DBP": [diastolic, "mmHg"]}).answer
        assert isinstance(answer, float)
        assert min(systolic, diastolic) <= answer <= max(systolic, diastolic)


def test_pressure_in_kilopascal() -> None:
    assert calculate("map", {"SBP": [16, "kPa"], "DBP": [10, "kPa"]}).answer == pytest.approx(12 / 0.133322387415)
