"""Electrolytes and water: corrected calcium and sodium, osmolality, free water deficit, maintenance fluid."""

from __future__ import annotations

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.labs import ALBUMIN_G_DL, BUN_MG_DL, CALCIUM_MG_DL, GLUCOSE_MG_DL, SODIUM_MMOL_L
from medical_tasks.calculators.patient import AGE, SEX, WEIGHT, Sex
from medical_tasks.calculators.trace import Say, quiet

__all__ = [
    "corrected_calcium",
    "corrected_sodium",
    "free_water_deficit",
    "maintenance_fluids",
    "serum_osmolality",
]


@calculator(
    id=7,
    name="Calcium Correction for Hypoalbuminemia",
    category="lab",
    output="decimal",
    unit="mg/dL",
    inputs=(CALCIUM_MG_DL, ALBUMIN_G_DL),
    source="Payne RB et al. BMJ 1973;4:643-646.",
)
def corrected_calcium(*, calcium_mg_dl: float, albumin_g_dl: float, say: Say = quiet) -> float:
    """Calcium in mg/dL corrected for albumin: Ca + 0.8 · (4.0 − albumin g/dL).

    Source: Payne et al., BMJ 1973;4:643-646, in conventional units.
    """
    corrected = calcium_mg_dl + 0.8 * (4.0 - albumin_g_dl)
    say(
        f"Corrected calcium = calcium + 0.8 × (4 − albumin) = {calcium_mg_dl:.6g} + 0.8 × (4 − {albumin_g_dl:.6g}) = "
        f"{corrected:.6g} mg/dL."
    )
    return corrected


@calculator(
    id=26,
    name="Sodium Correction for Hyperglycemia",
    category="lab",
    output="decimal",
    unit="mEq/L",
    inputs=(SODIUM_MMOL_L, GLUCOSE_MG_DL),
    source="Hillier TA et al. Am J Med 1999;106:399-403.",
    valid=(Valid(parameter="glucose_mg_dl", low=100, source="Hillier 1999: for glucose over 100 mg/dL"),),
)
def corrected_sodium(*, sodium_mmol_l: float, glucose_mg_dl: float, say: Say = quiet) -> float:
    """Sodium in mmol/L corrected for glucose: Na + 0.024 · (glucose mg/dL − 100).

    Source: Hillier et al., Am J Med 1999;106:399-403 (2.4 mmol/L for each 100 mg/dL of glucose over 100).
    """
    corrected = sodium_mmol_l + 0.024 * (glucose_mg_dl - 100)
    say(
        f"Corrected sodium = sodium + 0.024 × (glucose − 100) = {sodium_mmol_l:.6g} + 0.024 × ({glucose_mg_dl:.6g} − 100)"
        f" = {corrected:.6g} mmol/L."
    )
    return corrected


@calculator(
    id=30,
    name="Serum Osmolality",
    category="lab",
    output="decimal",
    unit="mOsm/kg",
    inputs=(SODIUM_MMOL_L, BUN_MG_DL, GLUCOSE_MG_DL),
    source="Dorwart WV, Chalmers L. Clin Chem 1975;21:190-194 (simple form).",
    aliases=("osmolality", "sOsm"),
)
def serum_osmolality(*, sodium_mmol_l: float, bun_mg_dl: float, glucose_mg_dl: float, say: Say = quiet) -> float:
    """Serum osmolality in mOsm/kg: 2 · Na + BUN/2.8 + glucose/18, without ethanol.

    Source: the simple form compared by Dorwart and Chalmers, Clin Chem 1975;21:190-194.
    """
    osmolality = 2 * sodium_mmol_l + bun_mg_dl / 2.8 + glucose_mg_dl / 18
    say(
        f"Osmolality = 2 × sodium + BUN / 2.8 + glucose / 18 = 2 × {sodium_mmol_l:.6g} + {bun_mg_dl:.6g} / 2.8 + "
        f"{glucose_mg_dl:.6g} / 18 = {osmolality:.6g} mOsm/kg."
    )
    return osmolality


@calculator(
    id=38,
    name="Free Water Deficit",
    category="lab",
    output="decimal",
    unit="L",
    inputs=(AGE, SEX, WEIGHT, SODIUM_MMOL_L),
    source="Adrogué HJ, Madias NE. N Engl J Med 2000;342:1493-1499.",
    valid=(Valid(parameter="sodium_mmol_l", low=145, source="Adrogué and Madias 2000: for hypernatremia"),),
)
def free_water_deficit(
    *, age_years: float, sex: Sex, weight_kg: float, sodium_mmol_l: float, say: Say = quiet
) -> float:
    """Free water deficit in L: total body water · (Na/140 − 1); negative below 140.

    Total body water is this part of the weight: children under 18 0.6; men 0.6, from 65 years 0.5; women 0.5, from 65
    years 0.45.

    Source: Adrogué and Madias, N Engl J Med 2000;342:1493-1499.
    """
    if age_years < 18:
        part, group = 0.6, "child under 18"
    elif sex == "male":
        part, group = (0.5, "man of 65 or more") if age_years >= 65 else (0.6, "man under 65")
    else:
        part, group = (0.45, "woman of 65 or more") if age_years >= 65 else (0.5, "woman under 65")
    # Written as a difference, so that a sodium of 140 gives exactly 0.
    deficit = part * weight_kg * (sodium_mmol_l - 140) / 140
    say(f"Total body water, {group}: {part} of the weight.")
    say(
        f"Deficit = {part} × weight × (sodium / 140 − 1) = {part} × {weight_kg:.6g} × ({sodium_mmol_l:.6g} / 140 − 1) = "
        f"{deficit:.6g} L."
    )
    return deficit


@calculator(
    id=22,
    name="Maintenance Fluids Calculations",
    category="physical",
    output="decimal",
    unit="mL/hr",
    inputs=(WEIGHT,),
    source="Holliday MA, Segar WE. Pediatrics 1957;19:823-832 (4-2-1 rule).",
    valid=(
        Valid(
            parameter="weight_kg",
            low=3.5,
            high=65,
            source="not for newborns, and at most 2.4 L a day, reached at 65 kg",
        ),
    ),
)
def maintenance_fluids(*, weight_kg: float, say: Say = quiet) -> float:
    """Maintenance fluid in mL an hour: 4 for each of the first 10 kg, 2 for each of the next 10, 1 for each further kg.

    Source: Holliday and Segar, Pediatrics 1957;19:823-832, as the 4-2-1 rule.
    """
    if weight_kg <= 10:
        rate = 4 * weight_kg
        say(f"Up to 10 kg: 4 × {weight_kg:.6g} = {rate:.6g} mL/hr.")
    elif weight_kg <= 20:
        rate = 40 + 2 * (weight_kg - 10)
        say(f"Over 10 to 20 kg: 40 + 2 × ({weight_kg:.6g} − 10) = {rate:.6g} mL/hr.")
    else:
        rate = 60 + (weight_kg - 20)
        say(f"Over 20 kg: 60 + 1 × ({weight_kg:.6g} − 20) = {rate:.6g} mL/hr.")
    return rate
