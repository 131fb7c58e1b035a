"""Cases that rest on laboratory values: blood chemistry, the liver and the gut, burden of disease, intensive care."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import history, illness
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    AA_GRADIENT,
    ALBUMIN,
    ALT,
    AST,
    BICARBONATE,
    BILIRUBIN,
    BUN,
    CALCIUM,
    CHLORIDE,
    CHOLESTEROL,
    COARSE_CREATININE,
    COMA_SCORE,
    CREATININE,
    FIO2,
    GLUCOSE,
    HDL,
    HEART_RATE,
    HEMATOCRIT,
    HEMOGLOBIN,
    INR,
    INSULIN,
    PAO2,
    PH,
    PLATELETS,
    POTASSIUM,
    RESPIRATORY_RATE,
    SODIUM,
    TEMPERATURE,
    TRIGLYCERIDES,
    URINE_CREATININE,
    URINE_OUTPUT,
    URINE_SODIUM,
    WEIGHT,
    WHITE_CELLS,
    Draw,
)
from medical_tasks.calculators import AnyCalculator

__all__ = [
    "apache_ii",
    "calcium",
    "charlson",
    "child_pugh",
    "coma_score",
    "fib_4",
    "fractional_excretion",
    "free_water",
    "gap",
    "glasgow_blatchford",
    "insulin_resistance",
    "ldl",
    "meld_na",
    "osmolality",
    "sodium_in_hyperglycemia",
    "sofa",
]


_GAP_REASONS: Final = (
    "with vomiting and deep breathing since last night//{He} has kept down nothing but water.",
    "with weakness after three days of diarrhoea//{He} has lived on tea and biscuits.",
    "with drowsiness after an unknown intake of tablets//An empty box without a label was found.",
    "with abdominal pain and fast, deep breathing//It began in the early morning.",
    "with malaise and poor intake for a week//{He} has hardly left the house.",
)
_NORMAL_GAP: Final = 12
_SMALLEST_DELTA: Final = 0.6


def gap(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The anion gap, the delta gap and ratio, each with or without albumin."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 88),
        setting="emergency" if draw.chance(0.5) else "ward",
        reason=_GAP_REASONS,
        blocks="sugar breathing kidney gas stomach abdomen bowel",
    )
    corrected = any(item.parameter == "albumin_g_dl" for item in calculator.inputs)
    sodium, bicarbonate = draw.whole(128, 150), draw.whole(6, 22)
    distance = draw.whole(9, 30)
    albumin = draw.whole(18, 45) / 10
    # A delta gap of next to nothing has limits of next to nothing.
    while abs(distance + (2.5 * (4 - albumin) if corrected else 0) - _NORMAL_GAP) < _SMALLEST_DELTA:
        distance += 1
    chart.measure("sodium_mmol_l", SODIUM, sodium, sodium)
    chart.measure("chloride_mmol_l", CHLORIDE, sodium - bicarbonate - distance, sodium - bicarbonate - distance)
    chart.measure("bicarbonate_mmol_l", BICARBONATE, bicarbonate, bicarbonate)
    if corrected:
        chart.measure("albumin_g_dl", ALBUMIN, albumin, albumin)
    return chart


def calcium(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Calcium in a patient with a low albumin."""
    reason = (
        "with weight loss and loss of appetite//Clothes have become loose over half a year.",
        "for nutrition support after a long illness//{He} manages half of each meal.",
        "with swollen ankles and protein in the urine//It was noticed three weeks ago.",
        "with constipation and fatigue//It has been so for about two months.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 24, 88),
        setting="ward",
        reason=reason,
        blocks="legs urine body diet2 cancer bowel",
    )
    chart.measure("calcium_mg_dl", CALCIUM, 6.9, 11.4)
    chart.measure("albumin_g_dl", ALBUMIN, 1.6, 3.9)
    return chart


def sodium_in_hyperglycemia(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Sodium at a high glucose."""
    reason = (
        "with thirst and frequent urination for ten days//{He} drinks five litres a day.",
        "with type 1 diabetes and missed insulin doses//{He} had been travelling without a spare pen.",
        "with newly found diabetes and blurred vision//A finger-prick test at the pharmacy was far too high.",
        "with drowsiness, dry mouth and known type 2 diabetes//Tablets were not taken for two weeks.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 19, 86), setting="emergency", reason=reason, blocks="urine eyes hobby"
    )
    chart.measure("sodium_mmol_l", SODIUM, 118, 141)
    chart.measure("glucose_mg_dl", GLUCOSE, 240, 980)
    return chart


def osmolality(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Calculated osmolality."""
    reason = (
        "with confusion after a week of poor drinking//A heat wave has lasted for days.",
        "with drowsiness, found at home by a neighbour//{He} had last been seen two days before.",
        "with nausea after drinking from an unlabelled bottle//It happened about four hours ago.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 22, 90), setting="emergency", reason=reason, blocks="urine stomach alcohol"
    )
    chart.measure("sodium_mmol_l", SODIUM, 116, 158)
    chart.measure("bun_mg_dl", BUN, 7, 78)
    chart.measure("glucose_mg_dl", GLUCOSE, 66, 540)
    return chart


def free_water(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Hypernatremia."""
    reason = (
        "with dehydration after days of fever and little drinking//It had been hot all week.",
        "with lethargy after a stomach bug//{He} has hardly drunk for four days.",
        "with a dry tongue and drowsiness, sent from home//The family noticed that {he} stopped asking for drinks.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 93, near=(65,)),
        setting="ward",
        reason=reason,
        blocks="temperature urine kidney infection",
    )
    chart.sex()
    chart.age()
    chart.measure("weight_kg", WEIGHT, 44, 104)
    chart.measure("sodium_mmol_l", SODIUM, 144, 172)
    return chart


def fractional_excretion(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Acute kidney injury with a urine sample."""
    reason = (
        "for a rising creatinine after a week of vomiting//{He} has passed little urine since yesterday.",
        "with acute kidney injury after contrast medium//The scan was done three days ago.",
        "with little urine since a long operation//The operation was two days ago.",
        "with acute kidney injury under ibuprofen//It was taken for a sprained ankle.",
    )
    chart = Chart(
        calculator, draw, draw_person(draw, 22, 88), setting="ward", reason=reason, blocks="urine operation pills pain"
    )
    chart.measure("sodium_mmol_l", SODIUM, 129, 147)
    chart.measure("creatinine_mg_dl", CREATININE, 1.4, 5.6)
    chart.measure("urine_sodium_mmol_l", URINE_SODIUM, 7, 96)
    chart.measure("urine_creatinine_mg_dl", URINE_CREATININE, 22, 190)
    return chart


def ldl(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A fasting lipid profile, triglycerides up to 400 mg/dL."""
    reason = (
        "for a lipid profile at the yearly check-up//The sample was taken after a night's fast.",
        "for a review of the diet after gout//{He} fasted before the sample was taken.",
        "for a fasting blood test asked for by an insurance//The form is to be sent back this week.",
        "for advice because a brother has high cholesterol//The sample was taken fasting.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 21, 79), setting="clinic", reason=reason, blocks="joints kin")
    hdl, triglycerides, rest = draw.between(29, 82), draw.between(58, 388), draw.between(58, 214)
    total = rest + hdl + triglycerides / 5
    chart.measure("total_cholesterol_mg_dl", CHOLESTEROL, total, total)
    chart.measure("hdl_mg_dl", HDL, hdl, hdl)
    chart.measure("triglycerides_mg_dl", TRIGLYCERIDES, triglycerides, triglycerides)
    return chart


def insulin_resistance(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fasting insulin and glucose."""
    reason = (
        "for a metabolic check because of a family history of diabetes//{He} fasted for twelve hours.",
        "for irregular periods and weight gain//The sample was taken after a night's fast.",
        "for a fatty liver seen on ultrasound//{He} came fasting.",
        "for darker skin in the folds of the neck//It was noticed half a year ago. {He} came fasting.",
    )
    chosen = draw.pick(reason)
    # Irregular periods are a woman's reason, and not one of her later years.
    person = draw_person(draw, 19, 44, sex="female") if "periods" in chosen else draw_person(draw, 19, 69)
    chart = Chart(calculator, draw, person, setting="clinic", reason=(chosen,), blocks="liver body")
    chart.measure("insulin_micro_iu_ml", INSULIN, 2.4, 38)
    chart.measure("glucose_mg_dl", GLUCOSE, 74, 188)
    return chart


_CIRRHOSIS_VISIT: Final = (
    "for review of cirrhosis from alcohol//{He} has been abstinent for a year.",
    "for review of cirrhosis after chronic hepatitis C//The virus was cleared three years ago.",
    "for review of cirrhosis from primary biliary cholangitis//It was diagnosed six years ago.",
    "with cirrhosis, to be considered for transplantation//The transplant team sees {him} for the first time.",
)
_CIRRHOSIS_STAY: Final = (
    "with worsening cirrhosis//It is the second admission this year.",
    "with cirrhosis and loss of strength//{He} can no longer climb stairs.",
    "with cirrhosis, for transplant assessment//The assessment takes three days.",
)
_FATTY: Final = (
    "with a fatty liver seen on ultrasound//The scan was done for another reason.",
    "for review of chronic hepatitis B//The infection has been known for ten years.",
    "with chronic hepatitis C, before treatment//The infection was found before a blood donation.",
    "because of raised liver enzymes at a check-up//The check-up was for an insurance.",
)
_BLEED: Final = (
    "with vomiting of blood since this morning//There were two episodes.",
    "with weakness and suspected upper gastrointestinal bleeding//{He} felt unwell from yesterday on.",
    "with coffee-ground vomiting//It happened twice during the night.",
)


def child_pugh(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Cirrhosis by three values and two findings; a finding may not be stated."""
    visit = draw.chance(0.5)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 79),
        setting="clinic" if visit else "ward",
        reason=_CIRRHOSIS_VISIT if visit else _CIRRHOSIS_STAY,
        blocks="abdomen mind liver platelets brain alcohol",
    )
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.6, 6.2, near=(2.0, 3.0))
    chart.measure("albumin_g_dl", ALBUMIN, 2.1, 4.3, near=(2.8, 3.5))
    # Tables end the middle class at 2.2 or at 2.3: values there would divide their readers.
    chart.measure("inr", INR, *((1.0, 2.18) if draw.chance(0.7) else (2.35, 3.1)), near=(1.7,))
    if draw.chance(0.9):
        chart.choose("ascites", draw.pick(illness.ASCITES))
    if draw.chance(0.9):
        # Nobody with the highest grade comes to a clinic.
        grade = draw.pick(illness.ENCEPHALOPATHY[:2] if visit else illness.ENCEPHALOPATHY)
        chart.choose("encephalopathy", grade)
        if grade is not illness.ENCEPHALOPATHY[0]:
            chart.voice = "none"
    return chart


def meld_na(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Priority for a liver transplant."""
    visit = draw.chance(0.4)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 34, 74),
        setting="clinic" if visit else "ward",
        reason=_CIRRHOSIS_VISIT if visit else _CIRRHOSIS_STAY,
        blocks="abdomen liver urine platelets albumin alcohol",
    )
    dialysis = chart.find("dialysis_twice", illness.DIALYSIS_TWICE, present=0.15, known=0.5)
    if not dialysis:
        dialysis = chart.find("continuous_hemodialysis", illness.CVVHD, present=0.1, known=0.4)
    chart.measure("creatinine_mg_dl", CREATININE, *((2.4, 6.8) if dialysis else (0.6, 4.6)))
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.7, 18)
    chart.measure("inr", INR, 0.9, 3.4)
    chart.measure("sodium_mmol_l", SODIUM, 121, 143, near=(125, 137))
    return chart


def fib_4(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fibrosis of the liver."""
    chart = Chart(calculator, draw, draw_person(draw, 35, 79), setting="clinic", reason=_FATTY, blocks="liver abdomen")
    chart.age()
    ast = draw.between(21, 168)
    chart.measure("ast_u_l", AST, ast, ast)
    chart.measure("alt_u_l", ALT, ast * 0.6, ast * 1.7)
    chart.measure("platelets_10e9_l", PLATELETS, 74, 320)
    return chart


def glasgow_blatchford(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Bleeding from the upper gut."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 29, 90),
        setting="emergency",
        reason=_BLEED,
        blocks="red abdomen urine heart pills clotting stomach lungs brain",
    )
    chart.sex()
    # The publication's limits are those of urea in mmol/L; 18.2 mg/dL and the others are their conversion.
    chart.measure("bun_mg_dl", BUN, 10, 84, near=(18.2, 22.4, 28, 70), printed={"mmol/L": (6.5, 8.0, 10.0, 25.0)})
    chart.measure(
        "hemoglobin_g_dl", HEMOGLOBIN, 7.2, 14.6, near=(10, 12, 13) if chart.person.sex == "male" else (10, 12)
    )
    chart.pressure(82, 148, near=(90, 100, 110))
    chart.measure("heart_rate_per_min", HEART_RATE, 68, 132, near=(100,))
    chart.find("melena", illness.MELENA, present=0.5)
    chart.find("syncope", illness.SYNCOPE, present=0.25)
    chart.find("hepatic_disease", history.LIVER_DISEASE, present=0.25)
    chart.find("cardiac_failure", illness.CARDIAC_FAILURE_NOW, present=0.2)
    return chart


_BURDEN: Final = (
    ("myocardial_infarction", history.INFARCTION),
    ("heart_failure", history.HEART_FAILURE),
    ("peripheral_vascular_disease", history.PERIPHERAL_ARTERIES),
    ("cerebrovascular_accident", history.STROKE),
    ("transient_ischemic_attack", history.TIA),
    ("dementia", history.DEMENTIA),
    ("chronic_pulmonary_disease", history.CHRONIC_LUNG),
    ("connective_tissue_disease", history.CONNECTIVE),
    ("peptic_ulcer", history.ULCER),
    ("hemiplegia", history.HEMIPLEGIA),
    ("kidney_disease", history.CHRONIC_KIDNEY),
    ("leukemia", history.LEUKEMIA),
    ("lymphoma", history.LYMPHOMA),
    ("aids", history.AIDS),
)
_REVIEWS: Final = (
    "for a review of all conditions before a treatment decision//The records were sent along.",
    "for assessment before entry into a rehabilitation programme//The programme lasts three weeks.",
    "for a comprehensive geriatric assessment//{His} family asked for it.",
)
_GERIATRIC_AGE: Final = 68


def charlson(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The burden of disease before a decision on treatment; some items are left out of each note."""
    person = draw_person(draw, 41, 91, near=(50, 60, 70, 80))
    old = person.age >= _GERIATRIC_AGE
    chart = Chart(
        calculator,
        draw,
        person,
        setting="clinic" if draw.chance(0.5) else "ward",
        reason=_REVIEWS if old else _REVIEWS[:-1],
        blocks="sugar liver cancer heart film urine mind brain abdomen legs ecg coronary red white stomach albumin",
    )
    chart.age()
    chart.leave_open(*(finding for _, finding in _BURDEN))
    for parameter, finding in draw.some(_BURDEN, 11):
        demented = finding is history.DEMENTIA
        if chart.find(parameter, finding, present=0.0 if demented and not old else 0.22, known=0.7) and demented:
            chart.voice = "none"
    for parameter, classes in (
        ("liver_disease", illness.CHARLSON_LIVER),
        ("diabetes", illness.CHARLSON_DIABETES),
        ("solid_tumor", illness.TUMOR),
    ):
        if draw.chance(0.7):
            chart.choose(parameter, classes[0] if draw.chance(0.5) else draw.pick(classes[1:]))
    return chart


_HEAD: Final = (
    "after a fall from a ladder onto the head//The ladder was about three metres high.",
    "after a bicycle crash without a helmet//A passer-by called the ambulance.",
    "after a seizure witnessed by colleagues//It lasted about two minutes and ended by itself.",
    "after being found on the bathroom floor//{He} was last seen well yesterday evening.",
)
_MEDICAL: Final = (
    "with septic shock from a urinary infection//Antibiotics and fluids were given within the first hour.",
    "with severe pneumonia//{He} had been ill at home for a week.",
    "with pancreatitis and organ dysfunction//A gallstone was found in the bile duct.",
    "after a cardiac arrest with early return of circulation//The heart was restarted at the scene.",
)
_SURGICAL: Final = (
    "after an operation on the aorta//The operation lasted five hours.",
    "after a resection of the colon//The operation was uneventful.",
    "after a large abdominal operation//Blood loss was moderate.",
)
_SEPSIS: Final = (
    "with sepsis from a perforated bowel//The bowel was repaired yesterday.",
    "with severe pneumonia//{He} had been ill at home for a week.",
    "with septic shock from cholangitis//The bile duct was drained endoscopically.",
    "with sepsis of unknown source//Imaging has not shown the source so far.",
)
_ICU_BLOCKS: Final = (
    "gas saturation mind brain lungs film breathing pressure kidney clots infection stomach warm albumin"
)


def coma_score(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Eye, verbal and motor response, which fall and rise together."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 18, 86),
        setting="resus",
        reason=_HEAD,
        voice="none",
        blocks="mind brain trauma joints stomach urine",
    )
    depth = draw.between(0, 1)
    for parameter, classes in (
        ("eye_response", illness.EYE),
        ("verbal_response", illness.VERBAL),
        ("motor_response", illness.MOTOR),
    ):
        level = round((len(classes) - 1) * min(max(depth + draw.between(-0.3, 0.3), 0), 1))
        chart.choose(parameter, classes[level])
    return chart


def _ranged(draw: Draw, usual: tuple[float, float], *odd: tuple[float, float]) -> tuple[float, float]:
    """The usual range more often than one of the disturbed ones."""
    return usual if draw.chance(0.6) else draw.pick(odd)


def apache_ii(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The first day in intensive care."""
    surgical = draw.chance(0.4)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 24, 90, near=(45, 55, 65, 75)),
        setting="icu",
        reason=_SURGICAL if surgical else _MEDICAL,
        voice="none",
        blocks=f"{_ICU_BLOCKS} operation red immune",
    )
    chart.age()
    chart.measure(
        "temperature_c",
        TEMPERATURE,
        *_ranged(draw, (36.2, 38.4), (38.5, 40.4), (34.2, 35.9), (32.4, 33.9)),
        near=(34, 36, 38.5, 39),
    )
    chart.pressure(72, 176, near_mean=(50, 70, 110, 130, 160))
    chart.measure(
        "heart_rate_per_min", HEART_RATE, *_ranged(draw, (72, 108), (110, 158), (48, 68)), near=(70, 110, 140)
    )
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, *_ranged(draw, (12, 24), (25, 42)), near=(25, 35))
    if draw.chance(0.5):
        chart.measure("fio2_percent", FIO2, 50, 100, near=(50,) if draw.chance(0.3) else ())
        if _too_low(chart):
            _oxygen(chart)
        else:
            chart.measure("aa_gradient_mm_hg", AA_GRADIENT, 120, 540, near=(200, 350, 500))
    else:
        chart.measure("fio2_percent", FIO2, 21, 45)
        _oxygen(chart)
    chart.measure("ph", PH, *_ranged(draw, (7.33, 7.49), (7.12, 7.32), (7.5, 7.58)), near=(7.25, 7.33, 7.5))
    chart.measure("sodium_mmol_l", SODIUM, *_ranged(draw, (131, 149), (150, 162), (118, 129)), near=(130, 150, 155))
    chart.measure(
        "potassium_mmol_l", POTASSIUM, *_ranged(draw, (3.5, 5.4), (5.5, 6.6), (2.6, 3.4)), near=(3.0, 3.5, 5.5, 6.0)
    )
    failing = draw.chance(0.3)
    low, high = (1.6, 5.2) if failing else (0.6, 1.9)
    chart.measure("creatinine_mg_dl", COARSE_CREATININE, low, high, near=(2.0, 3.5) if failing else (1.5,))
    chart.find("acute_renal_failure", illness.ACUTE_RENAL_FAILURE, forced=failing, known=0.7)
    if not failing:
        chart.find("chronic_renal_failure", illness.CHRONIC_RENAL_FAILURE, present=0.12, known=0.5)
    chart.measure("hematocrit_percent", HEMATOCRIT, *_ranged(draw, (30, 45), (21, 29), (46, 52)), near=(30, 46))
    chart.measure(
        "white_cells_10e9_l", WHITE_CELLS, *_ranged(draw, (3.2, 14.8), (15, 26), (1.2, 2.9)), near=(3, 15, 20)
    )
    chart.measure("glasgow_coma_score", COMA_SCORE, 4, 15)
    chart.find("chronic_illness", history.CHRONIC_ILLNESS, present=0.25, known=0.6)
    if surgical:
        chart.choose("surgery", draw.pick(illness.ADMISSION[1:]))
    elif draw.chance(0.6):
        chart.choose("surgery", illness.ADMISSION[0])
    return chart


def _oxygen(chart: Chart) -> None:
    chart.measure("pao2_mm_hg", PAO2, 50, 104, near=(55, 60, 70))


def _too_low(chart: Chart) -> bool:
    """Whether the inspired oxygen, drawn beside 50 %, came out below it, where PaO2 counts and not the gradient."""
    return chart.values["gas"][-1].base < 49.5


def sofa(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Organ failure; pressure or hypotension, creatinine and urine may not have been stated."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 23, 89),
        setting="icu",
        reason=_SEPSIS,
        voice="none",
        blocks=f"{_ICU_BLOCKS} liver",
    )
    chart.measure("fio2_percent", FIO2, 21, 90)
    chart.measure("pao2_mm_hg", PAO2, 52, 128)
    ventilated = chart.find("mechanical_ventilation", illness.VENTILATION, present=0.5, known=0.7)
    if not ventilated:
        chart.find("cpap", illness.CPAP, present=0.3, known=0.5)
    chart.measure("platelets_10e9_l", PLATELETS, 14, 290, near=(20, 50, 100, 150))
    chart.perhaps(0.85, "glasgow_coma_score", COMA_SCORE, 4, 15, near=(6, 10, 13))
    chart.measure("bilirubin_mg_dl", BILIRUBIN, 0.4, 13.5, near=(1.2, 2.0, 6.0, 12.0))
    _circulation(chart)
    chart.perhaps(0.85, "creatinine_mg_dl", COARSE_CREATININE, 0.6, 5.8, near=(1.2, 2.0, 3.5, 5.0))
    chart.perhaps(0.5, "urine_ml_day", URINE_OUTPUT, 120, 2100, near=(200, 500))
    return chart


_DRUGS: Final = (
    ("norepinephrine_mcg_kg_min", "norepinephrine", (0.03, 0.05, 0.08, 0.1, 0.11, 0.15, 0.25)),
    ("epinephrine_mcg_kg_min", "epinephrine", (0.04, 0.08, 0.1, 0.12)),
    ("dopamine_mcg_kg_min", "dopamine", (3, 4, 5, 6, 8, 15, 16)),
    ("dobutamine_mcg_kg_min", "dobutamine", (2.5, 4, 5, 8)),
)


def _circulation(chart: Chart) -> None:
    """Vasopressors, else a measured pressure, else the word hypotension: what decides the circulation's points."""
    draw = chart.draw
    if draw.chance(0.45):
        parameter, drug, rates = draw.pick((*_DRUGS, _DRUGS[0]))
        rate = draw.pick(rates)
        chart.enter(parameter, [rate, "mcg/kg/min"])
        unit = draw.pick(("mcg/kg/min", "µg/kg/min"))
        chart.say("care", f"{drug.capitalize()} runs at {rate:g} {unit}.")
        chart.pressure(92, 124, known=0.5)
    elif draw.chance(0.75):
        chart.pressure(84, 136, near_mean=(70,))
    else:
        chart.find("hypotension", illness.HYPOTENSION, present=0.5, known=1.0)
