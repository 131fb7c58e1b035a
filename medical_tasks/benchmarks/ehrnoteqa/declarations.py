"""Declares EHRNoteQA's dataset and metrics; `spec` declares its tasks."""

from __future__ import annotations

from typing import Final, Literal

from medical_tasks.io.files import packaged
from medical_tasks.scoring.choice_orders import order_metrics
from medical_tasks.spec import DatasetSpec, MetricSpec

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
    configs=("level1", "level2", "all", "own", "evidence", "discq", "demo"),
    default_config="all",
    how_to_get=(
        "become a credentialed PhysioNet user and sign the data use agreements of both projects "
        "below",
        "download EHRNoteQA.jsonl from https://physionet.org/content/ehr-notes-qa-llms/1.0.1/",
        "download note/discharge.csv.gz and SHA256SUMS.txt from "
        "https://physionet.org/content/mimic-iv-note/2.2/",
        "put them into one folder (or keep the tree that wget makes and give its "
        "physionet.org/files)",
        "then: medical-tasks build ehrnoteqa --source FOLDER",
        "config evidence: test.final.json of "
        "https://physionet.org/content/mimic-iii-question-answer/1.0.0/, or emrQA's JSON",
        "config discq: discq_questions_final.csv of https://physionet.org/content/discq/1.0/, "
        "the n2c2 texts below its folder",
        "config own: questions.jsonl, which medical-tasks construct ehrnoteqa makes of your own "
        "notes",
        "without any download: medical-tasks build ehrnoteqa --config demo",
    ),
    version="1.1.0",
)

Format = Literal["open", "mc", "mc_prob_index", "mc_prob_value"]

TITLES: dict[Format, str] = {
    "open": "open-ended",
    "mc": "five choices, answered in words",
    "mc_prob_index": "five choices, by the probability of the letter",
    "mc_prob_value": "five choices, by the probability of the choice's text",
}
SHOWS_CHOICES: Final[tuple[Format, ...]] = ("mc", "mc_prob_index")
"""The formats whose prompts list the choices, so that their order can matter."""

METRICS: dict[Format, tuple[MetricSpec, ...]] = {
    form: (
        *(
            MetricSpec(**fields | {"limits": tuple(fields.get("limits", (0.0, 1.0)))})
            for fields in listed
        ),
        *(order_metrics("ABCDE") if form in SHOWS_CHOICES else ()),
    )
    for form, listed in packaged(__file__, "metrics.json").items()
}
