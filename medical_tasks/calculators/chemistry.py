"""Blood chemistry.

Electrolytes, water and fluids, the anion gap and what follows from it, insulin
resistance, LDL.
"""

from __future__ import annotations

from typing import Final

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.shared_inputs import Sex
from medical_tasks.calculators.steps import Say, quiet
from medical_tasks.calculators.units import CalculatorInputError


@calculator(source="Payne RB et al. BMJ 1973;4:643-646.")
def corrected_calcium(
    *, calcium_mg_dl: float, albumin_g_dl: float, say: Say = quiet
) -> float:
    """Calcium in mg/dL corrected for albumin: Ca + 0.8 · (4.0 − albumin g/dL)."""
    corrected = calcium_mg_dl + 0.8 * (4.0 - albumin_g_dl)
    say(
        f"Corrected calcium = calcium + 0.8 × (4 − albumin) = {calcium_mg_dl:.6g} + 0.8 × (4 − "
        f"{albumin_g_dl:.6g}) = {corrected:.6g} mg/dL."
    )
    return corrected


@calculator(source="Hillier TA et al. Am J Med 1999;106:399-403.")
def corrected_sodium(
    *, sodium_mmol_l: float, glucose_mg_dl: float, say: Say = quiet
) -> float:
    """Sodium in mmol/L corrected for glucose: Na + 0.024 · (glucose mg/dL − 100)."""
    # 2.4 mmol/L for each 100 mg/dL of glucose over 100.
    corrected = sodium_mmol_l + 0.024 * (glucose_mg_dl - 100)
    say(
        f"Corrected sodium = sodium + 0.024 × (glucose − 100) = {sodium_mmol_l:.6g} + 0.024 × "
        f"({glucose_mg_dl:.6g} − 100) = {corrected:.6g} mmol/L."
    )
    return corrected


@calculator(source="Dorwart WV, Chalmers L. Clin Chem 1975;21:190-194 (simple form).")
def serum_osmolality(
    *, sodium_mmol_l: float, bun_mg_dl: float, glucose_mg_dl: float, say: Say = quiet
) -> float:
    """Serum osmolality in mOsm/kg: 2 · Na + BUN/2.8 + glucose/18, without ethanol."""
    osmolality = 2 * sodium_mmol_l + bun_mg_dl / 2.8 + glucose_mg_dl / 18
    say(
        f"Osmolality = 2 × sodium + BUN / 2.8 + glucose / 18 = 2 × {sodium_mmol_l:.6g} + "
        f"{bun_mg_dl:.6g} / 2.8 + {glucose_mg_dl:.6g} / 18 = {osmolality:.6g} mOsm/kg."
    )
    return osmolality


@calculator(source="Adrogué HJ, Madias NE. N Engl J Med 2000;342:1493-1499.")
def free_water_deficit(
    *,
    age_years: float,
    sex: Sex,
    weight_kg: float,
    sodium_mmol_l: float,
    say: Say = quiet,
) -> float:
    """Free water deficit in L: total body water · (Na/140 − 1); negative below 140.

    Total body water is this part of the weight: children under 18 0.6; men 0.6, from 65
    years 0.5; women 0.5, from 65 years 0.45.
    """
    if age_years < 18:
        fraction, group = 0.6, "child under 18"
    elif sex == "male":
        fraction, group = (
            (0.5, "man of 65 or more") if age_years >= 65 else (0.6, "man under 65")
        )
    else:
        fraction, group = (
            (0.45, "woman of 65 or more")
            if age_years >= 65
            else (0.5, "woman under 65")
        )

    # Written as a difference, so that a sodium of 140 gives exactly 0.
    deficit = fraction * weight_kg * (sodium_mmol_l - 140) / 140
    say(f"Total body water, {group}: {fraction} of the weight.")
    say(
        f"Deficit = {fraction} × weight × (sodium / 140 − 1) = {fraction} × {weight_kg:.6g} × "
        f"({sodium_mmol_l:.6g} / 140 − 1) = {deficit:.6g} L."
    )

    return deficit


@calculator(source="Holliday MA, Segar WE. Pediatrics 1957;19:823-832 (4-2-1 rule).")
def maintenance_fluids(*, weight_kg: float, say: Say = quiet) -> float:
    """Maintenance fluid in mL an hour: 4 for each of the first 10 kg, 2 for each of the next 10, 1 for each further kg."""
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


_NORMAL_GAP: Final = 12
_NORMAL_BICARBONATE: Final = 24
_DELTA_SOURCE: Final = "Wrenn K. Ann Emerg Med 1990;19:1310-1313 (normal gap 12)."
_RATIO_SOURCE: Final = (
    "Rastegar A. J Am Soc Nephrol 2007;18:2429-2431 (normal gap 12, bicarbonate 24)."
)
_FIGGE: Final = "Figge J et al. Crit Care Med 1998;26:1807-1810"


@calculator(source="Emmett M, Narins RG. Medicine 1977;56:38-54 (without potassium).")
def anion_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    say: Say = quiet,
) -> float:
    """Anion gap in mEq/L: Na − (Cl + HCO₃); potassium is left out."""
    return _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say)


def _gap(sodium: float, chloride: float, bicarbonate: float, say: Say) -> float:
    gap = sodium - (chloride + bicarbonate)
    say(
        f"Anion gap = sodium − (chloride + bicarbonate) = {sodium:.6g} − ({chloride:.6g} + "
        f"{bicarbonate:.6g}) = {gap:.6g} mEq/L."
    )
    return gap


@calculator(source=f"{_FIGGE}.")
def albumin_corrected_anion_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Anion gap in mEq/L corrected for albumin: gap + 2.5 · (4 − albumin g/dL)."""
    return _corrected(
        _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say), albumin_g_dl, say
    )


def _corrected(gap: float, albumin: float, say: Say) -> float:
    corrected = gap + 2.5 * (4 - albumin)
    say(
        f"Corrected gap = gap + 2.5 × (4 − albumin) = {gap:.6g} + 2.5 × (4 − {albumin:.6g}) = "
        f"{corrected:.6g} mEq/L."
    )
    return corrected


def _delta_gap(gap: float, say: Say) -> float:
    delta = gap - _NORMAL_GAP
    say(
        f"Delta gap = gap − {_NORMAL_GAP} = {gap:.6g} − {_NORMAL_GAP} = {delta:.6g} mEq/L."
    )
    return delta


def _delta_ratio(delta: float, bicarbonate_mmol_l: float, say: Say) -> float:
    """The delta gap over the fall of bicarbonate from normal.

    It has no value where bicarbonate is normal, and the other sign where it is above.
    """
    fall = _NORMAL_BICARBONATE - bicarbonate_mmol_l
    if fall == 0:
        raise CalculatorInputError(
            f"Bicarbonate: the delta ratio divides by {_NORMAL_BICARBONATE} − bicarbonate and has "
            f"no value at {_NORMAL_BICARBONATE} mmol/L; got {bicarbonate_mmol_l:g} mmol/L. Use the "
            "delta gap"
        )

    ratio = delta / fall
    say(
        f"Delta ratio = delta gap / ({_NORMAL_BICARBONATE} − bicarbonate) = {delta:.6g} / "
        f"({_NORMAL_BICARBONATE} − {bicarbonate_mmol_l:.6g}) = {ratio:.6g}."
    )
    return ratio


@calculator(source=_DELTA_SOURCE)
def delta_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    say: Say = quiet,
) -> float:
    """Delta gap in mEq/L: anion gap − 12."""
    gap = _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say)
    return _delta_gap(gap, say)


@calculator(source=_RATIO_SOURCE)
def delta_ratio(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    say: Say = quiet,
) -> float:
    """Delta ratio: (anion gap − 12) / (24 − HCO₃)."""
    gap = _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say)
    return _delta_ratio(_delta_gap(gap, say), bicarbonate_mmol_l, say)


@calculator(source=f"{_FIGGE}; {_DELTA_SOURCE}")
def albumin_corrected_delta_gap(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Delta gap in mEq/L of the albumin-corrected anion gap: corrected gap − 12."""
    gap = _corrected(
        _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say), albumin_g_dl, say
    )
    return _delta_gap(gap, say)


@calculator(source=f"{_FIGGE}; {_RATIO_SOURCE}")
def albumin_corrected_delta_ratio(
    *,
    sodium_mmol_l: float,
    chloride_mmol_l: float,
    bicarbonate_mmol_l: float,
    albumin_g_dl: float,
    say: Say = quiet,
) -> float:
    """Delta ratio of the albumin-corrected anion gap: (corrected gap − 12) / (24 − HCO₃)."""
    gap = _corrected(
        _gap(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l, say), albumin_g_dl, say
    )
    return _delta_ratio(_delta_gap(gap, say), bicarbonate_mmol_l, say)


@calculator(source="Matthews DR et al. Diabetologia 1985;28:412-419.")
def homa_ir(
    *, insulin_micro_iu_ml: float, glucose_mg_dl: float, say: Say = quiet
) -> float:
    """Insulin resistance: fasting insulin µIU/mL · fasting glucose mg/dL / 405."""
    index = insulin_micro_iu_ml * glucose_mg_dl / 405
    say(
        f"HOMA-IR = insulin × glucose / 405 = {insulin_micro_iu_ml:.6g} × {glucose_mg_dl:.6g} / "
        f"405 = {index:.6g}."
    )
    return index


@calculator(source="Friedewald WT et al. Clin Chem 1972;18:499-502.")
def ldl_friedewald(
    *,
    total_cholesterol_mg_dl: float,
    hdl_mg_dl: float,
    triglycerides_mg_dl: float,
    say: Say = quiet,
) -> float:
    """LDL cholesterol in mg/dL: total − HDL − triglycerides/5, for triglycerides up to 400 mg/dL."""
    ldl = total_cholesterol_mg_dl - hdl_mg_dl - triglycerides_mg_dl / 5
    say(
        f"LDL = total cholesterol − HDL − triglycerides / 5 = {total_cholesterol_mg_dl:.6g} − "
        f"{hdl_mg_dl:.6g} − {triglycerides_mg_dl:.6g} / 5 = {ldl:.6g} mg/dL."
    )
    return ldl
