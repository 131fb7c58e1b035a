"""Kidney and liver: clearance, filtration rate, excretion of sodium; fibrosis, MELD, Child-Pugh."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.inputs import Input, fold
from medical_tasks.calculators.person import (
    adjusted_body_weight,
    body_mass_index,
    ideal_body_weight,
)
from medical_tasks.calculators.shared_inputs import Sex
from medical_tasks.calculators.steps import Bands, Points, Say, quiet
from medical_tasks.calculators.units import CalculatorInputError


@calculator(
    source="Cockcroft DW, Gault MH. Nephron 1976;16:31-41; weight by BMI class (WHO).",
    valid_when={
        "height_cm": lambda values: (
            values["weight_kg"] >= 18.5 * (values["height_cm"] / 100) ** 2
        )
    },
)
def creatinine_clearance(
    *,
    sex: Sex,
    age_years: float,
    weight_kg: float,
    height_cm: float,
    creatinine_mg_dl: float,
    say: Say = quiet,
) -> float:
    """Creatinine clearance in mL/min: (140 − age) · W / (72 · Scr), times 0.85 for women.

    W depends on the BMI class of the WHO: under 18.5 the actual weight; 18.5 to under
    25 the smaller of ideal and actual weight; 25 and more the adjusted weight.
    """
    index = body_mass_index(weight_kg=weight_kg, height_cm=height_cm, say=say)
    if index < 18.5:
        weight = weight_kg
        say(f"BMI under 18.5, underweight: the actual weight counts, {weight:.6g} kg.")
    elif index < 25:
        weight = min(
            ideal_body_weight(sex=sex, height_cm=height_cm, say=say), weight_kg
        )
        say(
            "BMI 18.5 to under 25, normal: the smaller of ideal and actual weight counts, "
            f"{weight:.6g} kg."
        )
    else:
        say("BMI 25 or more, overweight: the adjusted weight counts.")
        weight = adjusted_body_weight(
            sex=sex, weight_kg=weight_kg, height_cm=height_cm, say=say
        )

    factor = 1.0 if sex == "male" else 0.85
    clearance = (140 - age_years) * weight * factor / (72 * creatinine_mg_dl)
    say(
        f"CrCl = (140 − age) × weight × {factor:g} ({sex}) / (72 × creatinine) = (140 − "
        f"{age_years:.6g}) × {weight:.6g} × {factor:g} / (72 × {creatinine_mg_dl:.6g}) = "
        f"{clearance:.6g} mL/min."
    )

    return clearance


@calculator(source="Inker LA et al. N Engl J Med 2021;385:1737-1749.")
def ckd_epi_2021(
    *, sex: Sex, age_years: float, creatinine_mg_dl: float, say: Say = quiet
) -> float:
    """Estimated GFR in mL/min/1.73 m², CKD-EPI creatinine equation of 2021 (without race).

    142 · min(Scr/κ, 1)^α · max(Scr/κ, 1)^−1.200 · 0.9938^age · 1.012 for women, with κ
    0.7 and α −0.241 for women, κ 0.9 and α −0.302 for men.
    """
    kappa, alpha, factor = (
        (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    )
    exponent = alpha if creatinine_mg_dl <= kappa else -1.2
    say(
        f"{sex.capitalize()} with creatinine {creatinine_mg_dl:.6g} "
        f"{'at most' if exponent == alpha else 'above'} {kappa} mg/dL: κ = {kappa}, exponent "
        f"{exponent}, sex factor {factor:g}."
    )
    rate: float = (
        142 * (creatinine_mg_dl / kappa) ** exponent * 0.9938**age_years * factor
    )
    say(
        "eGFR = 142 × (creatinine / κ)^exponent × 0.9938^age × sex factor = 142 × "
        f"({creatinine_mg_dl:.6g} / {kappa})^{exponent} × 0.9938^{age_years:.6g} × {factor:g} = "
        f"{rate:.6g} mL/min/1.73 m^2."
    )

    return rate


@dataclass(frozen=True, kw_only=True)
class _Race(Input):
    """Race as the MDRD study recorded it: Black or not."""

    absent: object = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "absent_line", f"{self.name}: not given, no race factor."
        )

    def read(self, raw: object, say: Say) -> bool:
        """Whether the race factor applies."""
        if isinstance(raw, bool) or not isinstance(raw, str):
            raise CalculatorInputError(
                f"{self.name}: expected {self.expects}, got {raw!r}"
            )
        black = fold(raw) in {"black", "africanamerican", "blackorafricanamerican"}
        say(f"{self.name}: {raw}, {'the' if black else 'no'} race factor applies.")
        return black

    @property
    def expects(self) -> str:
        """A word; only one matters."""
        return "a word ('Black' or another)"

    def written(self, value: bool) -> object:
        """See `Input.written`."""
        return "Black" if value else "another"


@calculator(
    source="Levey AS et al. Ann Intern Med 2006;145:247-254 (IDMS-traceable four-variable equation).",
    inputs=(_Race(parameter="black", name="Race", aliases=("ethnicity",)),),
)
def mdrd_gfr(
    *,
    sex: Sex,
    age_years: float,
    creatinine_mg_dl: float,
    black: bool,
    say: Say = quiet,
) -> float:
    """Estimated GFR in mL/min/1.73 m²: 175 · Scr^−1.154 · age^−0.203 · 0.742 for women · 1.212 for Black patients.

    The race factor belongs to the published equation; NKF and ASN advise against it
    since 2021.

    Raises:
        CalculatorInputError: the age is 0, for which the equation has no value.
    """
    if age_years <= 0:
        raise CalculatorInputError(
            f"age: the MDRD equation needs an age above 0; got {age_years:g} years"
        )

    factor = (0.742 if sex == "female" else 1.0) * (1.212 if black else 1.0)
    rate: float = 175 * creatinine_mg_dl**-1.154 * age_years**-0.203 * factor
    say(
        f"Factors: {'0.742 (female)' if sex == 'female' else '1 (male)'}"
        f"{', 1.212 (Black; obsolete since NKF/ASN 2021)' if black else ''}."
    )
    say(
        "eGFR = 175 × creatinine^−1.154 × age^−0.203 × factors = 175 × "
        f"{creatinine_mg_dl:.6g}^−1.154 × {age_years:.6g}^−0.203 × {factor:.6g} = {rate:.6g} "
        "mL/min/1.73 m^2."
    )

    return rate


@calculator(source="Espinel CH. JAMA 1976;236:579-581.")
def fractional_excretion_of_sodium(
    *,
    sodium_mmol_l: float,
    creatinine_mg_dl: float,
    urine_sodium_mmol_l: float,
    urine_creatinine_mg_dl: float,
    say: Say = quiet,
) -> float:
    """Fractional excretion of sodium in percent: 100 · (UNa · PCr) / (PNa · UCr)."""
    percent = (
        100
        * (urine_sodium_mmol_l * creatinine_mg_dl)
        / (sodium_mmol_l * urine_creatinine_mg_dl)
    )
    say(
        "FENa = 100 × (urine sodium × creatinine) / (sodium × urine creatinine) = 100 × "
        f"({urine_sodium_mmol_l:.6g} × {creatinine_mg_dl:.6g}) / ({sodium_mmol_l:.6g} × "
        f"{urine_creatinine_mg_dl:.6g}) = {percent:.6g} %."
    )

    return percent


@calculator(source="Sterling RK et al. Hepatology 2006;43:1317-1325.")
def fib_4(
    *,
    age_years: float,
    ast_u_l: float,
    alt_u_l: float,
    platelets_10e9_l: float,
    say: Say = quiet,
) -> float:
    """FIB-4 index: age · AST / (platelets 10⁹/L · √ALT)."""
    index = age_years * ast_u_l / (platelets_10e9_l * math.sqrt(alt_u_l))
    say(
        f"FIB-4 = age × AST / (platelets × √ALT) = {age_years:.6g} × {ast_u_l:.6g} / "
        f"({platelets_10e9_l:.6g} × √{alt_u_l:.6g}) = {index:.6g}."
    )
    return index


@calculator(
    source="OPTN policy 9 (MELD with sodium, January 2016); Kim WR et al. N Engl J Med 2008;359:1018-1026."
)
def meld_na(
    *,
    creatinine_mg_dl: float,
    bilirubin_mg_dl: float,
    inr: float,
    sodium_mmol_l: float,
    dialysis_twice: bool,
    continuous_hemodialysis: bool,
    say: Say = quiet,
) -> float:
    """MELD with sodium, 6 to 40.

    Creatinine, bilirubin and INR count as at least 1.0, creatinine as at most 4.0 and
    as 4.0 with dialysis twice or 24 hours of continuous hemodialysis in the past week;
    sodium is kept within 125 and 137. MELD(i) is 0.957 · ln Cr + 0.378 · ln bilirubin +
    1.120 · ln INR + 0.643, rounded to one decimal and multiplied by 10. When it is
    above 11, 1.32 · (137 − Na) − 0.033 · MELD(i) · (137 − Na) is added. The result is
    rounded and at most 40.
    """
    if dialysis_twice or continuous_hemodialysis:
        creatinine = 4.0
        say("Dialysis in the past week: creatinine counts as 4.0 mg/dL.")
    else:
        creatinine = min(max(creatinine_mg_dl, 1.0), 4.0)

    bilirubin = max(bilirubin_mg_dl, 1.0)
    ratio = max(inr, 1.0)
    sodium = min(max(sodium_mmol_l, 125.0), 137.0)
    say(
        f"Within limits: creatinine {creatinine:.6g} (1 to 4), bilirubin {bilirubin:.6g} (1 or "
        f"more), INR {ratio:.6g} (1 or more), sodium {sodium:.6g} (125 to 137)."
    )
    exact = (
        0.957 * math.log(creatinine)
        + 0.378 * math.log(bilirubin)
        + 1.120 * math.log(ratio)
        + 0.643
    )
    # one decimal, times 10, in one step: a whole number without binary noise
    initial = round(exact * 10)
    say(
        f"MELD(i) = 0.957 × ln({creatinine:.6g}) + 0.378 × ln({bilirubin:.6g}) + 1.120 × "
        f"ln({ratio:.6g}) + 0.643 = {exact:.6g}, rounded to one decimal and times 10 = {initial}."
    )
    if initial <= 11:
        say("MELD(i) is not above 11: no sodium term.")
        return float(initial)

    missing = 137 - sodium
    meld = initial + 1.32 * missing - 0.033 * initial * missing
    score = min(round(meld), 40)
    say(
        f"MELD = {initial} + 1.32 × (137 − {sodium:.6g}) − 0.033 × {initial} × (137 − "
        f"{sodium:.6g}) = {meld:.6g}, rounded and at most 40 = {score}."
    )

    return float(score)


Ascites: TypeAlias = Literal["absent", "slight", "moderate"]
Encephalopathy: TypeAlias = Literal["none", "grade 1-2", "grade 3-4"]


_BILIRUBIN: Final = Bands("Bilirubin", "mg/dL", 1, (2, 2), (">", 3, 3))
_ALBUMIN: Final = Bands("Albumin", "g/dL", 3, (2.8, 2), (">", 3.5, 1))
# The classes of INR in use for those of the prothrombin time.
_INR: Final = Bands("INR", "", 1, (1.7, 2), (">", 2.3, 3))
_ASCITES_POINTS: Final = {"absent": 1, "slight": 2, "moderate": 3}
_ENCEPHALOPATHY_POINTS: Final = {"none": 1, "grade 1-2": 2, "grade 3-4": 3}


@calculator(source="Pugh RNH et al. Br J Surg 1973;60:646-649.")
def child_pugh(
    *,
    bilirubin_mg_dl: float,
    albumin_g_dl: float,
    inr: float,
    ascites: Ascites,
    encephalopathy: Encephalopathy,
    say: Say = quiet,
) -> int:
    """Child-Pugh score, 5 to 15.

    Bilirubin under 2 mg/dL 1, 2 to 3 2, over 3 3. Albumin over 3.5 g/dL 1, 2.8 to 3.5 2, under 2.8
    3. INR under 1.7 1, 1.7 to 2.3 2, over 2.3 3. Ascites absent 1, slight 2, moderate or more 3.
    Encephalopathy none 1, grade 1 or 2 2, grade 3 or 4 3.
    """
    points = Points(say)
    _BILIRUBIN.count(bilirubin_mg_dl, points)
    _ALBUMIN.count(albumin_g_dl, points)
    _INR.count(inr, points)
    points.add(f"Ascites {ascites}", _ASCITES_POINTS[ascites])
    points.add(
        f"Encephalopathy {encephalopathy}", _ENCEPHALOPATHY_POINTS[encephalopathy]
    )

    return points.score
