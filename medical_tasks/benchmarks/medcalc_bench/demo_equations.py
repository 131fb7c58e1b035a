"""Synthetic records of the `demo` configuration: laboratory values, body measures, doses and dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CALCULATORS", "LABORATORY", "MEASUREMENTS", "DemoRecord"]


@dataclass(frozen=True, kw_only=True)
class Calculator:
    """What every row of a calculator has in common, as the official files write it."""

    name: str
    category: str
    output_type: str


@dataclass(frozen=True, kw_only=True)
class DemoRecord:
    """One synthetic row before it is numbered.

    Attributes:
        calculator_id: key of `CALCULATORS`.
        note: number of the note; records with the same number ask about the same text.
        text: the note.
        question: what is asked.
        entities: entity name to value, named as in v1.0.
        answer: the gold, written as in v1.0.
        explanation: how the gold comes about.
    """

    calculator_id: int
    note: int
    text: str
    question: str
    entities: Mapping[str, Any]
    answer: str
    explanation: str


def _decimal(name: str, category: str) -> Calculator:
    return Calculator(name=name, category=category, output_type="decimal")


def _integer(name: str, category: str) -> Calculator:
    return Calculator(name=name, category=category, output_type="integer")


CALCULATORS = {
    3: _decimal("CKD-EPI Equations for Glomerular Filtration Rate", "lab"),
    4: _integer("CHA2DS2-VASc Score for Atrial Fibrillation Stroke Risk", "risk"),
    5: _decimal("Mean Arterial Pressure (MAP)", "physical"),
    6: _decimal("Body Mass Index (BMI)", "physical"),
    7: _decimal("Calcium Correction for Hypoalbuminemia", "lab"),
    8: _decimal("Wells' Criteria for Pulmonary Embolism", "risk"),
    10: _decimal("Ideal Body Weight", "physical"),
    11: _decimal("QTc Bazett Calculator", "physical"),
    13: Calculator(name="Estimated Due Date", category="date", output_type="date"),
    16: _integer("Wells' Criteria for DVT", "risk"),
    19: _decimal("Fibrosis-4 (FIB-4) Index for Liver Fibrosis", "lab"),
    20: _integer("Centor Score (Modified/McIsaac) for Strep Pharyngitis", "severity"),
    21: _integer("Glasgow Coma Score (GCS)", "severity"),
    22: _decimal("Maintenance Fluids Calculations", "physical"),
    24: _decimal("Steroid Conversion Calculator", "dosage"),
    25: _integer("HAS-BLED Score for Major Bleeding Risk", "risk"),
    26: _decimal("Sodium Correction for Hyperglycemia", "lab"),
    30: _decimal("Serum Osmolality", "lab"),
    33: _integer("FeverPAIN Score for Strep Pharyngitis", "diagnosis"),
    38: _decimal("Free Water Deficit", "lab"),
    39: _decimal("Anion Gap", "lab"),
    44: _decimal("LDL Calculated", "lab"),
    45: _integer("CURB-65 Score for Pneumonia Severity", "risk"),
    48: _integer("PERC Rule for Pulmonary Embolism", "diagnosis"),
    49: _decimal("Morphine Milligram Equivalents (MME) Calculator", "dosage"),
    51: _integer("SIRS Criteria", "diagnosis"),
    60: _decimal("Body Surface Area Calculator", "physical"),
    65: _decimal("Albumin Corrected Anion Gap", "lab"),
    68: Calculator(name="Estimated of Conception", category="date", output_type="date"),
    69: _integer("Estimated Gestational Age", "date"),
}


_ACIDOSIS = (
    "A 46-year-old woman is brought in after three days of vomiting and poor intake. She has a history of alcohol use and "
    "was treated for pancreatitis last spring. On arrival she is drowsy but answers questions; pulse 112 per minute, blood "
    "pressure 98/60 mm Hg, respiratory rate 28 per minute with deep breaths, temperature 36.9 degrees celsius. The abdomen "
    "is soft with mild epigastric tenderness. Chemistry shows sodium 141 mEq/L, potassium 4.8 mEq/L, chloride 102 mEq/L, "
    "bicarbonate 14 mEq/L, blood urea nitrogen 22 mg/dL, creatinine 1.1 mg/dL and glucose 88 mg/dL. Serum albumin is "
    "2.4 g/dL. Urine ketones are strongly positive. Intravenous fluids with dextrose and thiamine are started."
)

LABORATORY: tuple[DemoRecord, ...] = (
    DemoRecord(
        calculator_id=39,
        note=1,
        text=_ACIDOSIS,
        question="What is the patient's anion gap in mEq/L?",
        entities={"Sodium": [141.0, "mEq/L"], "Chloride": [102.0, "mEq/L"], "Bicarbonate": [14.0, "mEq/L"]},
        answer="25",
        explanation="The anion gap is sodium - (chloride + bicarbonate) = 141 - (102 + 14) = 25 mEq/L.",
    ),
    DemoRecord(
        calculator_id=65,
        note=1,
        text=_ACIDOSIS,
        question="What is the patient's anion gap corrected for albumin, in mEq/L?",
        entities={
            "Sodium": [141.0, "mEq/L"],
            "Chloride": [102.0, "mEq/L"],
            "Bicarbonate": [14.0, "mEq/L"],
            "Albumin": [2.4, "g/dL"],
        },
        answer="29",
        explanation=(
            "The anion gap is 141 - (102 + 14) = 25 mEq/L. The correction adds 2.5 for every g/dL of albumin below 4: "
            "25 + 2.5 x (4 - 2.4) = 29 mEq/L."
        ),
    ),
    DemoRecord(
        calculator_id=7,
        note=2,
        text=(
            "A 68-year-old man with a long history of ulcerative colitis is seen in clinic because of tiredness and tingling "
            "around the mouth. He has lost six kilograms since winter and eats little. There are no muscle cramps and no "
            "seizures; the Chvostek sign is negative. Blood pressure 116/70 mm Hg, pulse 78 per minute. Both ankles are "
            "slightly swollen. Laboratory values: haemoglobin 10.9 g/dL, creatinine 0.8 mg/dL, total calcium 7.8 mg/dL, "
            "albumin 2.1 g/dL, phosphate 3.1 mg/dL and magnesium 1.9 mg/dL. A dietician is asked to see him, and vitamin D "
            "is measured."
        ),
        question="What is the patient's calcium corrected for albumin, in mg/dL? Take 4 g/dL as the normal albumin.",
        entities={"Calcium": [7.8, "mg/dL"], "Albumin": [2.1, "g/dL"]},
        answer="9.32",
        explanation="Corrected calcium is 7.8 + 0.8 x (4.0 - 2.1) = 7.8 + 1.52 = 9.32 mg/dL.",
    ),
    DemoRecord(
        calculator_id=26,
        note=3,
        text=(
            "A 24-year-old student with type 1 diabetes is found confused in her room. Her flatmates report that she had a "
            "cold and stopped taking insulin two days ago. She is dry, breathes 26 times per minute and smells of acetone. "
            "Pulse 122 per minute, blood pressure 104/66 mm Hg, temperature 37.4 degrees celsius. Venous blood shows pH 7.18, "
            "glucose 640 mg/dL, sodium 128 mEq/L, potassium 5.3 mEq/L, chloride 94 mEq/L and creatinine 1.4 mg/dL. An insulin "
            "infusion and isotonic saline are begun, and she is moved to intermediate care with hourly glucose checks."
        ),
        question="What is the patient's sodium corrected for hyperglycaemia, in mEq/L?",
        entities={"Sodium": [128.0, "mEq/L"], "Glucose": [640.0, "mg/dL"]},
        answer="140.96",
        explanation="Corrected sodium is 128 + 0.024 x (640 - 100) = 128 + 12.96 = 140.96 mEq/L.",
    ),
    DemoRecord(
        calculator_id=30,
        note=4,
        text=(
            "An 81-year-old resident of a care home has been more and more sleepy for a week. Staff say that he drinks little "
            "and passes a lot of urine. He has type 2 diabetes treated with metformin and mild dementia. His mouth is very "
            "dry and the skin stays tented. Pulse 108 per minute, blood pressure 92/54 mm Hg, temperature 37.1 degrees "
            "celsius, oxygen saturation 95 % in room air. Blood tests: glucose 900 mg/dL, sodium 148 mEq/L, potassium "
            "4.4 mEq/L, blood urea nitrogen 42 mg/dL, creatinine 1.9 mg/dL; ketones are only trace positive. He has not drunk "
            "alcohol. Fluids are given slowly because of an old myocardial infarction."
        ),
        question="What is the patient's calculated serum osmolality in mOsm/kg?",
        entities={
            "Sodium": [148.0, "mEq/L"],
            "Blood Urea Nitrogen (BUN)": [42.0, "mg/dL"],
            "Glucose": [900.0, "mg/dL"],
        },
        answer="361",
        explanation=(
            "Serum osmolality is 2 x sodium + urea nitrogen / 2.8 + glucose / 18 = 2 x 148 + 42 / 2.8 + 900 / 18 = "
            "296 + 15 + 50 = 361 mOsm/kg."
        ),
    ),
    DemoRecord(
        calculator_id=44,
        note=5,
        text=(
            "A 52-year-old bus driver returns to discuss blood tests taken at work. He has no symptoms. He smoked until the "
            "age of 40, drinks two beers at the weekend and walks little. His mother has diabetes. Weight 94 kg, waist "
            "104 cm, blood pressure 138/86 mm Hg. Fasting results: total cholesterol 228 mg/dL, high-density lipoprotein "
            "cholesterol 46 mg/dL, triglycerides 160 mg/dL, glucose 104 mg/dL, alanine aminotransferase 38 U/L. Thyroid "
            "function is normal. He would like to try a change of diet before taking any tablets, and a follow-up in three "
            "months is agreed."
        ),
        question="What is the patient's LDL cholesterol by the Friedewald equation, in mg/dL?",
        entities={
            "Total cholesterol": [228.0, "mg/dL"],
            "high-density lipoprotein cholesterol": [46.0, "mg/dL"],
            "Triglycerides": [160.0, "mg/dL"],
        },
        answer="150",
        explanation="LDL is total cholesterol - HDL - triglycerides / 5 = 228 - 46 - 160 / 5 = 228 - 46 - 32 = 150 mg/dL.",
    ),
    DemoRecord(
        calculator_id=19,
        note=6,
        text=(
            "A 61-year-old retired painter with chronic hepatitis C, cured by antiviral treatment four years ago, comes for "
            "his yearly visit. He drinks no alcohol since then. He reports mild fatigue, no itching and no weight loss. There "
            "are a few spider naevi on the chest; the spleen is just palpable, and there is no ascites. Aspartate "
            "aminotransferase is 84 U/L, alanine aminotransferase 64 U/L, platelet count 122000 per µL, bilirubin 1.0 mg/dL, "
            "albumin 3.9 g/dL, international normalized ratio 1.1. An elastography is planned, and screening by ultrasound "
            "every six months goes on."
        ),
        question="What is the patient's FIB-4 index?",
        entities={
            "age": [61, "years"],
            "Aspartate aminotransferase": [84.0, "U/L"],
            "Alanine aminotransferase": [64.0, "U/L"],
            "Platelet count": [122000.0, "µL"],
        },
        answer="5.25",
        explanation=(
            "FIB-4 is age x AST / (platelets in 10^9/L x square root of ALT) = 61 x 84 / (122 x 8) = 5124 / 976 = 5.25."
        ),
    ),
    DemoRecord(
        calculator_id=3,
        note=7,
        text=(
            "A 58-year-old woman with hypertension for fifteen years is referred because her kidney values have changed. She "
            "takes amlodipine and occasionally ibuprofen for knee pain. She has no flank pain, no blood in the urine and no "
            "family history of kidney disease. Blood pressure 146/88 mm Hg, pulse 70 per minute, weight 72 kg, no oedema. "
            "Creatinine is 1.3 mg/dL, a year ago it was 1.0 mg/dL; potassium 4.5 mEq/L, haemoglobin 12.8 g/dL. Urine albumin "
            "is slightly raised. Ultrasound shows two kidneys of normal size without obstruction. She is asked to stop the "
            "ibuprofen and to have her values checked again in four weeks."
        ),
        question=(
            "What is the patient's estimated glomerular filtration rate by the 2021 CKD-EPI creatinine equation, in "
            "mL/min/1.73 m²? Use the creatinine of today."
        ),
        entities={"sex": "Female", "age": [58, "years"], "creatinine": [1.3, "mg/dL"]},
        answer="47.665",
        explanation=(
            "For a woman with creatinine above 0.7 mg/dL the equation is 142 x (creatinine / 0.7)^-1.2 x 0.9938^age x 1.012 = "
            "142 x (1.3 / 0.7)^-1.2 x 0.9938^58 x 1.012 = 47.665 mL/min/1.73 m²."
        ),
    ),
    DemoRecord(
        calculator_id=38,
        note=8,
        text=(
            "A 45-year-old man is in intensive care on the fourth day after surgery for a pituitary adenoma. Since last night "
            "he has passed more than four litres of pale urine and complains of thirst. He weighs 70 kg. Blood pressure "
            "118/74 mm Hg, pulse 92 per minute, temperature 37.0 degrees celsius; he is awake and oriented. Sodium has risen "
            "from 141 to 154 mEq/L, potassium 3.8 mEq/L, glucose 110 mg/dL, urine osmolality 120 mOsm/kg. Desmopressin is "
            "given under the assumption of central diabetes insipidus, and water is replaced by mouth and by infusion."
        ),
        question="What is the patient's free water deficit in litres? Take 140 mEq/L as the desired sodium.",
        entities={"age": [45, "years"], "sex": "Male", "weight": [70.0, "kg"], "Sodium": [154.0, "mEq/L"]},
        answer="4.2",
        explanation=(
            "Body water of an adult man is 0.6 x 70 kg = 42 L. The deficit is 42 x (154 / 140 - 1) = 42 x 0.1 = 4.2 L."
        ),
    ),
)


_CHECKUP = (
    "A 39-year-old warehouse worker comes for an examination before starting shift work. He feels well, does not smoke and "
    "takes no medicines. His father had a myocardial infarction at 70. He is 180 cm tall and weighs 81 kg, two kilograms "
    "more than last year. Blood pressure 124/78 mm Hg, pulse 64 per minute and regular, oxygen saturation 99 % in room air. "
    "Heart, lungs and abdomen are unremarkable; there is no oedema. Urine dipstick is negative. He asks whether his weight "
    "is in the normal range and how much he should eat during night shifts."
)

MEASUREMENTS: tuple[DemoRecord, ...] = (
    DemoRecord(
        calculator_id=5,
        note=9,
        text=(
            "A 63-year-old woman is reviewed on the ward on the first day after a hip replacement. She slept badly but has "
            "little pain on regular paracetamol. The wound is dry. Blood pressure in the right arm 126/72 mm Hg, pulse 76 per "
            "minute, respiratory rate 14 per minute, temperature 37.3 degrees celsius, oxygen saturation 96 % without oxygen. "
            "She has drunk a litre since midnight and passed urine. Haemoglobin is 10.4 g/dL, down from 12.6 g/dL, and is to "
            "be checked tomorrow. The physiotherapist will get her up before lunch."
        ),
        question="What is the patient's mean arterial pressure in mm Hg?",
        entities={"Systolic Blood Pressure": [126.0, "mm hg"], "Diastolic Blood Pressure": [72.0, "mm hg"]},
        answer="90",
        explanation="Mean arterial pressure is (systolic + 2 x diastolic) / 3 = (126 + 2 x 72) / 3 = 270 / 3 = 90 mm Hg.",
    ),
    DemoRecord(
        calculator_id=6,
        note=10,
        text=_CHECKUP,
        question="What is the patient's body mass index in kg/m²?",
        entities={"weight": [81.0, "kg"], "height": [180.0, "cm"]},
        answer="25",
        explanation="Height is 1.80 m. Body mass index is 81 / (1.80 x 1.80) = 81 / 3.24 = 25 kg/m².",
    ),
    DemoRecord(
        calculator_id=60,
        note=10,
        text=_CHECKUP,
        question="What is the patient's body surface area by the Mosteller formula, in m²?",
        entities={"weight": [81.0, "kg"], "height": [180.0, "cm"]},
        answer="2.012",
        explanation="Body surface area is the square root of (81 x 180 / 3600) = square root of 4.05 = 2.012 m².",
    ),
    DemoRecord(
        calculator_id=10,
        note=11,
        text=(
            "A 57-year-old woman is intubated after a witnessed collapse at a railway station. A pulse returned after eight "
            "minutes of resuscitation. Her handbag holds an inhaler and a card of a lung clinic. The intensive care team "
            "wants to set a tidal volume by ideal weight. She is measured lying flat: height 64 inches. Her bed scale shows "
            "88 kg. Ventilator: volume control, 16 breaths per minute, oxygen fraction 50 %. Blood pressure 102/64 mm Hg with "
            "a low dose of norepinephrine, pulse 96 per minute in sinus rhythm. Cooling is not planned, fever will be avoided."
        ),
        question="What is the patient's ideal body weight by the Devine formula, in kg?",
        entities={"sex": "Female", "height": [64.0, "in"]},
        answer="54.7",
        explanation="For a woman, ideal body weight is 45.5 + 2.3 x (height in inches - 60) = 45.5 + 2.3 x 4 = 54.7 kg.",
    ),
    DemoRecord(
        calculator_id=11,
        note=12,
        text=(
            "A 33-year-old man is admitted to a psychiatric ward and is to start a medicine that can lengthen the QT interval. "
            "He has never fainted, and nobody in his family died suddenly. Electrolytes are normal. The electrocardiogram "
            "before the first dose shows sinus rhythm with a heart rate of 75 beats per minute, PR 160 msec, QRS 92 msec and a "
            "QT interval of 400 msec; there are no ST changes. He drinks much coffee and smokes ten cigarettes a day. The "
            "tracing will be repeated after one week and whenever the dose is raised."
        ),
        question="What is the patient's corrected QT interval by the Bazett formula, in msec?",
        entities={"Heart Rate or Pulse": [75, "beats per minute"], "QT interval": [400, "msec"]},
        answer="447.214",
        explanation=(
            "The RR interval is 60 / 75 = 0.8 s. The corrected interval is 400 / square root of 0.8 = 400 / 0.894427 = "
            "447.214 msec."
        ),
    ),
    DemoRecord(
        calculator_id=22,
        note=13,
        text=(
            "A three-year-old girl is kept in hospital overnight before the repair of an inguinal hernia, as the family lives "
            "far away. She is healthy, fully vaccinated and up to date with her milestones. Weight 14 kg, height 95 cm, "
            "temperature 36.8 degrees celsius, pulse 104 per minute. The hernia is soft and can be pushed back. She may eat "
            "until midnight. As hers is the last operation on the list, the anaesthetist asks for maintenance fluid through "
            "the cannula from six in the morning. Sodium and glucose on admission were normal."
        ),
        question="What is the patient's maintenance fluid rate by the 4-2-1 rule, in mL/hr?",
        entities={"weight": [14.0, "kg"]},
        answer="48",
        explanation="For 10 to 20 kg the rate is 40 + 2 x (weight - 10) = 40 + 2 x 4 = 48 mL/hr.",
    ),
    DemoRecord(
        calculator_id=24,
        note=14,
        text=(
            "A 70-year-old woman with polymyalgia rheumatica is about to have radiotherapy for a brain metastasis. For her "
            "joints she has been taking PredniSONE PO 40 mg once a day for the last ten days because of a flare. The "
            "radiation oncologist wants one glucocorticoid only and plans to switch her to dexamethasone by mouth at an equal "
            "anti-inflammatory dose before adding more if headaches appear. Her glucose is measured twice a day and stays "
            "below 180 mg/dL. She has no infection, and a tablet to protect the stomach is already prescribed."
        ),
        question="The patient takes PredniSONE PO. What is the equivalent dose of Dexamethasone PO in mg?",
        entities={"input steroid": ["PredniSONE PO", 40.0, "mg"], "target steroid": "Dexamethasone PO"},
        answer="6",
        explanation="5 mg of prednisone by mouth equal 0.75 mg of dexamethasone. The dose is 40 x 0.75 / 5 = 6 mg.",
    ),
    DemoRecord(
        calculator_id=49,
        note=15,
        text=(
            "A 49-year-old man with bone metastases of a kidney cancer is seen by the palliative care team at home. Pain is "
            "worst at night and in the left hip, four of ten at rest and seven of ten when walking. He takes OxyCODONE 10 mg "
            "four times a day and TraMADol 50 mg two times a day, the latter left over from an earlier prescription. He is "
            "constipated but awake and clear; respiratory rate 14 per minute. The team wants to stop the tramadol and to give "
            "one long-acting opioid instead. Laxatives are increased, and his wife is shown how to record doses."
        ),
        question="What is the patient's daily dose in morphine milligram equivalents?",
        entities={
            "OxyCODONE Dose": [10, "mg"],
            "OxyCODONE Dose Per Day": [4, "per day"],
            "TraMADol Dose": [50, "mg"],
            "TraMADol Dose Per Day": [2, "per day"],
        },
        answer="80",
        explanation="Oxycodone: 10 mg x 4 x 1.5 = 60. Tramadol: 50 mg x 2 x 0.2 = 20. Together 60 + 20 = 80 mg a day.",
    ),
    DemoRecord(
        calculator_id=13,
        note=16,
        text=(
            "A 29-year-old teacher comes for the first visit of her second pregnancy. Her daughter was born at term three "
            "years ago without problems. Her cycle is regular, 31 days long, and her last menstrual period began on "
            "08/22/2023. She feels sick in the mornings but keeps food down. She takes folic acid, does not smoke and stopped "
            "drinking wine. Blood pressure 112/68 mm Hg, weight 63 kg. Her blood group is known. A first ultrasound will be "
            "arranged, and she asks until when she may go on teaching."
        ),
        question="What is the patient's estimated due date by Naegele's rule, adjusted for the cycle? Answer as MM/DD/YYYY.",
        entities={"cycle length": 31, "Last menstrual date": "08/22/2023"},
        answer="05/31/2024",
        explanation=(
            "The due date is the first day of the last period + 280 days + (cycle length - 28) days = 08/22/2023 + 280 + 3 "
            "days = 05/31/2024."
        ),
    ),
    DemoRecord(
        calculator_id=68,
        note=17,
        text=(
            "A 34-year-old woman asks when she became pregnant, as she had an X-ray of her wrist in the middle of September. "
            "The first day of her last menstrual period was 09/02/2022; her cycles come every 28 days. The pregnancy test was "
            "positive on 10/04/2022, and an early ultrasound shows a single embryo with a heartbeat. She has mild asthma, uses "
            "an inhaler in spring, and has had no bleeding. Her examination is normal. She is told that an X-ray of the wrist "
            "does not reach the womb, and the dates are entered into her maternity record."
        ),
        question="What is the patient's estimated date of conception? Answer as MM/DD/YYYY.",
        entities={"cycle length": 28, "Last menstrual date": "09/02/2022"},
        answer="09/16/2022",
        explanation="Conception is taken as 14 days after the first day of the last period: 09/02/2022 + 14 days = 09/16/2022.",
    ),
    DemoRecord(
        calculator_id=69,
        note=18,
        text=(
            "A 31-year-old accountant is seen in the antenatal clinic on 06/18/2024. It is her first pregnancy. The first day "
            "of her last menstrual period was 01/05/2024, and her cycle is regular. She feels the child move every day and has "
            "no bleeding or contractions. Blood pressure 118/74 mm Hg, weight gain so far 6 kg, no protein in the urine. The "
            "fundus is a little above the navel, and the fetal heart beats 144 times per minute. A glucose tolerance test is "
            "booked for next month. She works from home and swims twice a week."
        ),
        question="What is the patient's gestational age today? Answer as a pair of weeks and days, as in (4 weeks, 3 days).",
        entities={"Current Date": "06/18/2024", "Last menstrual date": "01/05/2024"},
        answer="('23 weeks', '4 days')",
        explanation="From 01/05/2024 to 06/18/2024 there are 165 days, which are 23 weeks and 4 days.",
    ),
    DemoRecord(
        calculator_id=69,
        note=19,
        text=(
            "A 26-year-old nurse comes to the early pregnancy unit on 01/02/2024 with light spotting since yesterday. She has "
            "no pain. Her last menstrual period started on 11/20/2023. She was never pregnant before and has no illnesses; her "
            "only medicine is folic acid. Blood pressure 110/70 mm Hg, pulse 82 per minute. The cervix is closed, with a trace "
            "of brown discharge. A transvaginal ultrasound shows a sac in the womb with a small embryo and a visible "
            "heartbeat. She is reassured, given a telephone number, and asked to come back in ten days."
        ),
        question="What is the patient's gestational age today? Answer as a pair of weeks and days, as in (4 weeks, 3 days).",
        entities={"Current Date": "01/02/2024", "Last menstrual date": "11/20/2023"},
        answer="('6 weeks', '1 days')",
        explanation="From 11/20/2023 to 01/02/2024 there are 43 days, which are 6 weeks and 1 day.",
    ),
)
