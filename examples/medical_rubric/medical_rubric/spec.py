"""The benchmark: its object, its task and its metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from medical_rubric.declarations import DATASET, TAGS
from medical_tasks import spec
from medical_tasks.judges.rubrics import Labelled, RubricBenchmark, points_metrics

if TYPE_CHECKING:
    from medical_tasks.data.dataset_source import DatasetSource


class MedicalRubric(RubricBenchmark):
    """Replies to conversations, judged by criteria with points."""

    datasets = (DATASET,)
    prompt_sets = ("own", "official")
    tags = TAGS
    labels = "the file of the meta-evaluation"

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_rubric.data import SOURCES

        return SOURCES

    def read_labels(self, path: Path) -> Iterator[Labelled]:
        """See `data`."""
        from medical_rubric.data import read_labels

        return read_labels(path)

    def judge_template(self, upstream: Path | None) -> str:
        """Reads the authors' question from their checkout, whose file is never run."""
        from medical_tasks.data.dataset_source import repository_file
        from medical_tasks.data.upstream_source import named_text

        file = "healthbench_eval.py"
        path = repository_file(upstream, file, repository=DATASET.homepage)
        text = named_text(path, "GRADER_TEMPLATE")
        text = text.replace("<<conversation>>", "{conversation}")
        return text.replace("<<rubric_item>>", "{criterion}")


BENCHMARK = MedicalRubric()
MedicalRubric.tasks = (
    spec.TaskSpec(
        name="medical_rubric",
        title="HealthBench, a reply to a conversation judged by criteria with points",
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=points_metrics(TAGS),
        groups=("theme",),
        version="1-A",
        generation_size=2048,
        judge=True,
        paper=spec.PaperSetting(
            items=5000,
            configs=("full",),
            prompts="official",
            judges=("gpt-4.1-2025-04-14",),
        ),
    ),
)
