"""A benchmark on credentialed data, for tests of the data guard: three synthetic notes, one of which holds a canary sentence.

Its scorer is careless on purpose: it quotes answers, verdicts and the note wherever a
benchmark can.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.judges.base import JudgePrompts
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    DatasetSpec,
    Item,
    ItemScore,
    MetricSpec,
    PromptSet,
    Scoring,
    TaskSpec,
)
from tests import tiny_dataset
from tests.credentialed_benchmark import data, judge_prompts, prompts
from tests.credentialed_benchmark import scoring as scorer

CANARY = "her neighbour found the seventy one year old canary breeder asleep beside four unopened letters from the tax office"


def _note(case_id: str, level: str, note: str, gold: str) -> dict[str, Any]:
    return {"case_id": case_id, "level": level, "note": note, "gold": gold}


NOTES = [
    _note(
        "1",
        "1",
        f"Admitted on a Monday because {CANARY}. Discharged well.",
        f"Because {CANARY}.",
    ),
    _note(
        "2",
        "1",
        "Came with a cut on the left thumb; it was sewn, and that was all there was to do.",
        "A cut.",
    ),
    _note(
        "3", "2", f"Seen again, since {CANARY}. Nothing new was found.", "Nothing new."
    ),
]

DATASET = DatasetSpec(
    name="private_notes",
    title="Private Notes",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://example.org/private-notes",
    paper="https://example.org/private-notes/paper",
    citation="@misc{private, title = {Private Notes}}",
    configs=("full", "demo"),
    default_config="full",
    how_to_get=("sign the agreement at https://example.org/private-notes",),
    version="1.0.0",
)


class PrivateNotes(Benchmark):
    name = "private_notes"
    title = "Private Notes"
    paper = DATASET.paper
    datasets = (DATASET,)

    def sources(self) -> tuple[DatasetSource, ...]:
        return (dataclasses.replace(tiny_dataset.SOURCE, spec=DATASET),)  # never built

    def load_items(
        self, task: TaskSpec, rows: Sequence[Mapping[str, Any]]
    ) -> list[Item]:
        return data.load_items(task, rows)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        return prompts.load_prompts(task)

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        return prompts.gold_response(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        texts = [answer.text for answer in answers]
        return scorer.score_items(task, items, texts, judging=scoring.judge)

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        return judge_prompts.load_judge_prompts(task, name, upstream)


BENCHMARK = PrivateNotes()

TASK = TaskSpec(
    name="private_notes_qa",
    title="Questions about private notes",
    benchmark=BENCHMARK,
    dataset=DATASET.name,
    split="test",
    metrics=(
        MetricSpec(name="correct", kind="proportion", description="the judge says so"),
    ),
    version="1-A",
    generation_size=64,
    groups=("level",),
    judge=True,
)

PrivateNotes.tasks = (TASK,)
