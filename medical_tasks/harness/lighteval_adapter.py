"""From a task of this suite to lighteval's own task configuration, for the stock harness.

The same rows, prompts and scorer as our runner's; lighteval brings the loop. What lighteval cannot carry (intervals,
coverage, resuming) only `medical-tasks run` has.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from medical_tasks.dataset_store import datasets_home
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.harness.lighteval_checks import dataset_source, wanted_config
from medical_tasks.spec import DatasetSpec, Item, PromptSet, TaskSpec
from medical_tasks.task_data import benchmark_module

__all__ = ["task_configs"]

logger = logging.getLogger(__name__)


def _mean(values: list[float]) -> float:
    """The mean over the documents on which the metric has a value; nan is how one without a denominator is told."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


class _Score(SampleLevelComputation):  # type: ignore[misc]  # lighteval has no types
    """Scores one answer with the benchmark's own scorer."""

    def __init__(self, task: TaskSpec) -> None:
        self.task = task

    def __str__(self) -> str:
        return f"medical_tasks:{self.task.name}:{self.task.version}"

    def compute(self, doc: Doc, model_response: Any, **_: Any) -> dict[str, float]:
        """Returns metric name to value for one document."""
        scoring = benchmark_module(self.task, "scoring")
        (score,) = scoring.score_items(self.task, [_item(self.task, doc.specific)], [model_response.final_text[0]])
        return dict(score.values)


def _item(task: TaskSpec, row: Mapping[str, Any]) -> Item:
    data = benchmark_module(task, "data")
    (item,) = data.load_items(task, [row])
    return item  # type: ignore[no-any-return]


_PROMPT_SETS: dict[str, PromptSet] = {}


def _prompt_set(task: TaskSpec) -> PromptSet:
    """The task's prompts, read once a process."""
    if task.name not in _PROMPT_SETS:
        _PROMPT_SETS[task.name] = benchmark_module(task, "prompts").load_prompts(task)
    return _PROMPT_SETS[task.name]


class _Prompt:
    """lighteval's prompt function of a task; the worked examples are read when the first question is asked."""

    def __init__(self, task: TaskSpec) -> None:
        self.task = task
        self.__name__ = f"{task.benchmark}.{task.name}.{task.version}"

    def __call__(self, line: dict[str, Any], task_name: str) -> Doc:
        if line.pop("__few_shots", False):
            # lighteval would take the examples from the questions that are being asked.
            raise UsageError(
                f"{task_name}: worked examples are part of a task here. Ask for {self.task.harness_name}|0, or for the task "
                "that shows one (medical:medcalc_one_shot|0 for medical:medcalc)."
            )
        line.pop("__index", None)
        prompts = benchmark_module(self.task, "prompts")
        item = _item(self.task, line)
        (message,) = _prompt_set(self.task).render(item)
        return Doc(
            query=message["content"],
            choices=[prompts.gold_response(self.task, item)],
            gold_index=0,
            specific=line,
            task_name=task_name,
        )


def _source(spec: DatasetSpec) -> tuple[str, str]:
    """Where lighteval finds the rows: the built folder, and the configuration `medical-tasks run` would take."""
    try:
        folder, config = dataset_source(spec)
    except MissingError as error:
        # Another task of the table may be the one that is run; lighteval fails by itself if it is this one.
        logger.warning("%s", error)
        return str(datasets_home() / spec.name), wanted_config() or spec.default_config
    return str(folder), config


def task_configs(tasks: tuple[TaskSpec, ...], datasets: tuple[DatasetSpec, ...]) -> list[LightevalTaskConfig]:
    """Makes lighteval's configurations of a benchmark's tasks.

    Args:
        tasks: the benchmark's tasks.
        datasets: its datasets.

    Returns:
        One configuration a task under its harness name, and a copy under its bare name (the stock command drops the first
        word of `medical|medcalc|0`).
    """
    used = {task.dataset for task in tasks}
    sources = {spec.name: _source(spec) for spec in datasets if spec.name in used}
    configs: list[LightevalTaskConfig] = []
    for task in tasks:
        folder, config = sources[task.dataset]
        names = [metric.name for metric in task.metrics]
        for name in (task.harness_name, task.name):
            grouping = SampleLevelMetricGrouping(
                metric_name=list(names),
                higher_is_better={metric.name: metric.higher_is_better for metric in task.metrics},
                category=SamplingMethod.GENERATIVE,
                sample_level_fn=_Score(task),
                corpus_level_fn=dict.fromkeys(names, _mean),
            )
            configs.append(
                LightevalTaskConfig(
                    name=name,
                    prompt_function=_Prompt(task),
                    hf_repo=folder,
                    hf_subset=config,
                    metrics=[grouping],
                    hf_avail_splits=[task.split],
                    evaluation_splits=[task.split],
                    generation_size=task.generation_size,
                    stop_sequence=list(task.stop),
                    version=int(task.version.split("-")[0]),
                )
            )
    return configs
