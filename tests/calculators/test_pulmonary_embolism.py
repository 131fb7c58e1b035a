"""Wells' criteria for pulmonary embolism and the PERC rule."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate
from medical_tasks.calculators.thrombosis import perc, wells_pe

WELLS: dict[str, Any] = {
    "dvt_signs": False,
    "pe_most_likely": False,
    "heart_rate_per_min": 80,
    "immobilization": False,
    "surgery": False,
    "previous_pe": False,
    "previous_dvt": False,
    "hemoptysis": False,
    "malignancy": False,
}
PERC: dict[str, Any] = {
    "age_years": 30,
    "heart_rate_per_min": 80,
    "oxygen_saturation_percent": 98,
    "leg_swelling": False,
    "hemoptysis": False,
    "surgery_or_trauma": False,
    "previous_pe": False,
    "previous_dvt": False,
    "hormone_use": False,
}


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        ({"dvt_signs": True}, 3),
        ({"pe_most_likely": True}, 3),
        ({"heart_rate_per_min": 99}, 0),
        ({"heart_rate_per_min": 100}, 0),
        ({"heart_rate_per_min": 101}, 1.5),
        ({"immobilization": True}, 1.5),
        ({"surgery": True}, 1.5),
        ({"immobilization": True, "surgery": True}, 1.5),
        ({"previous_pe": True}, 1.5),
        ({"previous_dvt": True}, 1.5),
        ({"previous_pe": True, "previous_dvt": True}, 1.5),
        ({"hemoptysis": True}, 1),
        ({"malignancy": True}, 1),
        ({name: True for name in WELLS if name != "heart_rate_per_min"} | {"heart_rate_per_min": 140}, 12.5),
    ],
)
def test_wells_pe(changes: dict[str, Any], points: float) -> None:
    assert wells_pe(**{**WELLS, **changes}) == points


def test_wells_pe_tells_its_halves() -> None:
    steps = calculate("wells_pe", {"Heart Rate or Pulse": [111, "beats per minute"], "Hemoptysis": True}).explanation
    assert "Heart rate 111 is over 100: +1.5, total 1.5." in steps
    assert "Hemoptysis present: +1, total 2.5." in steps
    assert steps.endswith("Wells' Criteria for Pulmonary Embolism = 2.5.")


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 0),
        ({"age_years": 49}, 0),
        ({"age_years": 50}, 1),
        ({"age_years": 51}, 1),
        ({"heart_rate_per_min": 99}, 0),
        ({"heart_rate_per_min": 100}, 1),
        ({"oxygen_saturation_percent": 95}, 0),
        ({"oxygen_saturation_percent": 94.9}, 1),
        ({"leg_swelling": True}, 1),
        ({"hemoptysis": True}, 1),
        ({"surgery_or_trauma": True}, 1),
        ({"previous_pe": True}, 1),
        ({"previous_dvt": True}, 1),
        ({"previous_pe": True, "previous_dvt": True}, 1),
        ({"hormone_use": True}, 1),
        (
            {name: True for name in PERC if not name.endswith(("years", "min", "percent"))}
            | {"age_years": 70, "heart_rate_per_min": 120, "oxygen_saturation_percent": 90},
            8,
        ),
    ],
)
def test_perc(changes: dict[str, Any], points: int) -> None:
    assert perc(**{**PERC, **changes}) == points
