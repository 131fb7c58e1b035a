"""Kidney: creatinine clearance, estimated glomerular filtration rate, fractional excretion of sodium."""

from __future__ import annotations

from dataclasses import dataclass, replace

from medical_tasks.calculators.anthropometry import (
    DEVINE_HEIGHT,
    adjusted_body_weight,
    body_mass_index,
    ideal_body_weight,
)
from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import Input
from medical_tasks.calculators.labs import CREATININE_MG_DL, SODIUM_MMOL_L
from medical_tasks.calculators.names import fold
from medical_tasks.calculators.patient import AGE, HEIGHT, SEX, WEIGHT, Sex
from medical_tasks.calculators.trace import Say, quiet

__all__ = ["ckd_epi_2021", "creatinine_clearance", "fractional_excretion_of_sodium", "mdrd_gfr"]


@calculator(
    id=2,
    name="Creatinine Clearance (Cockcroft-Gault Equation)",
    category="lab",
    output="decimal",
    unit="mL/min",
    inputs=(SEX, AGE, WEIGHT, HEIGHT, CREATININE_MG_DL),
    source="Cockcroft DW, Gault MH. Nephron 1976;16:31-41; weight by BMI class (WHO).",
    valid=(
        Valid(parameter="age_years", low=18, high=92, source="Cockcroft and Gault 1976: patients of 18 to 92"),
        replace(DEVINE_HEIGHT, when=lambda values: values["weight_kg"] >= 18.5 * (values["height_cm"] / 100) ** 2),
    ),
    aliases=("Cockcroft-Gault", "CrCl"),
)
def creatinine_clearance(
    *, sex: Sex, age_years: float, weight_kg: float, height_cm: float, creatinine_mg_dl: float, say: Say = quiet
) -> float:
    """Creatinine clearance in mL/min: (140 − age) · W / (72 · Scr), times 0.85 for women.

    W depends on the BMI class of the WHO: under 18.5 the actual weight; 18.5 to under 25 the smaller of ideal and actual
    weight; 25 and more the adjusted weight.

    Source: Cockcroft and Gault, Nephron 1976;16:31-41.
    """
    index = body_mass_index(weight_kg=weight_kg, height_cm=height_cm, say=say)
    if index < 18.5:
        weight = weight_kg
        say(f"BMI under 18.5, underweight: the actual weight counts, {weight:.6g} kg.")
    elif index < 25:
        weight = min(ideal_body_weight(sex=sex, height_cm=height_cm, say=say), weight_kg)
        say(f"BMI 18.5 to under 25, normal: the smaller of ideal and actual weight counts, {weight:.6g} kg.")
    else:
        say("BMI 25 or more, overweight: the adjusted weight counts.")
        weight = adjusted_body_weight(sex=sex, weight_kg=weight_kg, height_cm=height_cm, say=say)
    factor = 1.0 if sex == "male" else 0.85
    clearance = (140 - age_years) * weight * factor / (72 * creatinine_mg_dl)
    say(
        f"CrCl = (140 − age) × weight × {factor:g} ({sex}) / (72 × creatinine) = (140 − {age_years:.6g}) × {weight:.6g} × "
        f"{factor:g} / (72 × {creatinine_mg_dl:.6g}) = {clearance:.6g} mL/min."
    )
    return clearance


@calculator(
    id=3,
    name="CKD-EPI Equations for Glomerular Filtration Rate",
    category="lab",
    output="decimal",
    unit="mL/min/1.73 m^2",
    inputs=(SEX, AGE, CREATININE_MG_DL),
    source="Inker LA et al. N Engl J Med 2021;385:1737-1749.",
    valid=(Valid(parameter="age_years", low=18, source="Inker 2021: developed in adults"),),
    aliases=("CKD-EPI",),
)
def ckd_epi_2021(*, sex: Sex, age_years: float, creatinine_mg_dl: float, say: Say = quiet) -> float:
    """Estimated GFR in mL/min/1.73 m², CKD-EPI creatinine equation of 2021 (without race).

    142 · min(Scr/κ, 1)^α · max(Scr/κ, 1)^−1.200 · 0.9938^age · 1.012 for women, with κ 0.7 and α −0.241 for women, κ 0.9
    and α −0.302 for men.

    Source: Inker et al., N Engl J Med 2021;385:1737-1749.
    """
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    exponent = alpha if creatinine_mg_dl <= kappa else -1.2
    say(
        f"{sex.capitalize()} with creatinine {creatinine_mg_dl:.6g} {'at most' if exponent == alpha else 'above'} "
        f"{kappa} mg/dL: κ = {kappa}, exponent {exponent}, sex factor {factor:g}."
    )
    rate: float = 142 * (creatinine_mg_dl / kappa) ** exponent * 0.9938**age_years * factor
    say(
        f"eGFR = 142 × (creatinine / κ)^exponent × 0.9938^age × sex factor = 142 × ({creatinine_mg_dl:.6g} / {kappa})^"
        f"{exponent} × 0.9938^{age_years:.6g} × {factor:g} = {rate:.6g} mL/min/1.73 m^2."
    )
    return rate


@dataclass(frozen=True, kw_only=True)
class _Race(Input):
    """Race as the MDRD study recorded it: Black or not."""

    absent: object = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "absent_line", f"{self.name}: not given, no race factor.")

    def read(self, raw: object, say: Say) -> bool:
        """Whether the race factor applies."""
        if isinstance(raw, bool) or not isinstance(raw, str):
            raise CalculatorInputError(f"{self.name}: expected {self.expects}, got {raw!r}")
        black = fold(raw) in {"black", "africanamerican", "blackorafricanamerican"}
        say(f"{self.name}: {raw}, {'the' if black else 'no'} race factor applies.")
        return black

    @property
    def expects(self) -> str:
        """A word; only one matters."""
        return "a word ('Black' or another)"


@calculator(
    id=9,
    name="MDRD GFR Equation",
    category="lab",
    output="decimal",
    unit="mL/min/1.73 m^2",
    inputs=(SEX, AGE, CREATININE_MG_DL, _Race(parameter="black", name="Race", aliases=("ethnicity",))),
    source="Levey AS et al. Ann Intern Med 2006;145:247-254 (IDMS-traceable four-variable equation).",
    valid=(Valid(parameter="age_years", low=18, high=70, source="MDRD Study, Ann Intern Med 1999;130:461-470"),),
    aliases=("MDRD",),
)
def mdrd_gfr(*, sex: Sex, age_years: float, creatinine_mg_dl: float, black: bool, say: Say = quiet) -> float:
    """Estimated GFR in mL/min/1.73 m²: 175 · Scr^−1.154 · age^−0.203 · 0.742 for women · 1.212 for Black patients.

    The race factor belongs to the published equation; NKF and ASN advise against it since 2021.

    Source: Levey et al., Ann Intern Med 2006;145:247-254.

    Raises:
        CalculatorInputError: the age is 0, for which the equation has no value.
    """
    if age_years <= 0:
        raise CalculatorInputError(f"age: the MDRD equation needs an age above 0; got {age_years:g} years")
    factor = (0.742 if sex == "female" else 1.0) * (1.212 if black else 1.0)
    rate: float = 175 * creatinine_mg_dl**-1.154 * age_years**-0.203 * factor
    say(
        f"Factors: {'0.742 (female)' if sex == 'female' else '1 (male)'}"
        f"{', 1.212 (Black; obsolete since NKF/ASN 2021)' if black else ''}."
    )
    say(
        f"eGFR = 175 × creatinine^−1.154 × age^−0.203 × factors = 175 × {creatinine_mg_dl:.6g}^−1.154 × "
        f"{age_years:.6g}^−0.203 × {factor:.6g} = {rate:.6g} mL/min/1.73 m^2."
    )
    return rate


@calculator(
    id=40,
    name="Fractional Excretion of Sodium (FENa)",
    category="lab",
    output="decimal",
    unit="%",
    inputs=(
        SODIUM_MMOL_L,
        CREATININE_MG_DL,
        SODIUM_MMOL_L.named("Urine sodium", "UNa", parameter="urine_sodium_mmol_l").within(0.1, 1000),
        CREATININE_MG_DL.named("Urine creatinine", "UCr", parameter="urine_creatinine_mg_dl").within(0.1, 2000),
    ),
    source="Espinel CH. JAMA 1976;236:579-581.",
    aliases=("FENa",),
)
def fractional_excretion_of_sodium(
    *,
    sodium_mmol_l: float,
    creatinine_mg_dl: float,
    urine_sodium_mmol_l: float,
    urine_creatinine_mg_dl: float,
    say: Say = quiet,
) -> float:
    """Fractional excretion of sodium in percent: 100 · (UNa · PCr) / (PNa · UCr).

    Source: Espinel, JAMA 1976;236:579-581.
    """
    percent = 100 * (urine_sodium_mmol_l * creatinine_mg_dl) / (sodium_mmol_l * urine_creatinine_mg_dl)
    say(
        f"FENa = 100 × (urine sodium × creatinine) / (sodium × urine creatinine) = 100 × ({urine_sodium_mmol_l:.6g} × "
        f"{creatinine_mg_dl:.6g}) / ({sodium_mmol_l:.6g} × {urine_creatinine_mg_dl:.6g}) = {percent:.6g} %."
    )
    return percent
