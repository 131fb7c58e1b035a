"""A benchmark of probabilities of choices, over an in-memory dataset whose rows have two levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.data.dataset_source import DatasetSource
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
from tests.choice_benchmark import data, prompts
from tests.choice_benchmark import scoring as scorer

ROWS: list[dict[str, Any]] = [
    {
        "id": f"row {number}",
        "level": 1 + number % 2,
        "question": f"The patient {finding}. Which score applies?",
        "choices": ["no fever", "a creatinine of 1.4 mg/dL", "chest pain on exertion"],
        "answer": "ABC"[number % 3],
    }
    for number, finding in enumerate(
        (
            "reports chest pain on exertion",
            "has a creatinine of 1.4 mg/dL and sleeps badly since the operation",
            "denies fever, cough or weight loss",
            "walks without a stick",
            "needs a follow-up scan in six weeks",
            "was given 500 mg of amoxicillin",
        )
    )
]

DATASET = DatasetSpec(
    name="small_choices",
    title="Small Choices",
    access="open",
    licence="Apache-2.0",
    homepage="https://example.org/small-choices",
    paper="https://example.org/small-choices/paper",
    citation="@misc{small, title = {Small Choices}}",
    configs=("demo",),
    default_config="demo",
    how_to_get=("it is made by a test",),
    version="1.0.0",
)


class SmallChoices(Benchmark):
    name = "small_choices"
    title = "Small Choices"
    paper = DATASET.paper
    datasets = (DATASET,)
    mixed_rows = True

    def sources(self) -> tuple[DatasetSource, ...]:
        return ()

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
        return scorer.score_items(task, items, texts, arguments=scoring.arguments)

    def keeps(self, task: TaskSpec, row: Mapping[str, Any]) -> bool:
        return data.keeps(task, row)


BENCHMARK = SmallChoices()

TASK = TaskSpec(
    name="small_choices_letters",
    title="Letters of small choices",
    benchmark=BENCHMARK,
    dataset=DATASET.name,
    split="test",
    metrics=(
        MetricSpec(
            name="accuracy",
            kind="proportion",
            description="the right letter is the most probable one",
        ),
        MetricSpec(
            name="logprob",
            kind="mean",
            description="of the right letter",
            limits=(-1e9, 0.0),
            unit="number",
        ),
        MetricSpec(
            name="n_tokens",
            kind="mean",
            description="tokens of all letters",
            limits=(0.0, 1e9),
            unit="number",
        ),
        MetricSpec(
            name="likeness",
            kind="mean",
            description="left out of harnesses",
            needs="embedder",
        ),
    ),
    version="2-A",
    generation_size=1,
    asks="choices",
    options={"level": "1"},
    scoring_arguments={"embedder": "a folder"},
)

SmallChoices.tasks = (TASK,)
