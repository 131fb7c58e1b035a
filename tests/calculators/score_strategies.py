"""Arbitrary patients for the rule-based scores, drawn from the inputs that each of them declares."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from hypothesis import strategies as st

from medical_tasks.calculators import AnyCalculator, find
from medical_tasks.calculators.inputs import REQUIRED, Choice, Flag, Input, Quantity

RANGES = {
    "wells_pe": (0, 12.5),
    "child_pugh": (5, 15),
    "wells_dvt": (-2, 9),
    "revised_cardiac_risk_index": (0, 6),
    "heart_score": (0, 10),
    "centor": (-1, 5),
    "glasgow_coma_score": (3, 15),
    "has_bled": (0, 9),
    "glasgow_blatchford": (0, 23),
    "apache_ii": (0, 71),
    "pneumonia_severity_index": (-10, 285 + 130),
    "charlson": (0, 37),
    "feverpain": (0, 5),
    "caprini": (0, 73),
    "sofa": (0, 24),
    "curb_65": (0, 5),
    "perc": (0, 8),
    "sirs": (0, 4),
}
"""The published range of each score; the pneumonia index adds a year's point to 285 at most."""

SCORES: tuple[AnyCalculator, ...] = tuple(find(slug) for slug in RANGES)

THRESHOLDS: dict[str, tuple[float, ...]] = {
    "age_years": (3, 15, 41, 45, 50, 55, 60, 61, 65, 70, 75, 80),
    "temperature_c": (30, 32, 34, 35, 36, 38, 38.5, 39, 40, 41),
    "systolic_mm_hg": (70, 90, 100, 110),
    "diastolic_mm_hg": (60, 70),
    "heart_rate_per_min": (40, 55, 70, 90, 100, 110, 125, 140, 180),
    "respiratory_rate_per_min": (6, 10, 12, 20, 25, 30, 35, 50),
    "aa_gradient_mm_hg": (200, 349, 350, 499),
    "pao2_mm_hg": (55, 60, 61, 70, 100),
    "paco2_mm_hg": (32,),
    "fio2_percent": (21, 25, 50, 100),
    "oxygen_saturation_percent": (95,),
    "ph": (7.15, 7.25, 7.33, 7.35, 7.5, 7.6, 7.7),
    "sodium_mmol_l": (111, 120, 130, 150, 155, 160, 180),
    "potassium_mmol_l": (2.5, 3, 3.5, 5.5, 6, 7),
    "creatinine_mg_dl": (0.6, 1.2, 1.5, 2, 3.5, 5),
    "bilirubin_mg_dl": (1.2, 2, 3, 6, 12),
    "albumin_g_dl": (2.8, 3.5),
    "inr": (1.7, 2.3),
    "hemoglobin_g_dl": (10, 12, 13),
    "hematocrit_percent": (20, 30, 46, 50, 60),
    "bun_mg_dl": (18.2, 19, 22.4, 28, 30, 70),
    "glucose_mg_dl": (250,),
    "white_cells_10e9_l": (1, 3, 4, 12, 15, 20, 40),
    "platelets_10e9_l": (20, 50, 100, 150),
    "urine_ml_day": (200, 500),
    "dopamine_mcg_kg_min": (5, 15),
    "drinks_per_week": (8,),
    "bmi_kg_m2": (25,),
}
"""Values where a score changes: a conversion must not push a patient over the edge."""


def entity(item: Input) -> st.SearchStrategy[Any]:
    """Anything that the input accepts, in the dataset's form."""
    if isinstance(item, Flag):
        return st.booleans()
    if isinstance(item, Choice):
        return st.sampled_from([word for word, value in item.words.items() if value is not None])
    if isinstance(item, Quantity):
        measure = item.measure
        if item.parameter == "glasgow_coma_score":
            return st.integers(3, 15)
        hundredths = st.integers(math.ceil(measure.low * 100), math.floor(measure.high * 100))
        numbers: st.SearchStrategy[float] = hundredths.map(lambda number: number / 100)
        if item.parameter in THRESHOLDS:
            numbers |= st.sampled_from(THRESHOLDS[item.parameter])
        return st.tuples(numbers, st.just(measure.unit)).map(list) if measure.unit else numbers
    assert item.parameter == "urea"
    return st.tuples(st.integers(1, 200), st.sampled_from(["mg/dL", "mmol/L"])).map(list)


@cache  # building a strategy of thirty inputs costs more than drawing from it
def patients(score: AnyCalculator) -> st.SearchStrategy[dict[str, Any]]:
    """Entities with every required input, and any of the optional ones."""
    required = {item.name: entity(item) for item in score.inputs if item.absent is REQUIRED}
    optional = {item.name: entity(item) for item in score.inputs if item.absent is not REQUIRED}
    if score.slug == "apache_ii":  # one of the two oxygen values is needed, and which one depends on FiO2
        required |= {name: optional.pop(name) for name in ("A-a gradient", "PaO2")}
    return st.fixed_dictionaries(required, optional=optional)
