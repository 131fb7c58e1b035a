"""A second reader of the notes: patterns written for the tests, apart from the generator's own wordings.

For each entity it knows by which words a note speaks of it, and whether a sentence says yes or no. What it finds in a note
must be what the entities say, and it must find nothing of an entity that was left out.
"""

from __future__ import annotations

import re

# A sentence that denies: the words of denial, and the near misses (another time, another cause) that amount to one.
DENIAL = re.compile(
    r"\b(no|not|never|none|denies|without|neither|negative|nothing)\b|\bnon-smoker|gave it up|lives at home|own home|"
    r"last (major )?operation|up and about|on (his|her) feet|one day in bed|was cured|of the same girth|"
    r"measures 1 cm more|the same on both sides|stools are brown|only slightly reddened|fully oriented|"
    r"alert and oriented|knows the date|normal at every visit|kidney function is normal|in the normal range|"
    r"stable within|single session|five days ago|six days ago|more than a week|four days\b.*throat|throat.*four days|"
    r"of normal size|blood tests show",
    re.IGNORECASE,
)

_DVT = r"deep vein thrombosis|\bDVT\b"
_PE = r"pulmonary embolism"
_OPERATION = (
    r"surgery|operation|laparotomy|cholecystectomy|hysterectomy|appendectomy|replacement|gallbladder was removed"
)

# What reads like a denial and is none: part of a disease's name, or of what a finding looks like.
HARMLESS = re.compile(r"without (cirrhosis|complications)|does not know|, not varicose,", re.IGNORECASE)

# Entity to the words by which a note speaks of it. Looked for in each sentence by itself.
FLAGS: dict[str, str] = {
    "Congestive Heart Failure": r"heart failure|normal left ventricle",
    "Congestive Heart Failure criteria for the Cardiac Risk Index rule": r"heart failure|normal left ventricle",
    "Cardiac failure present": r"heart failure|cardiac failure",
    "Hypertension history": r"hypertens|high blood pressure|blood pressure has been normal",
    "Blood pressure being treated with medicines": r"antihypertensive|blood pressure (medicines|is treated)|medicines for blood|"
    r"for (high blood pressure|hypertension)",
    "Diabetes history": r"diabet|metformin",
    "Pre-operative treatment with insulin": r"insulin",
    "Stroke": r"\bstroke",
    "Cerebrovascular Accident": r"\bstroke",
    "Transient Ischemic Attacks History": r"transient isch|\bTIA\b",
    "History of cerebrovascular disease": r"\bstroke|transient isch|cerebrovascular",
    "Cerebrovascular disease history": r"\bstroke|transient isch|cerebrovascular",
    "Thromboembolism history": r"embol(us|ism)",
    "Vascular disease history": r"vascular disease|arterial disease|myocardial infarction|plaque",
    "atherosclerotic disease": r"atherosclero|coronary stent placed|arterial disease|coronary artery disease",
    "History of ischemic heart disease": r"isch(a)?emic heart|myocardial infarction|angina",
    "Myocardial infarction": r"myocardial infarction|heart attack",
    "Acute Myocardial infarction": r"myocardial infarction",
    "Peripheral vascular disease": r"peripheral (vascular|arterial)",
    "Dementia": r"dementia",
    "Chronic Pulmonary Disease": r"COPD|pulmonary disease|chronic lung disease",
    "Chronic Obstructive Pulmonary Disease": r"COPD|pulmonary disease",
    "Connective tissue disease": r"connective tissue|lupus erythematosus|systemic sclerosis|polymyositis",
    "Peptic ulcer disease": r"ulcer",
    "Hemiplegia": r"hemiplegia",
    "Moderate to severe Chronic Kidney Disease": r"kidney (disease|function)|end-stage renal",
    "Renal disease history": r"renal disease|kidney disease",
    "Renal disease criteria for the HAS-BLED rule": r"renal disease|kidney|dialysis",
    "Acute renal failure": r"acute renal failure",
    "Chronic Renal Failure": r"chronic renal failure",
    "Leukemia": r"leuk(a)?emia",
    "Lymphoma": r"lymphoma",
    "AIDS": r"(?-i:\bAIDS\b)",
    "Neoplastic disease": r"cancer|neoplas|tumour",
    "Present or previous malignancy": r"cancer|malignan",
    "Malignancy with treatment within 6 months or palliative": r"cancer|malignan",
    "Active cancer": r"cancer|malignan",
    "Liver disease history": r"liver disease|cirrhosis|hepatic disease",
    "Liver disease criteria for the HAS-BLED rule": r"liver disease|cirrhosis|hepatic disease",
    "Hepatic disease history": r"liver disease|cirrhosis|hepatic disease",
    "History of severe organ failure or immunocompromise": r"organ failure|organ insufficiency|portal hypertension|"
    r"class IV|immunosuppression",
    "smoking": r"smok",
    "Smoker": r"smok",
    "obesity": r"obes",
    "hypercholesterolemia": r"cholesterol[a]?emia|high cholesterol",
    "Diabetes mellitus": r"diabet|metformin",
    "parent or sibling with Cardiovascular disease before age 65": r"father|sister|brother|sibling|cardiovascular disease",
    "Family history of thrombosis": r"family history|FH|mother|brother",
    "Previously documented Deep Vein Thrombosis": rf"^(?!.*likely).*(?<!sign of )({_DVT})(?! in (his|her) mother)",
    "Previously Documented Pulmonary Embolism": rf"^(?!.*likely).*{_PE}(?! in a brother)",
    "Prior major bleeding or predisposition to bleeding": r"^(?!.*bleeding risk).*(bleed|haematoma)",
    "Labile international normalized ratio": r"labile|INR (has|in range)",
    "Medication usage predisposing to bleeding": r"aspirin|ibuprofen|clopidogrel|naproxen|antiplatelet|NSAID",
    "Hormone use": r"hormon|oestrogen|contraceptive",
    "Nursing home resident": r"nursing home|lives at home|own home",
    "Varicose veins": r"varicose veins",
    "History of inflammatory bowel disease": r"Crohn|colitis|inflammatory bowel",
    "Positive Factor V Leiden": r"factor V Leiden",
    "Positive prothrombin 20210A": r"20210A",
    "Elevated serum homocysteine": r"homocysteine",
    "Positive lupus anticoagulant": r"lupus anticoagulant",
    "Elevated anticardiolipin antibody": r"anticardiolipin",
    "Heparin-induced thrombocytopenia": r"heparin-induced",
    "Other congenital or acquired thrombophilia": r"thrombophilia|\bprotein C\b|antithrombin",
    "Hemoptysis": r"h(a)?emoptysis|blood-streaked|cough(ing|ed) up (any )?blood",
    "Clinical signs and symptoms of Deep Vein Thrombosis": r"calf|calves|sign of deep vein|swollen (left|right) leg",
    "Unilateral Leg Swelling": r"leg swelling|swelling of the|thicker|girth",
    "Immobilization for at least 3 days": r"bed rest|\bin bed\b|immobilization|on (his|her) feet",
    "Surgery in the previous 4 weeks": rf"(?<!after )({_OPERATION})",
    "Recent surgery or trauma": r"surgery|operation|injury|gallbladder was removed|rib fractures",
    "Bedridden recently >3 days or major surgery within 12 weeks": r"\bin bed\b|bed rest|up and about",
    "Major surgery within 12 weeks": _OPERATION,
    "Calf swelling >3 centimeters compared to the other leg": r"calf (measures|measuring|girth)|girth of the|in calf girth",
    "Collateral (nonvaricose) superficial veins present": r"collateral",
    "Entire Leg Swollen": r"entire|whole leg",
    "Localized tenderness along the deep venous system": r"tenderness|pressing along",
    "Pitting edema, confined to symptomatic leg": r"pitting",
    "Paralysis, paresis, or recent plaster immobilization of the lower extremity": r"paresis|plaster",
    "Major Surgery in the last month": r"(abdominal operation|resection|last major operation|major surgery in)",
    "Congestive Heart Failure in the last month": r"heart failure",
    "Sepsis in the last month": r"sepsis",
    "Pneumonia in the last month": r"pneumonia",
    "Immobilizing plaster cast in the last month": r"plaster",
    "Hip, pelvis, or leg fracture in the last month": r"fracture",
    "Stroke in the last month": r"stroke",
    "Multiple trauma in the last month": r"trauma",
    "Acute spinal cord injury causing paralysis in the last month": r"spinal cord",
    "Current swollen legs": r"swelling of (both|the) legs|swollen legs",
    "Current central venous access": r"central venous",
    "Tender/swollen anterior cervical lymph nodes": r"nodes",
    "Exudate or swelling on tonsils": r"exudate|coating",
    "Fever in past 24 hours": r"fever",
    "Purulent tonsils": r"\bpus\b|purulent",
    "Severe tonsil inflammation": r"inflam|slightly reddened",
    "Melena present": r"mel(a)?ena|stools",
    "Recent syncope": r"syncope|fainted|consciousness",
    "Confusion": r"confus|disorient|oriented|knows the date",
    "Altered mental status": r"mental status|disorient|oriented",
    "Pleural effusion on x-ray": r"effusion",
    "On mechanical ventilation": r"mechanical(ly)? ventilat|ventilator",
    "Continuous positive airway pressure": r"CPAP|positive airway pressure",
    "Hypotension": r"hypotension",
    "Dialysis at least twice in the past week": r"(?<!veno-venous h)(?<!veno-venous )(\bdialys|haemodialysis (three|twice))",
    "Continuous veno-venous hemodialysis for ≥24 hours in the past week": r"veno-venous",
}

# Entities that are the absence of what a note speaks of.
ABSENCES: dict[str, str] = {
    "Cough Absent": r"cough",
    "Absence of cough or coryza": r"cough|coryza|runny nose|nose has been running",
}

# Findings that a sentence's denial does not decide: what it says when there, and when not.
VERDICTS: dict[str, tuple[str, str]] = {
    "Pulmonary Embolism is #1 diagnosis OR equally likely": (
        r"embolism (is considered )?the most likely|no (other )?diagnosis more likely than",
        r"(pneumonia|muscle|muscular cause).* more likely than",
    ),
    "Alternative diagnosis to Deep Vein Thrombosis as likely or more likely": (
        r"(cyst|cellulitis|muscle).*(as likely|more likely)",
        r"no other diagnosis (seems )?as likely|clearly the most likely",
    ),
    "Symptom onset ≤3 days": (
        r"(two|three) days ago|yesterday evening|onset yesterday",
        r"(six|five) days ago|for four days|more than a week",
    ),
    "Elevated-risk surgery": (
        r"hemicolectomy|aortobifemoral|oesophagus|lobectomy",
        r"cataract operation|carpal tunnel|arthroscopy|skin tumour",
    ),
}

# Class findings: entity to word to what the note says.
CLASSES: dict[str, dict[str, str]] = {
    "Ascites": {
        "absent": r"\bno [^.]*ascites|no free fluid",
        "slight": r"(slight|mild) ascites",
        "moderate": r"moderate( to severe)? ascites",
    },
    "Encephalopathy": {
        "No Encephalopathy": r"\bno [^.]*encephalopathy|encephalopathy is absent",
        "Grade 1-2": r"encephalopathy grade [12]",
        "Grade 3-4": r"encephalopathy grade [34]",
    },
    "Best eye response": {
        "no eye opening": r"no eye opening|eyes stay closed",
        "eye opening to pain": r"only to pain|to pain only",
        "eye opening to verbal command": r"verbal command|when spoken to|to voice",
        "eyes open spontaneously": r"spontaneous|without being asked",
    },
    "Best verbal response": {
        "no verbal response": r"no verbal response|makes no sound",
        "incomprehensible sounds": r"incomprehensible|only moans",
        "inappropriate words": r"inappropriate words",
        "confused": r"confused",
        "oriented": r"oriented",
    },
    "Best motor response": {
        "no motor response": r"no motor response|no movement of the limbs",
        "extension to pain": r"extension of|extends (his|her) arms",
        "flexion to pain": r"abnormal(,| flexion| \(decort)|decorticate",
        "withdrawal from pain": r"withdrawal",
        "localizes pain": r"localiz",
        "obeys commands": r"obey",
    },
    "Suspicion History": {
        "Slightly suspicious": r"slightly suspicious",
        "Moderately suspicious": r"moderately suspicious",
        "Highly suspicious": r"highly suspicious",
    },
    "Electrocardiogram Test": {
        "Normal": r"ECG is normal|normal electrocardiogram",
        "Non-specific repolarization disturbance": r"non-specific repolarization",
        "Significant ST deviation": r"significant ST",
    },
    "Initial troponin": {
        "less than or equal to normal limit": r"troponin is normal|below the upper limit",
        "between the normal limit or up to three times the normal limit": r"twice the upper limit",
        "greater than three times normal limit": r"(four|five) times the upper limit",
    },
    "Mobility": {
        "normal": r"walks (about )?normally",
        "on bed rest": r"on bed rest since this morning",
        "confined to bed >72 hours": r"confined to bed for five|not left the bed for four",
    },
    "Liver disease severity": {
        "None": r"(never had|negative for|no) [^.]*liver disease",
        "Mild": r"mild liver disease|hepatitis B without",
        "Moderate to Severe": r"cirrhosis with portal|severe liver disease",
    },
    "Diabetes mellitus": {
        "None or diet-controlled": r"no diabetes|by diet alone|diet-controlled",
        "Uncomplicated": r"without complications|uncomplicated",
        "End-organ damage": r"retinopathy",
    },
    "Solid tumor": {
        "None": r"never had a solid|(negative for|no) [^.]*solid tumor",
        "Localized": r"localized (colon|breast|prostate)|localized kidney",
        "Metastatic": r"metasta",
    },
    "Surgery Type": {
        "none": r"no operation (is )?planned",
        "minor": r"minor (surgery|operation)",
        "major": r"major open",
        "laparoscopic": r"laparoscopic",
        "arthroscopic": r"arthroscopic",
        "elective major lower extremity arthroplasty": r"arthroplasty",
        "Nonoperative": r"not been operated|no operation during",
        "Elective": r"after elective surgery",
        "Emergency": r"after emergency surgery",
    },
}

# Quantity to the names a note gives it; a number follows, perhaps after "of".
QUANTITIES: dict[str, str] = {
    "weight": r"weight|Wt",
    "height": r"height|Ht",
    "Body Mass Index (BMI)": r"body mass index|BMI",
    "Heart Rate or Pulse": r"heart rate|pulse|HR|P",
    "respiratory rate": r"respiratory rate|RR",
    "Temperature": r"temperature|Temp|T",
    "O₂ saturation percentage": r"oxygen saturation|SpO2|sat",
    "QT interval": r"QT interval|QT",
    "PaO2": r"PaO2|\(PaO2\)",
    "PaCO2": r"PaCO2|\(PaCO2\)",
    "FiO2": r"FiO2|\(FiO2\)",
    "A-a gradient": r"A-a gradient|oxygen gradient",
    "pH": r"pH",
    "Glasgow Coma Score": r"Glasgow Coma Score|GCS",
    "Urine Output": r"urine output|UO",
    "Sodium": r"(?<!urine )(?<!urinary )(?:sodium|Na)",
    "Potassium": r"potassium|K",
    "Chloride": r"chloride|Cl",
    "Bicarbonate": r"bicarbonate|HCO3",
    "Calcium": r"calcium|Ca",
    "Albumin": r"albumin|Alb",
    "creatinine": r"(?<!urine )(?<!urinary )(?:creatinine|creat|Cr)",
    "Pre-operative creatinine": r"creatinine|creat|Cr",
    "Urine sodium": r"urine sodium|urinary sodium|urine Na|UNa",
    "Urine creatinine": r"urine creatinine|urinary creatinine|urine Cr|UCr",
    "Blood Urea Nitrogen (BUN)": r"blood urea nitrogen|BUN|urea",
    "Glucose": r"glucose|Glu",
    "Bilirubin": r"bilirubin|Bili",
    "Aspartate aminotransferase": r"aspartate aminotransferase|AST",
    "Alanine aminotransferase": r"alanine aminotransferase|ALT",
    "international normalized ratio": r"INR|international normalized ratio",
    "Hemoglobin": r"h(?:a)?emoglobin|Hb",
    "Hematocrit": r"h(?:a)?ematocrit|Hct",
    "Platelet count": r"platelets|platelet count|Plt",
    "White blood cell count": r"white cell count|white blood cells|WBC",
    "Total cholesterol": r"total cholesterol|TC",
    "high-density lipoprotein cholesterol": r"HDL cholesterol|high-density lipoprotein cholesterol|HDL",
    "Triglycerides": r"triglycerides|TG",
    "Insulin": r"fasting insulin|insulin \(fasting\)",
    "DOPamine": r"dopamine runs at",
    "DOBUTamine": r"dobutamine runs at",
    "EPINEPHrine": r"(?<!nor)epinephrine runs at",
    "norEPINEPHrine": r"norepinephrine runs at",
}

UNITS: dict[str, str] = {
    "degrees celsius": r" (°C|degrees Celsius)",
    "degrees fahrenheit": r" (°F|degrees Fahrenheit)",
    "beats per minute": r"( beats per minute|/min| bpm| per minute)",
    "breaths per minute": r"( breaths per minute|/min| per minute)",
    "mm Hg": r" (mm Hg|mmHg)",
    "lbs": r" (lb|lbs|pounds)",
    "in": r" (inches|in)",
    "kg/m^2": r" (kg/m²|kg/m2)",
    "%": r" ?%",
    "fraction": "",
    "": "",
    "10^9/L": r" [×x] ?10\^9/L",
    "10^3/µL": r"( ×10\^3| K)/µL",
    "/µL": r"(/µL| per µL)",
    "/mm^3": r"(/mm³| per mm³)",
    "msec": r" (ms|msec|milliseconds)",
    "s": r" (s|seconds)",
    "mL/day": r" (mL/day|mL in 24 hours|mL/24 h)",
    "L/day": r" L(/day| in 24 hours)",
    "µIU/mL": r" (µIU|µU)/mL",
    "mIU/L": r" (mIU|mU)/L",
    "U/L": r" (U|IU)/L",
    "mcg/kg/min": r" (mcg|µg)/kg/min",
}
"""Unit of the entities to what stands after the number; other units stand as they are, after a blank."""

MEN = re.compile(r"\b(he|his|him|man|boy|(?-i:Mr))\b", re.IGNORECASE)
WOMEN = re.compile(r"\b(she|her|woman|girl|(?-i:Ms))\b", re.IGNORECASE)
WOMEN_ONLY = re.compile(
    r"pregnan|antenatal|menstrual|\bLMP\b|hysterectomy|contraceptive|oestrogen patch|irregular periods|"
    r"\bG\dP\d\b|breast cancer",
    re.IGNORECASE,
)
MEN_ONLY = re.compile(r"prostate|testic", re.IGNORECASE)
