"""What EHRNoteQA is: its dataset.

Kweon et al., "EHRNoteQA: An LLM Benchmark for Real-World Clinical Practice Using Discharge Summaries", NeurIPS 2024 Datasets
and Benchmarks, https://arxiv.org/abs/2402.16040. Reference implementation: https://github.com/ji-youn-kim/EHRNoteQA.
"""

from __future__ import annotations

from medical_tasks.spec import BenchmarkSpec, DatasetSpec

__all__ = ["BENCHMARK", "DATASET"]

DATASET = DatasetSpec(
    name="ehrnoteqa",
    title="EHRNoteQA",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://physionet.org/content/ehr-notes-qa-llms/1.0.1/",
    paper="https://arxiv.org/abs/2402.16040",
    citation="""\
@inproceedings{kweon2024ehrnoteqa,
  title     = {{EHRNoteQA}: An {LLM} Benchmark for Real-World Clinical Practice Using Discharge Summaries},
  author    = {Sunjun Kweon and Jiyoun Kim and Heeyoung Kwak and Dongchul Cha and Hangyul Yoon and Kwanghyun Kim and
               Jeewon Yang and Seunghyun Won and Edward Choi},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2402.16040}
}""",
    configs=("level1", "level2", "all", "demo"),
    default_config="all",
    how_to_get=(
        "become a credentialed PhysioNet user and sign the data use agreements of both projects below",
        "download EHRNoteQA.jsonl from https://physionet.org/content/ehr-notes-qa-llms/1.0.1/",
        "download note/discharge.csv.gz and SHA256SUMS.txt from https://physionet.org/content/mimic-iv-note/2.2/",
        "put them into one folder (or keep the tree that wget makes and give its physionet.org/files)",
        "then: medical-tasks build ehrnoteqa --source FOLDER",
        "without any download: medical-tasks build ehrnoteqa --config demo",
    ),
    version="1.0.0",
)

BENCHMARK = BenchmarkSpec(
    name="ehrnoteqa",
    title="EHRNoteQA",
    paper=DATASET.paper,
    datasets=(DATASET,),
    tasks=(),
)
