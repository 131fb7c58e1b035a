from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.fresh import quantities
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import MARGIN, Amount, Draw, System
from medical_tasks.calculators import shared_inputs, units
from medical_tasks.calculators.units import convert

# The calculators' own measure of a quantity, which reads the notes' units back.
MEASURES = {
    "TEMPERATURE": shared_inputs.TEMPERATURE,
    "HEART_RATE": shared_inputs.HEART_RATE,
    "RESPIRATORY_RATE": shared_inputs.RESPIRATORY_RATE,
    "SPO2": shared_inputs.SPO2,
    "COMA_SCORE": shared_inputs.GLASGOW_COMA_SCORE,
    "WEIGHT": shared_inputs.WEIGHT,
    "HEIGHT": shared_inputs.HEIGHT,
    "BMI": shared_inputs.BMI,
    "PAO2": shared_inputs.PAO2,
    "PACO2": shared_inputs.PACO2,
    "FIO2": shared_inputs.FIO2,
    "PH": shared_inputs.PH,
    "QT": shared_inputs.QT,
    "SODIUM": shared_inputs.SODIUM_MMOL_L,
    "POTASSIUM": shared_inputs.POTASSIUM_MMOL_L,
    "CHLORIDE": shared_inputs.CHLORIDE_MMOL_L,
    "BICARBONATE": shared_inputs.BICARBONATE_MMOL_L,
    "CALCIUM": shared_inputs.CALCIUM_MG_DL,
    "ALBUMIN": shared_inputs.ALBUMIN_G_DL,
    "CREATININE": shared_inputs.CREATININE_MG_DL,
    "COARSE_CREATININE": shared_inputs.CREATININE_MG_DL,
    "BUN": shared_inputs.BUN_MG_DL,
    "GLUCOSE": shared_inputs.GLUCOSE_MG_DL,
    "BILIRUBIN": shared_inputs.BILIRUBIN_MG_DL,
    "AST": shared_inputs.AST,
    "ALT": shared_inputs.ALT,
    "INR": shared_inputs.INR,
    "HEMOGLOBIN": shared_inputs.HEMOGLOBIN_G_DL,
    "HEMATOCRIT": shared_inputs.HEMATOCRIT,
    "PLATELETS": shared_inputs.PLATELETS,
    "WHITE_CELLS": shared_inputs.WHITE_CELLS,
    "CHOLESTEROL": shared_inputs.TOTAL_CHOLESTEROL_MG_DL,
    "HDL": shared_inputs.HDL_MG_DL,
    "TRIGLYCERIDES": shared_inputs.TRIGLYCERIDES_MG_DL,
    "INSULIN": shared_inputs.INSULIN,
    "URINE_SODIUM": shared_inputs.SODIUM_MMOL_L.within(0.1, 1000),
    "URINE_CREATININE": shared_inputs.CREATININE_MG_DL.within(0.1, 2000),
}


def test_every_quantity_is_checked() -> None:
    amounts = {name for name in quantities.__all__ if isinstance(getattr(quantities, name), Amount)}
    assert amounts - set(MEASURES) == {"AA_GRADIENT", "URINE_OUTPUT"}  # private to their calculators
    assert set(MEASURES) <= amounts


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_form_is_read_back_by_the_calculators(name: str) -> None:
    amount: Amount = getattr(quantities, name)
    low, high = amount.usual
    for form in amount.forms:
        for grid in {form.grid(low), form.grid((low + high) / 2), form.grid(high)}:
            steps: list[str] = []
            value = MEASURES[name].read(form.entity(grid), steps.append)
            assert value == pytest.approx(form.base(grid), rel=1e-9), form.unit
            # Half a printed step at most is lost between a drawn value and its form.
            assert form.grid(form.base(grid)) == grid


def test_texts() -> None:
    (celsius, fahrenheit) = quantities.TEMPERATURE.forms
    assert celsius.text(384, Draw("a")).startswith("38.4 ")
    assert fahrenheit.grid(38.0) == 1004
    assert fahrenheit.entity(1004) == [100.4, "degrees fahrenheit"]
    feet = quantities.HEIGHT.forms[-1]
    assert feet.entity(70) == [5, "ft", 10, "in"]
    assert feet.text(70, Draw("a")) == "5 ft 10 in"
    per_microlitre = next(form for form in quantities.PLATELETS.forms if form.unit == "/µL")
    assert per_microlitre.entity(per_microlitre.grid(149)) == [149_000, "/µL"]
    assert per_microlitre.text(per_microlitre.grid(149), Draw("a")).startswith("149,000")
    assert quantities.INR.forms[0].entity(17) == 1.7
    assert quantities.INR.forms[0].text(20, Draw("a")) == "2.0"


def test_values_stand_on_and_beside_thresholds_that_convert_exactly() -> None:
    counts: Counter[float] = Counter()
    for key in range(2000):
        reading = quantities.HEMOGLOBIN.read(Draw(str(key)), "si", 7, 15, near=(10, 12))
        counts[round(reading.base, 6)] += 1
    for value in (9.9, 10.0, 10.1, 11.9, 12.0, 12.1):
        assert counts[value] > 60, value
    assert counts[8.0] < 40


@settings(max_examples=200, deadline=None)
@given(key=st.integers())
def test_values_keep_clear_of_thresholds_that_print_rounds(key: int) -> None:
    # 2.0 mg/dL of creatinine is 177 µmol/L in tables and 176.8 by arithmetic.
    reading = quantities.CREATININE.read(Draw(str(key)), "si", 0.7, 3.4, near=(2.0,))
    assert isinstance(reading.entity, list)
    number, unit = reading.entity
    assert unit == "µmol/L"
    exact = convert(number, unit, "mg/dL", substance=units.CREATININE)
    assert abs(exact - 2.0) > 2.0 * MARGIN * 0.99


def test_printed_thresholds_of_a_unit_are_used_as_they_are() -> None:
    units: Counter[str] = Counter()
    on_limit: Counter[object] = Counter()
    for key in range(1500):
        system: System = "si" if key % 2 else "us"
        reading = quantities.BUN.read(
            Draw(str(key)), system, 8, 46, near=(19.0,), printed={"mg/dL": (19.0,), "mmol/L": (7.0,)}
        )
        assert isinstance(reading.entity, list)
        units[reading.entity[1]] += 1
        on_limit[tuple(reading.entity)] += 1
    assert min(units.values()) > 600
    assert on_limit[7.0, "mmol/L"] > 50
    assert on_limit[19, "mg/dL"] > 50
