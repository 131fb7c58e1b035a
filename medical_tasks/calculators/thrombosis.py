"""Venous thromboembolism: the risk around surgery and in hospital."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.inputs import Choice
from medical_tasks.calculators.patient import AGE, BMI, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["Mobility", "Surgery", "caprini"]

Surgery: TypeAlias = Literal[
    "none", "minor", "major", "laparoscopic", "arthroscopic", "elective major lower extremity arthroplasty"
]
Mobility: TypeAlias = Literal["normal", "on bed rest", "confined to bed >72 hours"]

_SURGERY: Final[Choice] = Choice(
    parameter="surgery",
    name="Surgery Type",
    aliases=("surgery",),
    words=MappingProxyType(
        {
            "none": "none",
            "no surgery": "none",
            "minor": "minor",
            "minor surgery": "minor",
            "major": "major",
            "major surgery": "major",
            "laparoscopic": "laparoscopic",
            "laparoscopic surgery": "laparoscopic",
            "arthroscopic": "arthroscopic",
            "arthroscopic surgery": "arthroscopic",
            "elective major lower extremity arthroplasty": "elective major lower extremity arthroplasty",
            "arthroplasty": "elective major lower extremity arthroplasty",
        }
    ),
).optional("none")
_MOBILITY: Final[Choice] = Choice(
    parameter="mobility",
    name="Mobility",
    words=MappingProxyType(
        {
            "normal": "normal",
            "on bed rest": "on bed rest",
            "bed rest": "on bed rest",
            "confined to bed >72 hours": "confined to bed >72 hours",
            "confined to bed": "confined to bed >72 hours",
        }
    ),
).optional("normal")
_SURGERY_POINTS: Final = MappingProxyType(
    {
        "none": 0,
        "minor": 1,
        "major": 2,
        "laparoscopic": 2,
        "arthroscopic": 2,
        "elective major lower extremity arthroplasty": 5,
    }
)
_MOBILITY_POINTS: Final = MappingProxyType({"normal": 0, "on bed rest": 1, "confined to bed >72 hours": 2})
_CAPRINI_AGE: Final = Bands("Age", "", under=0, steps=((">=", 41, 1), (">=", 61, 2), (">=", 75, 3)))
_CAPRINI_BMI: Final = Bands("BMI", "kg/m^2", under=0, steps=((">", 25, 1),))


@calculator(
    id=36,
    name="Caprini Score for Venous Thromboembolism (2005)",
    category="risk",
    output="integer",
    inputs=(
        AGE,
        _SURGERY,
        flag("recent_major_surgery", "Major Surgery in the last month"),
        flag("recent_heart_failure", "Congestive Heart Failure in the last month"),
        flag("recent_sepsis", "Sepsis in the last month"),
        flag("recent_pneumonia", "Pneumonia in the last month"),
        flag("recent_plaster_cast", "Immobilizing plaster cast in the last month"),
        flag("recent_fracture", "Hip, pelvis, or leg fracture in the last month"),
        flag("recent_stroke", "Stroke in the last month"),
        flag("recent_trauma", "Multiple trauma in the last month"),
        flag("recent_spinal_cord_injury", "Acute spinal cord injury causing paralysis in the last month"),
        flag("varicose_veins", "Varicose veins"),
        flag("swollen_legs", "Current swollen legs"),
        flag("central_venous_access", "Current central venous access"),
        flag("previous_dvt", "Previously documented Deep Vein Thrombosis", "previous DVT"),
        flag("previous_pe", "Previously Documented Pulmonary Embolism", "previous PE"),
        flag("family_history", "Family history of thrombosis"),
        flag("factor_v_leiden", "Positive Factor V Leiden"),
        flag("prothrombin_20210a", "Positive prothrombin 20210A"),
        flag("homocysteine", "Elevated serum homocysteine"),
        flag("lupus_anticoagulant", "Positive lupus anticoagulant"),
        flag("anticardiolipin", "Elevated anticardiolipin antibody"),
        flag("heparin_thrombocytopenia", "Heparin-induced thrombocytopenia"),
        flag("other_thrombophilia", "Other congenital or acquired thrombophilia"),
        _MOBILITY,
        flag("bowel_disease", "History of inflammatory bowel disease"),
        BMI.optional(None),
        flag("myocardial_infarction", "Acute Myocardial infarction"),
        flag("copd", "Chronic Obstructive Pulmonary Disease"),
        flag("malignancy", "Present or previous malignancy"),
    ),
    source="Caprini JA. Dis Mon 2005;51:70-78.",
    aliases=("Caprini",),
    unused=("sex",),
)
def caprini(
    *,
    age_years: float,
    surgery: Surgery,
    recent_major_surgery: bool,
    recent_heart_failure: bool,
    recent_sepsis: bool,
    recent_pneumonia: bool,
    recent_plaster_cast: bool,
    recent_fracture: bool,
    recent_stroke: bool,
    recent_trauma: bool,
    recent_spinal_cord_injury: bool,
    varicose_veins: bool,
    swollen_legs: bool,
    central_venous_access: bool,
    previous_dvt: bool,
    previous_pe: bool,
    family_history: bool,
    factor_v_leiden: bool,
    prothrombin_20210a: bool,
    homocysteine: bool,
    lupus_anticoagulant: bool,
    anticardiolipin: bool,
    heparin_thrombocytopenia: bool,
    other_thrombophilia: bool,
    mobility: Mobility,
    bowel_disease: bool,
    bmi_kg_m2: float | None,
    myocardial_infarction: bool,
    copd: bool,
    malignancy: bool,
    say: Say = quiet,
) -> int:
    """Caprini score of 2005 without its items for women, which the dataset does not hold, 0 to 73.

    Age 41 to 60 1, 61 to 74 2, 75 or more 3. Planned surgery: minor 1; major, laparoscopic or arthroscopic 2; elective
    arthroplasty of the leg 5. Within a month: major surgery, heart failure, sepsis, pneumonia 1 each; plaster cast 2;
    hip, pelvis or leg fracture, stroke, multiple trauma, spinal cord injury with paralysis 5 each. Varicose veins,
    swollen legs 1 each; central venous access 2. History of deep vein thrombosis or pulmonary embolism 3 (one item of
    the form); family history and each thrombophilia 3. Bed rest 1, confined to bed over 72 hours 2. Inflammatory bowel
    disease, BMI over 25, acute myocardial infarction, COPD 1 each; malignancy 2.

    Source: Caprini, Dis Mon 2005;51:70-78.
    """
    points = Points(say)
    _CAPRINI_AGE.count(age_years, points)
    points.add(f"Surgery type {surgery}", _SURGERY_POINTS[surgery])
    points.flag("Major surgery in the last month", recent_major_surgery)
    points.flag("Congestive heart failure in the last month", recent_heart_failure)
    points.flag("Sepsis in the last month", recent_sepsis)
    points.flag("Pneumonia in the last month", recent_pneumonia)
    points.flag("Immobilizing plaster cast in the last month", recent_plaster_cast, 2)
    points.flag("Hip, pelvis or leg fracture in the last month", recent_fracture, 5)
    points.flag("Stroke in the last month", recent_stroke, 5)
    points.flag("Multiple trauma in the last month", recent_trauma, 5)
    points.flag("Spinal cord injury with paralysis in the last month", recent_spinal_cord_injury, 5)
    points.flag("Varicose veins", varicose_veins)
    points.flag("Swollen legs", swollen_legs)
    points.flag("Central venous access", central_venous_access, 2)
    points.flag("History of deep vein thrombosis or pulmonary embolism", previous_dvt or previous_pe, 3)
    points.flag("Family history of thrombosis", family_history, 3)
    points.flag("Factor V Leiden", factor_v_leiden, 3)
    points.flag("Prothrombin 20210A", prothrombin_20210a, 3)
    points.flag("Elevated homocysteine", homocysteine, 3)
    points.flag("Lupus anticoagulant", lupus_anticoagulant, 3)
    points.flag("Elevated anticardiolipin antibody", anticardiolipin, 3)
    points.flag("Heparin-induced thrombocytopenia", heparin_thrombocytopenia, 3)
    points.flag("Other thrombophilia", other_thrombophilia, 3)
    points.add(f"Mobility {mobility}", _MOBILITY_POINTS[mobility])
    points.flag("Inflammatory bowel disease", bowel_disease)
    if bmi_kg_m2 is None:
        points.add("BMI not given", 0)
    else:
        _CAPRINI_BMI.count(bmi_kg_m2, points)
    points.flag("Acute myocardial infarction", myocardial_infarction)
    points.flag("Chronic obstructive pulmonary disease", copd)
    points.flag("Malignancy", malignancy, 2)
    return points.score
