"""ArchEHR-QA: Soni and Demner-Fushman, 2025, https://arxiv.org/abs/2506.04156.

Shared tasks BioNLP 2025, and 2026.

Reference implementation: https://github.com/soni-sarvesh/archehr-qa.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from medical_tasks.benchmarks.archehr_qa.declarations import (
    DATASET,
    READ,
    READS,
    metrics_of,
)
from medical_tasks.io.files import packaged
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Baseline,
    Benchmark,
    HubQuestion,
    HubTask,
    Item,
    ItemScore,
    MultiStep,
    PaperSetting,
    PromptSet,
    Row,
    Scoring,
    TaskSpec,
    View,
    hub_question,
)

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.data.shared_task import SharedTask


# How a system asks its models is its own: a shared task.
_PAPER: Final = PaperSetting(items=100, configs=("official",), prompts="any")


_CHECKPOINTS: Final = {
    "bertscore": "folder of distilbert-base-uncased",
    "umls": "folder of a UMLS index, made by: medical-tasks umls build",
    "alignscore": "AlignScore checkpoint with its backbone's folder, as CKPT:FOLDER or "
    "CKPT:FOLDER:SENTENCES",
}


_HUB_QUESTIONS: Final[Mapping[str, HubQuestion]] = {
    "answer": {
        "asked": "clinician_question",
        "target": "clinician_answer",
        "template": (
            "Sentences of a clinical note:\n{sentences}\n\nWhat the patient "
            "wrote:\n{patient_narrative}\n\nQuestion: {prompt}"
        ),
        "metadata": ["patient_narrative", "sentences"],
    },
    "question": {
        "asked": "patient_narrative",
        "target": "clinician_question",
        "template": "Say as a clinician, in one short question, what this person asks:\n{prompt}",
    },
    "evidence": {
        "asked": "clinician_question",
        "target": "relevance",
        "template": "Which of these sentences are needed to answer the "
        "question?\n{sentences}\n\nQuestion: {prompt}",
        "metadata": ["sentences"],
    },
    "alignment": {
        "asked": "clinician_answer",
        "target": "answer_citations",
        "template": "Which of these sentences does each sentence of the answer rest "
        "on?\n{sentences}\n\nAnswer: {prompt}",
        "metadata": ["sentences"],
    },
}
"""The question in `eval.yaml` by `options["form"]`."""


class ArchEHRQA(Benchmark):
    """The benchmark's interface to the suite."""

    name = "archehr_qa"
    position = 5
    short = "archehr"
    title = "ArchEHR-QA"
    paper = "https://arxiv.org/abs/2506.04156"
    datasets = (DATASET,)
    views = (
        View(
            title="Scores and their components",
            metrics=tuple(packaged(__file__, "metrics.json")["components"]),
        ),
    )

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_tasks.benchmarks.archehr_qa.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """See `data`."""
        from medical_tasks.benchmarks.archehr_qa.data import load_items

        return load_items(task, rows)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_tasks.benchmarks.archehr_qa.prompts import load_prompts

        return load_prompts(
            task, asking.prompts, asking.upstream, arguments=asking.arguments
        )

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """See `prompts`."""
        from medical_tasks.benchmarks.archehr_qa.prompts import gold_response

        return gold_response(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`."""
        from medical_tasks.benchmarks.archehr_qa.scoring import score_items

        texts = [answer.text for answer in answers]
        return score_items(
            task, items, texts, arguments=scoring.arguments, readings=scoring.readings
        )

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """See `scoring`."""
        from medical_tasks.benchmarks.archehr_qa.scoring import scoring_identity

        return scoring_identity(task, arguments)

    def note_words(self) -> frozenset[str]:
        """See `scoring`."""
        from medical_tasks.benchmarks.archehr_qa.scoring import NOTE_WORDS

        return NOTE_WORDS

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """See `scoring`."""
        from medical_tasks.benchmarks.archehr_qa.scoring import unanswered_limits

        return unanswered_limits(task, item)

    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """See `prompts`."""
        from medical_tasks.benchmarks.archehr_qa.prompts import open_protocol

        return open_protocol(task, arguments=asking.arguments)

    def baselines(self) -> Mapping[str, Baseline]:
        """`heuristic`: the sentences most similar to the questions."""
        return {"heuristic": Baseline(_heuristic_responses, _heuristic_identity)}

    def submission_check(
        self, task: TaskSpec, items: Sequence[Item]
    ) -> Callable[[Sequence[object]], list[str]]:
        """See `submission`."""
        from medical_tasks.benchmarks.archehr_qa.submission import submission_problems

        return partial(submission_problems, task, items)

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """The fields of an answer from the sentences, or of a subtask of 2026."""
        return hub_question(
            **_HUB_QUESTIONS[task.options["form"]], scorer={"name": "model_graded_qa"}
        )

    def shared_task(self) -> SharedTask:
        """See `submission`."""
        from medical_tasks.benchmarks.archehr_qa import submission

        return submission


BENCHMARK = ArchEHRQA()


# Every command asks which baselines there are, and few answer with this one.


def _heuristic_responses(
    task: TaskSpec, items: Sequence[Item], arguments: Mapping[str, str]
) -> list[str]:
    from medical_tasks.benchmarks.archehr_qa.evidence import heuristic_responses

    return heuristic_responses(task, items, arguments)


def _heuristic_identity(
    task: TaskSpec, arguments: Mapping[str, str]
) -> Mapping[str, object]:
    from medical_tasks.benchmarks.archehr_qa.evidence import heuristic_identity

    return heuristic_identity(task, arguments)


def _answer_task(
    name: str,
    title: str,
    *,
    protocol: str = "",
    baseline: str = "",
    arguments: dict[str, str] | None = None,
) -> TaskSpec:
    tries = (
        {"tries": "most tries for a step, with feedback on what was wrong (default 5)"}
        if protocol
        else {}
    )
    return TaskSpec(
        name=f"archehr_{name}",
        title=title,
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=metrics_of("cited"),
        version="3-A",
        generation_size=512,
        groups=("source",),
        strata=("source",),
        options={"form": "answer", "steps": name},
        arguments={**tries, **(arguments or {})},
        scoring_arguments=dict(_CHECKPOINTS),
        baseline=baseline,
        protocol=protocol,
        paper=_PAPER,
        reads=READS,
    )


ANSWER_TASKS: Final = (
    _answer_task(
        "together",
        "Grounded answer to a patient's question, citing as it is written",
        protocol="together",
    ),
    _answer_task(
        "answer_first",
        "Grounded answer, written first and cited then",
        protocol="answer_first",
    ),
    _answer_task(
        "evidence_first",
        "Grounded answer from sentences chosen by similarity beforehand",
        protocol="evidence_first",
        arguments={
            "embedder": "folder of a sentence embedding checkpoint that chooses the sentences "
            "(default: word overlap)",
            "evidence": "how many sentences are chosen (default 10)",
        },
    ),
    _answer_task(
        "heuristic",
        "The sentences most similar to the questions, up to 75 words; asks no model",
        baseline="heuristic",
        arguments={
            "embedder": "folder of a sentence embedding checkpoint that ranks the sentences "
            "(default: word overlap)"
        },
    ),
)


def _subtask(name: str, title: str, *, size: int, scoring: dict[str, str]) -> TaskSpec:
    return TaskSpec(
        name=f"archehr_{name}",
        title=title,
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        # The organizers' cases: for alignment those of both shared tasks.
        split="test+test_2026" if name == "alignment" else "test_2026",
        metrics=metrics_of(name),
        version="2-A" if name == "question" else "3-A",
        generation_size=size,
        groups=("source",),
        strata=("source",),
        options={"form": name},
        scoring_arguments=dict(scoring),
        paper=replace(_PAPER, items=147 if name == "alignment" else 47),
        reads=READS if name in READ else "",
    )


SUBTASKS: Final = (
    _subtask(
        "question",
        "Clinician's version of a patient's question (2026, subtask 1)",
        size=64,
        scoring=_CHECKPOINTS,
    ),
    _subtask(
        "evidence", "Sentences a question needs (2026, subtask 2)", size=128, scoring={}
    ),
    _subtask(
        "answer",
        "Answer to a patient's question without citations (2026, subtask 3)",
        size=256,
        scoring=_CHECKPOINTS,
    ),
    _subtask(
        "alignment",
        "Sentences that each sentence of a given answer rests on (2026, subtask 4)",
        size=256,
        scoring={},
    ),
)

TASKS: Final = (*ANSWER_TASKS, *SUBTASKS)

ArchEHRQA.tasks = TASKS
