"""What a reader must know of a report as a whole: runs that cannot be set side by side, and judges that compare words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.report.entry_notes import warning
from medical_tasks.report.page_data import ReportTask
from medical_tasks.runs.recipes import recipe_differences

__all__ = ["report_notes"]

_OF_WORDS: Final = "not comparable with anybody else's numbers"


def report_notes(shown: Sequence[ReportTask], repeated: Sequence[Path]) -> tuple[str, ...]:
    """Writes the notes.

    Args:
        shown: every task of every run.
        repeated: folders that were given more than once.
    """
    notes = [f"{folder} was given more than once and is shown once." for folder in repeated]
    by_name: dict[str, list[ReportTask]] = {}
    for each in shown:
        by_name.setdefault(each.name, []).append(each)
    for name, runs in by_name.items():
        for later in runs[1:]:
            notes += _differences(name, runs[0], later)
    return (*notes, *_warnings(shown))


def _differences(name: str, first: ReportTask, second: ReportTask) -> list[str]:
    """What keeps two runs of a task apart; each is told against the first run of the task."""
    found = recipe_differences(name, _recipe(first), _recipe(second), metrics=tuple(first.metrics))
    pair = f"{name}, {first.run} and {second.run}"
    # What compares words is told once for the whole report.
    told = [each for each in (*found.refused, *found.warned) if not each.startswith(_OF_WORDS)]
    said = [f"{pair}: {each}" for each in told]
    for setting, why in found.left_out.items():
        names = ", ".join(metric.name for metric in first.metrics if metric.needs == setting)
        said.append(f"{pair}: {names or setting} cannot be compared: {why}")
    return said


def _recipe(shown: ReportTask) -> Mapping[str, Any]:
    recipe: Mapping[str, Any] = shown.entry["recipe"]
    return recipe


def _warnings(shown: Sequence[ReportTask]) -> list[str]:
    """The judges that compare words, each once, with the tasks and runs it decided."""
    decided: dict[str, dict[str, list[str]]] = {}
    for each in shown:
        said = warning(each.entry)
        if said is not None:
            decided.setdefault(said, {}).setdefault(each.name, []).append(each.run)
    return [
        f"{said} It decided " + "; ".join(f"{name} ({', '.join(runs)})" for name, runs in tasks.items()) + "."
        for said, tasks in decided.items()
    ]
