"""What ArchEHR-QA is: its dataset here, its tasks and metrics below.

Soni and Demner-Fushman, "A Dataset for Addressing Patient's Information Needs related to Clinical Course of Hospitalization",
2025, https://arxiv.org/abs/2506.04156. Shared tasks: BioNLP 2025, and 2026 with four subtasks. Reference implementation:
https://github.com/soni-sarvesh/archehr-qa.
"""

from __future__ import annotations

import math
from typing import Final, Literal

from medical_tasks.spec import BenchmarkSpec, DatasetSpec, MetricSpec, TaskSpec

__all__ = ["ANSWER_TASKS", "BENCHMARK", "DATASET", "SUBTASKS", "TASKS", "WORD_LIMIT"]

WORD_LIMIT: Final = 75
"""Most words of an answer."""

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
        "become a credentialed user of PhysioNet and sign the agreement of the project archehr-qa-bionlp-task-2025 (or -2026)",
        "download its folders dev, test and test-2026, each with archehr-qa.xml and, where released, archehr-qa_key.json and "
        "archehr-qa_mapping.json",
        "then, on a machine that may hold it: medical-tasks build archehr_qa --source FOLDER",
        "without credentials, patients' questions alone: check out https://github.com/soni-sarvesh/archehr-qa (dev) and "
        "https://github.com/soni-sarvesh/archehr-qa-2026 (test_2026) in one folder, then: medical-tasks build archehr_qa --config "
        "questions --source FOLDER",
        "without any download: medical-tasks build archehr_qa --config demo",
    ),
    version="1.0.0",
)

_WHICH: Final = {
    "": "sentences that are essential count",
    "_lenient": "essential and supplementary sentences count",
}
_MICRO: Final = {
    "": "F1 of the cited sentences, over all cases together",
    "_precision": "Share of the cited sentences that count, over all cases together",
    "_recall": "Share of the sentences that count that are cited, over all cases together",
}


def _factuality(suffix: str = "") -> tuple[MetricSpec, ...]:
    """Strict and lenient, pooled and by case; the first is the overall factuality."""
    read = "" if not suffix else ", as the official script reads and adds up"
    ends = "official script ends: no citations" if suffix else ""
    made: list[MetricSpec] = []

    def add(name: str, kind: Literal["ratio", "mean"], description: str) -> None:
        made.append(
            MetricSpec(
                name=f"factuality{name}{suffix}",
                kind=kind,
                description=f"{description}{read}.",
                judged=False,
                ends=ends,
                ends_unanswered=bool(ends),
            )
        )

    for which, counted in _WHICH.items():
        for part, text in _MICRO.items():
            add(f"{which}{part}", "ratio", f"{text}; {counted}")
        for part, text in _MICRO.items():
            text = text.replace("over all cases together", "mean over the cases")
            add(f"{which}_macro{part}", "mean", f"{text}; {counted}")
    return tuple(made)


_COMPONENTS: Final = {
    "bleu": ("BLEU", "", (0.0, 1.0)),
    "rougeLsum": ("ROUGE-Lsum F1", "", (0.0, 1.0)),
    "sari": ("SARI", "", (0.0, 1.0)),
    "bertscore": ("BERTScore F1, rescaled by its baseline", "bertscore", (-math.inf, 1.0)),
    "medcon": ("MEDCON by the reference's formula", "umls", (0.0, math.inf)),
    "alignscore": ("AlignScore", "alignscore", (0.0, 1.0)),
}
_AGAINST: Final = {"": "the clinician's answer", "_notes": "the questions and the essential sentences"}


def _relevance(suffix: str) -> tuple[MetricSpec, ...]:
    components = tuple(
        MetricSpec(
            name=f"{name}{suffix}",
            kind="mean",
            description=f"{text} of the answer against {_AGAINST[suffix]}.",
            limits=limits,
            judged=False,
            needs=needs,
        )
        for name, (text, needs, limits) in _COMPONENTS.items()
    )
    overall = MetricSpec(
        name=f"overall_relevance{suffix}",
        kind="average",
        description=f"Average of the relevance metrics against {_AGAINST[suffix]} that are reported.",
        limits=(-math.inf, math.inf),
        judged=False,
        of=tuple(f"{name}{suffix}" for name in _COMPONENTS),
    )
    score = MetricSpec(
        name=f"overall_score{suffix}",
        kind="average",
        description=f"Average of factuality and overall_relevance{suffix}.",
        limits=(-math.inf, math.inf),
        judged=False,
        of=("factuality", f"overall_relevance{suffix}"),
    )
    return (*components, overall, score)


_FORM: Final = (
    MetricSpec(
        name="valid",
        kind="proportion",
        description="Answers of the official form: cited, at most 75 words, ids known.",
        judged=False,
    ),
    MetricSpec(
        name="words",
        kind="mean",
        description="Words of the answer without its citations.",
        higher_is_better=False,
        limits=(0.0, math.inf),
        unit="number",
        judged=False,
    ),
)

_CHECKPOINTS: Final = {
    "bertscore": "folder of distilbert-base-uncased",
    "umls": "folder of a UMLS index, made by: medical-tasks umls build",
    "alignscore": "AlignScore checkpoint with its backbone's folder, as CKPT:FOLDER or CKPT:FOLDER:SENTENCES",
}


def _answer_task(
    name: str, title: str, *, protocol: str = "", baseline: str = "", arguments: dict[str, str] | None = None
) -> TaskSpec:
    tries = {"tries": "most tries for a step, with feedback on what was wrong (default 5)"} if protocol else {}
    return TaskSpec(
        name=f"archehr_{name}",
        title=title,
        benchmark="medical_tasks.archehr_qa",
        dataset=DATASET.name,
        split="test",
        metrics=(*_factuality(), *_relevance(""), *_relevance("_notes"), *_FORM, *_factuality("_official")),
        version="2-A",
        generation_size=512,
        groups=("source",),
        options={"form": "answer", "steps": name},
        arguments={**tries, **(arguments or {})},
        scoring_arguments=dict(_CHECKPOINTS),
        baseline=baseline,
        protocol=protocol,
    )


ANSWER_TASKS: Final = (
    _answer_task("together", "Grounded answer to a patient's question, citing as it is written", protocol="together"),
    _answer_task("answer_first", "Grounded answer, written first and cited then", protocol="answer_first"),
    _answer_task(
        "evidence_first",
        "Grounded answer from sentences chosen by similarity beforehand",
        protocol="evidence_first",
        arguments={
            "embedder": "folder of a sentence embedding checkpoint that chooses the sentences (default: word overlap)",
            "evidence": "how many sentences are chosen (default 10)",
        },
    ),
    _answer_task(
        "heuristic",
        "The sentences most similar to the questions, up to 75 words; asks no model",
        baseline="heuristic",
        arguments={
            "embedder": "folder of a sentence embedding checkpoint that ranks the sentences (default: word overlap)"
        },
    ),
)


def _subtask(name: str, title: str, metrics: tuple[MetricSpec, ...], *, size: int, scoring: dict[str, str]) -> TaskSpec:
    return TaskSpec(
        name=f"archehr_{name}",
        title=title,
        benchmark="medical_tasks.archehr_qa",
        dataset=DATASET.name,
        # The organizers' cases: for alignment those of both shared tasks.
        split="test+test_2026" if name == "alignment" else "test_2026",
        metrics=metrics,
        version="1-A",
        generation_size=size,
        groups=("source",),
        options={"form": name},
        scoring_arguments=scoring,
    )


_EVIDENCE: Final = tuple(metric for metric in _factuality() if "macro" not in metric.name)

SUBTASKS: Final = (
    _subtask(
        "question",
        "Clinician's version of a patient's question (2026, subtask 1)",
        _relevance("")[:-1],
        size=64,
        scoring=dict(_CHECKPOINTS),
    ),
    _subtask("evidence", "Sentences a question needs (2026, subtask 2)", _EVIDENCE, size=128, scoring={}),
    _subtask(
        "answer",
        "Answer to a patient's question without citations (2026, subtask 3)",
        (*_relevance("")[:-1], *_relevance("_notes")[:-1], *_FORM[1:]),
        size=256,
        scoring=dict(_CHECKPOINTS),
    ),
    _subtask(
        "alignment",
        "Sentences that each sentence of a given answer rests on (2026, subtask 4)",
        _EVIDENCE[:3],
        size=256,
        scoring={},
    ),
)

TASKS: Final = (*ANSWER_TASKS, *SUBTASKS)

BENCHMARK = BenchmarkSpec(
    name="archehr_qa",
    title="ArchEHR-QA",
    paper="https://arxiv.org/abs/2506.04156",
    datasets=(DATASET,),
    tasks=TASKS,
)
