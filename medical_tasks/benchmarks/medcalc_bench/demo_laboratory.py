"""Synthetic records of the `demo` configuration: equations of laboratory values."""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.demo_record import DemoRecord

__all__ = ["LABORATORY"]

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
