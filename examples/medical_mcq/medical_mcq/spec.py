"""The benchmark: its object, its task and its metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from medical_mcq.declarations import DATASET
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    HubTask,
    Item,
    ItemScore,
    MetricSpec,
    PromptSet,
    Row,
    Scoring,
    TaskSpec,
    hub_question,
)

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource


class MedicalMCQ(Benchmark):
    """Four choices, one letter."""

    name = "medical_mcq"
    title = "Medical MCQ"
    paper = DATASET.paper
    datasets = (DATASET,)
    prompt_sets = ("own",)

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_mcq.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """An item a row."""
        return [
            Item(id=row["id"], fields=row, groups={"topic": row["topic"]}, cluster=row["id"])
            for row in rows
        ]

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_mcq.prompts import load_prompts

        return load_prompts()

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """The letter, as asked for."""
        return f"Answer: {item.fields['answer']}"

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`."""
        from medical_mcq.scoring import score_item

        return [score_item(item, answer.text) for item, answer in zip(items, answers, strict=True)]

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """The question and its choices, graded by a model."""
        template = "{prompt}\n\nChoices, A to D in this order: {choices}"
        graded = {"name": "model_graded_qa"}
        return hub_question(
            "question", "answer", template=template, scorer=graded, metadata=["choices"]
        )


BENCHMARK = MedicalMCQ()
TASK = TaskSpec(
    name="medical_mcq",
    title="Medical MCQ, answered by a letter",
    benchmark=BENCHMARK,
    dataset=DATASET.name,
    split="test",
    metrics=(
        MetricSpec(
            name="accuracy",
            kind="proportion",
            description="share of questions with the right letter",
        ),
    ),
    groups=("topic",),
    version="1-A",
    generation_size=32,
)

MedicalMCQ.tasks = (TASK,)
