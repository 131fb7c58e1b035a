"""The `demo` configuration: synthetic records that run every MedCalc-Bench task without a download.

Notes, people and dates are invented. Names of calculators and entities are those of v1.0, so that whatever reads the
released rows reads these; golds follow the published formulas and are recomputed independently by the tests. The records of
scores stand here, those of equations in `demo_equations`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.demo_equations import CALCULATORS, LABORATORY, MEASUREMENTS, DemoRecord
from medical_tasks.benchmarks.medcalc_bench.gold import canonical_entities

__all__ = ["RECORDS", "decimal_limits", "demo_rows"]


SCORES: tuple[DemoRecord, ...] = (
    DemoRecord(
        calculator_id=4,
        note=20,
        text=(
            "A 76-year-old woman is found to be in atrial fibrillation when she comes for a flu vaccination. She had noticed "
            "that stairs make her short of breath, nothing else. She has hypertension, well controlled with two medicines, "
            "and type 2 diabetes treated with tablets. Five years ago her speech was slurred for ten minutes, and a transient "
            "ischemic attack was diagnosed; she never had a stroke. Echocardiography shows a normal left ventricle and no "
            "valve disease, and there is no heart failure. She has no disease of the coronary or leg arteries and no history "
            "of an embolism. Anticoagulation is discussed with her."
        ),
        question="What is the patient's CHA2DS2-VASc score?",
        entities={
            "sex": "Female",
            "age": [76.0, "years"],
            "Congestive Heart Faliure": False,
            "Hypertension history": True,
            "Stroke": False,
            "Transient Ischemic Attacks History": True,
            "Thromboembolism history": False,
            "Vascular disease history": False,
            "Diabetes history": True,
        },
        answer="7",
        explanation="Age of 75 or more 2, female sex 1, hypertension 1, transient ischemic attack 2, diabetes 1: 7 points.",
    ),
    DemoRecord(
        calculator_id=45,
        note=21,
        text=(
            "A 71-year-old gardener has had a cough with rusty sputum and chills for three days. He is fully oriented and "
            "tells his story clearly. Temperature 38.9 degrees celsius, respiratory rate 32 breaths per minute, pulse 104 per "
            "minute, blood pressure 96/58 mm Hg, oxygen saturation 91 % in room air. There are crackles over the right lower "
            "lobe, and the chest X-ray shows an infiltrate there. Blood urea nitrogen 26 mg/dL, creatinine 1.2 mg/dL, white "
            "cells 16400 per µL. Antibiotics are given in the emergency department, and a bed with monitoring is asked for."
        ),
        question="What is the patient's CURB-65 score?",
        entities={
            "age": [71.0, "years"],
            "Confusion": False,
            "Blood Urea Nitrogen (BUN)": [26.0, "mg/dL"],
            "respiratory rate": [32.0, "breaths per minute"],
            "Systolic Blood Pressure": [96.0, "mm hg"],
            "Diastolic Blood Pressure": [58.0, "mm hg"],
        },
        answer="4",
        explanation=(
            "No confusion 0, urea nitrogen above 19 mg/dL 1, respiratory rate of 30 or more 1, diastolic pressure of 60 mm Hg "
            "or less 1, age of 65 or more 1: 4 points."
        ),
    ),
    DemoRecord(
        calculator_id=8,
        note=22,
        text=(
            "A 54-year-old man comes with sudden shortness of breath and a stabbing pain on breathing in. Sixteen days ago his "
            "knee was replaced; he went home after five days and has been walking with crutches every day since. His left "
            "calf is swollen and tender along the deep veins. Pulse 112 beats per minute, blood pressure 128/80 mm Hg, oxygen "
            "saturation 92 %. He never had a thrombosis or a pulmonary embolism, has no cancer and coughs up no blood. The "
            "X-ray shows a patch at the left base with fever of 38.4 degrees celsius, so that the physician finds pneumonia "
            "more likely than an embolism."
        ),
        question="What is the patient's score by Wells' criteria for pulmonary embolism?",
        entities={
            "Heart Rate or Pulse": [112.0, "beats per minute"],
            "Clinical signs and symptoms of Deep Vein Thrombosis": True,
            "Pulmonary Embolism is #1 diagnosis OR equally likely": False,
            "Immobilization for at least 3 days": False,
            "Surgery in the previous 4 weeks": True,
            "Previously documented Deep Vein Thrombosis": False,
            "Previously Documented Pulmonary Embolism": False,
            "Hemoptysis": False,
            "Malignancy with treatment within 6 months or palliative": False,
        },
        answer="6",
        explanation=(
            "Signs of deep vein thrombosis 3, heart rate above 100 1.5, surgery in the previous four weeks 1.5; pulmonary "
            "embolism is not the most likely diagnosis 0: 6 points."
        ),
    ),
    DemoRecord(
        calculator_id=16,
        note=23,
        text=(
            "A 37-year-old runner has had pain in the right calf since a sprint on Saturday, when she felt a snap. She went on "
            "working as a hairdresser. The calf is tender on pressure over the course of the deep veins; it measures 1 cm "
            "more than the left one. There is no pitting oedema, the leg as a whole is not swollen, and no superficial veins "
            "stand out. She has no cancer, has not been bedridden, had no operation and no plaster, and never had a "
            "thrombosis. Ultrasound of the muscle shows a tear of the medial head, which explains the complaint at least as "
            "well as a thrombosis would."
        ),
        question="What is the patient's score by Wells' criteria for deep vein thrombosis?",
        entities={
            "Active cancer": False,
            "Bedridden recently >3 days or major surgery within 12 weeks": False,
            "Major surgery within 12 weeks": False,
            "Calf swelling >3 centimeters compared to the other leg": False,
            "Collateral (nonvaricose) superficial veins present": False,
            "Entire Leg Swollen": False,
            "Localized tenderness along the deep venous system": True,
            "Pitting edema, confined to symptomatic leg": False,
            "Paralysis, paresis, or recent plaster immobilization of the lower extremity": False,
            "Previously documented Deep Vein Thrombosis": False,
            "Alternative diagnosis to Deep Vein Thrombosis as likely or more likely": True,
        },
        answer="-1",
        explanation="Tenderness along the deep veins 1, an alternative diagnosis at least as likely -2: -1 point.",
    ),
    DemoRecord(
        calculator_id=25,
        note=24,
        text=(
            "A 72-year-old man with atrial fibrillation takes warfarin. At his last six visits the international normalized "
            "ratio was out of range four times. His systolic pressure stays near 170 mm Hg although he takes three medicines. "
            "For his back he buys naproxen and takes it on most days. He drinks about 10 alcoholic drinks per week. Creatinine "
            "is 1.0 mg/dL and liver values are normal. He has had no stroke, and neither a major bleed nor anaemia. He is "
            "advised to stop the naproxen and to drink less, and a change to another anticoagulant is considered."
        ),
        question="What is the patient's HAS-BLED score?",
        entities={
            "age": [72.0, "years"],
            "Hypertension history": True,
            "Renal disease criteria for the HAS-BLED rule": False,
            "Liver disease criteria for the HAS-BLED rule": False,
            "Stroke": False,
            "Prior major bleeding or predisposition to bleeding": False,
            "Labile international normalized ratio": True,
            "Medication usage predisposing to bleeding": True,
            "Number of Alcoholic Drinks Per Week": 10,
        },
        answer="5",
        explanation=(
            "Uncontrolled hypertension 1, labile international normalized ratio 1, age above 65 1, medication 1, eight or more "
            "drinks a week 1: 5 points."
        ),
    ),
    DemoRecord(
        calculator_id=20,
        note=25,
        text=(
            "A 9-year-old boy has had a sore throat since yesterday and did not want his breakfast. He has no cough and no "
            "runny nose. His sister had a strep throat two weeks ago. Temperature 38.9 degrees celsius, pulse 110 per minute. "
            "The throat is red; the tonsils are neither swollen nor coated. The lymph nodes at the front of the neck are "
            "swollen and hurt when touched. Ears and lungs are normal, and there is no rash. He has no allergies. A rapid test "
            "is taken, and paracetamol is given for the pain."
        ),
        question="What is the patient's Centor score, modified by McIsaac?",
        entities={
            "age": [9.0, "years"],
            "Temperature": [38.9, "degrees celsius"],
            "Cough Absent": True,
            "Tender/swollen anterior cervical lymph nodes": True,
            "Exudate or swelling on tonsils": False,
        },
        answer="4",
        explanation="Age of 3 to 14 1, temperature above 38 degrees 1, no cough 1, tender nodes 1, no exudate 0: 4 points.",
    ),
    DemoRecord(
        calculator_id=21,
        note=26,
        text=(
            "A 22-year-old cyclist without a helmet was hit by a car door and struck her head on the kerb. On arrival of the "
            "ambulance her eyes were closed; she opens them when spoken to. She answers in sentences, but is confused and "
            "gives the wrong month and town. She does not follow commands; when the nail bed is pressed, her hand reaches for "
            "the place and pushes it away. Pupils are equal and react to light. Pulse 88 per minute, blood pressure 132/76 "
            "mm Hg, oxygen saturation 98 %. There is a laceration over the left brow. The neck is held in a collar, and she is "
            "taken to a trauma centre."
        ),
        question="What is the patient's Glasgow Coma Score?",
        entities={
            "Best eye response": "eye opening to verbal command",
            "Best verbal response": "confused",
            "Best motor response": "localizes pain",
        },
        answer="12",
        explanation="Eyes open to speech 3, confused speech 4, localizes pain 5: 12 points.",
    ),
    DemoRecord(
        calculator_id=48,
        note=27,
        text=(
            "A 34-year-old woman comes with a sharp pain on the left side of the chest that started after moving furniture. It "
            "can be reproduced by pressing on the ribs. She has taken a combined contraceptive pill with oestrogen for two "
            "years. She has had no surgery or injury in the last month, never had a thrombosis or an embolism, and coughs up "
            "no blood. Heart rate 88 beats per minute, blood pressure 118/70 mm Hg, oxygen saturation 98 % in room air, "
            "respiratory rate 15 per minute. Neither leg is swollen. The electrocardiogram is normal. The physician thinks an "
            "embolism unlikely and goes through a rule before ordering blood tests."
        ),
        question="How many criteria of the PERC rule for pulmonary embolism does the patient meet?",
        entities={
            "age": [34.0, "years"],
            "Heart Rate or Pulse": [88.0, "beats per minute"],
            "O₂ saturation percentage": [98.0, "%"],
            "Unilateral Leg Swelling": False,
            "Hemoptysis": False,
            "Recent surgery or trauma": False,
            "Previously Documented Pulmonary Embolism": False,
            "Previously documented Deep Vein Thrombosis": False,
            "Hormone use": True,
        },
        answer="1",
        explanation="Of the eight criteria only the use of hormones is met: 1.",
    ),
    DemoRecord(
        calculator_id=51,
        note=28,
        text=(
            "A 66-year-old man with an enlarged prostate has had burning when passing urine for two days, and shook with cold "
            "this morning. Temperature 38.6 degrees celsius, heart rate 104 beats per minute, respiratory rate 24 breaths per "
            "minute, blood pressure 122/70 mm Hg, oxygen saturation 97 % in room air. The right flank hurts on percussion. "
            "Urine is cloudy and positive for nitrite. White blood cell count 9800 per µL, lactate 1.4 mmol/L, creatinine "
            "1.1 mg/dL. Blood and urine cultures are drawn, ceftriaxone is given, and ultrasound shows no obstruction."
        ),
        question="How many SIRS criteria does the patient meet?",
        entities={
            "Temperature": [38.6, "degrees celsius"],
            "Heart Rate or Pulse": [104.0, "beats per minute"],
            "respiratory rate": [24.0, "breaths per minute"],
            "White blood cell count": [9800.0, "µL"],
        },
        answer="3",
        explanation=(
            "Temperature above 38 degrees 1, heart rate above 90 1, respiratory rate above 20 1, white cells between 4000 and "
            "12000 per µL 0: 3 criteria."
        ),
    ),
    DemoRecord(
        calculator_id=33,
        note=29,
        text=(
            "A 19-year-old apprentice comes to the walk-in clinic with a sore throat that began the day before yesterday. Last "
            "night she measured 38.7 degrees celsius. She has no cough and no cold. Swallowing is so painful that she only "
            "takes soup. Both tonsils are very red and much enlarged, but there is no pus on them. The voice is normal and the "
            "mouth opens fully. Small nodes are felt on both sides of the neck. Spleen and skin are normal. She asks for an "
            "antibiotic, as she wants to be fit for an examination on Friday."
        ),
        question="What is the patient's FeverPAIN score?",
        entities={
            "Fever in past 24 hours": True,
            "Absence of cough or coryza": True,
            "Symptom onset ≤3 days": True,
            "Purulent tonsils": False,
            "Severe tonsil inflammation": True,
        },
        answer="4",
        explanation=(
            "Fever in the past 24 hours 1, no cough or coryza 1, onset within three days 1, no pus 0, severe inflammation 1: "
            "4 points."
        ),
    ),
)


RECORDS: tuple[DemoRecord, ...] = (*LABORATORY, *MEASUREMENTS, *SCORES)


def demo_rows() -> list[dict[str, Any]]:
    """Makes the rows of the `demo` configuration.

    Returns:
        One mapping a row, with the names and types of the released rows, numbered from 1.
    """
    return [_row(number, record) for number, record in enumerate(RECORDS, start=1)]


def decimal_limits(answer: str) -> tuple[str, str]:
    """Computes the limits of a decimal gold, exactly and written as in v1.0.

    Args:
        answer: the gold, a decimal number.

    Returns:
        95 % and 105 % of it without trailing zeros, the smaller first.
    """
    bounds = sorted(Decimal(answer) * Decimal(factor) for factor in ("0.95", "1.05"))
    low, high = (f"{bound.normalize():f}" for bound in bounds)
    return low, high


def _row(number: int, record: DemoRecord) -> dict[str, Any]:
    calculator = CALCULATORS[record.calculator_id]
    low, high = record.answer, record.answer
    if calculator.output_type == "decimal":
        low, high = decimal_limits(record.answer)
    return {
        "row_number": number,
        "calculator_id": record.calculator_id,
        "calculator_name": calculator.name,
        "category": calculator.category,
        "output_type": calculator.output_type,
        "note_id": f"demo-{record.note:04d}",
        "note_type": "Synthetic",
        "patient_note": record.text,
        "question": record.question,
        "relevant_entities": canonical_entities(repr(dict(record.entities))),
        "ground_truth_answer": record.answer,
        "lower_limit": low,
        "upper_limit": high,
        "ground_truth_explanation": record.explanation,
        "source_category": calculator.category,
    }
