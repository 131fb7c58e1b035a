"""Metabolism: insulin resistance and calculated LDL cholesterol."""

from __future__ import annotations

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.labs import (
    GLUCOSE_MG_DL,
    HDL_MG_DL,
    INSULIN,
    TOTAL_CHOLESTEROL_MG_DL,
    TRIGLYCERIDES_MG_DL,
)
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["homa_ir", "ldl_friedewald"]


@calculator(
    id=31,
    name="HOMA-IR (Homeostatic Model Assessment for Insulin Resistance)",
    category="lab",
    output="decimal",
    inputs=(INSULIN, GLUCOSE_MG_DL),
    source="Matthews DR et al. Diabetologia 1985;28:412-419.",
)
def homa_ir(*, insulin_micro_iu_ml: float, glucose_mg_dl: float, say: Say = quiet) -> float:
    """Insulin resistance: fasting insulin µIU/mL · fasting glucose mg/dL / 405.

    Source: Matthews et al., Diabetologia 1985;28:412-419.
    """
    index = insulin_micro_iu_ml * glucose_mg_dl / 405
    say(f"HOMA-IR = insulin × glucose / 405 = {insulin_micro_iu_ml:.6g} × {glucose_mg_dl:.6g} / 405 = {index:.6g}.")
    return index


@calculator(
    id=44,
    name="LDL Calculated",
    category="lab",
    output="decimal",
    unit="mg/dL",
    inputs=(TOTAL_CHOLESTEROL_MG_DL, HDL_MG_DL, TRIGLYCERIDES_MG_DL),
    source="Friedewald WT et al. Clin Chem 1972;18:499-502.",
    aliases=("LDL", "Friedewald"),
    valid=(
        Valid(
            parameter="triglycerides_mg_dl",
            high=400,
            source="Friedewald 1972: above it LDL has to be measured directly",
        ),
    ),
)
def ldl_friedewald(
    *, total_cholesterol_mg_dl: float, hdl_mg_dl: float, triglycerides_mg_dl: float, say: Say = quiet
) -> float:
    """LDL cholesterol in mg/dL: total − HDL − triglycerides/5, for triglycerides up to 400 mg/dL.

    Source: Friedewald et al., Clin Chem 1972;18:499-502.
    """
    ldl = total_cholesterol_mg_dl - hdl_mg_dl - triglycerides_mg_dl / 5
    say(
        f"LDL = total cholesterol − HDL − triglycerides / 5 = {total_cholesterol_mg_dl:.6g} − {hdl_mg_dl:.6g} − "
        f"{triglycerides_mg_dl:.6g} / 5 = {ldl:.6g} mg/dL."
    )
    return ldl
