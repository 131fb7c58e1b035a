"""The benchmark: its object, its two tasks and their metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from medical_rubric.declarations import DATASET
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    Item,
    ItemScore,
    MetricSpec,
    MultiStep,
    PromptSet,
    Scoring,
    TaskSpec,
)

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource, Row
    from medical_tasks.judges.base import JudgePrompts


class MedicalRubric(Benchmark):
    """Conversations whose clinician is judged by criteria with points."""

    name = "medical_rubric"
    title = "Medical Rubric"
    paper = DATASET.paper
    datasets = (DATASET,)
    prompt_sets = ("own",)

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_rubric.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """An item a row."""
        return [
            Item(id=row["id"], fields=row, groups={"theme": row["theme"]}, cluster=row["id"])
            for row in rows
        ]

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `talking`."""
        from medical_rubric.talking import load_prompts

        return load_prompts()

    def open_protocol(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> MultiStep:
        """See `talking`."""
        from medical_rubric.talking import Visit

        return Visit()

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """A reply that earns all points."""
        return str(item.fields["reply"])

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judging`."""
        from medical_rubric.judging import load_judge_prompts

        return load_judge_prompts()

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `judging`."""
        from medical_rubric.judging import score_items

        return score_items(items, answers, scoring.judge)

    def unanswered_limits(self, task: TaskSpec, item: Item) -> Mapping[str, tuple[float, float]]:
        """Of a conversation without a reply, all that a reply could earn."""
        from medical_rubric.judging import point_limits

        return {"points": point_limits(item)}


BENCHMARK = MedicalRubric()
REPLY = TaskSpec(
    name="medical_rubric",
    title="Medical Rubric, one reply to a patient's message",
    benchmark=BENCHMARK,
    dataset=DATASET.name,
    split="test",
    metrics=(
        MetricSpec(
            name="points",
            kind="mean",
            description="points met over the positive points, cut to 0 to 1",
            limits=(-math.inf, 1.0),
            total=(0.0, 1.0),
        ),
    ),
    groups=("theme",),
    version="1-A",
    generation_size=512,
    judge=True,
)
VISIT = replace(
    REPLY,
    name="medical_rubric_visit",
    title="Medical Rubric, a visit with a simulated patient",
    protocol="visit",
    roles={"patient": "plays the patient, who tells what is asked"},
)

MedicalRubric.tasks = (REPLY, VISIT)
