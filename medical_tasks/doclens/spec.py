"""What DocLens is: its datasets.

Xie et al., "DocLens: Multi-aspect Fine-grained Evaluation for Medical Text Generation", ACL 2024,
https://arxiv.org/abs/2311.09581. Reference implementation: https://github.com/yiqingxyq/DocLens.
"""

from __future__ import annotations

from medical_tasks.spec import BenchmarkSpec, DatasetSpec

__all__ = ["ACI_BENCH", "BENCHMARK", "MEQSUM"]

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
        "put the three into one folder, then: medical-tasks build meqsum --source FOLDER",
        "without any download: medical-tasks build meqsum --config demo",
    ),
    version="1.0.0",
)

BENCHMARK = BenchmarkSpec(
    name="doclens",
    title="DocLens",
    paper="https://arxiv.org/abs/2311.09581",
    datasets=(ACI_BENCH, MEQSUM),
    tasks=(),
)
