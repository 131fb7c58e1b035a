"""The benchmark: its object, its task and its metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from medical_mcq.declarations import DATASET
from medical_tasks.scoring.choice_orders import (
    ORDER,
    in_orders,
    order_metrics,
    ordered_task,
    with_order_values,
)
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
    datasets = (DATASET,)
    prompt_sets = ("own",)

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_mcq.data import SOURCES

        return SOURCES

    def asked_with(self, task: TaskSpec, arguments: Mapping[str, str]) -> TaskSpec:
        """Each question in several orders of its choices (`--task-args order=all`)."""
        return ordered_task(task, arguments)

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """An item a row, or one for each order of its choices."""
        return in_orders(task, super().load_items(self.tasks[0], rows))

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_mcq.prompts import load_prompts

        return load_prompts()

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """The letter, in the form that the prompt asks for."""
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

        scores = [
            score_item(item, answer.text) for item, answer in zip(items, answers, strict=True)
        ]
        return with_order_values(task, items, scores, right="accuracy")

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
        *order_metrics("ABCD", paraphrased=False),
    ),
    groups=("topic",),
    version="1-A",
    generation_size=32,
    arguments=ORDER,
    item_arguments=frozenset(ORDER),
)

MedicalMCQ.tasks = (TASK,)
