"""Pneumonia, sore throat, SOFA and SIRS."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.infection import COUGH_UNMENTIONED_IS_ZERO, curb_65, feverpain, sofa

CURB: dict[str, Any] = {
    "confusion": False,
    "bun_mg_dl": 15,
    "respiratory_rate_per_min": 16,
    "systolic_mm_hg": 120,
    "diastolic_mm_hg": 80,
    "age_years": 50,
}


def psi_entities(**changes: object) -> dict[str, Any]:
    return {
        "age": [50, "years"],
        "sex": "Male",
        "respiratory rate": [16, "breaths per minute"],
        "Systolic Blood Pressure": [120, "mm Hg"],
        "Temperature": [37, "degrees celsius"],
        "Heart Rate or Pulse": [80, "beats per minute"],
        "pH": 7.4,
        "Blood Urea Nitrogen (BUN)": [15, "mg/dL"],
        "Sodium": [140, "mmol/L"],
        "Glucose": [100, "mg/dL"],
        "Hematocrit": [42, "%"],
        "PaO2": [80, "mm Hg"],
        **changes,
    }


@pytest.mark.parametrize(
    ("name", "value", "points"),
    [
        ("Temperature", [104, "degrees fahrenheit"], 15),  # 40 °C exactly
        ("Temperature", [103.9, "degrees fahreinheit"], 0),
        ("Temperature", [38, "degrees celsisus"], 0),
        ("PaO2", [8.0, "kPa"], 0),
        ("PaO2", [7.9, "kPa"], 10),
        ("Glucose", [13.8, "mmol/L"], 0),
        ("Glucose", [13.9, "mmol/L"], 10),
        ("Liver disease severity", True, 20),
        ("Liver disease history", True, 20),
        ("Liver disease severity", "Mild", 20),
        ("Renal disease", True, 10),
        ("Renal disease history", True, 10),
        ("Congestive Heart Faliure", True, 10),
    ],
)
def test_names_and_units_of_psi(name: str, value: object, points: int) -> None:
    assert calculate(29, psi_entities(**{name: value})).answer == 50 + points


@pytest.mark.parametrize("urea", [{"bun_mg_dl": None}, {"bun_mg_dl": 20, "urea_mmol_l": 8}])
def test_curb_65_needs_one_urea(urea: dict[str, Any]) -> None:
    with pytest.raises(CalculatorInputError, match="one of bun_mg_dl and urea_mmol_l is needed; got "):
        curb_65(**{**CURB, **urea})


@pytest.mark.parametrize(
    ("urea", "points", "shown"),
    [
        ([19, "mg/dL"], 0, "BUN 19 mg/dL is 19 or less: +0"),
        ([19.1, "mg/dL"], 1, "BUN 19.1 mg/dL is over 19: +1"),
        (19.1, 1, "BUN 19.1 mg/dL is over 19: +1"),
        ("19.1 mg/dL", 1, "BUN 19.1 mg/dL is over 19: +1"),
        ([190, "mg/L"], 0, "BUN 19 mg/dL is 19 or less: +0"),
        ([7.0, "mmol/L"], 0, "Urea 7 mmol/L is 7 or less: +0"),
        ("7.1 mmol/L", 1, "Urea 7.1 mmol/L is over 7: +1"),
        ([7100, "µmol/L"], 1, "Urea 7.1 mmol/L is over 7: +1"),
    ],
)
def test_urea_is_judged_in_the_unit_it_came_in(urea: object, points: int, shown: str) -> None:
    entities = {
        "Blood Urea Nitrogen (BUN)": urea,
        "respiratory rate": [16, "breaths per minute"],
        "Systolic Blood Pressure": [120, "mm hg"],
        "Diastolic Blood Pressure": [80, "mm hg"],
        "age": [50, "years"],
    }
    result = calculate(45, entities)
    assert result.answer == points
    assert shown in result.explanation


@pytest.mark.parametrize(
    "urea",
    [[19, "furlongs"], [0.001, "mmol/L"], [-3, "mg/dL"], "much", [7, "mol"], pytest.param(10**5000, id="huge"), True],
)
def test_unreadable_urea(urea: object) -> None:
    with pytest.raises(CalculatorInputError, match=r"CURB-65 .*Blood Urea Nitrogen \(BUN\): "):
        calculate(45, {"Blood Urea Nitrogen (BUN)": urea, "age": [50, "years"]})


FEVERPAIN = ("fever", "cough_and_coryza_absent", "onset_within_3_days", "purulent_tonsils", "severe_inflammation")
SILENT = frozenset({COUGH_UNMENTIONED_IS_ZERO.name})
ADULT: dict[str, Any] = {"age": [30, "years"], "Temperature": [37, "degrees celsius"]}


@pytest.mark.parametrize(("temperature", "points"), [(100.3, 0), (100.4, 0), (100.5, 1)])
def test_centor_in_fahrenheit(temperature: float, points: int) -> None:
    # 100.4 °F is 38 °C exactly, and the rule says over 38. The second spelling stands in the data.
    for unit in ("degrees fahrenheit", "degrees fahreinheit"):
        entities = {**ADULT, "Temperature": [temperature, unit], "Cough Absent": False}
        assert calculate(20, entities).answer == points


@pytest.mark.parametrize("finding", FEVERPAIN)
def test_feverpain(finding: str) -> None:
    nothing: dict[str, Any] = dict.fromkeys(FEVERPAIN, False)
    everything: dict[str, Any] = dict.fromkeys(FEVERPAIN, True)
    assert feverpain(**nothing) == 0
    assert feverpain(**{**nothing, finding: True}) == 1
    assert feverpain(**everything) == 5


@pytest.mark.parametrize(
    ("calculator_id", "patient", "name"), [(20, ADULT, "Cough Absent"), (33, {}, "Absence of cough or coryza")]
)
def test_a_cough_that_is_not_mentioned(calculator_id: int, patient: dict[str, Any], name: str) -> None:
    rule = calculate(calculator_id, patient)
    assert rule.answer == 1
    assert name in rule.missing_taken_absent
    assert f"{name}: not given, taken as true: " in rule.explanation
    convention = calculate(calculator_id, patient, conventions=SILENT)
    assert convention.answer == 0
    assert convention.explanation.startswith("Convention cough-unmentioned-is-zero: ")
    for stated in (True, False):  # what is stated is not the convention's business
        entities = {**patient, name: stated}
        assert (
            calculate(calculator_id, entities).answer == calculate(calculator_id, entities, conventions=SILENT).answer
        )


@pytest.mark.parametrize("name", ["Symptom onset ≤3 days", "Symptom onset <=3 days"])
def test_the_names_of_both_releases(name: str) -> None:
    assert calculate(33, {name: True, "Absence of cough or coryza": False}).answer == 1


SOFA: dict[str, Any] = {
    "pao2_mm_hg": 100,
    "fio2_percent": 21,
    "mechanical_ventilation": False,
    "cpap": False,
    "platelets_10e9_l": 250,
    "glasgow_coma_score": 15,
    "bilirubin_mg_dl": 0.8,
    "hypotension": False,
    "systolic_mm_hg": 120,
    "diastolic_mm_hg": 80,
    "dopamine_mcg_kg_min": 0,
    "dobutamine_mcg_kg_min": 0,
    "epinephrine_mcg_kg_min": 0,
    "norepinephrine_mcg_kg_min": 0,
    "creatinine_mg_dl": 0.9,
    "urine_ml_day": 1500,
}


def test_a_ratio_on_the_bound_is_free_of_binary_noise() -> None:
    exact = 0
    for tenths in range(150, 1000):  # FiO2 from 15.0 to 99.9 %, and the PaO2 of a ratio of 300
        fio2 = tenths / 10
        exact += sofa(**{**SOFA, "pao2_mm_hg": round(fio2 * 3, 1), "fio2_percent": fio2})
    assert exact == 850  # one point each, never two


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"systolic_mm_hg": 70, "diastolic_mm_hg": 70}, 0),
        ({"systolic_mm_hg": 69, "diastolic_mm_hg": 69}, 1),
        ({"hypotension": True}, 0),  # measured pressures decide
        ({"hypotension": True, "systolic_mm_hg": None}, 1),
        ({"hypotension": True, "diastolic_mm_hg": None}, 1),
        ({"hypotension": False, "systolic_mm_hg": None}, 0),
        ({"systolic_mm_hg": 60, "diastolic_mm_hg": 40, "dobutamine_mcg_kg_min": 2}, 2),
        ({"dopamine_mcg_kg_min": 3, "norepinephrine_mcg_kg_min": 0.05}, 3),
        ({"dopamine_mcg_kg_min": 16, "norepinephrine_mcg_kg_min": 0.05}, 4),
        ({"creatinine_mg_dl": 2.5, "urine_ml_day": 450}, 3),  # the worse of the two
        ({"creatinine_mg_dl": 6, "urine_ml_day": 450}, 4),
        ({"creatinine_mg_dl": None, "urine_ml_day": None}, 0),
    ],
)
def test_circulation_and_kidney(changes: dict[str, Any], points: int) -> None:
    assert sofa(**{**SOFA, **changes}) == points


def test_the_circulation_is_told_with_its_numbers() -> None:
    steps: list[str] = []
    sofa(**{**SOFA, "hypotension": True}, say=steps.append)
    assert [line for line in steps if line.startswith("Circulation")] == [
        "Circulation: dopamine 0, dobutamine 0, epinephrine 0, norepinephrine 0 mcg/kg/min, MAP 93.3333 mm Hg is 70 or "
        "more, which decides over the reported hypotension: +0, total 0."
    ]


def test_sofa_at_its_worst() -> None:
    worst = {
        "pao2_mm_hg": 60,
        "fio2_percent": 80,
        "mechanical_ventilation": True,
        "platelets_10e9_l": 10,
        "glasgow_coma_score": 3,
        "bilirubin_mg_dl": 20,
        "norepinephrine_mcg_kg_min": 0.5,
        "creatinine_mg_dl": 6,
    }
    assert sofa(**{**SOFA, **worst}) == 24


def test_names_and_spellings_of_the_data() -> None:
    result = calculate(
        43,
        {
            "FiO₂": [50.0, "%"],
            "Partial pressure of oxygen (PaO₂) for Apache II": [90.0, "mm Hg"],
            "Continous positive airway pressure": True,
            "Platelet count": [90000.0, "µL"],
            "Bilirubin": [34.3, "µmol/L"],
            "norEPINEPHrine": [0.2, "mc/kg/min"],
            "Continuous veno-venous hemodialysis for ≥24 hours in the past week": True,
        },
    )
    assert result.answer == 3 + 2 + 2 + 4  # ratio 180 with support, platelets, bilirubin 2.005 mg/dL, norepinephrine
    assert result.ignored == ("Continuous veno-venous hemodialysis for ≥24 hours in the past week",)
    assert "Glasgow Coma Score: not given, taken as 15." in result.explanation


@pytest.mark.parametrize(
    ("count", "unit"), [(12000, "µL"), (12000, "mm^3"), (12000, "m^3"), (12e9, "L"), (12, "10^9/L")]
)
def test_white_cells_per_volume(count: float, unit: str) -> None:
    entities = {"Temperature": [37, "degrees celsius"], "Heart Rate or Pulse": [70, "bpm"]}
    assert calculate(51, {**entities, "White blood cell count": [count, unit]}).answer == 0
    assert calculate(51, {**entities, "White blood cell count": [count * 1.01, unit]}).answer == 1
