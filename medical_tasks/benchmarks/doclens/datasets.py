"""The datasets of DocLens; its tasks and metrics are in `spec`.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation", ACL 2024,
https://arxiv.org/abs/2311.09581. Reference implementation: https://github.com/yiqingxyq/DocLens.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from medical_tasks.spec import DatasetSpec

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
        "download train.csv, valid.csv and clinicalnlp_taskB_test1.csv from data/challenge_data of "
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
        "download MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx from https://github.com/abachaa/MeQSum",
        "download MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx and "
        "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx from Task1 of https://github.com/abachaa/MEDIQA2021",
        "put the three, or checkouts of both, into one folder, then: medical-tasks build meqsum --source FOLDER",
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
        "become a credentialed user of PhysioNet and sign the agreement of https://physionet.org/content/mimiciii/1.4/",
        "download NOTEEVENTS.csv.gz and SHA256SUMS.txt from there",
        "then, on a machine that may hold it: medical-tasks build mimic_rrs --source FOLDER",
        "from a table of findings and impressions that you have: medical-tasks build mimic_rrs --source FILE.csv --config table",
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
        'write a JSON list of records, one a text: [{"example_id": "1", "input": "...", "reference": "..."}, ...]',
        "then: medical-tasks build doclens_own --source FILE.json",
        "without any file: medical-tasks build doclens_own --config demo",
    ),
    version="1.0.0",
)


@cache
def _demo_texts() -> Any:
    return json.loads(Path(__file__).with_name("demo_texts.json").read_text(encoding="utf-8"))


def demo_entries(kind: str, split: str) -> list[dict[str, Any]]:
    """The synthetic `visits`, `questions`, `reports` or `texts` of a split, written for this package; they describe nobody."""
    entries: list[dict[str, Any]] = _demo_texts()[kind][split]
    return entries


DATASETS = (ACI_BENCH, MEQSUM, MIMIC_RRS, OWN)
