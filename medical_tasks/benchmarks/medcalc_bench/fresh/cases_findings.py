"""Cases of scores that count findings: heart, thrombosis and the risk around surgery, infection."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import history, illness
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import Finding
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    BMI,
    BUN,
    CHOLESTEROL,
    CREATININE,
    GLUCOSE,
    HDL,
    HEART_RATE,
    HEMATOCRIT,
    PACO2,
    PAO2,
    PH,
    RESPIRATORY_RATE,
    SODIUM,
    SPO2,
    TEMPERATURE,
    WHITE_CELLS,
    Draw,
)
from medical_tasks.calculators import AnyCalculator

__all__ = [
    "caprini",
    "centor",
    "cha2ds2_vasc",
    "curb_65",
    "feverpain",
    "framingham",
    "has_bled",
    "heart_score",
    "perc",
    "pneumonia_severity",
    "revised_cardiac_risk",
    "sirs",
    "wells_dvt",
    "wells_pe",
]


_FIBRILLATION: Final = (
    "with palpitations and newly found atrial fibrillation//They began on a walk and have not stopped since.",
    "for advice on anticoagulation in atrial fibrillation//The rhythm was found by chance at a check-up.",
    "after a smartwatch alarm, confirmed as atrial fibrillation//{He} had felt nothing.",
    "with paroxysmal atrial fibrillation for two years//Episodes come about once a month and end by themselves.",
)
_ANTICOAGULATION: Final = (
    "for a review of warfarin taken for atrial fibrillation//{He} brought the anticoagulation booklet.",
    "for advice on the bleeding risk before a change of anticoagulant//Warfarin was started for atrial fibrillation.",
    "with atrial fibrillation, on warfarin for three years//{He} comes to discuss the treatment.",
)
_CHEST_PAIN: Final = (
    "with chest pain that began two hours ago//It came on while {he} was watching television.",
    "with chest discomfort since this morning//{He} noticed it on getting up.",
    "with recurrent chest pain since last night//There were three episodes of some minutes each.",
)
# Elevated risk: intraperitoneal, intrathoracic or suprainguinal vascular surgery.
_OPERATIONS: Final = (
    (True, "before an open hemicolectomy"),
    (True, "before an aortobifemoral bypass"),
    (True, "before a resection of the oesophagus"),
    (True, "before an open lobectomy of the lung"),
    (False, "before a cataract operation"),
    (False, "before a carpal tunnel release"),
    (False, "before an arthroscopy of the knee"),
    (False, "before the removal of a skin tumour of the back"),
)
_PREVENTION: Final = (
    "for a cardiovascular risk check//{He} walks to work.",
    "for a health check after moving house//It is {his} first visit here.",
    "for advice on preventing heart disease//A friend's heart attack made {him} think.",
)
_DRINKS: Final = (
    "{He} has {n} alcoholic drinks per week.",
    "Alcohol: {n} drinks per week.",
    "{He} reports about {n} alcoholic drinks per week.",
)


def cha2ds2_vasc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of stroke in atrial fibrillation."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 45, 93, near=(65, 75)),
        setting="clinic" if draw.chance(0.6) else "emergency",
        reason=_FIBRILLATION,
        blocks="rate ecg heart clotting pills legs",
    )
    chart.age()
    chart.sex()
    chart.find("heart_failure", history.HEART_FAILURE, present=0.3)
    chart.find("hypertension", history.HYPERTENSION, present=0.55)
    chart.find("diabetes", history.DIABETES, present=0.3)
    chart.find("stroke", history.STROKE, present=0.2)
    chart.find("transient_ischemic_attack", history.TIA, present=0.15, known=0.6)
    chart.find("thromboembolism", history.THROMBOEMBOLISM, present=0.1, known=0.5)
    chart.find("vascular_disease", history.VASCULAR_DISEASE, present=0.3)
    return chart


def has_bled(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of bleeding under anticoagulation; hypertension counts when it is uncontrolled."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 42, 91, near=(65,)),
        setting="clinic",
        reason=_ANTICOAGULATION,
        blocks="ecg rate pressure red urine albumin stomach pain",
    )
    chart.age()
    chart.find("hypertension", history.UNCONTROLLED_HYPERTENSION, present=0.4)
    chart.find("renal_disease", history.END_STAGE_RENAL, present=0.2)
    chart.find("liver_disease", history.LIVER_DISEASE, present=0.15)
    chart.find("stroke", history.STROKE, present=0.2)
    chart.find("bleeding", history.BLEEDING, present=0.3)
    chart.find("labile_inr", history.LABILE_INR, present=0.4)
    chart.find("medication", history.BLEEDING_DRUGS, present=0.4)
    drinks = draw.pick((7, 8, 9)) if draw.chance(0.35) else draw.whole(0, 21)
    chart.concepts.add("alcohol")
    chart.enter("drinks_per_week", [drinks, "drinks/week"])
    chart.say("social", draw.pick(_DRINKS).replace("{n}", str(drinks)))
    return chart


def heart_score(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Chest pain in the emergency department."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 88, near=(45, 65)),
        setting="emergency",
        reason=_CHEST_PAIN,
        blocks="ecg coronary heart sugar body lipids stomach",
    )
    chart.age()
    chart.choose("suspicion", draw.pick(illness.HEART_SUSPICION))
    chart.choose("electrocardiogram", draw.pick((*illness.HEART_ECG, illness.HEART_ECG[0])))
    chart.choose("troponin", draw.pick((*illness.TROPONIN, illness.TROPONIN[0])))
    chart.find("hypertension", history.HYPERTENSION, present=0.4, known=0.6)
    chart.find("hypercholesterolemia", history.HYPERCHOLESTEROLEMIA, present=0.3, known=0.6)
    chart.find("diabetes", history.DIABETES, present=0.2, known=0.6)
    chart.find("obesity", history.OBESITY, present=0.25, known=0.4)
    chart.find("smoking", history.SMOKER, present=0.35, known=0.7)
    chart.find("family_history", history.FAMILY_HEART, present=0.25, known=0.6)
    chart.find("atherosclerotic_disease", history.ATHEROSCLEROSIS, present=0.2, known=0.6)
    chart.find("transient_ischemic_attack", history.TIA, present=0.08, known=0.3)
    return chart


def revised_cardiac_risk(calculator: AnyCalculator, draw: Draw) -> Chart:
    """An operation is planned; the creatinine may not have been measured."""
    elevated, reason = draw.pick(_OPERATIONS)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 46, 88),
        setting="clinic",
        reason=(f"for assessment {reason}//The anaesthetist asked for it.", f"for assessment {reason}"),
        blocks="ecg heart sugar operation abdomen cancer bowel urine brain legs",
    )
    chart.enter("elevated_risk_surgery", elevated)
    chart.find("ischemic_heart_disease", history.ISCHEMIC_HEART, present=0.35)
    chart.find("heart_failure", history.HEART_FAILURE, present=0.25)
    chart.find("cerebrovascular_disease", history.CEREBROVASCULAR, present=0.25)
    chart.find("insulin", history.INSULIN_TREATMENT, present=0.3)
    chart.perhaps(0.85, "creatinine_mg_dl", CREATININE, 0.7, 3.4, near=(2.0,))
    return chart


def framingham(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Prevention in people without heart disease or diabetes."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 31, 78),
        setting="clinic",
        reason=_PREVENTION,
        blocks="sugar coronary arteries hypertension kin",
    )
    chart.sex()
    chart.age()
    chart.measure("total_cholesterol_mg_dl", CHOLESTEROL, 148, 302)
    chart.measure("hdl_mg_dl", HDL, 29, 78)
    chart.pressure(104, 176)
    chart.find("treated", history.BP_TREATED, present=0.4)
    chart.find("smoker", history.SMOKER, present=0.4)
    return chart


_BREATHLESS: Final = (
    "with sudden shortness of breath and chest pain on breathing in//It began while {he} was carrying shopping home.",
    "with breathlessness since yesterday//{He} has to stop on the first flight of stairs.",
    "with a stabbing pain in the side of the chest//It began during the night and is worse on deep breaths.",
)
_LEG: Final = (
    "with pain in the {side} leg for three days//It is worse on walking.",
    "with discomfort of the {side} calf since the weekend//{He} remembers no particular strain.",
    "with a heavy, painful {side} leg//It began four days ago.",
)


def wells_pe(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Suspicion of pulmonary embolism."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 30, 89),
        setting="emergency",
        reason=_BREATHLESS,
        blocks="breathing saturation film lungs operation trauma legs heart",
    )
    chart.find("dvt_signs", illness.DVT_SIGNS, present=0.3)
    chart.find("pe_most_likely", illness.PE_LIKELY, present=0.5, known=0.9)
    chart.measure("heart_rate_per_min", HEART_RATE, 66, 134, near=(100,))
    surgery = chart.find("surgery", illness.SURGERY_4W, present=0.25)
    # Days in bed beside a recent operation leave open which of the two a note means.
    chart.find(
        "immobilization", illness.IMMOBILIZATION, present=0.0 if surgery else 0.25, known=0.0 if surgery else 0.7
    )
    chart.find("previous_pe", history.PREVIOUS_PE, present=0.2, known=0.7)
    chart.find("previous_dvt", history.PREVIOUS_DVT, present=0.2)
    chart.find("hemoptysis", illness.HEMOPTYSIS, present=0.2)
    chart.find("malignancy", history.CANCER, present=0.2)
    return chart


def perc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pulmonary embolism to be ruled out."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 28, 74, near=(50,)),
        setting="emergency",
        reason=_BREATHLESS,
        blocks="breathing film lungs operation heart",
    )
    chart.age()
    chart.measure("heart_rate_per_min", HEART_RATE, 62, 126, near=(100,))
    chart.measure("oxygen_saturation_percent", SPO2, 90, 99, near=(95,))
    chart.find("leg_swelling", illness.LEG_SWELLING, present=0.2)
    chart.find("hemoptysis", illness.HEMOPTYSIS, present=0.15)
    chart.find("surgery_or_trauma", illness.SURGERY_OR_TRAUMA, present=0.2)
    chart.find("previous_pe", history.PREVIOUS_PE, present=0.15, known=0.7)
    chart.find("previous_dvt", history.PREVIOUS_DVT, present=0.15, known=0.7)
    woman = chart.person.sex == "female" and chart.person.age < 52
    chart.find("hormone_use", history.HORMONES, present=0.4 if woman else 0.0, known=0.7 if woman else 0.3)
    return chart


def wells_dvt(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Suspicion of deep vein thrombosis in one leg."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 32, 88),
        setting="clinic" if draw.chance(0.5) else "emergency",
        reason=_LEG,
        blocks="operation trauma joints brain",
    )
    chart.find("active_cancer", history.CANCER, present=0.2)
    surgery = chart.find("major_surgery", illness.MAJOR_SURGERY_12W, present=0.25, known=0.7)
    # The dataset's name of the item joins bed rest and surgery, so its value does too.
    bed = None if surgery else chart.find("bedridden", illness.BEDRIDDEN, present=0.25, known=0.7)
    if surgery or bed:
        chart.enter("bedridden", True)
    whole = chart.find("entire_leg_swollen", illness.WHOLE_LEG, present=0.2)
    chart.find("calf_swelling", illness.CALF_SWELLING, present=0.35, forced=True if whole else None)
    chart.find("collateral_veins", illness.COLLATERAL_VEINS, present=0.15)
    chart.find("tenderness", illness.TENDERNESS, present=0.45)
    chart.find("pitting_edema", illness.PITTING, present=0.35)
    chart.find("paralysis_or_plaster", illness.PARALYSIS, present=0.15, known=0.7)
    chart.find("previous_dvt", history.PREVIOUS_DVT, present=0.2)
    chart.find("alternative_diagnosis", illness.ALTERNATIVE_TO_DVT, present=0.35)
    return chart


# Findings of the last month, those of which a patient has at most one first.
_GRAVE: Final = (
    ("recent_fracture", illness.FRACTURE),
    ("recent_stroke", illness.RECENT_STROKE),
    ("recent_trauma", illness.TRAUMA),
    ("recent_spinal_cord_injury", illness.SPINAL_INJURY),
)
_BEDDING: Final = frozenset({"recent_fracture", "recent_trauma", "recent_spinal_cord_injury"})
_CAPRINI_RECENT: Final = (
    ("recent_major_surgery", illness.RECENT_SURGERY_MONTH),
    ("recent_heart_failure", illness.RECENT_FAILURE),
    ("recent_sepsis", illness.RECENT_SEPSIS),
    ("recent_pneumonia", illness.RECENT_PNEUMONIA),
    ("myocardial_infarction", history.ACUTE_INFARCTION),
)
_CAPRINI_PAST: Final = (
    ("previous_dvt", history.PREVIOUS_DVT),
    ("previous_pe", history.PREVIOUS_PE),
    ("family_history", history.FAMILY_CLOTS),
    ("bowel_disease", history.BOWEL_DISEASE),
    ("copd", history.COPD),
    ("malignancy", history.MALIGNANCY),
    ("varicose_veins", history.VARICOSE),
    ("swollen_legs", illness.SWOLLEN_LEGS),
    ("central_venous_access", illness.CENTRAL_LINE),
    ("heparin_thrombocytopenia", history.HEPARIN_REACTION),
    ("factor_v_leiden", history.FACTOR_V),
    ("prothrombin_20210a", history.PROTHROMBIN),
    ("homocysteine", history.HOMOCYSTEINE),
    ("lupus_anticoagulant", history.LUPUS_ANTICOAGULANT),
    ("anticardiolipin", history.ANTICARDIOLIPIN),
    ("other_thrombophilia", history.OTHER_THROMBOPHILIA),
)
_OPERATION_REASONS: Final = (
    "before an operation tomorrow//Advice on thrombosis prevention is asked for.",
    "before a planned operation//The ward asks for advice on thrombosis prevention.",
)
_WARD_REASONS: Final = (
    "with a kidney infection//Antibiotics are given intravenously.",
    "with erysipelas of the arm//The arm is kept raised.",
    "after a collapse at home//The cause has not been found yet.",
)


def caprini(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Risk of thrombosis on a surgical or a medical ward; most of the thirty items are left out of each note."""
    surgical = draw.chance(0.7)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 32, 89, near=(41, 61, 75)),
        setting="ward",
        reason=_OPERATION_REASONS if surgical else _WARD_REASONS,
        blocks="operation trauma mobility brain clotting platelets body film heart ecg joints",
    )
    chart.age()
    chart.leave_open(illness.PLASTER, *(finding for _, finding in (*_GRAVE, *_CAPRINI_RECENT, *_CAPRINI_PAST)))
    grave = draw.pick(_GRAVE) if draw.chance(0.25) else None
    planned = illness.PLANNED_SURGERY[1:4] if grave else illness.PLANNED_SURGERY[1:]
    surgery = draw.pick(planned) if surgical else illness.PLANNED_SURGERY[0]
    if surgical or draw.chance(0.5):
        chart.choose("surgery", surgery)
    if grave:
        chart.find(*grave, forced=True)
    if grave and grave[0] in _BEDDING:
        chart.choose("mobility", illness.MOBILITY[2])
    elif draw.chance(0.8):
        chart.choose("mobility", draw.pick(illness.MOBILITY))
    if not grave and draw.chance(0.4):
        # One of the others is denied by name; more would crowd the note.
        chart.find(*draw.pick(_GRAVE), present=0.0, known=1.0)
    if not grave and draw.chance(0.2):
        chart.find("recent_plaster_cast", illness.PLASTER, present=0.5, known=1.0)
    for parameter, finding in draw.some(_CAPRINI_RECENT, 3):
        chart.find(parameter, finding, present=0.2, known=0.6)
    for parameter, finding in draw.some(_CAPRINI_PAST, 9):
        chart.find(parameter, finding, present=0.25, known=0.7)
    chart.perhaps(0.8, "bmi_kg_m2", BMI, 19, 38, near=(25.0,))
    return chart


_THROAT: Final = (
    "with a sore throat//Swallowing hurts.",
    "with pain on swallowing//Solid food has become difficult.",
    "because of a sore throat//The voice is unchanged.",
)
_CHEST: Final = (
    "with pneumonia of the right lower lobe//The illness began five days ago.",
    "with community-acquired pneumonia seen on the chest X-ray//The illness began with chills three days ago.",
    "with a productive cough and a new infiltrate in the left lung//The sputum has been yellow since the weekend.",
)
_SEPTIC: Final = (
    "with fever and flank pain//It began two days ago.",
    "with a red, swollen forearm//A cat scratched it four days ago.",
    "with abdominal pain since last night//The pain moved to the lower right side.",
    "with shaking chills after a bladder catheter was changed//They began within hours.",
    "with malaise and a cough for three days//{He} has hardly eaten.",
)


def centor(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A sore throat; a cough that the note does not speak of counts as absent."""
    person = draw_person(draw, 3, 64, near=(15, 45)) if draw.chance(0.5) else draw_person(draw, 3, 17)
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "clinic",
        reason=_THROAT,
        voice="parent" if person.age < 14 else "self",
        blocks="throat cough infection appetite ears temperature white",
    )
    chart.age()
    chart.measure("temperature_c", TEMPERATURE, 36.6, 39.8, near=(38.0,))
    _without_cough(chart, "cough_absent", illness.COUGH)
    chart.find("tender_nodes", illness.NODES, present=0.5)
    chart.find("tonsillar_exudate", illness.EXUDATE, present=0.5)
    return chart


def feverpain(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A sore throat by the other score."""
    person = draw_person(draw, 5, 62)
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "clinic",
        reason=_THROAT,
        voice="parent" if person.age < 14 else "self",
        blocks="throat cough onset temperature infection appetite ears white",
    )
    chart.find("fever", illness.FEVER_24H, present=0.5)
    _without_cough(chart, "cough_and_coryza_absent", illness.CORYZA)
    chart.find("onset_within_3_days", illness.ONSET_3_DAYS, present=0.5)
    chart.find("purulent_tonsils", illness.PURULENT, present=0.45)
    chart.find("severe_inflammation", illness.SEVERE_INFLAMMATION, present=0.4)
    return chart


def _without_cough(chart: Chart, parameter: str, symptom: Finding) -> None:
    """The entity says that the symptom is absent; the note speaks of the symptom itself."""
    if chart.draw.chance(0.8):
        there = chart.draw.chance(0.45)
        chart.state(symptom, there=there)
        chart.enter(parameter, not there)


def curb_65(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pneumonia in five items."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 28, 93, near=(65,)),
        setting="emergency",
        reason=_CHEST,
        blocks="film lungs cough saturation brain temperature infection",
        voice="self",
    )
    chart.age()
    if chart.find("confusion", illness.CONFUSION, present=0.3):
        chart.voice = "none"
    # The publication prints urea over 7 mmol/L and BUN over 19 mg/dL, which are not quite the same.
    printed = {"mg/dL": (19.0,), "mmol/L": (7.0,)}
    chart.measure("urea", BUN, 8, 46, near=(19.0,), printed=printed)
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, 16, 38, near=(30,))
    chart.pressure(82, 158, near=(90,), near_diastolic=(60,))
    return chart


def pneumonia_severity(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pneumonia in twenty items."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 40, 94),
        setting="emergency",
        reason=_CHEST,
        blocks="film lungs cough saturation infection brain urine albumin legs abdomen heart home bowel red",
    )
    chart.age()
    chart.sex()
    chart.find("nursing_home", history.NURSING_HOME, present=0.2, known=0.6)
    chart.find("neoplastic_disease", history.NEOPLASM, present=0.15, known=0.6)
    chart.find("liver_disease", history.LIVER_DISEASE, present=0.12, known=0.5)
    chart.find("heart_failure", history.HEART_FAILURE, present=0.25, known=0.6)
    chart.find("cerebrovascular_disease", history.CEREBROVASCULAR, present=0.2, known=0.5)
    chart.find("renal_disease", history.RENAL_DISEASE, present=0.2, known=0.5)
    if chart.find("altered_mental_status", illness.ALTERED_MIND, present=0.25):
        chart.voice = "none"
    chart.find("pleural_effusion", illness.PLEURAL_EFFUSION, present=0.3)
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, 18, 38, near=(30,))
    chart.pressure(82, 158, near=(90,))
    chart.measure("temperature_c", TEMPERATURE, 36.4, 40.6, near=(35.0, 40.0))
    chart.measure("heart_rate_per_min", HEART_RATE, 76, 142, near=(125,))
    chart.measure("ph", PH, 7.24, 7.5, near=(7.35,))
    chart.measure("bun_mg_dl", BUN, 9, 62, near=(30,))
    chart.measure("sodium_mmol_l", SODIUM, 124, 146, near=(130,))
    chart.measure("glucose_mg_dl", GLUCOSE, 86, 330, near=(250,))
    chart.measure("hematocrit_percent", HEMATOCRIT, 25, 47, near=(30,))
    chart.measure("pao2_mm_hg", PAO2, 49, 92, near=(60,))
    return chart


def sirs(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Signs of systemic inflammation; rate or gas may not have been measured."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 90),
        setting="emergency",
        reason=_SEPTIC,
        blocks="saturation lungs film urine abdomen gas infection cough skin",
    )
    chart.measure("temperature_c", TEMPERATURE, 35.2, 40.2, near=(36.0, 38.0))
    chart.measure("heart_rate_per_min", HEART_RATE, 64, 136, near=(90,))
    chart.perhaps(0.85, "respiratory_rate_per_min", RESPIRATORY_RATE, 12, 32, near=(20,))
    chart.perhaps(0.4, "paco2_mm_hg", PACO2, 25, 46, near=(32,))
    chart.measure("white_cells_10e9_l", WHITE_CELLS, 2.4, 21, near=(4.0, 12.0))
    return chart
