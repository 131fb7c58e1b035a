"""DocLens in lighteval.

lighteval accelerate "model_name=MODEL" "medical:aci_bench_one_shot|0" --custom-tasks medical_tasks.lighteval_tasks
medical-tasks lighteval accelerate "model_name=MODEL" "medical|meqsum"      (works without the internet; the only way for mimic_rrs)

A row is a question there, and one visit has four sections to ask for. So lighteval is told to go through the visits four times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any

# Its class is subclassed; this module is imported when a harness runs.
from lighteval.tasks.requests import Doc  # noqa: TID253

from medical_tasks.benchmarks.doclens.data import SECTION_COLUMN
from medical_tasks.benchmarks.doclens.sections import SECTIONS
from medical_tasks.benchmarks.doclens.spec import BENCHMARK
from medical_tasks.harness.lighteval_adapter import task_configs
from medical_tasks.spec import DatasetSpec, TaskSpec

__all__ = ["TASKS", "configs"]


class _SectionDoc(Doc):
    """A question of one section, by the name of its item: lighteval numbers rows, and would call all four the same."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "id":
            value = f"{self.specific['id']}/{self.specific[SECTION_COLUMN]}"
        super().__setattr__(name, value)


class _SectionPrompt:
    """lighteval's prompt function of a task by sections: the next section each time that a visit comes.

    Args:
        prompt: the function for a row that says which section is meant.
    """

    def __init__(self, prompt: Any) -> None:
        self.prompt = prompt
        self.__name__ = prompt.__name__
        self._met: Counter[str] = Counter()

    def __call__(self, line: dict[str, Any], task_name: str) -> Doc:
        name = str(line["id"])
        line[SECTION_COLUMN] = SECTIONS[self._met[name] % len(SECTIONS)]
        made = self.prompt(line, task_name)
        self._met[name] += 1
        return _SectionDoc(**{each.name: getattr(made, each.name) for each in fields(made) if each.init})


def configs(tasks: tuple[TaskSpec, ...], datasets: tuple[DatasetSpec, ...]) -> list[Any]:
    """Makes lighteval's configurations.

    Args:
        tasks: of this benchmark.
        datasets: theirs.

    Returns:
        As `harness.lighteval_adapter.task_configs`, those by sections with each visit four times.
    """
    by_section = {
        name for task in tasks if task.options["form"] == "section" for name in (task.name, task.harness_name)
    }
    return [
        replace(
            config,
            prompt_function=_SectionPrompt(config.prompt_function),
            evaluation_splits=list(config.evaluation_splits) * len(SECTIONS),
        )
        if config.name in by_section
        else config
        for config in task_configs(tasks, datasets)
    ]


TASKS = configs(BENCHMARK.tasks, BENCHMARK.datasets)
