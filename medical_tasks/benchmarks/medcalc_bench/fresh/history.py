"""Findings of a patient's past: diseases, habits, family, long-term medicines, and what bears on thrombosis.

Each score counts cancers in its own way, so there is a finding for each way.
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.fresh.findings import finding

__all__ = [
    "ACUTE_INFARCTION", "AIDS", "ANTICARDIOLIPIN", "ATHEROSCLEROSIS", "BLEEDING", "BLEEDING_DRUGS", "BOWEL_DISEASE",
    "BP_TREATED", "CANCER", "CEREBROVASCULAR", "CHRONIC_ILLNESS", "CHRONIC_KIDNEY", "CHRONIC_LUNG", "CONNECTIVE",
    "COPD", "DEMENTIA", "DIABETES", "END_STAGE_RENAL", "FACTOR_V", "FAMILY_CLOTS", "FAMILY_HEART", "HEART_FAILURE",
    "HEMIPLEGIA", "HEPARIN_REACTION", "HOMOCYSTEINE", "HORMONES", "HYPERCHOLESTEROLEMIA", "HYPERTENSION", "INFARCTION",
    "INSULIN_TREATMENT", "ISCHEMIC_HEART", "LABILE_INR", "LEUKEMIA", "LIVER_DISEASE", "LUPUS_ANTICOAGULANT", "LYMPHOMA",
    "MALIGNANCY", "NEOPLASM", "NURSING_HOME", "OBESITY", "OTHER_THROMBOPHILIA", "PERIPHERAL_ARTERIES", "PREVIOUS_DVT",
    "PREVIOUS_PE", "PROTHROMBIN", "RENAL_DISEASE", "SMOKER", "STROKE", "THROMBOEMBOLISM", "TIA", "ULCER",
    "UNCONTROLLED_HYPERTENSION", "VARICOSE", "VASCULAR_DISEASE",
]  # fmt: skip


HYPERTENSION = finding(
    "history",
    "hypertension",
    "hypertension|high blood pressure|arterial hypertension",
    "hypertension|high blood pressure",
    told="{He} has been known to be hypertensive for many years.|{He} was diagnosed with hypertension at a check-up.",
    denied="{He} is not hypertensive.",
)
# HAS-BLED counts hypertension that is not under control, with systolic pressures above 160 mm Hg.
UNCONTROLLED_HYPERTENSION = finding(
    "history",
    "hypertension pressure",
    "uncontrolled hypertension with systolic readings above 160 mm Hg",
    "hypertension|high blood pressure",
    told="{His} hypertension is poorly controlled, with systolic pressures above 160 mm Hg at the last visits."
    "|Hypertension remains uncontrolled: systolic readings at home are above 160 mm Hg.",
    denied="{He} is not hypertensive.|Blood pressure has been normal at every visit, without treatment.",
)
BP_TREATED = finding(
    "drug",
    "hypertension pressure",
    "amlodipine for high blood pressure|ramipril for hypertension|losartan for hypertension",
    "blood pressure medicines|antihypertensive drugs",
    told="{His} blood pressure is treated with lisinopril.|An antihypertensive, indapamide, was started two years ago.",
    denied="{He} has never been given medicines for blood pressure.|No antihypertensive treatment has been started.",
)
DIABETES = finding(
    "history",
    "sugar",
    "type 2 diabetes|diabetes mellitus|type 2 diabetes treated with tablets",
    "diabetes|diabetes mellitus",
    told="{He} takes metformin for type 2 diabetes.",
    denied="{He} is not diabetic.",
)
INSULIN_TREATMENT = finding(
    "drug",
    "sugar",
    "insulin glargine every evening|basal-bolus insulin|insulin twice daily",
    "insulin",
    told="Diabetes is treated with insulin.|{He} has injected insulin for {his} diabetes for six years.",
    denied="Type 2 diabetes is treated with metformin alone, without insulin."
    "|{He} has diet-controlled diabetes and has never needed insulin.",
)
HEART_FAILURE = finding(
    "history",
    "failure",
    "congestive heart failure|heart failure with reduced ejection fraction|chronic heart failure",
    "heart failure|congestive heart failure",
    told="{He} is treated for congestive heart failure with a loop diuretic.",
    denied="Echocardiography last month showed a normal left ventricle, and {he} has never had heart failure.",
)
STROKE = finding(
    "history",
    "brain",
    "an ischaemic stroke in 2018|a previous ischemic stroke|a stroke five years ago",
    "stroke",
    told="{He} had an ischaemic stroke six years ago and has recovered well.",
    denied="{He} has never had a stroke.",
)
TIA = finding(
    "history",
    "brain",
    "a transient ischaemic attack two years ago|a TIA in 2019|a previous transient ischemic attack",
    "transient ischaemic attack|TIA",
    told="Three years ago {his} speech was lost for twenty minutes, and a transient ischaemic attack was diagnosed.",
    denied="{He} has never had a transient ischaemic attack.",
)
CEREBROVASCULAR = finding(
    "history",
    "brain",
    "an ischaemic stroke in 2017|a previous stroke|a transient ischaemic attack four years ago",
    "stroke or transient ischaemic attack|cerebrovascular disease",
    denied="{He} has never had a stroke or a transient ischaemic attack.",
)
THROMBOEMBOLISM = finding(
    "history",
    "arteries",
    "an arterial embolism to the left arm|a systemic embolism with embolectomy of the right leg artery",
    "systemic embolism|arterial thromboembolism",
    told="Two years ago an embolus was removed from the artery of {his} right arm.",
)
VASCULAR_DISEASE = finding(
    "history",
    "arteries coronary",
    "peripheral arterial disease|a myocardial infarction in 2016|complex plaque of the aorta",
    "vascular disease",
    told="{He} had a myocardial infarction eight years ago.|{He} has claudication from peripheral arterial disease.",
    denied="{He} has had no myocardial infarction and has neither peripheral arterial disease nor aortic plaque.",
)
ATHEROSCLEROSIS = finding(
    "history",
    "arteries coronary",
    "a coronary stent placed in 2019|peripheral arterial disease|coronary artery disease",
    "atherosclerotic disease|known atherosclerotic disease",
    denied="{He} has no known coronary, carotid or peripheral atherosclerosis.",
)
ISCHEMIC_HEART = finding(
    "history",
    "coronary",
    "a myocardial infarction in 2015|ischaemic heart disease|angina treated with nitrates",
    "ischaemic heart disease|ischemic heart disease",
    told="{He} had a myocardial infarction seven years ago.",
    denied="{He} has never had angina or a myocardial infarction, and an exercise test was normal.",
)
INFARCTION = finding(
    "history",
    "coronary",
    "myocardial infarction|a heart attack in 2014",
    "myocardial infarction|heart attack",
    told="{He} survived a myocardial infarction nine years ago.",
)
ACUTE_INFARCTION = finding(
    "recent",
    "coronary",
    "an acute myocardial infarction nine days ago",
    "acute myocardial infarction",
    told="An acute myocardial infarction was treated with a stent nine days ago.",
    denied="{He} has not had an acute myocardial infarction.",
)
PERIPHERAL_ARTERIES = finding(
    "history",
    "arteries",
    "peripheral vascular disease|peripheral arterial disease with claudication",
    "peripheral vascular disease|peripheral arterial disease",
)
DEMENTIA = finding("history", "mind", "dementia|Alzheimer's dementia|vascular dementia", "dementia")
CHRONIC_LUNG = finding(
    "history",
    "lungs",
    "chronic obstructive pulmonary disease|COPD|COPD with inhaled treatment",
    "chronic lung disease|COPD",
)
COPD = finding(
    "history",
    "lungs",
    "chronic obstructive pulmonary disease|COPD",
    "chronic obstructive pulmonary disease|COPD",
)
CONNECTIVE = finding(
    "history",
    "joints",
    "systemic lupus erythematosus|systemic sclerosis|polymyositis",
    "connective tissue disease",
)
ULCER = finding(
    "history",
    "stomach",
    "peptic ulcer disease|a treated gastric ulcer|a duodenal ulcer",
    "peptic ulcer disease|peptic ulcer",
)
HEMIPLEGIA = finding(
    "history",
    "brain",
    "left hemiplegia since childhood meningitis|right hemiplegia after a head injury years ago",
    "hemiplegia|hemiplegia or paraplegia",
)
CHRONIC_KIDNEY = finding(
    "history",
    "kidney",
    "moderate to severe chronic kidney disease|chronic kidney disease stage 4|end-stage renal disease on dialysis",
    "chronic kidney disease",
    denied="{His} kidney function is normal.",
)
RENAL_DISEASE = finding(
    "history",
    "kidney",
    "chronic kidney disease|chronic renal disease",
    "renal disease|kidney disease",
)
# HAS-BLED counts dialysis, a transplant, or a creatinine above 2.26 mg/dL.
END_STAGE_RENAL = finding(
    "history",
    "kidney",
    "end-stage renal disease on haemodialysis|a kidney transplant",
    "kidney disease|renal disease",
    told="{He} has been on dialysis for two years.",
    denied="{His} kidney function is normal.",
)
AIDS = finding(
    "history",
    "infection",
    "AIDS|AIDS with previous Pneumocystis pneumonia",
    "AIDS|HIV infection or AIDS",
)
LIVER_DISEASE = finding(
    "history",
    "liver",
    "cirrhosis of the liver|cirrhosis|liver cirrhosis",
    "liver disease|hepatic disease",
    denied="{He} has never had liver disease.",
)
CHRONIC_ILLNESS = finding(
    "history",
    "liver failure lungs immune",
    "biopsy-proven cirrhosis with portal hypertension|New York Heart Association class IV heart failure"
    "|immunosuppression after chemotherapy for leukaemia",
    "severe organ failure or immunocompromise|severe organ insufficiency or immune suppression",
)
SMOKER = finding(
    "habit",
    "smoking",
    "current smoker|smokes a pack a day",
    "non-smoker|never smoked",
    told="{He} smokes 15 cigarettes a day.|{He} is a current smoker.",
    denied="{He} has never smoked.|{He} does not smoke; {he} gave it up eleven years ago.",
)
OBESITY = finding(
    "history",
    "body",
    "obesity|obesity with a body mass index above 30",
    "obesity",
    told="{He} is obese.",
    denied="{He} is not obese.",
)
HYPERCHOLESTEROLEMIA = finding(
    "history",
    "lipids",
    "hypercholesterolemia|hypercholesterolaemia on a statin",
    "hypercholesterolemia|high cholesterol",
)
FAMILY_HEART = finding(
    "family",
    "kin coronary",
    "father with a myocardial infarction at 52|a brother with a coronary stent at 49",
    "premature cardiovascular disease|cardiovascular disease before the age of 65",
    told="{His} father had a heart attack at the age of 51.|{His} sister needed a coronary bypass at 58.",
    denied="No parent or sibling had cardiovascular disease before the age of 65.",
)
BLEEDING = finding(
    "history",
    "bleeding",
    "a gastrointestinal bleed that needed transfusion|a major bleed from a gastric ulcer|a retroperitoneal haematoma",
    "major bleeding|bleeding or anaemia",
    told="Last year {he} was transfused for bleeding from the colon.",
    denied="{He} has never had a major bleed and has no bleeding tendency.",
)
LABILE_INR = finding(
    "test",
    "clotting",
    "labile INR values|INR in range less than half of the time",
    "labile INR values",
    told="The INR has been labile, in range at less than half of the visits.",
    denied="The INR has been stable within the target range.",
)
BLEEDING_DRUGS = finding(
    "drug",
    "bleeding pills",
    "aspirin 75 mg daily|ibuprofen on most days|clopidogrel 75 mg daily",
    "aspirin, other antiplatelet drugs or NSAIDs|antiplatelet drugs or anti-inflammatory painkillers",
    told="{He} buys naproxen for {his} back and uses it almost daily.",
    denied="{He} uses neither antiplatelet drugs nor NSAIDs.",
)
NURSING_HOME = finding(
    "habit",
    "home",
    "nursing home resident|lives in a nursing home",
    "not a nursing home resident|lives at home",
    told="{He} lives in a nursing home.",
    denied="{He} lives in {his} own home.",
)
BOWEL_DISEASE = finding(
    "history",
    "bowel",
    "Crohn's disease|ulcerative colitis|inflammatory bowel disease",
    "inflammatory bowel disease",
)


LEUKEMIA = finding(
    "history",
    "blood cancer",
    "chronic lymphocytic leukaemia|leukaemia|chronic myeloid leukemia",
    "leukaemia|leukemia",
)
LYMPHOMA = finding(
    "history",
    "blood cancer",
    "lymphoma|Hodgkin lymphoma|follicular lymphoma",
    "lymphoma",
)
NEOPLASM = finding(
    "history",
    "cancer",
    "active lung cancer|colon cancer diagnosed this year|f:metastatic breast cancer|metastatic kidney cancer",
    "cancer|neoplastic disease",
    denied="A basal cell carcinoma of the skin was removed years ago; {he} has had no other tumour.",
)
# Caprini: present or previous.
MALIGNANCY = finding(
    "history",
    "cancer",
    "colon cancer, operated on three years ago|f:breast cancer five years ago|active lung cancer|kidney cancer",
    "cancer|malignancy",
)
# Wells: treated within six months, or palliative. A cancer cured long ago does not count.
CANCER = finding(
    "history",
    "cancer",
    "colon cancer, last chemotherapy six weeks ago|lung cancer under palliative care"
    "|f:breast cancer, on chemotherapy since last month|kidney cancer under immunotherapy",
    "cancer|malignancy",
    told="{He} is receiving chemotherapy for colon cancer.|{He} is under palliative care for pancreatic cancer.",
    denied="A thyroid cancer was cured twelve years ago, without treatment since.",
)
FAMILY_CLOTS = finding(
    "family",
    "kin clots",
    "deep vein thrombosis in {his} mother|pulmonary embolism in a brother",
    "thrombosis|venous thrombosis",
)
PREVIOUS_DVT = finding(
    "history",
    "clots",
    "a deep vein thrombosis four years ago|a previous DVT|a deep vein thrombosis eight years ago",
    "deep vein thrombosis|DVT",
    told="{He} was anticoagulated for a deep vein thrombosis six years ago.",
    denied="{He} has never had a deep vein thrombosis.",
)
PREVIOUS_PE = finding(
    "history",
    "clots",
    "a pulmonary embolism five years ago|a previous pulmonary embolism",
    "pulmonary embolism",
    told="{He} had a pulmonary embolism four years ago.",
    denied="{He} has never had a pulmonary embolism.",
)
HORMONES = finding(
    "drug",
    "hormones",
    "a combined oral contraceptive with oestrogen|an oestrogen patch",
    "hormones|oestrogen or other hormones",
    told="{He} started a combined oral contraceptive last year.",
    denied="{He} uses no hormonal treatment.",
)
VARICOSE = finding("sign", "legs", "varicose veins|varicose veins of both legs", "varicose veins")
FACTOR_V = finding("test", "clots", "heterozygous factor V Leiden|factor V Leiden", "factor V Leiden")
PROTHROMBIN = finding("test", "clots", "the prothrombin 20210A mutation", "prothrombin 20210A mutation")
HOMOCYSTEINE = finding("test", "clots", "an elevated serum homocysteine", "elevated homocysteine")
LUPUS_ANTICOAGULANT = finding("test", "clots", "a positive lupus anticoagulant", "lupus anticoagulant")
ANTICARDIOLIPIN = finding("test", "clots", "elevated anticardiolipin antibodies", "elevated anticardiolipin antibodies")
HEPARIN_REACTION = finding("history", "clots", "heparin-induced thrombocytopenia", "heparin-induced thrombocytopenia")
OTHER_THROMBOPHILIA = finding("test", "clots", "protein C deficiency|antithrombin deficiency", "other thrombophilia")
