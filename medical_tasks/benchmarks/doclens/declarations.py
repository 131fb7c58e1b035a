"""Declares DocLens' datasets and metrics; `spec` declares its tasks."""

from __future__ import annotations

import math
from typing import Final

from medical_tasks.io.files import packaged
from medical_tasks.spec import (
    JUDGE_REPLY_MISSING,
    DatasetSpec,
    MetricSpec,
    Official,
    Row,
)

ACI_BENCH = DatasetSpec(
    name="aci_bench",
    title="ACI-BENCH",
    access="open",
    licence="CC-BY-4.0",
    homepage="https://github.com/wyim/aci-bench",
    paper="https://arxiv.org/abs/2306.02022",
    citation="""\
@article{yim2023acibench,
  title   = {{Aci-bench}: a Novel Ambient Clinical Intelligence Dataset for Benchmarking Automatic Visit Note Generation},
  author  = {Wen-wai Yim and Yujuan Fu and Asma {Ben Abacha} and Neal Snider and Thomas Lin and Meliha Yetisgen},
  journal = {Scientific Data},
  volume  = {10},
  pages   = {586},
  year    = {2023},
  doi     = {10.1038/s41597-023-02487-3}
}""",
    configs=("doclens", "full", "demo"),
    default_config="doclens",
    how_to_get=(
        "medical-tasks build aci_bench --fetch (or with --config full), which fetches the "
        "official files",
        "by hand: download train.csv, valid.csv and clinicalnlp_taskB_test1.csv from "
        "data/challenge_data of "
        "https://github.com/wyim/aci-bench",
        "for config full also clinicalnlp_taskC_test2.csv and clef_taskC_test3.csv from there",
        "then: medical-tasks build aci_bench --source FOLDER",
        "without any download: medical-tasks build aci_bench --config demo",
    ),
    version="1.0.0",
)

MEQSUM = DatasetSpec(
    name="meqsum",
    title="MeQSum",
    access="open",
    licence="CC-BY-4.0",
    homepage="https://github.com/abachaa/MeQSum",
    paper="https://aclanthology.org/P19-1215/",
    citation="""\
@inproceedings{benabacha2019meqsum,
  title     = {On the Summarization of Consumer Health Questions},
  author    = {Asma {Ben Abacha} and Dina Demner-Fushman},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  pages     = {2228--2234},
  year      = {2019},
  url       = {https://aclanthology.org/P19-1215}
}

@inproceedings{benabacha2021mediqa,
  title     = {Overview of the {MEDIQA} 2021 Shared Task on Summarization in the Medical Domain},
  author    = {Asma {Ben Abacha} and Yassine Mrabet and Yuhao Zhang and Chaitanya Shivade and Curtis Langlotz and
               Dina Demner-Fushman},
  booktitle = {Proceedings of the 20th Workshop on Biomedical Language Processing},
  pages     = {74--85},
  year      = {2021},
  url       = {https://aclanthology.org/2021.bionlp-1.8}
}""",
    configs=("full", "demo"),
    default_config="full",
    how_to_get=(
        "medical-tasks build meqsum --fetch, which fetches the three official files",
        "by hand: download MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx from "
        "https://github.com/abachaa/MeQSum",
        "download MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx and "
        "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx from Task1 of "
        "https://github.com/abachaa/MEDIQA2021",
        "put the three, or checkouts of both, into one folder, then: medical-tasks build meqsum "
        "--source FOLDER",
        "without any download: medical-tasks build meqsum --config demo",
    ),
    version="1.0.0",
)

MIMIC_RRS = DatasetSpec(
    name="mimic_rrs",
    title="MIMIC-III radiology report summaries",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://physionet.org/content/mimiciii/1.4/",
    paper="https://aclanthology.org/2023.bionlp-1.42/",
    citation="""\
@article{johnson2016mimic,
  title   = {{MIMIC-III}, a freely accessible critical care database},
  author  = {Alistair E. W. Johnson and Tom J. Pollard and Lu Shen and Li-wei H. Lehman and Mengling Feng and
             Mohammad Ghassemi and Benjamin Moody and Peter Szolovits and Leo Anthony Celi and Roger G. Mark},
  journal = {Scientific Data},
  volume  = {3},
  pages   = {160035},
  year    = {2016},
  doi     = {10.1038/sdata.2016.35}
}""",
    configs=("notes", "table", "demo"),
    default_config="notes",
    how_to_get=(
        "become a credentialed user of PhysioNet and sign the agreement of "
        "https://physionet.org/content/mimiciii/1.4/",
        "download NOTEEVENTS.csv.gz and SHA256SUMS.txt from there",
        "then, on a machine that may hold it: medical-tasks build mimic_rrs --source FOLDER",
        "from a table of findings and impressions that you have: medical-tasks build mimic_rrs "
        "--source FILE.csv --config table",
        "without any download: medical-tasks build mimic_rrs --config demo",
    ),
    version="1.1.0",
)

OWN = DatasetSpec(
    name="doclens_own",
    title="texts of your own",
    access="credentialed",
    licence="other",
    homepage="https://github.com/yiqingxyq/DocLens",
    paper="https://arxiv.org/abs/2311.09581",
    citation="""\
@inproceedings{xie2024doclens,
  title     = {{DocLens}: Multi-aspect Fine-grained Evaluation for Medical Text Generation},
  author    = {Yiqing Xie and Sheng Zhang and Hao Cheng and Pengfei Liu and Zelalem Gero and Cliff Wong and
               Tristan Naumann and Hoifung Poon and Carolyn Rose},
  booktitle = {Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics},
  year      = {2024},
  url       = {https://arxiv.org/abs/2311.09581}
}""",
    configs=("own", "demo"),
    default_config="own",
    how_to_get=(
        'write a JSON list of records, one a text: [{"example_id": "1", "input": "...", '
        '"reference": "..."}, ...]',
        "then: medical-tasks build doclens_own --source FILE.json",
        "without any file: medical-tasks build doclens_own --config demo",
    ),
    version="1.0.0",
)


def demo_entries(kind: str, split: str) -> list[Row]:
    """The synthetic entries of a split, written for this package; they describe nobody.

    `kind`: `visits`, `questions`, `reports` or `texts`.
    """
    return packaged(__file__, "demo_texts.json")[kind][split]  # type: ignore[no-any-return]


DATASETS = (ACI_BENCH, MEQSUM, MIMIC_RRS, OWN)

SECTIONS: Final = (
    "subjective",
    "objective_exam",
    "objective_results",
    "assessment_and_plan",
)
"""The four parts of a clinical note."""

CLAIMS: Final = {
    "claim_recall": "Completeness: share of the reference's claims that the output entails, "
    "pooled.",
    "claim_precision": "Conciseness: share of the output's claims that the reference entails, "
    "pooled.",
    "citation_recall": "Attribution: share of the output's sentences that what they cite entails "
    "together, pooled.",
    "citation_precision": "Attribution: share of the output's citations that support their "
    "sentence and are needed, pooled.",
}

DOCLENS: Final = tuple(
    # Whether a citation is needed takes verdicts on what is left without it.
    MetricSpec(
        name=name,
        kind="ratio",
        description=text,
        verdict="several" if name == "citation_precision" else "entailment",
    )
    for name, text in CLAIMS.items()
)

BY_SECTION: Final = tuple(
    MetricSpec(
        name=f"{name}_{section}",
        kind="ratio",
        description=f"{text.removesuffix('.')}, in the section {section} alone.",
        part=("section", section),
        whole=name,
    )
    for section in SECTIONS
    for name, text in CLAIMS.items()
)

OFFICIAL: Final = tuple(
    MetricSpec(
        name=f"{name}_official",
        kind="ratio",
        description=f"As {name}, by the authors' splitting, reading and adding up.",
        needs="official",
        official=Official(unanswered="left out", undecided=JUDGE_REPLY_MISSING),
    )
    for name in CLAIMS
)

TEXT: Final = (
    MetricSpec(
        name="rouge1",
        kind="mean",
        description="F1 of words shared with the reference (ROUGE-1).",
        judged=False,
    ),
    MetricSpec(
        name="rouge2",
        kind="mean",
        description="F1 of word pairs shared with the reference (ROUGE-2).",
        judged=False,
    ),
    MetricSpec(
        name="rougeLsum",
        kind="mean",
        description="F1 of words in common order, by lines; the papers' tables call it ROUGE-L.",
        judged=False,
    ),
    MetricSpec(
        name="rougeL_recall",
        kind="mean",
        description="Share of the reference's words found in common order.",
        judged=False,
    ),
    MetricSpec(
        name="rougeL_precision",
        kind="mean",
        description="Share of the output's words found in common order.",
        judged=False,
    ),
    MetricSpec(
        name="bleu",
        kind="mean",
        description="Sentence BLEU by sacreBLEU, 1- to 4-grams.",
        judged=False,
    ),
    MetricSpec(
        name="bertscore",
        kind="mean",
        description="BERTScore F1 without rescaling, by the checkpoint given.",
        limits=(-1.0, 1.0),
        unit="cosine",
        judged=False,
        needs="bertscore",
    ),
)

MEDCON: Final = (
    MetricSpec(
        name="medcon",
        kind="mean",
        description="F1 of the medical concepts of both texts.",
        judged=False,
        needs="umls",
    ),
    MetricSpec(
        name="medcon_recall",
        kind="mean",
        description="Share of the reference's medical concepts that the output has.",
        judged=False,
        needs="umls",
    ),
    MetricSpec(
        name="medcon_precision",
        kind="mean",
        description="Share of the output's medical concepts that the reference has.",
        judged=False,
        needs="umls",
    ),
    MetricSpec(
        name="medcon_official",
        kind="mean",
        description="MEDCON by the reference's formula; synonyms can bring it above 1.",
        limits=(0.0, 2.0),
        judged=False,
        needs="umls",
        official=Official(unanswered="left out"),
    ),
)

BLEURT: Final = (
    MetricSpec(
        name="bleurt",
        kind="mean",
        description="BLEURT of the output against the reference, by the checkpoint given; its "
        "scale has no ends.",
        limits=(-math.inf, math.inf),
        unit="score",
        judged=False,
        needs="bleurt",
    ),
)

RADGRAPH: Final = (
    MetricSpec(
        name="f1_radgraph",
        kind="mean",
        description="F1 of entities with their relations by RadGraph (partial reward).",
        judged=False,
        needs="radgraph",
    ),
)

WORDS: Final = (
    MetricSpec(
        name="words",
        kind="mean",
        description="Words of the output without its citations.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="number",
        judged=False,
    ),
)
