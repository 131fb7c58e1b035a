"""Which case is drawn for which calculator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.fresh import (
    cases_body,
    cases_chemistry,
    cases_clots,
    cases_critical,
    cases_drugs,
    cases_heart,
    cases_infection,
    cases_kidney,
    cases_liver,
    cases_pregnancy,
)
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.calculators import AnyCalculator

__all__ = ["CASES", "Case"]

Case: TypeAlias = Callable[[AnyCalculator, Draw], Chart]

CASES: Final[Mapping[int, Case]] = MappingProxyType(
    {
        2: cases_kidney.clearance,
        3: cases_kidney.filtration_rate,
        4: cases_heart.cha2ds2_vasc,
        5: cases_body.mean_arterial_pressure,
        6: cases_body.body_size,
        7: cases_chemistry.calcium,
        8: cases_clots.wells_pe,
        9: cases_kidney.filtration_rate,
        10: cases_body.body_size,
        11: cases_body.qtc,
        13: cases_pregnancy.due_date,
        15: cases_liver.child_pugh,
        16: cases_clots.wells_dvt,
        17: cases_heart.revised_cardiac_risk,
        18: cases_heart.heart_score,
        19: cases_liver.fib_4,
        20: cases_infection.centor,
        21: cases_critical.coma_score,
        22: cases_body.maintenance_fluids,
        23: cases_liver.meld_na,
        24: cases_drugs.steroid_conversion,
        25: cases_heart.has_bled,
        26: cases_chemistry.sodium_in_hyperglycemia,
        27: cases_liver.glasgow_blatchford,
        28: cases_critical.apache_ii,
        29: cases_infection.pneumonia_severity,
        30: cases_chemistry.osmolality,
        31: cases_chemistry.insulin_resistance,
        32: cases_liver.charlson,
        33: cases_infection.feverpain,
        36: cases_clots.caprini,
        38: cases_chemistry.free_water,
        39: cases_chemistry.gap,
        40: cases_chemistry.fractional_excretion,
        43: cases_critical.sofa,
        44: cases_chemistry.ldl,
        45: cases_infection.curb_65,
        46: cases_heart.framingham,
        48: cases_clots.perc,
        49: cases_drugs.opioids,
        51: cases_infection.sirs,
        56: cases_body.qtc,
        57: cases_body.qtc,
        58: cases_body.qtc,
        59: cases_body.qtc,
        60: cases_body.body_size,
        61: cases_body.target_weight,
        62: cases_body.body_size,
        63: cases_chemistry.gap,
        64: cases_chemistry.gap,
        65: cases_chemistry.gap,
        66: cases_chemistry.gap,
        67: cases_chemistry.gap,
        68: cases_pregnancy.conception_date,
        69: cases_pregnancy.gestational_age,
    }
)
"""Calculator id to the function that draws its patient; one for each of the 55."""
