"""The 55 label rules: one line each on how the label deviates from the published rule, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from medical_tasks.calculators.v1_labels import chemistry, circulation, intensive_care, person
from medical_tasks.calculators.v1_labels.entities import Entities

Answer: TypeAlias = float | int | str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A label rule.

    `quirk` says how labels deviate from the published rule; None when they do not.
    """

    id: int
    name: str
    compute: Callable[[Entities], Answer]
    quirk: str | None = None


_CREATININE: Final = "creatinine in µmol/L comes in steps of 0.1 mg/dL"
_GLUCOSE: Final = "glucose in mmol/L comes in steps of 18 mg/dL"
_GAP: Final = "amounts in mg/dL lose digits by rounding each conversion step"

_ALL: Final = (
    Rule(
        2,
        "Creatinine Clearance (Cockcroft-Gault Equation)",
        chemistry.creatinine_clearance,
        f"a BMI of 24.9 to 25 counts as overweight; {_CREATININE}",
    ),
    Rule(
        3,
        "CKD-EPI Equations for Glomerular Filtration Rate",
        chemistry.ckd_epi,
        f"kappa 0.7 instead of 0.9 for men with creatinine up to 0.9 mg/dL; {_CREATININE}",
    ),
    Rule(4, "CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk", circulation.cha2ds2_vasc),
    Rule(5, "Mean Arterial Pressure (MAP)", circulation.mean_arterial_pressure),
    Rule(6, "Body Mass Index (BMI)", person.body_mass_index),
    Rule(
        7,
        "Calcium Correction for Hypoalbuminemia",
        chemistry.corrected_calcium,
        "calcium in mmol/L comes in steps of 4 mg/dL",
    ),
    Rule(8, "Wells' Criteria for Pulmonary Embolism", circulation.wells_pe),
    Rule(9, "MDRD GFR Equation", chemistry.mdrd, _CREATININE),
    Rule(10, "Ideal Body Weight", person.ideal_body_weight),
    Rule(11, "QTc Bazett Calculator", circulation.bazett),
    Rule(
        13,
        "Estimated Due Date",
        person.due_date,
        "for cycles under 28 days the difference is added instead of subtracted",
    ),
    Rule(
        15,
        "Child-Pugh Score for Cirrhosis Mortality",
        chemistry.child_pugh,
        "ascites in the file's lower-case words and 'Grade 0' score 0; bilirubin of exactly 2 scores 0 and of 3 scores "
        "3, albumin of exactly 2.8 scores 3; bilirubin in µmol/L is read 6 % low",
    ),
    Rule(16, "Wells' Criteria for DVT", circulation.wells_dvt),
    Rule(
        17,
        "Revised Cardiac Risk Index for Pre-Operative Risk",
        circulation.revised_cardiac_risk,
        f"history of cerebrovascular disease is not counted; {_CREATININE}",
    ),
    Rule(
        18,
        "HEART Score for Major Cardiac Events",
        circulation.heart_score,
        "known atherosclerotic disease is one risk factor instead of 2 points by itself; TIA is ignored",
    ),
    Rule(19, "Fibrosis-4 (FIB-4) Index for Liver Fibrosis", chemistry.fib_4),
    Rule(
        20,
        "Centor Score (Modified/McIsaac) for Strep Pharyngitis",
        intensive_care.centor,
        "an absence of cough that is not mentioned scores 0",
    ),
    Rule(
        21,
        "Glasgow Coma Score (GCS)",
        intensive_care.glasgow_coma,
        "the verbal score is added twice; a part that is not testable scores 4",
    ),
    Rule(22, "Maintenance Fluids Calculations", person.maintenance_fluids),
    Rule(
        23,
        "MELD Na (UNOS/OPTN)",
        chemistry.meld_na,
        "MELD(i) is rounded to a multiple of 10; dialysis is ignored when creatinine is below 1 mg/dL",
    ),
    Rule(
        24,
        "Steroid Conversion Calculator",
        chemistry.steroid_conversion,
        "the ratio of potencies is rounded to 3 decimals (up to 1.3 % off)",
    ),
    Rule(25, "HAS-BLED Score for Major Bleeding Risk", circulation.has_bled),
    Rule(26, "Sodium Correction for Hyperglycemia", chemistry.corrected_sodium, _GLUCOSE),
    Rule(
        27,
        "Glasgow-Blatchford Bleeding Score (GBS)",
        circulation.glasgow_blatchford,
        "hemoglobin of exactly 13 (men) or 12 (women) scores 1, of exactly 12 (men) or 10 (women) 0; BUN of exactly "
        "70 mg/dL scores 0, and in mmol/L comes in steps of 2.8 mg/dL",
    ),
    Rule(
        28,
        "APACHE II Score",
        intensive_care.apache_ii,
        "the coma score is added instead of 15 minus it, white cells always score 4, low values score 0, and so do "
        "ages of 45 and 75, non-operative organ failure, and creatinine without a failure flag; a misspelt °C is "
        "taken as Fahrenheit",
    ),
    Rule(
        29,
        "PSI Score: Pneumonia Severity Index for CAP",
        intensive_care.psi,
        "a misspelt °C is taken as Fahrenheit; temperatures of 39.9 to 40 °C score 15; glucose and BUN in mmol/L "
        "come in steps of 18 and 2.8 mg/dL",
    ),
    Rule(30, "Serum Osmolality", chemistry.osmolality, f"BUN in mmol/L comes in steps of 2.8 mg/dL; {_GLUCOSE}"),
    Rule(
        31,
        "HOMA-IR (Homeostatic Model Assessment for Insulin Resistance)",
        chemistry.homa_ir,
        f"insulin in pmol/L is multiplied by 6 instead of divided; {_GLUCOSE}",
    ),
    Rule(
        32,
        "Charlson Comorbidity Index (CCI)",
        person.charlson,
        "class words of liver disease, diabetes and tumor that are not in lower case score 1, whatever they say",
    ),
    Rule(
        33,
        "FeverPAIN Score for Strep Pharyngitis",
        intensive_care.fever_pain,
        "an absence of cough or coryza that is not mentioned scores 0",
    ),
    Rule(
        36,
        "Caprini Score for Venous Thromboembolism (2005)",
        circulation.caprini,
        "only age, surgery type and mobility are counted",
    ),
    Rule(38, "Free Water Deficit", chemistry.free_water_deficit),
    Rule(39, "Anion Gap", chemistry.anion_gap, _GAP),
    Rule(40, "Fractional Excretion of Sodium (FENa)", chemistry.fractional_excretion, _CREATININE),
    Rule(
        43,
        "Sequential Organ Failure Assessment (SOFA) Score",
        intensive_care.sofa,
        "PaO₂ is divided by FiO₂ in percent; missing dopamine scores 2; vasopressors never score 4; kidneys score 0 "
        "when creatinine and urine are both given, and urine below 200 mL 3",
    ),
    Rule(
        44,
        "LDL Calculated",
        chemistry.ldl,
        "lipids in mmol/L come in steps of 38.7 (cholesterol) and 86.1 mg/dL (triglycerides)",
    ),
    Rule(
        45,
        "CURB-65 Score for Pneumonia Severity",
        intensive_care.curb_65,
        "urea scores from 6.8 mmol/L instead of above 7; in mmol/L it comes in steps of 2.8 mg/dL; pressures and "
        "respiratory rate are cut to whole numbers",
    ),
    Rule(
        46,
        "Framingham Risk Score for Hard Coronary Heart Disease",
        circulation.framingham_risk,
        "cholesterol is taken in mmol/L instead of mg/dL, and the risk left as a fraction with 1 decimal",
    ),
    Rule(48, "PERC Rule for Pulmonary Embolism", circulation.perc),
    Rule(
        49,
        "Morphine Milligram Equivalents (MME) Calculator",
        chemistry.morphine_equivalents,
        "the fentanyl patch is taken as mg per dose × 2.4, a factor that is meant for µg/h",
    ),
    Rule(
        51,
        "SIRS Criteria",
        intensive_care.sirs,
        "a heart rate up to 90 counts as met too; white cells are compared per m³, so that any real count is met",
    ),
    Rule(56, "QTc Fridericia Calculator", circulation.fridericia),
    Rule(57, "QTc Framingham Calculator", circulation.framingham),
    Rule(58, "QTc Hodges Calculator", circulation.hodges),
    Rule(59, "QTc Rautaharju Calculator", circulation.rautaharju),
    Rule(60, "Body Surface Area Calculator", person.body_surface_area),
    Rule(61, "Target weight", person.target_weight),
    Rule(62, "Adjusted Body Weight", person.adjusted_body_weight),
    Rule(63, "Delta Gap", chemistry.delta_gap, _GAP),
    Rule(64, "Delta Ratio", chemistry.delta_ratio, _GAP),
    Rule(65, "Albumin Corrected Anion Gap", chemistry.albumin_corrected_anion_gap, _GAP),
    Rule(66, "Albumin Corrected Delta Gap", chemistry.albumin_corrected_delta_gap, _GAP),
    Rule(67, "Albumin Corrected Delta Ratio", chemistry.albumin_corrected_delta_ratio, _GAP),
    Rule(
        68,
        "Estimated of Conception",
        person.conception_date,
        "the cycle length is ignored, although the question states it",
    ),
    Rule(69, "Estimated Gestational Age", person.gestational_age, "the order of the two dates is ignored"),
)

RULES: Final = MappingProxyType({rule.id: rule for rule in _ALL})
"""Calculator id to label rule, in the order of the ids."""
