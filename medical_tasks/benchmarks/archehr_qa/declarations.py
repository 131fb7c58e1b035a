"""What the modules of ArchEHR-QA share: its dataset and metrics. The tasks are in `spec`."""

from __future__ import annotations

import math
from typing import Final

from medical_tasks.io.files import packaged
from medical_tasks.spec import DatasetSpec, MetricSpec, Official

WORD_LIMIT: Final = 75
"""Most words of an answer."""

TASK_NAMES: Final = tuple(
    f"archehr_{name}"
    for name in (
        "together",
        "answer_first",
        "evidence_first",
        "heuristic",
        "question",
        "evidence",
        "answer",
        "alignment",
    )
)
"""Its tasks; `spec` has what they are."""

DATASET = DatasetSpec(
    name="archehr_qa",
    title="ArchEHR-QA",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://physionet.org/content/archehr-qa-bionlp-task-2025/",
    paper="https://arxiv.org/abs/2506.04156",
    citation="""\
@article{soni2025archehrqa,
  title   = {A Dataset for Addressing Patient's Information Needs related to Clinical Course of Hospitalization},
  author  = {Sarvesh Soni and Dina Demner-Fushman},
  journal = {arXiv preprint arXiv:2506.04156},
  year    = {2025},
  url     = {https://arxiv.org/abs/2506.04156}
}""",
    configs=("official", "questions", "demo"),
    default_config="official",
    how_to_get=(
        "become a credentialed user of PhysioNet and sign the agreement of the project "
        "archehr-qa-bionlp-task-2025 (or -2026)",
        "download its folders dev, test and test-2026, each with archehr-qa.xml and, where "
        "released, archehr-qa_key.json and "
        "archehr-qa_mapping.json",
        "then, on a machine that may hold it: medical-tasks build archehr_qa --source FOLDER",
        "without credentials, patients' questions alone: check out "
        "https://github.com/soni-sarvesh/archehr-qa (dev) and "
        "https://github.com/soni-sarvesh/archehr-qa-2026 (test_2026) in one folder, then: "
        "medical-tasks build archehr_qa --config "
        "questions --source FOLDER",
        "without any download: medical-tasks build archehr_qa --config demo",
    ),
    version="1.0.0",
)

ENDS: Final = {
    "cited": "official script ends: no citations or no words",
    "question": "official script ends: empty text",
    "answer": "official script ends: empty text",
    "evidence": "official script ends: unknown ids",
    "alignment": "official script ends: unknown ids",
}
"""By kind of task, the fault of an answer that stops the organizers' script, so that the whole
submission has no figure."""

OFFICIAL: Final = "_official"


def share_name(kind: str, which: str, how: str, ratio: str) -> str:
    """The name of a share's metric.

    Args:
        kind: kind of task, a key of `ENDS`.
        which: `strict` or `lenient`.
        how: `micro` or `macro`.
        ratio: `f1`, `precision` or `recall`.
    """
    if kind == "cited":
        names = ["factuality", which, how, ratio]
        return "_".join(name for name in names if name not in ("strict", "micro", "f1"))

    return f"{how}_{ratio}" if kind == "alignment" else f"{which}_{how}_{ratio}"


READS: Final = "the ids of the sentences that the reply cites, with commas between them, such as 2, 5"
READ: Final = ("cited", "evidence")
"""Kinds of tasks whose reader can be unclear."""


def metrics_of(kind: str) -> tuple[MetricSpec, ...]:
    """The metrics of a kind of task, a key of `metrics.json`."""
    metrics = []
    read = {
        share_name(kind, which, how, ratio)
        for which in ("strict", "lenient")
        for how in ("micro", "macro")
        for ratio in ("f1", "precision", "recall")
    } | ({"overall_score"} if kind == "evidence" else set())
    for entry in packaged(__file__, "metrics.json")[kind]:
        low, high = entry.get("limits", (0.0, 1.0))
        limits = (-math.inf if low is None else low, math.inf if high is None else high)
        # The script compares the cases of a submission with those of the key, and takes
        # no other set.
        official = Official(unanswered="ends", undecided=ENDS[kind])
        rests = kind in READ and entry["name"] in read
        named = {"limits": limits, "of": tuple(entry.get("of", ())), "read": rests}
        metrics.append(
            MetricSpec(
                **{**entry, **named},
                official=official if entry["name"].endswith(OFFICIAL) else None,
            )
        )

    return tuple(metrics)
