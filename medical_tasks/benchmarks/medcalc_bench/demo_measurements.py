"""Synthetic records of the `demo` configuration: equations of body measures, doses and dates."""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.demo_record import DemoRecord

__all__ = ["MEASUREMENTS"]

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
