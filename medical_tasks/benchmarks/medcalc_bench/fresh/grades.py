"""Findings with several classes: coma responses, ascites, troponin, kinds of operation and the like.

The words are those of the dataset; each class has wordings that fit it and no other.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.fresh.findings import grade

__all__ = [
    "ADMISSION", "ASCITES", "CHARLSON_DIABETES", "CHARLSON_LIVER", "ENCEPHALOPATHY", "EYE", "HEART_ECG",
    "HEART_SUSPICION", "MOBILITY", "MOTOR", "PLANNED_SURGERY", "TROPONIN", "TUMOR", "VERBAL",
]  # fmt: skip

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
