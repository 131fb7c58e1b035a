"""The benchmark: its object, its task and its metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medical_rubric.declarations import DATASET, TAGS
from medical_tasks import spec

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.judges.base import JudgePrompts
    from medical_tasks.judges.check_sets import CheckSetSource


class MedicalRubric(spec.Benchmark):
    """Replies to conversations, judged by criteria with points."""

    name = "medical_rubric"
    title = DATASET.title
    paper = DATASET.paper
    datasets = (DATASET,)
    sometimes_counted = TAGS

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_rubric.data import SOURCES

        return SOURCES

    def load_items(self, task: spec.TaskSpec, rows: Sequence[spec.Row]) -> list[spec.Item]:
        """An item a row."""
        return [
            spec.Item(
                id=row["id"],
                fields=row,
                groups={"theme": tuple(tag.removeprefix("theme:") for tag in row["example_tags"])},
                cluster=row["id"],
            )
            for row in rows
        ]

    def load_prompts(
        self, task: spec.TaskSpec, asking: spec.Asking = spec.OWN_PROMPTS
    ) -> spec.PromptSet:
        """The conversation as it is, whoever judges the reply."""

        def render(item: spec.Item) -> tuple[spec.Message, ...]:
            return tuple(
                spec.Message(role=each["role"], content=each["content"])
                for each in item.fields["prompt"]
            )

        return spec.PromptSet(name=asking.prompts, sha256=spec.texts_sha256(), render=render)

    def gold_response(self, task: spec.TaskSpec, item: spec.Item) -> str:
        """A physician's reply."""
        return str(item.fields["reply"])

    def load_judge_prompts(
        self, task: spec.TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judging`."""
        from medical_rubric.judging import load_judge_prompts

        return load_judge_prompts(name, upstream)

    def score_items(
        self,
        task: spec.TaskSpec,
        items: Sequence[spec.Item],
        answers: Sequence[spec.Answer],
        scoring: spec.Scoring = spec.PLAIN_SCORING,
    ) -> list[spec.ItemScore]:
        """See `judging`."""
        from medical_rubric.judging import score_items

        return score_items(items, answers, scoring.judge)

    def unanswered_limits(
        self, task: spec.TaskSpec, item: spec.Item
    ) -> Mapping[str, tuple[float, float]]:
        """Of a conversation without a reply, all that a reply could earn."""
        from medical_rubric.judging import point_limits

        return point_limits(item)

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """Criteria that physicians decided."""
        from medical_rubric.check import read_check_set
        from medical_tasks.judges.check_sets import CheckSetSource

        source = CheckSetSource(
            read=read_check_set,
            takes=frozenset({"prompts", "upstream"}),
            task=lambda _: self.tasks[0],
            commands={self.name: " --source META_EVAL.jsonl"},
        )
        return {self.name: source}


BENCHMARK = MedicalRubric()


def _metric(name: str, about: str, tag: str = "") -> spec.MetricSpec:
    by, _, group = tag.partition(":")
    return spec.MetricSpec(
        name=name,
        kind="mean",
        description=f"points met over the positive points{about}, cut to 0 to 1",
        limits=(-math.inf, 1.0),
        total=(0.0, 1.0),
        verdict="" if tag else "entailment",
        part=(by, group) if tag else (),
        whole="points" if tag else "",
    )


MedicalRubric.tasks = (
    spec.TaskSpec(
        name="medical_rubric",
        title="HealthBench, a reply to a conversation judged by criteria with points",
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=(
            _metric("points", ""),
            *(_metric(tag, f" of criteria with the tag {tag}", tag) for tag in TAGS),
        ),
        groups=("theme",),
        version="1-A",
        generation_size=2048,
        judge=True,
        paper=spec.PaperSetting(
            items=5000, configs=("full",), prompts="official", judges=("gpt-4.1-2025-04-14",)
        ),
    ),
)
