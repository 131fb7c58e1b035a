"""All calculators in the order of the dataset's ids, and the ways to look one up.

The imports are explicit on purpose: what is in the index is what stands here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from medical_tasks.calculators.acute_physiology import apache_ii
from medical_tasks.calculators.anthropometry import (
    adjusted_body_weight,
    body_mass_index,
    body_surface_area,
    ideal_body_weight,
    target_weight,
)
from medical_tasks.calculators.base import Calculator
from medical_tasks.calculators.bleeding import glasgow_blatchford, has_bled
from medical_tasks.calculators.cardiac_risk import (
    cha2ds2_vasc,
    framingham_risk,
    heart_score,
    revised_cardiac_risk_index,
)
from medical_tasks.calculators.chemistry import (
    albumin_corrected_anion_gap,
    albumin_corrected_delta_gap,
    albumin_corrected_delta_ratio,
    anion_gap,
    corrected_calcium,
    corrected_sodium,
    delta_gap,
    delta_ratio,
    free_water_deficit,
    homa_ir,
    ldl_friedewald,
    maintenance_fluids,
    serum_osmolality,
)
from medical_tasks.calculators.comorbidity import charlson
from medical_tasks.calculators.consciousness import glasgow_coma_score
from medical_tasks.calculators.ecg import qtc_bazett, qtc_framingham, qtc_fridericia, qtc_hodges, qtc_rautaharju
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.hemodynamics import mean_arterial_pressure
from medical_tasks.calculators.hepatic import child_pugh, fib_4, meld_na
from medical_tasks.calculators.infection import centor, curb_65, feverpain, pneumonia_severity_index
from medical_tasks.calculators.names import fold
from medical_tasks.calculators.obstetrics import conception_date, due_date, gestational_age
from medical_tasks.calculators.opioids import morphine_milligram_equivalents
from medical_tasks.calculators.renal import (
    ckd_epi_2021,
    creatinine_clearance,
    fractional_excretion_of_sodium,
    mdrd_gfr,
)
from medical_tasks.calculators.sepsis import sirs, sofa
from medical_tasks.calculators.steroids import steroid_conversion
from medical_tasks.calculators.thrombosis import caprini, perc, wells_dvt, wells_pe

__all__ = ["CALCULATORS", "DATASET_IDS", "AnyCalculator", "find"]

AnyCalculator: TypeAlias = Calculator[..., Any]

DATASET_IDS: Final = (
    *(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
    *(32, 33, 36, 38, 39, 40, 43, 44, 45, 46, 48, 49, 51, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69),
)
"""The 55 calculator ids of the dataset."""

CALCULATORS: Final[tuple[AnyCalculator, ...]] = (
    creatinine_clearance,  # 2
    ckd_epi_2021,  # 3
    cha2ds2_vasc,  # 4
    mean_arterial_pressure,  # 5
    body_mass_index,  # 6
    corrected_calcium,  # 7
    wells_pe,  # 8
    mdrd_gfr,  # 9
    ideal_body_weight,  # 10
    qtc_bazett,  # 11
    due_date,  # 13
    child_pugh,  # 15
    wells_dvt,  # 16
    revised_cardiac_risk_index,  # 17
    heart_score,  # 18
    fib_4,  # 19
    centor,  # 20
    glasgow_coma_score,  # 21
    maintenance_fluids,  # 22
    meld_na,  # 23
    steroid_conversion,  # 24
    has_bled,  # 25
    corrected_sodium,  # 26
    glasgow_blatchford,  # 27
    apache_ii,  # 28
    pneumonia_severity_index,  # 29
    serum_osmolality,  # 30
    homa_ir,  # 31
    charlson,  # 32
    feverpain,  # 33
    caprini,  # 36
    free_water_deficit,  # 38
    anion_gap,  # 39
    fractional_excretion_of_sodium,  # 40
    sofa,  # 43
    ldl_friedewald,  # 44
    curb_65,  # 45
    framingham_risk,  # 46
    perc,  # 48
    morphine_milligram_equivalents,  # 49
    sirs,  # 51
    qtc_fridericia,  # 56
    qtc_framingham,  # 57
    qtc_hodges,  # 58
    qtc_rautaharju,  # 59
    body_surface_area,  # 60
    target_weight,  # 61
    adjusted_body_weight,  # 62
    delta_gap,  # 63
    delta_ratio,  # 64
    albumin_corrected_anion_gap,  # 65
    albumin_corrected_delta_gap,  # 66
    albumin_corrected_delta_ratio,  # 67
    conception_date,  # 68
    gestational_age,  # 69
)


def _names() -> Mapping[str, AnyCalculator]:
    table: dict[str, AnyCalculator] = {}
    for entry in CALCULATORS:
        for name in (str(entry.id), entry.slug, entry.name, *entry.aliases):
            if table.setdefault(fold(name), entry) is not entry:
                raise ValueError(f"{name!r} names two calculators")
    return MappingProxyType(table)


_BY_ID: Final = MappingProxyType({entry.id: entry for entry in CALCULATORS})
_BY_NAME: Final = _names()


def find(calculator: int | str) -> AnyCalculator:
    """A calculator by the dataset's id, its slug, its name or an alias, in any case and spacing.

    Raises:
        CalculatorInputError: there is none of that name; the message offers the nearest.
    """
    found = _BY_ID.get(calculator) if isinstance(calculator, int) else _BY_NAME.get(fold(calculator))
    if found is not None:
        return found
    near = difflib.get_close_matches(fold(str(calculator)), _BY_NAME, n=3)
    slugs = list(dict.fromkeys(_BY_NAME[name].slug for name in near))
    hint = f"did you mean {', '.join(slugs)}? " if slugs else ""
    raise CalculatorInputError(f"no calculator {calculator!r}; {hint}`medical-tasks calc --list` shows all")
