"""Blood chemistry, kidney, liver and doses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import medical_tasks.lab.v1_labels.entities as compounds
import medical_tasks.lab.v1_labels.person as person
from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.lab.v1_labels.entities import (
    Entities,
    amount_in,
    concentration,
    count_per,
    exact_concentration,
    positive,
    round_v1,
)
from medical_tasks.lab.v1_labels.rules import (
    CREATININE_STEPS,
    GLUCOSE_STEPS,
    LOST_DIGITS,
    rule,
)

_BUN = "Blood Urea Nitrogen (BUN)"


@rule(
    7,
    "Calcium Correction for Hypoalbuminemia",
    quirk="calcium in mmol/L comes in steps of 4 mg/dL",
)
def corrected_calcium(entities: Entities) -> float:
    """Calcium corrected for albumin, in mg/dL.

    From mmol/L only multiples of 4 mg/dL come out.
    """
    albumin = concentration(entities, "Albumin", compounds.ALBUMIN, "g/dL")
    return round_v1(
        0.8 * (4.0 - albumin)
        + concentration(entities, "Calcium", compounds.CALCIUM, "mg/dL")
    )


@rule(26, "Sodium Correction for Hyperglycemia", quirk=GLUCOSE_STEPS)
def corrected_sodium(entities: Entities) -> float:
    """Sodium corrected for glucose; from mmol/L glucose comes in steps of 18 mg/dL."""
    sodium = concentration(entities, "Sodium", compounds.SODIUM, "mEq/L")
    return round_v1(
        sodium
        + 0.024 * (concentration(entities, "Glucose", compounds.GLUCOSE, "mg/dL") - 100)
    )


@rule(
    30,
    "Serum Osmolality",
    quirk=f"BUN in mmol/L comes in steps of 2.8 mg/dL; {GLUCOSE_STEPS}",
)
def osmolality(entities: Entities) -> float:
    """2 · Na + BUN / 2.8 + glucose / 18."""
    sodium = concentration(entities, "Sodium", compounds.SODIUM, "mmol/L")
    bun = concentration(entities, _BUN, compounds.UREA_NITROGEN, "mg/dL")
    return round_v1(
        2 * sodium
        + bun / 2.8
        + concentration(entities, "Glucose", compounds.GLUCOSE, "mg/dL") / 18
    )


@rule(
    31,
    "HOMA-IR (Homeostatic Model Assessment for Insulin Resistance)",
    quirk=f"insulin in pmol/L is multiplied by 6 instead of divided; {GLUCOSE_STEPS}",
)
def homa_ir(entities: Entities) -> float:
    """Insulin · glucose / 405, with insulin in pmol/L multiplied by 6 instead of divided."""
    insulin, unit = entities.pair("Insulin")
    if unit == "pmol/L":
        entities.note(f"Insulin: {insulin:g} pmol/L multiplied by 6 instead of divided")
        insulin = insulin * 6
    elif unit == "ng/mL":
        insulin = insulin * 24.8
    elif unit != "µIU/mL":
        entities.note(f"Insulin: {insulin:g} {unit} counts as µIU/mL")

    return round_v1(
        insulin * concentration(entities, "Glucose", compounds.GLUCOSE, "mg/dL") / 405
    )


@rule(
    44,
    "LDL Calculated",
    quirk="lipids in mmol/L come in steps of 38.7 (cholesterol) and 86.1 mg/dL (triglycerides)",
)
def ldl(entities: Entities) -> float:
    """Total cholesterol − HDL − triglycerides / 5.

    From mmol/L cholesterol comes in steps of 38.7 mg/dL.
    """
    total = concentration(entities, "Total cholesterol", compounds.CHOLESTEROL, "mg/dL")
    hdl = concentration(
        entities, "high-density lipoprotein cholesterol", compounds.CHOLESTEROL, "mg/dL"
    )

    return round_v1(
        total
        - hdl
        - concentration(entities, "Triglycerides", compounds.TRIGLYCERIDES, "mg/dL") / 5
    )


@rule(39, "Anion Gap", quirk=LOST_DIGITS)
def anion_gap(entities: Entities) -> float:
    """Na − (Cl + HCO₃)."""
    sodium = concentration(entities, "Sodium", compounds.SODIUM, "mEq/L")
    chloride = concentration(entities, "Chloride", compounds.CHLORIDE, "mEq/L")
    return round_v1(
        sodium
        - (
            chloride
            + concentration(entities, "Bicarbonate", compounds.BICARBONATE, "mEq/L")
        )
    )


@rule(65, "Albumin Corrected Anion Gap", quirk=LOST_DIGITS)
def albumin_corrected_anion_gap(entities: Entities) -> float:
    """Anion gap + 2.5 · (4 − albumin); the rule had no molar mass for albumin."""
    gap = anion_gap(entities)
    return round_v1(
        gap
        + 2.5
        * (4 - concentration(entities, "Albumin", compounds.ALBUMIN_BY_MASS, "g/dL"))
    )


def delta(
    entities: Entities, gap: Callable[[Entities], float], *, ratio: bool = False
) -> float:
    """A gap − 12; with `ratio`, that / (24 − HCO₃)."""
    above = round_v1(gap(entities) - 12)
    return round_v1(above / _bicarbonate_deficit(entities)) if ratio else above


rule(63, "Delta Gap", quirk=LOST_DIGITS)(partial(delta, gap=anion_gap))
rule(64, "Delta Ratio", quirk=LOST_DIGITS)(partial(delta, gap=anion_gap, ratio=True))
rule(66, "Albumin Corrected Delta Gap", quirk=LOST_DIGITS)(
    partial(delta, gap=albumin_corrected_anion_gap)
)
rule(67, "Albumin Corrected Delta Ratio", quirk=LOST_DIGITS)(
    partial(delta, gap=albumin_corrected_anion_gap, ratio=True)
)


def _bicarbonate_deficit(entities: Entities) -> float:
    """24 − HCO₃; here alone the labels converted without rounding."""
    value, unit = entities.pair("Bicarbonate")
    deficit = 24 - exact_concentration(value, unit, "mEq/L", compounds.BICARBONATE)
    if deficit == 0:
        raise CalculatorInputError(
            f"Bicarbonate: the label rule divides by 24 − HCO₃, which is 0; got {value:g} {unit}"
        )
    return deficit


def creatinine_mg_dl(entities: Entities, name: str = "creatinine") -> float:
    """Creatinine in mg/dL; from µmol/L only multiples of 0.1 come out."""
    return concentration(entities, name, compounds.CREATININE, "mg/dL")


@rule(
    2,
    "Creatinine Clearance (Cockcroft-Gault Equation)",
    quirk=f"a BMI of 24.9 to 25 counts as overweight; {CREATININE_STEPS}",
)
def creatinine_clearance(entities: Entities) -> float:
    """Cockcroft-Gault, with overweight from a BMI above 24.9."""
    age = person.age_years(entities)
    bmi, ideal = person.body_mass_index(entities), person.ideal_body_weight(entities)
    adjusted, weight = person.adjusted_body_weight(entities), person.weight_kg(entities)
    if bmi < 18.5:
        used = weight
    elif bmi <= 24.9:
        used = min(ideal, weight)
    else:
        used = adjusted
        if bmi < 25:
            entities.note(f"a BMI of {bmi:g} counts as overweight")

    factor = 1 if entities.sex() == "Male" else 0.85
    return round_v1(
        (140 - age)
        * used
        * factor
        / (positive(creatinine_mg_dl(entities), "creatinine") * 72)
    )


@rule(
    3,
    "CKD-EPI Equations for Glomerular Filtration Rate",
    quirk=f"kappa 0.7 instead of 0.9 for men with creatinine up to 0.9 mg/dL; {CREATININE_STEPS}",
)
def ckd_epi(entities: Entities) -> float:
    """CKD-EPI 2021 with kappa 0.7 for men whose creatinine is at most 0.9 mg/dL (right: 0.9)."""
    age, creatinine = (
        person.age_years(entities),
        positive(creatinine_mg_dl(entities), "creatinine"),
    )
    if entities.sex() == "Female":
        kappa, power, factor = 0.7, -0.241 if creatinine <= 0.7 else -1.2, 1.012
    elif creatinine <= 0.9:
        kappa, power, factor = 0.7, -0.302, 1.0
        entities.note(
            "kappa 0.7 instead of 0.9 for a man with creatinine up to 0.9 mg/dL"
        )
    else:
        kappa, power, factor = 0.9, -1.2, 1.0

    return round_v1(142 * (creatinine / kappa) ** power * 0.9938**age * factor)


@rule(9, "MDRD GFR Equation", quirk=CREATININE_STEPS)
def mdrd(entities: Entities) -> float:
    """MDRD with the race factor for the exact word `Black`."""
    creatinine, age = (
        positive(creatinine_mg_dl(entities), "creatinine"),
        positive(person.age_years(entities), "age"),
    )
    race = 1.212 if entities.find("Race") == "Black" else 1
    sex = 0.742 if entities.stated_sex() == "Female" else 1

    return round_v1(
        175
        * math.exp(math.log(creatinine) * -1.154)
        * math.exp(math.log(age) * -0.203)
        * race
        * sex
    )


@rule(38, "Free Water Deficit")
def free_water_deficit(entities: Entities) -> float:
    """Body water · kg · (Na / 140 − 1)."""
    age, male = person.age_years(entities), entities.sex() == "Male"
    if age < 18:
        water = 0.6
    elif age < 65:
        water = 0.6 if male else 0.5
    else:
        water = 0.5 if male else 0.45
    sodium = concentration(entities, "Sodium", compounds.SODIUM, "mmol/L")
    return round_v1(water * person.weight_kg(entities) * (sodium / 140 - 1))


@rule(40, "Fractional Excretion of Sodium (FENa)", quirk=CREATININE_STEPS)
def fractional_excretion(entities: Entities) -> float:
    """Fractional excretion of sodium, in %."""
    sodium = positive(
        concentration(entities, "Sodium", compounds.SODIUM, "mEq/L"), "Sodium"
    )
    creatinine = creatinine_mg_dl(entities)
    urine_sodium = concentration(
        entities, "Urine sodium", compounds.URINE_SODIUM, "mEq/L"
    )
    urine_creatinine = positive(
        creatinine_mg_dl(entities, "Urine creatinine"), "Urine creatinine"
    )
    return round_v1((creatinine * urine_sodium) / (sodium * urine_creatinine) * 100)


_INR: Final = "international normalized ratio"
_ASCITES: Final = {"Absent": 1, "Slight": 2, "Moderate": 3}
_ENCEPHALOPATHY: Final = {"No Encephalopathy": 1, "Grade 1-2": 2, "Grade 3-4": 3}
_DIALYSIS: Final = (
    "Dialysis at least twice in the past week",
    "Continuous veno-venous hemodialysis for ≥24 hours in the past week",
)


@rule(19, "Fibrosis-4 (FIB-4) Index for Liver Fibrosis")
def fib_4(entities: Entities) -> float:
    """Age · AST / (platelets 10⁹/L · √ALT)."""
    age, ast = person.age_years(entities), entities.first("Aspartate aminotransferase")
    alt = positive(
        entities.first("Alanine aminotransferase"), "Alanine aminotransferase"
    )
    billions = (
        positive(count_per(entities, "Platelet count", "L"), "Platelet count") / 1e9
    )
    return round_v1(age * ast / (billions * math.sqrt(alt)))


@rule(
    15,
    "Child-Pugh Score for Cirrhosis Mortality",
    quirk=(
        "ascites in the file's lower-case words and 'Grade 0' score 0; bilirubin of exactly 2"
        " scores 0 and of 3 scores 3, albumin of exactly 2.8 scores 3; bilirubin in µmol/L is"
        " read 6 % low"
    ),
)
def child_pugh(entities: Entities) -> int:
    """Ascites and encephalopathy by exact words; the limits of bilirubin and albumin are shifted."""
    inr = entities.bare(_INR)
    bilirubin = concentration(
        entities, "Bilirubin", compounds.BILIRUBIN_CHILD_PUGH, "mg/dL"
    )
    albumin = concentration(entities, "Albumin", compounds.ALBUMIN, "g/dL")
    points = 1 if inr < 1.7 else 2 if inr <= 2.3 else 3
    if bilirubin in (2, 3):
        entities.note(
            f"bilirubin of exactly {bilirubin:g} mg/dL scores {0 if bilirubin == 2 else 3}"
        )

    if bilirubin != 2:
        points += 1 if bilirubin < 2 else 2 if bilirubin < 3 else 3
    if albumin == 2.8:
        entities.note("albumin of exactly 2.8 g/dL scores 3")

    points += 1 if albumin > 3.5 else 2 if albumin > 2.8 else 3
    return (
        points
        + _class(entities, "Ascites", _ASCITES)
        + _class(entities, "Encephalopathy", _ENCEPHALOPATHY)
    )


def _class(entities: Entities, name: str, scores: Mapping[str, int]) -> int:
    """Points of a word; 1 when not given, 0 for a word the rule did not know."""
    if not entities.has(name):
        return 1
    word = entities.text(name) or ""
    if word not in scores:
        entities.note(
            f"{name}: {word!r} scores 0, the rule knew only {', '.join(scores)}"
        )
    return scores.get(word, 0)


@rule(
    23,
    "MELD Na (UNOS/OPTN)",
    quirk=(
        "MELD(i) is rounded to a multiple of 10; dialysis is ignored when creatinine is below"
        " 1 mg/dL"
    ),
)
def meld_na(entities: Entities) -> float:
    """MELD(i) / 10 is rounded to a whole number, so labels start from multiples of 10."""
    creatinine = creatinine_mg_dl(entities)
    dialysis = entities.count(_DIALYSIS) > 0
    if creatinine < 1:
        creatinine = 1.0
        if dialysis:
            entities.note("dialysis ignored, because creatinine is below 1 mg/dL")
    elif creatinine > 4 or dialysis:
        creatinine = 4.0

    bilirubin = max(
        concentration(entities, "Bilirubin", compounds.BILIRUBIN_BY_MASS, "mg/dL"), 1.0
    )
    inr = max(entities.bare(_INR), 1.0)
    sodium = min(
        max(concentration(entities, "Sodium", compounds.SODIUM, "mEq/L"), 125), 137
    )
    initial = (
        0.957 * math.log(creatinine)
        + 0.378 * math.log(bilirubin)
        + 1.120 * math.log(inr)
        + 0.643
    )
    tens = round(initial) * 10
    if tens != round(initial, 1) * 10:
        entities.note(
            f"MELD(i) / 10 of {initial:.2f} rounded to {round(initial)} instead of one decimal"
        )

    if tens <= 11:
        return tens

    return min(round(tens + 1.32 * (137 - sodium) - 0.033 * tens * (137 - sodium)), 40)


_STEROIDS: Final = {
    "Betamethasone IV": 1,
    "Cortisone PO": 33.33,
    "Dexamethasone IV": 1,
    "Dexamethasone PO": 1,
    "Hydrocortisone IV": 26.67,
    "Hydrocortisone PO": 26.67,
    "MethylPrednisoLONE IV": 5.33,
    "MethylPrednisoLONE PO": 5.33,
    "PrednisoLONE PO": 6.67,
    "PredniSONE PO": 6.67,
    "Triamcinolone IV": 5.33,
}
_BUCCAL: Final = "FentaNYL buccal"
_PATCH: Final = "FentANYL patch"
_OPIOIDS: Final = {
    "Codeine": 0.15,
    _BUCCAL: 0.13,
    _PATCH: 2.4,
    "HYDROcodone": 1,
    "HYDROmorphone": 5,
    "Methadone": 4.7,
    "Morphine": 1,
    "OxyCODONE": 1.5,
    "OxyMORphone": 3,
    "Tapentadol": 0.4,
    "TraMADol": 0.2,
    "Buprenorphine": 10,
}


@rule(
    24,
    "Steroid Conversion Calculator",
    quirk="the ratio of potencies is rounded to 3 decimals (up to 1.3 % off)",
)
def steroid_conversion(entities: Entities) -> float:
    """The dose of the target steroid in mg, with the ratio of potencies rounded to 3 decimals."""
    values = entities.listed("input steroid")
    if len(values) != 3 or not isinstance(values[0], str):
        raise CalculatorInputError(
            "input steroid: the label rule needs [name with route, dose, unit]; got "
            f"{list(values)!r}"
        )

    dose, unit = Entities({"input steroid": values[1:]}).pair("input steroid")
    target = entities.text("target steroid")
    for name, drug in (("input steroid", values[0]), ("target steroid", target)):
        if drug not in _STEROIDS:
            raise CalculatorInputError(
                f"{name}: the label rule knew only {', '.join(_STEROIDS)}; got {drug!r}"
            )

    exact = _STEROIDS[str(target)] / _STEROIDS[values[0]]
    ratio = round_v1(exact)
    if abs(ratio - exact) > 1e-3 * exact:
        entities.note(f"ratio {exact:.5g} rounded to {ratio:g}")

    return round_v1(amount_in(dose, unit, "mg", "input steroid") * ratio)


@rule(
    49,
    "Morphine Milligram Equivalents (MME) Calculator",
    quirk="the fentanyl patch is taken as mg per dose × 2.4, a factor that is meant for µg/h",
)
def morphine_equivalents(entities: Entities) -> float:
    """The sum over drugs of dose · doses a day · factor; the fentanyl patch like a tablet, in mg."""
    total: float = 0
    for key in entities.raw:
        if "Day" in key:
            continue

        drug = key.split(" Dose")[0]
        if drug not in _OPIOIDS or not entities.has(f"{drug} Dose Per Day"):
            raise CalculatorInputError(
                f"{key}: the label rule needs '<drug> Dose' and '<drug> Dose Per Day', the drug "
                f"one of {', '.join(_OPIOIDS)}"
            )

        dose, unit = entities.pair(f"{drug} Dose")
        if drug == _PATCH:
            entities.note(
                "fentanyl patch: mg × doses a day × 2.4, a factor that is meant for µg/h"
            )

        dose = amount_in(dose, unit, "µg" if drug == _BUCCAL else "mg", key)
        total = round_v1(
            total + entities.first(f"{drug} Dose Per Day") * _OPIOIDS[drug] * dose
        )

    return total
