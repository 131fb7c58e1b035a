"""What the v1.0 labels of MedCalc-Bench say, mistakes included: to show where a label comes from.

    from medical_tasks.lab.v1_labels import QUIRKS, label

    result = label(21, {"Best eye response": "eye opening to pain", "Best verbal response":
    "confused",
                        "Best motor response": "localizes pain"})
    result.answer    # 15, where the Glasgow Coma Score is 11
    result.note      # "verbal score counted twice"
    QUIRKS[21]       # how labels of this calculator deviate in general

These rules are kept apart from the published calculators on purpose: neither imports
the other, and no answer for a patient may come from here. `docs/v1_labels.md` lists the
quirks and how far the labels are reproduced.

All rules round every step of a conversion: 3 decimals above 0.001, otherwise (negative
numbers too) 3 significant digits, so that creatinine in µmol/L comes in steps of 0.1
mg/dL. A value in the rule's own unit is not rounded. Units are exact words: `mg/dL` but
not `mg/dl`, and the file's `degrees celsisus` becomes Fahrenheit. A weight that is
neither in `lbs` nor in `g` is in kg. Age is the first pair of value and unit, in whole
years. A finding counts as present whenever its text is not empty, even "Not mentioned".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from medical_tasks.calculators.units import CalculatorInputError
from medical_tasks.lab.v1_labels import chemistry, circulation, intensive_care, person
from medical_tasks.lab.v1_labels.chemistry import (
    albumin_corrected_anion_gap,
    anion_gap,
    delta,
)
from medical_tasks.lab.v1_labels.circulation import corrected_qt
from medical_tasks.lab.v1_labels.entities import Entities

__all__ = ["QUIRKS", "LabelResult", "label"]

Answer: TypeAlias = float | int | str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A label rule.

    `quirk` says how labels deviate from the published rule, None when they do not.
    """

    id: int
    name: str
    compute: Callable[[Entities], Answer]
    quirk: str | None = None


_CREATININE: Final = "creatinine in µmol/L comes in steps of 0.1 mg/dL"
_GLUCOSE: Final = "glucose in mmol/L comes in steps of 18 mg/dL"
_GAP: Final = "amounts in mg/dL lose digits by rounding each conversion step"

_QUIRKS: Final = {
    2: f"a BMI of 24.9 to 25 counts as overweight; {_CREATININE}",
    3: f"kappa 0.7 instead of 0.9 for men with creatinine up to 0.9 mg/dL; {_CREATININE}",
    7: "calcium in mmol/L comes in steps of 4 mg/dL",
    9: _CREATININE,
    13: "for cycles under 28 days the difference is added instead of subtracted",
    15: (
        "ascites in the file's lower-case words and 'Grade 0' score 0; bilirubin of exactly 2"
        " scores 0 and of 3 scores 3, albumin of exactly 2.8 scores 3; bilirubin in µmol/L is"
        " read 6 % low"
    ),
    17: f"history of cerebrovascular disease is not counted; {_CREATININE}",
    18: (
        "known atherosclerotic disease is one risk factor instead of 2 points by itself; TIA "
        "is ignored"
    ),
    20: "an absence of cough that is not mentioned scores 0",
    21: "the verbal score is added twice; a part that is not testable scores 4",
    23: (
        "MELD(i) is rounded to a multiple of 10; dialysis is ignored when creatinine is below"
        " 1 mg/dL"
    ),
    24: "the ratio of potencies is rounded to 3 decimals (up to 1.3 % off)",
    26: _GLUCOSE,
    27: (
        "hemoglobin of exactly 13 (men) or 12 (women) scores 1, of exactly 12 (men) or 10 "
        "(women) 0; BUN of exactly 70 mg/dL scores 0, and in mmol/L comes in steps of 2.8 "
        "mg/dL"
    ),
    28: (
        "the coma score is added instead of 15 minus it, white cells always score 4, low "
        "values score 0, and so do ages of 45 and 75, non-operative organ failure, and "
        "creatinine without a failure flag; a misspelt °C is taken as Fahrenheit"
    ),
    29: (
        "a misspelt °C is taken as Fahrenheit; temperatures of 39.9 to 40 °C score 15; "
        "glucose and BUN in mmol/L come in steps of 18 and 2.8 mg/dL"
    ),
    30: f"BUN in mmol/L comes in steps of 2.8 mg/dL; {_GLUCOSE}",
    31: f"insulin in pmol/L is multiplied by 6 instead of divided; {_GLUCOSE}",
    32: (
        "class words of liver disease, diabetes and tumor that are not in lower case score 1,"
        " whatever they say"
    ),
    33: "an absence of cough or coryza that is not mentioned scores 0",
    36: "only age, surgery type and mobility are counted",
    39: _GAP,
    40: _CREATININE,
    43: (
        "PaO₂ is divided by FiO₂ in percent; missing dopamine scores 2; vasopressors never "
        "score 4; kidneys score 0 when creatinine and urine are both given, and urine below "
        "200 mL 3"
    ),
    44: "lipids in mmol/L come in steps of 38.7 (cholesterol) and 86.1 mg/dL (triglycerides)",
    45: (
        "urea scores from 6.8 mmol/L instead of above 7; in mmol/L it comes in steps of 2.8 "
        "mg/dL; pressures and respiratory rate are cut to whole numbers"
    ),
    46: (
        "cholesterol is taken in mmol/L instead of mg/dL, and the risk left as a fraction "
        "with 1 decimal"
    ),
    49: "the fentanyl patch is taken as mg per dose × 2.4, a factor that is meant for µg/h",
    51: (
        "a heart rate up to 90 counts as met too; white cells are compared per m³, so that "
        "any real count is met"
    ),
    63: _GAP,
    64: _GAP,
    65: _GAP,
    66: _GAP,
    67: _GAP,
    68: "the cycle length is ignored, although the question states it",
    69: "the order of the two dates is ignored",
}

_ALL: Final[tuple[tuple[int, str, Callable[[Entities], Answer]], ...]] = (
    (
        2,
        "Creatinine Clearance (Cockcroft-Gault Equation)",
        chemistry.creatinine_clearance,
    ),
    (3, "CKD-EPI Equations for Glomerular Filtration Rate", chemistry.ckd_epi),
    (
        4,
        "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk",
        circulation.cha2ds2_vasc,
    ),
    (5, "Mean Arterial Pressure (MAP)", circulation.mean_arterial_pressure),
    (6, "Body Mass Index (BMI)", person.body_mass_index),
    (7, "Calcium Correction for Hypoalbuminemia", chemistry.corrected_calcium),
    (8, "Wells' Criteria for Pulmonary Embolism", circulation.wells_pe),
    (9, "MDRD GFR Equation", chemistry.mdrd),
    (10, "Ideal Body Weight", person.ideal_body_weight),
    (
        11,
        "QTc Bazett Calculator",
        partial(corrected_qt, formula=lambda qt, rr: qt / math.sqrt(rr)),
    ),
    (13, "Estimated Due Date", person.due_date),
    (15, "Child-Pugh Score for Cirrhosis Mortality", chemistry.child_pugh),
    (16, "Wells' Criteria for DVT", circulation.wells_dvt),
    (
        17,
        "Revised Cardiac Risk Index for Pre-Operative Risk",
        circulation.revised_cardiac_risk,
    ),
    (18, "HEART Score for Major Cardiac Events", circulation.heart_score),
    (19, "Fibrosis-4 (FIB-4) Index for Liver Fibrosis", chemistry.fib_4),
    (
        20,
        "Centor Score (Modified/McIsaac) for Strep Pharyngitis",
        intensive_care.centor,
    ),
    (21, "Glasgow Coma Score (GCS)", intensive_care.glasgow_coma),
    (22, "Maintenance Fluids Calculations", person.maintenance_fluids),
    (23, "MELD Na (UNOS/OPTN)", chemistry.meld_na),
    (24, "Steroid Conversion Calculator", chemistry.steroid_conversion),
    (25, "HAS-BLED Score for Major Bleeding Risk", circulation.has_bled),
    (26, "Sodium Correction for Hyperglycemia", chemistry.corrected_sodium),
    (27, "Glasgow-Blatchford Bleeding Score (GBS)", circulation.glasgow_blatchford),
    (28, "APACHE II Score", intensive_care.apache_ii),
    (29, "PSI Score: Pneumonia Severity Index for CAP", intensive_care.psi),
    (30, "Serum Osmolality", chemistry.osmolality),
    (
        31,
        "HOMA-IR (Homeostatic Model Assessment for Insulin Resistance)",
        chemistry.homa_ir,
    ),
    (32, "Charlson Comorbidity Index (CCI)", person.charlson),
    (33, "FeverPAIN Score for Strep Pharyngitis", intensive_care.fever_pain),
    (36, "Caprini Score for Venous Thromboembolism (2005)", circulation.caprini),
    (38, "Free Water Deficit", chemistry.free_water_deficit),
    (39, "Anion Gap", chemistry.anion_gap),
    (40, "Fractional Excretion of Sodium (FENa)", chemistry.fractional_excretion),
    (43, "Sequential Organ Failure Assessment (SOFA) Score", intensive_care.sofa),
    (44, "LDL Calculated", chemistry.ldl),
    (45, "CURB-65 Score for Pneumonia Severity", intensive_care.curb_65),
    (
        46,
        "Framingham Risk Score for Hard Coronary Heart Disease",
        circulation.framingham_risk,
    ),
    (48, "PERC Rule for Pulmonary Embolism", circulation.perc),
    (
        49,
        "Morphine Milligram Equivalents (MME) Calculator",
        chemistry.morphine_equivalents,
    ),
    (51, "SIRS Criteria", intensive_care.sirs),
    (
        56,
        "QTc Fridericia Calculator",
        partial(corrected_qt, formula=lambda qt, rr: qt / rr ** (1 / 3)),
    ),
    (
        57,
        "QTc Framingham Calculator",
        partial(corrected_qt, formula=lambda qt, rr: qt + 154 * (1 - rr)),
    ),
    (
        58,
        "QTc Hodges Calculator",
        partial(corrected_qt, formula=lambda qt, rr: qt + 1.75 * (60 / rr - 60)),
    ),
    (59, "QTc Rautaharju Calculator", circulation.rautaharju),
    (60, "Body Surface Area Calculator", person.body_surface_area),
    (61, "Target weight", person.target_weight),
    (62, "Adjusted Body Weight", person.adjusted_body_weight),
    (63, "Delta Gap", partial(delta, gap=anion_gap)),
    (64, "Delta Ratio", partial(delta, gap=anion_gap, ratio=True)),
    (65, "Albumin Corrected Anion Gap", chemistry.albumin_corrected_anion_gap),
    (
        66,
        "Albumin Corrected Delta Gap",
        partial(delta, gap=albumin_corrected_anion_gap),
    ),
    (
        67,
        "Albumin Corrected Delta Ratio",
        partial(delta, gap=albumin_corrected_anion_gap, ratio=True),
    ),
    (68, "Estimated of Conception", person.conception_date),
    (69, "Estimated Gestational Age", person.gestational_age),
)

RULES: Final = MappingProxyType(
    {id_: Rule(id_, name, compute, _QUIRKS.get(id_)) for id_, name, compute in _ALL}
)
"""Calculator id to label rule, in the order of the ids."""

QUIRKS: Final[Mapping[int, str | None]] = MappingProxyType(
    {rule.id: rule.quirk for rule in RULES.values()}
)
"""Calculator id to one line on how its labels deviate from the published rule; None when they do
not."""


@dataclass(frozen=True, slots=True)
class LabelResult:
    """What the label rule makes of a row; `note` says which quirks took effect on it."""

    calculator_id: int
    answer: Answer
    note: str | None

    @property
    def answer_text(self) -> str:
        """The answer as the dataset's `Ground Truth Answer` column writes it: `38` for 38.0."""
        if isinstance(self.answer, float) and self.answer.is_integer():
            return str(int(self.answer))
        return str(self.answer)


def label(calculator_id: int, entities: Mapping[str, object]) -> LabelResult:
    """Apply the rule that produced the v1.0 labels; values count exactly as written."""
    rule = RULES.get(calculator_id)
    if rule is None:
        known = ", ".join(str(known) for known in RULES)
        raise CalculatorInputError(
            f"no label rule for calculator {calculator_id!r}; the dataset's ids are {known}"
        )

    given = Entities(entities)
    try:
        answer = rule.compute(given)
    except CalculatorInputError as error:
        raise error.within(f"v1 label of {rule.name}") from error
    except ArithmeticError as error:
        raise CalculatorInputError(
            f"v1 label of {rule.name}: the label rule cannot run on these entities ({error}); "
            "check their values"
        ) from error

    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)

    return LabelResult(calculator_id, answer, "; ".join(given.notes) or None)
