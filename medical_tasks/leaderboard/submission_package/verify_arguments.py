"""The settings of a task's questions and scoring, as far as a package tells them; what names a file comes from whoever verifies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medical_tasks.leaderboard.submission_package.scrubbing import FILE_SETTINGS, PATH
from medical_tasks.spec import TaskSpec

__all__ = ["Arguments", "question_arguments", "scoring_arguments"]


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Settings, and what is not known of them.

    Attributes:
        values: name to value.
        missing: settings that name a file or a folder, were used, and were not given.
    """

    values: Mapping[str, str]
    missing: tuple[str, ...]


def question_arguments(task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]) -> Arguments:
    """Settings of the questions: no file that a package names is ever opened.

    Args:
        task: the task.
        recipe: of the package.
        given: by whoever verifies.
    """
    values: dict[str, str] = {}
    missing: list[str] = []
    for name, value in recipe.get("task_args", {}).items():
        if name not in task.arguments:
            continue
        if name in FILE_SETTINGS and value == PATH:
            if name in given:
                values[name] = given[name]
            else:
                missing.append(name)
        else:
            values[name] = value
    return Arguments(values=values, missing=tuple(missing))


def scoring_arguments(task: TaskSpec, recipe: Mapping[str, Any], given: Mapping[str, str]) -> Arguments:
    """Settings of the scoring, from what the recipe says of them; likewise.

    Args:
        task: the task.
        recipe: of the package.
        given: by whoever verifies.
    """
    values = {name: value for name, value in given.items() if name in task.scoring_arguments}
    missing: list[str] = []
    identity = recipe.get("scoring", {})
    said = {**recipe.get("task_args", {}), **{_SPELLED.get(name, name): value for name, value in identity.items()}}
    for name, value in said.items():
        if name not in task.scoring_arguments or name in values:
            continue
        if name in FILE_SETTINGS:
            # A sentence in place of a file's hash says that there was none.
            if isinstance(value, Mapping):
                missing.append(name)
        elif isinstance(value, bool):
            values |= {name: "yes" if value else "no"} if value or name != "official" else {}
        elif isinstance(value, str):
            values[name] = value
    return Arguments(values=values, missing=tuple(missing))


_SPELLED = {"reference_claims": "claims"}
"""Names in a scoring's identity that are not the settings' own."""
