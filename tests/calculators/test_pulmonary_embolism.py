"""Wells' criteria for pulmonary embolism and the PERC rule."""

from __future__ import annotations

from typing import Any

from medical_tasks.calculators import calculate

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


def test_wells_pe_tells_its_halves() -> None:
    steps = calculate("wells_pe", {"Heart Rate or Pulse": [111, "beats per minute"], "Hemoptysis": True}).explanation
    assert "Heart rate 111 is over 100: +1.5, total 1.5." in steps
    assert "Hemoptysis present: +1, total 2.5." in steps
    assert steps.endswith("Wells' Criteria for Pulmonary Embolism = 2.5.")
