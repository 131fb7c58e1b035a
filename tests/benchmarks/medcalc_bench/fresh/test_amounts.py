from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import AMOUNTS, MARGIN, Draw, System, background
from medical_tasks.calculators import shared_inputs, units
from medical_tasks.calculators.units import convert

# The calculators' own measure of a quantity, which reads the notes' units back.
MEASURES = {
    "temperature": shared_inputs.TEMPERATURE,
    "heart_rate": shared_inputs.HEART_RATE,
    "respiratory_rate": shared_inputs.RESPIRATORY_RATE,
    "spo2": shared_inputs.SPO2,
    "coma_score": shared_inputs.GLASGOW_COMA_SCORE,
    "weight": shared_inputs.WEIGHT,
    "height": shared_inputs.HEIGHT,
    "bmi": shared_inputs.BMI,
    "pao2": shared_inputs.PAO2,
    "paco2": shared_inputs.PACO2,
    "fio2": shared_inputs.FIO2,
    "ph": shared_inputs.PH,
    "qt": shared_inputs.QT,
    "sodium": shared_inputs.SODIUM_MMOL_L,
    "potassium": shared_inputs.POTASSIUM_MMOL_L,
    "chloride": shared_inputs.CHLORIDE_MMOL_L,
    "bicarbonate": shared_inputs.BICARBONATE_MMOL_L,
    "calcium": shared_inputs.CALCIUM_MG_DL,
    "albumin": shared_inputs.ALBUMIN_G_DL,
    "creatinine": shared_inputs.CREATININE_MG_DL,
    "coarse_creatinine": shared_inputs.CREATININE_MG_DL,
    "bun": shared_inputs.BUN_MG_DL,
    "glucose": shared_inputs.GLUCOSE_MG_DL,
    "bilirubin": shared_inputs.BILIRUBIN_MG_DL,
    "ast": shared_inputs.AST,
    "alt": shared_inputs.ALT,
    "inr": shared_inputs.INR,
    "hemoglobin": shared_inputs.HEMOGLOBIN_G_DL,
    "hematocrit": shared_inputs.HEMATOCRIT,
    "platelets": shared_inputs.PLATELETS,
    "white_cells": shared_inputs.WHITE_CELLS,
    "cholesterol": shared_inputs.TOTAL_CHOLESTEROL_MG_DL,
    "hdl": shared_inputs.HDL_MG_DL,
    "triglycerides": shared_inputs.TRIGLYCERIDES_MG_DL,
    "insulin": shared_inputs.INSULIN,
    "urine_sodium": shared_inputs.SODIUM_MMOL_L.within(0.1, 1000),
    "urine_creatinine": shared_inputs.CREATININE_MG_DL.within(0.1, 2000),
}


def test_every_quantity_is_checked() -> None:
    private = {"aa_gradient", "urine_output"}  # to their calculators
    by_the_way = {
        "crp",
        "magnesium",
        "tsh",
        "ferritin",
        "alkaline_phosphatase",
        "lipase",
    }  # no calculator asks for these
    assert set(AMOUNTS) == set(MEASURES) | private | by_the_way
    assert (len(background("vitals")), len(background("labs"))) == (6, 25)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_every_form_is_read_back_by_the_calculators(name: str) -> None:
    amount = AMOUNTS[name]
    low, high = amount.usual
    for form in amount.forms:
        for grid in {form.grid(low), form.grid((low + high) / 2), form.grid(high)}:
            steps: list[str] = []
            value = MEASURES[name].read(form.entity(grid), steps.append)
            assert value == pytest.approx(form.base(grid), rel=1e-9), form.unit
            # Half a printed step at most is lost between a drawn value and its form.
            assert form.grid(form.base(grid)) == grid


def test_texts() -> None:
    (celsius, fahrenheit) = AMOUNTS["temperature"].forms
    assert celsius.text(384, Draw("a")).startswith("38.4 ")
    assert fahrenheit.grid(38.0) == 1004
    assert fahrenheit.entity(1004) == [100.4, "degrees fahrenheit"]
    feet = AMOUNTS["height"].forms[-1]
    assert feet.entity(70) == [5, "ft", 10, "in"]
    assert feet.text(70, Draw("a")) == "5 ft 10 in"
    per_microlitre = next(form for form in AMOUNTS["platelets"].forms if form.unit == "/µL")
    assert per_microlitre.entity(per_microlitre.grid(149)) == [149_000, "/µL"]
    assert per_microlitre.text(per_microlitre.grid(149), Draw("a")).startswith("149,000")
    assert AMOUNTS["inr"].forms[0].entity(17) == 1.7
    assert AMOUNTS["inr"].forms[0].text(20, Draw("a")) == "2.0"


def test_values_stand_on_and_beside_thresholds_that_convert_exactly() -> None:
    counts: Counter[float] = Counter()
    for key in range(2000):
        reading = AMOUNTS["hemoglobin"].read(Draw(str(key)), "si", 7, 15, near=(10, 12))
        counts[round(reading.base, 6)] += 1
    for value in (9.9, 10.0, 10.1, 11.9, 12.0, 12.1):
        assert counts[value] > 60, value
    assert counts[8.0] < 40


@settings(max_examples=200, deadline=None)
@given(key=st.integers())
def test_values_keep_clear_of_thresholds_that_print_rounds(key: int) -> None:
    # 2.0 mg/dL of creatinine is 177 µmol/L in tables and 176.8 by arithmetic.
    reading = AMOUNTS["creatinine"].read(Draw(str(key)), "si", 0.7, 3.4, near=(2.0,))
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
        reading = AMOUNTS["bun"].read(
            Draw(str(key)), system, 8, 46, near=(19.0,), printed={"mg/dL": (19.0,), "mmol/L": (7.0,)}
        )
        assert isinstance(reading.entity, list)
        units[reading.entity[1]] += 1
        on_limit[tuple(reading.entity)] += 1
    assert min(units.values()) > 600
    assert on_limit[7.0, "mmol/L"] > 50
    assert on_limit[19, "mg/dL"] > 50
