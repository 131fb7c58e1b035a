"""Findings of the present illness: symptoms, signs, what happened in the last weeks, treatment under way.

Those with several classes (coma responses, ascites, troponin, kinds of operation and the like) stand at the end. Their words are
those of the dataset; each class has wordings that fit it and no other.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.fresh.findings import finding, grade

__all__ = [
    "ACUTE_RENAL_FAILURE", "ADMISSION", "ALTERED_MIND", "ALTERNATIVE_TO_DVT", "ASCITES", "BEDRIDDEN", "CALF_SWELLING",
    "CARDIAC_FAILURE_NOW", "CENTRAL_LINE", "CHARLSON_DIABETES", "CHARLSON_LIVER", "CHRONIC_RENAL_FAILURE",
    "COLLATERAL_VEINS", "CONFUSION", "CORYZA", "COUGH", "CPAP", "CVVHD", "DIALYSIS_TWICE", "DVT_SIGNS",
    "ENCEPHALOPATHY", "EXUDATE", "EYE", "FEVER_24H", "FRACTURE", "HEART_ECG", "HEART_SUSPICION", "HEMOPTYSIS",
    "HYPOTENSION", "IMMOBILIZATION", "LEG_SWELLING", "MAJOR_SURGERY_12W", "MELENA", "MOBILITY", "MOTOR", "NODES",
    "ONSET_3_DAYS", "PARALYSIS", "PE_LIKELY", "PITTING", "PLANNED_SURGERY", "PLASTER", "PLEURAL_EFFUSION", "PURULENT",
    "RECENT_FAILURE", "RECENT_PNEUMONIA", "RECENT_SEPSIS", "RECENT_STROKE", "RECENT_SURGERY_MONTH",
    "SEVERE_INFLAMMATION", "SPINAL_INJURY", "SURGERY_4W", "SURGERY_OR_TRAUMA", "SWOLLEN_LEGS", "SYNCOPE", "TENDERNESS",
    "TRAUMA", "TROPONIN", "TUMOR", "VENTILATION", "VERBAL", "WHOLE_LEG",
]  # fmt: skip


# Pulmonary embolism.
HEMOPTYSIS = finding(
    "symptom",
    "cough",
    "haemoptysis|coughing up blood|blood-streaked sputum",
    "haemoptysis|hemoptysis|coughing up blood",
    told="{He} has coughed up blood twice since yesterday.",
    denied="{He} has not coughed up any blood.",
)
DVT_SIGNS = finding(
    "sign",
    "legs",
    "swelling of the {side} calf with tenderness along its deep veins|a swollen {side} leg, tender over the deep veins",
    "clinical sign of deep vein thrombosis|leg swelling or calf tenderness",
    denied="Both calves are soft, equal in girth and not tender.",
)
PE_LIKELY = finding(
    "impression",
    "verdict",
    "pulmonary embolism the most likely diagnosis|no other diagnosis more likely than pulmonary embolism",
    "pneumonia more likely than pulmonary embolism|a muscular cause more likely than pulmonary embolism",
    told="Pulmonary embolism is considered the most likely diagnosis."
    "|The physician finds no diagnosis more likely than pulmonary embolism.",
    denied="Pneumonia is considered clearly more likely than pulmonary embolism."
    "|The physician finds a strained chest muscle more likely than pulmonary embolism.",
)
IMMOBILIZATION = finding(
    "recent",
    "mobility",
    "five days of strict bed rest last week|four days in bed with back pain until yesterday",
    "recent immobilization|recent days in bed",
    told="Because of lumbago {he} stayed in bed for six days until this weekend.",
    denied="{He} has been on {his} feet as usual in recent weeks.|{He} spent one day in bed last week, otherwise {he} was up "
    "and about.",
)
SURGERY_4W = finding(
    "recent",
    "operation",
    "a total knee replacement 12 days ago|an open appendectomy 17 days ago|f:a hysterectomy three weeks ago",
    "surgery in the past four weeks|operation in the last month",
    told="{He} had a laparotomy for bowel obstruction 19 days ago.",
    denied="{His} last operation, a hernia repair, was five months ago.|A cholecystectomy was done three years ago, nothing "
    "since.",
)
SURGERY_OR_TRAUMA = finding(
    "recent",
    "operation trauma",
    "a knee operation under general anaesthesia two weeks ago|a hospital stay for rib fractures three weeks ago",
    "surgery or trauma in the past four weeks|recent operation or injury",
    told="{His} gallbladder was removed under general anaesthesia 16 days ago.",
    denied="{He} has had neither an operation nor an injury in recent months.",
)
LEG_SWELLING = finding(
    "sign",
    "legs",
    "unilateral swelling of the {side} leg|a {side} calf visibly thicker than the other",
    "unilateral leg swelling|leg swelling",
    denied="Both legs are slim and of the same girth.",
)

# Deep vein thrombosis.
BEDRIDDEN = finding(
    "recent",
    "mobility",
    "five days in bed until last weekend|a week of bed rest this month",
    "recent days in bed|bed rest",
    told="A viral illness kept {him} in bed for five days until last weekend.",
    denied="{He} has been up and about every day.",
)
MAJOR_SURGERY_12W = finding(
    "recent",
    "operation",
    "a hip replacement seven weeks ago|major abdominal surgery five weeks ago",
    "major surgery in the past twelve weeks",
    told="Nine weeks ago {he} had a major operation on the bowel.",
    denied="The last major operation was two years ago.",
)
CALF_SWELLING = finding(
    "sign",
    "legs",
    "a {side} calf measuring 4 cm more than the {other}|a 5 cm greater girth of the {side} calf",
    "difference in calf girth",
    told="The {side} calf measures 4 cm more than the {other} one.",
    denied="The {side} calf measures 1 cm more than the {other} one.|Calf girth is the same on both sides.",
)
COLLATERAL_VEINS = finding(
    "sign",
    "legs",
    "dilated nonvaricose superficial collateral veins",
    "collateral superficial veins",
    told="Collateral superficial veins, not varicose, stand out on the {side} leg.",
)
WHOLE_LEG = finding(
    "sign",
    "legs",
    "swelling of the entire {side} leg",
    "swelling of the whole leg|swelling of the entire leg",
    told="The entire {side} leg is swollen, from the groin to the foot.",
)
TENDERNESS = finding(
    "sign",
    "legs",
    "localized tenderness along the deep veins of the {side} leg",
    "tenderness along the deep veins",
    told="Pressing along the deep veins of the {side} leg hurts.",
)
PITTING = finding(
    "sign",
    "legs",
    "pitting oedema of the {side} leg alone|pitting edema confined to the {side} leg",
    "pitting oedema|pitting edema",
)
PARALYSIS = finding(
    "recent",
    "brain trauma",
    "a plaster cast on the {side} lower leg, removed ten days ago|new paresis of the {side} leg after a disc prolapse",
    "paralysis, paresis or plaster of the legs|plaster immobilization of a leg",
)
ALTERNATIVE_TO_DVT = finding(
    "impression",
    "verdict",
    "a ruptured Baker's cyst at least as likely as thrombosis|cellulitis as likely as thrombosis",
    "no other diagnosis as likely as deep vein thrombosis|deep vein thrombosis clearly the most likely diagnosis",
    told="A torn calf muscle is considered more likely than a deep vein thrombosis.",
    denied="No other diagnosis seems as likely as a deep vein thrombosis.",
)

# Caprini: within the last month unless said otherwise.
RECENT_SURGERY_MONTH = finding(
    "recent",
    "operation",
    "a major abdominal operation 20 days ago|a bowel resection two weeks ago",
    "major surgery in the last month",
    denied="The last major operation was nine years ago.",
)
RECENT_FAILURE = finding(
    "recent",
    "failure",
    "an episode of congestive heart failure two weeks ago|decompensated heart failure last week",
    "heart failure in the last month",
)
RECENT_SEPSIS = finding(
    "recent", "infection", "urosepsis three weeks ago|sepsis two weeks ago", "sepsis in the last month"
)
RECENT_PNEUMONIA = finding(
    "recent", "infection lungs", "pneumonia two weeks ago|a pneumonia three weeks ago", "pneumonia in the last month"
)
PLASTER = finding(
    "recent",
    "trauma mobility",
    "an immobilizing plaster cast on the lower leg until last week",
    "plaster cast in the last month",
)
FRACTURE = finding(
    "recent",
    "trauma",
    "a hip fracture ten days ago|a pelvic fracture two weeks ago|a fracture of the tibia three weeks ago",
    "hip, pelvis or leg fracture in the last month",
)
RECENT_STROKE = finding("recent", "brain", "an ischaemic stroke 18 days ago", "stroke in the last month")
TRAUMA = finding("recent", "trauma", "multiple trauma in a car crash 12 days ago", "multiple trauma in the last month")
SPINAL_INJURY = finding(
    "recent",
    "trauma brain",
    "an acute spinal cord injury with paraplegia nine days ago",
    "spinal cord injury in the last month",
)
SWOLLEN_LEGS = finding("sign", "legs", "swelling of both legs|swollen legs", "swelling of the legs")
CENTRAL_LINE = finding(
    "care", "lines", "a central venous catheter|a tunnelled central venous catheter", "central venous access"
)

# Sore throat.
COUGH = finding(
    "symptom",
    "cough",
    "a cough|a dry cough",
    "cough",
    told="{He} has been coughing since the start.",
    denied="{He} does not cough.",
)
CORYZA = finding(
    "symptom",
    "cough",
    "a cough and a runny nose|a runny nose|coryza",
    "cough or coryza|cough or runny nose",
    told="{His} nose has been running since the start.",
    denied="{He} has neither a cough nor a runny nose.",
)
NODES = finding(
    "sign",
    "throat",
    "tender anterior cervical lymph nodes|swollen, tender nodes at the front of the neck",
    "tender or swollen anterior cervical nodes",
    denied="The lymph nodes at the front of the neck are neither swollen nor tender.",
)
EXUDATE = finding(
    "sign",
    "throat",
    "exudate on both tonsils|swollen tonsils with white exudate",
    "tonsillar exudate or swelling",
    denied="The tonsils are of normal size and have no coating.",
)
FEVER_24H = finding(
    "symptom",
    "temperature",
    "fever last night|fever since this morning",
    "fever in the past 24 hours",
    told="Fever was measured at home last night.",
    denied="{He} has not been feverish; the last fever was a week ago.",
)
ONSET_3_DAYS = finding(
    "course",
    "onset",
    "onset two days ago|onset yesterday",
    "onset five days ago|onset more than a week ago",
    told="It began two days ago.|{His} throat began to hurt yesterday evening.|The pain started three days ago.",
    denied="It began six days ago.|{His} throat has hurt for four days.",
)
PURULENT = finding(
    "sign",
    "throat",
    "pus on the tonsils|purulent tonsils",
    "pus on the tonsils",
)
SEVERE_INFLAMMATION = finding(
    "sign",
    "throat",
    "severely inflamed tonsils",
    "severe inflammation of the tonsils",
    denied="The tonsils are only slightly reddened.",
)

# Bleeding, infection, intensive care.
MELENA = finding(
    "symptom",
    "stool",
    "melaena|black, tarry stools",
    "melaena|black stools",
    told="{He} has passed black, tarry stools since yesterday.",
    denied="The stools are brown.",
)
SYNCOPE = finding(
    "symptom",
    "collapse",
    "a brief loss of consciousness this morning|syncope at home today",
    "syncope|loss of consciousness",
    told="{He} fainted in the bathroom this morning.",
    denied="{He} has not fainted.",
)
CARDIAC_FAILURE_NOW = finding(
    "problem",
    "failure",
    "chronic heart failure|congestive heart failure",
    "cardiac failure|heart failure",
)
CONFUSION = finding(
    "sign",
    "mind",
    "new confusion|disorientation to time and place, new since today",
    "confusion",
    told="{He} is newly confused and does not know the date or the place.",
    denied="{He} is fully oriented.|{He} knows the date, the place and why {he} came.",
)
ALTERED_MIND = finding(
    "sign",
    "mind",
    "new disorientation and drowsiness|an altered mental status",
    "change of mental status|altered mental status",
    told="{He} is drowsy and newly disoriented.",
    denied="{He} is alert and oriented.",
)
PLEURAL_EFFUSION = finding(
    "xray",
    "lungs film",
    "a pleural effusion|a small right pleural effusion",
    "pleural effusion",
)
VENTILATION = finding(
    "care",
    "ventilator",
    "mechanical ventilation through an endotracheal tube|invasive mechanical ventilation",
    "mechanical ventilation",
    told="{He} is intubated and mechanically ventilated.",
    denied="{He} breathes without a ventilator.",
)
CPAP = finding("care", "ventilator", "continuous positive airway pressure by mask|CPAP by mask", "CPAP")
HYPOTENSION = finding(
    "sign",
    "pressure",
    "hypotension|hypotension since the night",
    "hypotension",
)
ACUTE_RENAL_FAILURE = finding(
    "problem", "kidney", "acute renal failure since admission|acute renal failure", "acute renal failure"
)
CHRONIC_RENAL_FAILURE = finding("problem", "kidney", "chronic renal failure", "chronic renal failure")
DIALYSIS_TWICE = finding(
    "care",
    "kidney",
    "haemodialysis three times in the past week|haemodialysis twice in the past week",
    "dialysis in the past week",
    denied="{He} had a single session of dialysis in the past week.|{He} has never been dialysed.",
)
CVVHD = finding(
    "care",
    "kidney",
    "continuous veno-venous haemodialysis for 36 hours this week",
    "continuous veno-venous haemodialysis",
)


ASCITES = (
    grade(
        "absent",
        "sign",
        "ascites",
        absent=True,
        told="Ultrasound shows no ascites.|There is no free fluid in the abdomen.",
    ),
    grade("slight", "sign", "slight ascites", told="Ultrasound shows slight ascites.|There is mild ascites."),
    grade(
        "moderate",
        "sign",
        "moderate ascites",
        told="There is moderate to severe ascites.|Moderate ascites is present despite diuretics.",
    ),
)
ENCEPHALOPATHY = (
    grade(
        "No Encephalopathy",
        "sign",
        "encephalopathy",
        absent=True,
        told="There is no sign of hepatic encephalopathy.|{He} is oriented, without asterixis; encephalopathy is absent.",
    ),
    grade(
        "Grade 1-2",
        "sign",
        "hepatic encephalopathy grade 1|hepatic encephalopathy grade 2",
        told="{He} is lethargic with asterixis, hepatic encephalopathy grade 2."
        "|Sleep is reversed and attention short: hepatic encephalopathy grade 1.",
    ),
    grade(
        "Grade 3-4",
        "sign",
        "hepatic encephalopathy grade 3|hepatic encephalopathy grade 4",
        told="{He} is somnolent but can be woken, hepatic encephalopathy grade 3.",
    ),
)
EYE = (
    grade("no eye opening", "sign", "no eye opening", told="The eyes stay closed, even to pain."),
    grade("eye opening to pain", "sign", "eye opening to pain only", told="{He} opens {his} eyes only to pain."),
    grade(
        "eye opening to verbal command",
        "sign",
        "eye opening to verbal command",
        told="{He} opens {his} eyes when spoken to.|The eyes open to voice, not before.",
    ),
    grade(
        "eyes open spontaneously",
        "sign",
        "spontaneous eye opening",
        told="The eyes are open spontaneously.|{He} looks around with open eyes without being asked.",
    ),
)
VERBAL = (
    grade("no verbal response", "sign", "no verbal response", told="{He} makes no sound, whatever is done."),
    grade(
        "incomprehensible sounds",
        "sign",
        "incomprehensible sounds",
        told="{He} only moans, without words.|Speech consists of incomprehensible sounds.",
    ),
    grade(
        "inappropriate words",
        "sign",
        "inappropriate words",
        told="{He} utters single inappropriate words and no sentences.",
    ),
    grade(
        "confused",
        "sign",
        "confused speech",
        told="{He} talks in sentences but is confused about place and date.",
    ),
    grade("oriented", "sign", "oriented speech", told="{He} is oriented and answers correctly."),
)
MOTOR = (
    grade("no motor response", "sign", "no motor response", told="There is no movement of the limbs to any stimulus."),
    grade(
        "extension to pain",
        "sign",
        "extension of the arms to pain",
        told="To pain {he} extends {his} arms.",
    ),
    grade(
        "flexion to pain",
        "sign",
        "abnormal flexion to pain",
        told="To pain the arms bend in a slow, abnormal (decorticate) flexion.",
    ),
    grade(
        "withdrawal from pain",
        "sign",
        "withdrawal from pain",
        told="{He} pulls the hand away when a nail bed is pressed, a normal withdrawal.",
    ),
    grade(
        "localizes pain",
        "sign",
        "localizing of pain",
        told="When the brow is pressed, {he} reaches for the place: {he} localizes pain.",
    ),
    grade("obeys commands", "sign", "obeying of commands", told="{He} lifts both arms when asked and obeys commands."),
)
HEART_SUSPICION = (
    grade(
        "Slightly suspicious",
        "course",
        "history only slightly suspicious of a coronary cause",
        told="The pain is stabbing and changes with position; the history is only slightly suspicious.",
    ),
    grade(
        "Moderately suspicious",
        "course",
        "history moderately suspicious of a coronary cause",
        told="Some features are typical and others are not, so that the history is moderately suspicious.",
    ),
    grade(
        "Highly suspicious",
        "course",
        "history highly suspicious of a coronary cause",
        told="Pressure behind the breastbone spreads to the left arm on exertion; the history is highly suspicious.",
    ),
)
HEART_ECG = (
    grade("Normal", "test", "a normal electrocardiogram", told="The ECG is normal."),
    grade(
        "Non-specific repolarization disturbance",
        "test",
        "non-specific repolarization changes on the ECG",
        told="The ECG shows a non-specific repolarization disturbance.",
    ),
    grade(
        "Significant ST deviation",
        "test",
        "significant ST depression on the ECG",
        told="The ECG shows significant ST depression in the lateral leads.|There is significant ST deviation on the ECG.",
    ),
)
TROPONIN = (
    grade(
        "less than or equal to normal limit",
        "test",
        "an initial troponin below the upper limit of normal",
        told="The initial troponin is normal.|The first troponin lies below the upper limit of normal.",
    ),
    grade(
        "between the normal limit or up to three times the normal limit",
        "test",
        "an initial troponin of twice the upper limit of normal",
        told="The initial troponin is twice the upper limit of normal.",
    ),
    grade(
        "greater than three times normal limit",
        "test",
        "an initial troponin of five times the upper limit of normal",
        told="The initial troponin is four times the upper limit of normal.",
    ),
)
CHARLSON_LIVER = (
    grade("None", "history", "liver disease", absent=True, told="{He} has never had liver disease."),
    grade("Mild", "history", "mild liver disease (chronic hepatitis)|chronic hepatitis B without cirrhosis"),
    grade(
        "Moderate to Severe",
        "history",
        "cirrhosis with portal hypertension|severe liver disease with variceal bleeding",
    ),
)
CHARLSON_DIABETES = (
    grade(
        "None or diet-controlled",
        "history",
        "diet-controlled diabetes",
        told="{He} has no diabetes.|{His} diabetes is controlled by diet alone.",
    ),
    grade("Uncomplicated", "history", "type 2 diabetes without complications|uncomplicated diabetes on metformin"),
    grade(
        "End-organ damage",
        "history",
        "diabetes with retinopathy|diabetes with retinopathy and neuropathy",
    ),
)
TUMOR = (
    grade("None", "history", "solid tumor", absent=True, told="{He} has never had a solid tumour."),
    grade(
        "Localized",
        "history",
        "localized colon cancer|f:localized breast cancer|m:localized prostate cancer|a localized kidney tumour",
    ),
    grade(
        "Metastatic",
        "history",
        "metastatic colon cancer|lung cancer with bone metastases|metastatic melanoma",
    ),
)
MOBILITY = (
    grade("normal", "course", "walks normally", told="{He} walks about normally."),
    grade(
        "on bed rest", "course", "on bed rest since this morning", told="{He} has been on bed rest since this morning."
    ),
    grade(
        "confined to bed >72 hours",
        "course",
        "confined to bed for five days",
        told="{He} has been confined to bed for five days.|{He} has not left the bed for four days.",
    ),
)
PLANNED_SURGERY = (
    grade("none", "impression", "no operation planned", told="No operation is planned."),
    grade("minor", "impression", "minor surgery planned", told="A minor operation, lasting half an hour, is planned."),
    grade(
        "major",
        "impression",
        "major open surgery planned",
        told="A major open operation of about three hours is planned.",
    ),
    grade(
        "laparoscopic",
        "impression",
        "laparoscopic surgery of 90 minutes planned",
        told="A laparoscopic operation of 90 minutes is planned.",
    ),
    grade(
        "arthroscopic",
        "impression",
        "arthroscopic surgery planned",
        told="Arthroscopic surgery of the knee is planned.",
    ),
    grade(
        "elective major lower extremity arthroplasty",
        "impression",
        "elective total hip arthroplasty planned",
        told="An elective total hip arthroplasty is planned.|An elective total knee arthroplasty is planned.",
    ),
)
ADMISSION = (
    grade("Nonoperative", "impression", "no operation during this admission", told="{He} has not been operated on."),
    grade(
        "Elective",
        "impression",
        "admitted after elective surgery",
        told="{He} came to the unit after elective surgery.",
    ),
    grade(
        "Emergency",
        "impression",
        "admitted after emergency surgery",
        told="{He} came to the unit after emergency surgery.",
    ),
)
