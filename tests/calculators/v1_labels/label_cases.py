"""Invented rows with the label that each gets. Expected values are added up by hand, in the comments."""

from __future__ import annotations

from typing import Any

YEARS = "years"
APACHE: dict[str, Any] = {
    "age": [40.0, YEARS],
    "Temperature": [37.0, "degrees celsius"],
    "Systolic Blood Pressure": [120.0, "mm Hg"],
    "Diastolic Blood Pressure": [75.0, "mm Hg"],
    "Heart Rate or Pulse": [80.0, "beats per minute"],
    "respiratory rate": [16.0, "breaths per minute"],
    "FiO₂": [30.0, "%"],
    "Partial pressure of oxygen (PaO₂) for Apache II": [90.0, "mm Hg"],
    "pH": 7.4,
    "Sodium": [140.0, "mEq/L"],
    "Potassium": [4.0, "mEq/L"],
    "creatinine": [1.0, "mg/dL"],
    "Hematocrit": [40.0, "%"],
    "White blood cell count": [8000.0, "µL"],
    "Glasgow Coma Score": 15.0,
}
SOFA: dict[str, Any] = {
    "Partial pressure of oxygen (PaO₂) for Apache II": [95.0, "mm Hg"],
    "FiO₂": [21.0, "%"],
    "Platelet count": [200_000.0, "µL"],
    "Glasgow Coma Score": 15.0,
    "Bilirubin": [0.8, "mg/dL"],
    "creatinine": [0.9, "mg/dL"],
}
SIRS: dict[str, Any] = {
    "Temperature": [37.0, "degrees celsius"],
    "Heart Rate or Pulse": [80.0, "beats per minute"],
    "respiratory rate": [14.0, "breaths per minute"],
    "White blood cell count": [7000.0, "µL"],
}
PSI: dict[str, Any] = {
    "age": [50.0, YEARS],
    "sex": "Male",
    "Temperature": [37.0, "degrees celsius"],
    "Heart Rate or Pulse": [80.0, "beats per minute"],
    "respiratory rate": [16.0, "breaths per minute"],
    "Systolic Blood Pressure": [120.0, "mm Hg"],
    "pH": 7.4,
    "Blood Urea Nitrogen (BUN)": [15.0, "mg/dL"],
    "Sodium": [140.0, "mEq/L"],
    "Glucose": [100.0, "mg/dL"],
    "Hematocrit": [40.0, "%"],
    "Partial pressure of oxygen (PaO₂) for Apache II": [90.0, "mm Hg"],
}
BLEEDING: dict[str, Any] = {
    "sex": "Male",
    "Hemoglobin": [15.0, "g/dL"],
    "Blood Urea Nitrogen (BUN)": [10.0, "mg/dL"],
    "Systolic Blood Pressure": [120.0, "mm Hg"],
    "Heart Rate or Pulse": [80.0, "beats per minute"],
}
CIRRHOSIS: dict[str, Any] = {
    "international normalized ratio": 1.2,
    "Bilirubin": [1.0, "mg/dL"],
    "Albumin": [4.0, "g/dL"],
}
FRAMINGHAM: dict[str, Any] = {
    "sex": "Male",
    "age": [55.0, YEARS],
    "Systolic Blood Pressure": [130.0, "mm Hg"],
    "Total cholesterol": [5.2, "mmol/L"],
    "high-density lipoprotein cholesterol": [1.3, "mmol/L"],
}
LIVER = {"international normalized ratio": 1.0, "Bilirubin": [1.0, "mg/dL"], "Sodium": [140.0, "mEq/L"]}
HEART_DISEASE = {"age": [40.0, YEARS], "atherosclerotic disease": True}
SURGERY = {"Pre-operative creatinine": [1.0, "mg/dL"]}
CELSIUS_MISSPELT = {"Temperature": [37.0, "degrees celsisus"]}
PATCH = {"FentANYL patch Dose": [20, "mg"], "FentANYL patch Dose Per Day": [2, "per day"]}
COMA = {
    "Best eye response": "no eye opening",
    "Best verbal response": "confused",
    "Best motor response": "obeys commands",
}

CASES: list[tuple[int, dict[str, Any], float | str, str | None]] = [
    # 2: 68.8 kg / 1.66² = 24.967, counts as overweight: ideal 50 + 2.3 · (65.354 − 60) = 62.314, adjusted 64.908;
    #    (140 − 40) · 64.908 / 72
    (
        2,
        {
            "sex": "Male",
            "age": [40.0, YEARS],
            "weight": [68.8, "kg"],
            "height": [166.0, "cm"],
            "creatinine": [1.0, "mg/dL"],
        },
        90.15,
        "a BMI of 24.967 counts as overweight",
    ),
    # 3: 142 · (0.7 / 0.7)^-0.302 · 0.9938^0.. with age 1: 142 · 0.9938
    (
        3,
        {"sex": "Male", "age": [1.0, YEARS], "creatinine": [0.7, "mg/dL"]},
        141.12,
        "kappa 0.7 instead of 0.9 for a man with creatinine up to 0.9 mg/dL",
    ),
    # 7: 2.4 mmol/L becomes 8.0 mg/dL
    (
        7,
        {"Calcium": [2.4, "mmol/L"], "Albumin": [4.0, "g/dL"]},
        8.0,
        "Calcium: 2.4 mmol/L became 8 mg/dL by rounding each step (exactly 9.619)",
    ),
    # 13: 01/01/2020 + 280 d = 10/07/2020; + 4 instead of − 4
    (
        13,
        {"Last menstrual date": "01/01/2020", "cycle length": 24},
        "10/11/2020",
        "cycle of 24 days: 4 days added instead of subtracted",
    ),
    (13, {"Last menstrual date": "01/01/2020", "cycle length": 30}, "10/09/2020", None),
    # 15: INR 1 + bilirubin 1 + albumin 1 + ascites 0 + encephalopathy 1
    (
        15,
        {**CIRRHOSIS, "Ascites": "moderate"},
        4,
        "Ascites: 'moderate' scores 0, the rule knew only Absent, Slight, Moderate",
    ),
    (15, {**CIRRHOSIS, "Ascites": "Moderate", "Encephalopathy": "Grade 3-4"}, 9, None),
    (15, {**CIRRHOSIS, "Bilirubin": [2.0, "mg/dL"]}, 4, "bilirubin of exactly 2 mg/dL scores 0"),
    (15, {**CIRRHOSIS, "Bilirubin": [3.0, "mg/dL"]}, 7, "bilirubin of exactly 3 mg/dL scores 3"),
    (15, {**CIRRHOSIS, "Albumin": [2.8, "g/dL"]}, 7, "albumin of exactly 2.8 g/dL scores 3"),
    (17, {**SURGERY, "History of cerebrovascular disease": True}, 0, "cerebrovascular disease not counted"),
    (17, {**SURGERY, "Elevated-risk surgery": True, "Pre-operative treatment with insulin": True}, 2, None),
    (18, HEART_DISEASE, 1, "atherosclerotic disease or TIA does not give 2 points by itself"),
    (18, {**HEART_DISEASE, "smoking": True, "obesity": True}, 2, None),
    (
        20,
        {"age": [20.0, YEARS], "Temperature": [39.0, "degrees celsius"]},
        1,
        "absence of cough not mentioned scores 0",
    ),
    (21, COMA, 1 + 4 + 4 + 6, "verbal score counted twice"),
    (21, {**COMA, "Best verbal response": "not testable"}, 15, "verbal score counted twice"),
    # 23: 0.957 · ln 3 + 0.643 = 1.694 -> 2 -> 20
    (23, {**LIVER, "creatinine": [3.0, "mg/dL"]}, 20, "MELD(i) / 10 of 1.69 rounded to 2 instead of one decimal"),
    # creatinine 1 in spite of dialysis: 0.643 -> 1 -> 10
    (
        23,
        {**LIVER, "creatinine": [0.8, "mg/dL"], "Dialysis at least twice in the past week": True},
        10,
        "dialysis ignored, because creatinine is below 1 mg/dL; "
        "MELD(i) / 10 of 0.64 rounded to 1 instead of one decimal",
    ),
    # 24: 1 / 26.67 = 0.037495 -> 0.037; 100 mg · 0.037
    (
        24,
        {"input steroid": ["Hydrocortisone PO", 100.0, "mg"], "target steroid": "Dexamethasone IV"},
        3.7,
        "ratio 0.037495 rounded to 0.037",
    ),
    # 26: 10 mmol/L -> 0.01 mol · 180.16 = 1.8016 -> 1.802 g -> 180.2 mg/dL; 140 + 0.024 · 80.2
    (26, {"Sodium": [140.0, "mEq/L"], "Glucose": [10.0, "mmol/L"]}, 141.925, None),
    (27, {**BLEEDING, "Hemoglobin": [13.0, "g/dL"]}, 1, "hemoglobin of exactly 13 g/dL scores 1"),
    (27, {**BLEEDING, "Hemoglobin": [12.0, "g/dL"]}, 0, "hemoglobin of exactly 12 g/dL scores 0"),
    (27, {**BLEEDING, "Hemoglobin": [12.0, "g/dL"], "sex": "Female"}, 1, "hemoglobin of exactly 12 g/dL scores 1"),
    (27, {**BLEEDING, "Hemoglobin": [10.0, "g/dL"], "sex": "Female"}, 0, "hemoglobin of exactly 10 g/dL scores 0"),
    (27, {**BLEEDING, "Hemoglobin": [10.0, "g/dL"]}, 3, None),
    (27, {**BLEEDING, "Blood Urea Nitrogen (BUN)": [70.0, "mg/dL"]}, 0, "BUN of exactly 70 mg/dL scores 0"),
    (29, {**PSI, **CELSIUS_MISSPELT}, 65, "Temperature: 37 'degrees celsisus' counts as Fahrenheit, that is 2.778 °C"),
    (29, {**PSI, "Temperature": [39.95, "degrees celsius"]}, 65, "temperature of 39.9 to 40 °C scores 15"),
    (
        29,
        {**PSI, "Partial pressure of oxygen (PaO₂) for Apache II": [50.0, "mmHg"]},
        50,
        "PaO₂ in 'mmHg' scores 0, the rule knew only mm Hg and kPa",
    ),
    # 31: 60 pmol/L · 6 · 90 / 405
    (
        31,
        {"Insulin": [60.0, "pmol/L"], "Glucose": [90.0, "mg/dL"]},
        80.0,
        "Insulin: 60 pmol/L multiplied by 6 instead of divided",
    ),
    (32, {"age": [40.0, YEARS], "Solid tumor": "metastatic", "Leukemia": True}, 8, None),
    (
        32,
        {"age": [40.0, YEARS], "Solid tumor": "Metastatic"},
        1,
        "Solid tumor: 'Metastatic' scores 1, the rule knew only none, localized, metastatic",
    ),
    (
        32,
        {"age": [40.0, YEARS], "Diabetes mellitus criteria for CCI rule": "None or Diet-controlled"},
        1,
        "Diabetes mellitus criteria for CCI rule: 'None or Diet-controlled' scores 1, the rule knew only "
        "none or diet-controlled, uncomplicated, end-organ damage",
    ),
    (33, {"Fever in past 24 hours": True}, 1, "absence of cough or coryza not mentioned scores 0"),
    (
        36,
        {
            "age": [70.0, YEARS],
            "sex": "Female",
            "Surgery Type": "minor",
            "Mobility": "on bed rest",
            "Stroke in the last month": True,
            "Body Mass Index (BMI)": [31.0, "kg/m^2"],
        },
        2 + 1 + 1,
        "not counted: Stroke in the last month, Body Mass Index (BMI) above 25",
    ),
    # 44: 3.4, 1.2 and 1.6 mmol/L become 116.0, 38.7 and 172.3 mg/dL; 116 − 38.7 − 34.46
    (
        44,
        {
            "Total cholesterol": [3.4, "mmol/L"],
            "high-density lipoprotein cholesterol": [1.2, "mmol/L"],
            "Triglycerides": [1.6, "mmol/L"],
        },
        42.84,
        "Total cholesterol: 3.4 mmol/L became 116 mg/dL by rounding each step (exactly 131.5); "
        "high-density lipoprotein cholesterol: 1.2 mmol/L became 38.7 mg/dL by rounding each step (exactly 46.4); "
        "Triglycerides: 1.6 mmol/L became 172.3 mg/dL by rounding each step (exactly 137.8)",
    ),
    # 45: 6.9 mmol/L -> 0.007 mol · 28.02 = 0.19614 -> 0.196 g -> 19.6 mg/dL
    (
        45,
        {
            "age": [40.0, YEARS],
            "Blood Urea Nitrogen (BUN)": [6.9, "mmol/L"],
            "respiratory rate": [16.0, "breaths per minute"],
            "Systolic Blood Pressure": [120.0, "mm hg"],
            "Diastolic Blood Pressure": [60.9, "mm hg"],
        },
        2,
        "Blood Urea Nitrogen (BUN): 6.9 mmol/L became 19.6 mg/dL by rounding each step (exactly 19.33); "
        "urea of 6.8 to 7 mmol/L scores 1, by comparing 19 mg/dL; diastolic pressure cut to 60",
    ),
    # 46: 208.42 + 33.00 − 0.24 + 6.36 − 30.42 − 47.10 − 172.30 = -2.29 -> -2.3; 1 − 0.9402^e^-2.3 = 0.006 -> 0.0
    (46, FRAMINGHAM, 0.0, "cholesterol taken in mmol/L, and the risk left as a fraction with 1 decimal"),
    # 65 years, smoker, 150 mm Hg, HDL 1.0: 1.77 -> 1.8; 1 − 0.9402^e^1.8 = 0.311 -> 0.3
    (
        46,
        {
            **FRAMINGHAM,
            "age": [65.0, YEARS],
            "Smoker": True,
            "Systolic Blood Pressure": [150.0, "mm Hg"],
            "high-density lipoprotein cholesterol": [1.0, "mmol/L"],
        },
        0.3,
        "cholesterol taken in mmol/L, and the risk left as a fraction with 1 decimal",
    ),
    # 49: 2 · 2.4 · 20
    (49, PATCH, 96.0, "fentanyl patch: mg × doses a day × 2.4, a factor that is meant for µg/h"),
    # 51: heart rate 1 and white cells 1, of a patient who meets nothing
    (51, SIRS, 2, "heart rate up to 90 counted as met; white cells compared per m³ with the limits per mm³"),
    (51, {**SIRS, "White blood cell count": [7000.0, "m^3"], "Heart Rate or Pulse": [95.0, "bpm"]}, 1, None),
    (68, {"Last menstrual date": "02/20/2020", "cycle length": 35}, "03/05/2020", "cycle length ignored"),
    # any: 30 months are 2 years, and pounds or odd units of weight
    (
        38,
        {"age": [30.0, "months"], "sex": "Male", "weight": [10.0, "kilos"], "Sodium": [147.0, "mEq/L"]},
        0.3,
        "age: 30 months counts as 2 years; weight: 10 kilos counts as 10 kg",
    ),
]
