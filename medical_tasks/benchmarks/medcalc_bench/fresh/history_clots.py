"""Findings of the past that bear on thrombosis, and cancers, which each score counts in its own way."""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.fresh.findings import finding

__all__ = [
    "ANTICARDIOLIPIN", "CANCER", "FACTOR_V", "FAMILY_CLOTS", "HEPARIN_REACTION", "HOMOCYSTEINE", "HORMONES",
    "LEUKEMIA", "LUPUS_ANTICOAGULANT", "LYMPHOMA", "MALIGNANCY", "NEOPLASM", "OTHER_THROMBOPHILIA", "PREVIOUS_DVT",
    "PREVIOUS_PE", "PROTHROMBIN", "VARICOSE",
]  # fmt: skip

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
