"""Thrombosis, embolism and bleeding."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.shared_inputs import Sex
from medical_tasks.calculators.steps import Bands, Points, Say, quiet

Surgery: TypeAlias = Literal[
    "none",
    "minor",
    "major",
    "laparoscopic",
    "arthroscopic",
    "elective major lower extremity arthroplasty",
]
Mobility: TypeAlias = Literal["normal", "on bed rest", "confined to bed >72 hours"]

_SURGERY_POINTS: Final = {
    "none": 0,
    "minor": 1,
    "major": 2,
    "laparoscopic": 2,
    "arthroscopic": 2,
    "elective major lower extremity arthroplasty": 5,
}
_MOBILITY_POINTS: Final = {
    "normal": 0,
    "on bed rest": 1,
    "confined to bed >72 hours": 2,
}
_CAPRINI_AGE: Final = Bands("Age", "", 0, (41, 1), (61, 2), (75, 3))
_CAPRINI_BMI: Final = Bands("BMI", "kg/m^2", 0, (">", 25, 1))


@calculator(source="Caprini JA. Dis Mon 2005;51:70-78.")
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

    Age 41 to 60 1, 61 to 74 2, 75 or more 3. Planned surgery: minor 1; major,
    laparoscopic or arthroscopic 2; elective arthroplasty of the leg 5. Within a month:
    major surgery, heart failure, sepsis, pneumonia 1 each; plaster cast 2; hip, pelvis
    or leg fracture, stroke, multiple trauma, spinal cord injury with paralysis 5 each.
    Varicose veins, swollen legs 1 each; central venous access 2. History of deep vein
    thrombosis or pulmonary embolism 3 (one item of the form); family history and each
    thrombophilia 3. Bed rest 1, confined to bed over 72 hours 2. Inflammatory bowel
    disease, BMI over 25, acute myocardial infarction, COPD 1 each; malignancy 2.
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
    points.flag(
        "Spinal cord injury with paralysis in the last month",
        recent_spinal_cord_injury,
        5,
    )
    points.flag("Varicose veins", varicose_veins)
    points.flag("Swollen legs", swollen_legs)
    points.flag("Central venous access", central_venous_access, 2)
    points.flag(
        "History of deep vein thrombosis or pulmonary embolism",
        previous_dvt or previous_pe,
        3,
    )
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


@calculator(source="Wells PS et al. N Engl J Med 2003;349:1227-1235.")
def wells_dvt(
    *,
    active_cancer: bool,
    bedridden: bool,
    major_surgery: bool,
    calf_swelling: bool,
    collateral_veins: bool,
    entire_leg_swollen: bool,
    tenderness: bool,
    pitting_edema: bool,
    paralysis_or_plaster: bool,
    previous_dvt: bool,
    alternative_diagnosis: bool,
    say: Say = quiet,
) -> int:
    """Wells' criteria for deep vein thrombosis, -2 to 9.

    One each: active cancer; bedridden over 3 days or major surgery within 12 weeks
    (together); calf swelling over 3 cm; collateral superficial veins; entire leg
    swollen; tenderness along the deep veins; pitting edema of that leg; paralysis,
    paresis or plaster of the leg; previous thrombosis. Another diagnosis at least as
    likely -2.
    """
    points = Points(say)
    points.flag("Active cancer", active_cancer)
    points.flag(
        "Bedridden over 3 days or major surgery within 12 weeks",
        bedridden or major_surgery,
    )
    points.flag("Calf swelling over 3 cm", calf_swelling)
    points.flag("Collateral superficial veins", collateral_veins)
    points.flag("Swelling of the entire leg", entire_leg_swollen)
    points.flag("Tenderness along the deep veins", tenderness)
    points.flag("Pitting edema of the symptomatic leg", pitting_edema)
    points.flag("Paralysis, paresis or plaster of the leg", paralysis_or_plaster)
    points.flag("Previous deep vein thrombosis", previous_dvt)
    points.flag("Alternative diagnosis at least as likely", alternative_diagnosis, -2)

    return points.score


@calculator(source="Wells PS et al. Thromb Haemost 2000;83:416-420.")
def wells_pe(
    *,
    dvt_signs: bool,
    pe_most_likely: bool,
    heart_rate_per_min: float,
    immobilization: bool,
    surgery: bool,
    previous_pe: bool,
    previous_dvt: bool,
    hemoptysis: bool,
    malignancy: bool,
    say: Say = quiet,
) -> float:
    """Wells' criteria for pulmonary embolism, 0 to 12.5.

    Signs of deep vein thrombosis 3; embolism at least as likely as any other diagnosis
    3; heart rate over 100 1.5; immobilization for 3 days or surgery within 4 weeks 1.5
    together; previous embolism or thrombosis 1.5 together; hemoptysis 1; malignancy
    treated within 6 months or palliative 1.
    """
    points = Points(say)
    points.flag("Clinical signs of deep vein thrombosis", dvt_signs, 3)
    points.flag(
        "Pulmonary embolism as first or equally likely diagnosis", pe_most_likely, 3
    )
    fast = heart_rate_per_min > 100
    points.add(
        f"Heart rate {heart_rate_per_min:.6g} is {'over 100' if fast else '100 or less'}",
        1.5 if fast else 0,
    )
    points.flag(
        "Immobilization for 3 days or surgery in the previous 4 weeks",
        immobilization or surgery,
        1.5,
    )
    points.flag(
        "Previous pulmonary embolism or deep vein thrombosis",
        previous_pe or previous_dvt,
        1.5,
    )
    points.flag("Hemoptysis", hemoptysis, 1)
    points.flag("Malignancy treated within 6 months or palliative", malignancy, 1)

    return float(points.total)


@calculator(source="Kline JA et al. J Thromb Haemost 2004;2:1247-1255.")
def perc(
    *,
    age_years: float,
    heart_rate_per_min: float,
    oxygen_saturation_percent: float,
    leg_swelling: bool,
    hemoptysis: bool,
    surgery_or_trauma: bool,
    previous_pe: bool,
    previous_dvt: bool,
    hormone_use: bool,
    say: Say = quiet,
) -> int:
    """Pulmonary embolism rule-out criteria that are met, 0 to 8; embolism is ruled out at 0 only.

    One each: age 50 or more; heart rate 100 or more; oxygen saturation under 95 %;
    unilateral leg swelling; hemoptysis; surgery or trauma within 4 weeks; previous
    embolism or thrombosis (together); hormone use.
    """
    points = Points(say)
    old, fast, low = (
        age_years >= 50,
        heart_rate_per_min >= 100,
        oxygen_saturation_percent < 95,
    )
    points.add(
        f"Age {age_years:.6g} is {'50 or more' if old else 'under 50'}", int(old)
    )
    points.add(
        f"Heart rate {heart_rate_per_min:.6g} is {'100 or more' if fast else 'under 100'}",
        int(fast),
    )
    points.add(
        f"Oxygen saturation {oxygen_saturation_percent:.6g} % is "
        f"{'under 95' if low else '95 or more'}",
        int(low),
    )
    points.flag("Unilateral leg swelling", leg_swelling)
    points.flag("Hemoptysis", hemoptysis)
    points.flag("Recent surgery or trauma", surgery_or_trauma)
    points.flag(
        "Previous pulmonary embolism or deep vein thrombosis",
        previous_pe or previous_dvt,
    )
    points.flag("Hormone use", hormone_use)

    return points.score


_HAS_BLED_AGE: Final = Bands("Age", "", 0, (">", 65, 1))
_HAS_BLED_DRINKS: Final = Bands("Alcohol", "drinks per week", 0, (8, 1))


@calculator(source="Pisters R et al. Chest 2010;138:1093-1100.")
def has_bled(
    *,
    hypertension: bool,
    renal_disease: bool,
    liver_disease: bool,
    stroke: bool,
    bleeding: bool,
    labile_inr: bool,
    age_years: float,
    medication: bool,
    drinks_per_week: float,
    say: Say = quiet,
) -> int:
    """HAS-BLED score, 0 to 9.

    One each: (uncontrolled) hypertension; abnormal renal function; abnormal liver
    function; stroke; major bleeding or a predisposition; labile INR; age over 65;
    antiplatelets or NSAIDs; 8 or more alcoholic drinks a week.
    """
    points = Points(say)
    points.flag("Hypertension", hypertension)
    points.flag("Renal disease", renal_disease)
    points.flag("Liver disease", liver_disease)
    points.flag("Stroke", stroke)
    points.flag("Major bleeding or predisposition", bleeding)
    points.flag("Labile INR", labile_inr)
    _HAS_BLED_AGE.count(age_years, points)
    points.flag("Medication predisposing to bleeding", medication)
    _HAS_BLED_DRINKS.count(drinks_per_week, points)

    return points.score


_GBS_BUN: Final = Bands("BUN", "mg/dL", 0, (18.2, 2), (22.4, 3), (28, 4), (70, 6))
_GBS_HEMOGLOBIN: Final = {
    "male": Bands("Hemoglobin (male)", "g/dL", 6, (10, 3), (12, 1), (13, 0)),
    "female": Bands("Hemoglobin (female)", "g/dL", 6, (10, 1), (12, 0)),
}
_GBS_SYSTOLIC: Final = Bands(
    "Systolic blood pressure", "mm Hg", 3, (90, 2), (100, 1), (110, 0)
)
_GBS_HEART_RATE: Final = Bands("Heart rate", "", 0, (100, 1))


@calculator(source="Blatchford O et al. Lancet 2000;356:1318-1321.")
def glasgow_blatchford(
    *,
    bun_mg_dl: float,
    sex: Sex,
    hemoglobin_g_dl: float,
    systolic_mm_hg: float,
    heart_rate_per_min: float,
    melena: bool,
    syncope: bool,
    hepatic_disease: bool,
    cardiac_failure: bool,
    say: Say = quiet,
) -> int:
    """Glasgow-Blatchford bleeding score, 0 to 23.

    BUN from 18.2 mg/dL (6.5 mmol/L of urea) 2, from 22.4 (8) 3, from 28 (10) 4, from 70
    (25) 6. Hemoglobin in men 12 to under 13 g/dL 1, 10 to under 12 3, under 10 6; in
    women 10 to under 12 1, under 10 6. Systolic pressure 100 to 109 mm Hg 1, 90 to 99
    2, under 90 3. Heart rate 100 or more 1; melena 1; syncope, hepatic disease, cardiac
    failure 2 each.
    """
    points = Points(say)
    _GBS_BUN.count(bun_mg_dl, points)
    _GBS_HEMOGLOBIN[sex].count(hemoglobin_g_dl, points)
    _GBS_SYSTOLIC.count(systolic_mm_hg, points)
    _GBS_HEART_RATE.count(heart_rate_per_min, points)
    points.flag("Melena", melena)
    points.flag("Recent syncope", syncope, 2)
    points.flag("Hepatic disease", hepatic_disease, 2)
    points.flag("Cardiac failure", cardiac_failure, 2)

    return points.score
