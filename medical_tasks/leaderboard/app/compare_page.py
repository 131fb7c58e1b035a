"""Two submissions side by side, item by item, or the reason why that cannot be done."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.comparison.comparing import Compared, compare_results, recipe_differences
from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.app.comparison_tables import comparison_tables
from medical_tasks.leaderboard.app.group_words import Group
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.app.notices import notice
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.report.html_text import Markup, escaped, markup

__all__ = ["comparable_entries", "compare_page"]

_KEPT_PACKAGES = 4


def comparable_entries(snapshot: Snapshot, task: str) -> list[Entry]:
    """Entries of a task that have item rows: those of submissions, the newest first."""
    found = [entry for entry in snapshot.entries if entry.task == task and entry.submission]
    return sorted(found, key=lambda entry: entry.at, reverse=True)


def compare_page(board: Board, snapshot: Snapshot, task: str, first: str, second: str) -> Markup:
    """Compares two submissions on a task.

    Args:
        board: where the packages are.
        snapshot: the board, as it is shown.
        task: the task.
        first: id of submission A.
        second: id of submission B.

    Returns:
        HTML: differences (B minus A) with intervals, tests and what this many items can show, and the items that flipped; or why
        the two cannot be compared.
    """
    entries = {entry.submission: entry for entry in comparable_entries(snapshot, task)}
    if not first or not second:
        return markup('<p class="mtl-empty">Choose two submissions of a task.</p>')
    missing = [name for name in (first, second) if name not in entries]
    if missing:
        return notice(
            "bad",
            "These cannot be compared",
            f"Submission {missing[0]} is not on the board with {task}: only accepted submissions have items to compare, a paper's "
            "figures have none. Choose another above.",
        )
    if first == second:
        return notice("note", "Choose two different submissions", "A submission equals itself.")
    a, b = entries[first], entries[second]
    if a.group != b.group:
        return _other_groups(a, b)
    try:
        compared = _compared(board, task, a, b)
    except MedicalTasksError as error:
        return notice("bad", "These cannot be compared", *str(error).splitlines())
    return markup(_heading(a, b), *compared)


def _compared(board: Board, task: str, a: Entry, b: Entry) -> Sequence[Markup]:
    made = [_of_task(_package(board, entry.submission), task, entry) for entry in (a, b)]
    result = compare_results(made[0], made[1], tasks())[task]
    if result["refused"]:
        return [notice("bad", "These cannot be compared", *result["refused"])]
    warnings = [f"{text}." if not text.endswith(".") else text for text in result["warnings"]]
    said = [notice("note", "To know about this comparison", *warnings)] if warnings else []
    judged = Group(name=a.group, entries=(a,)).warning
    if judged:
        said.insert(0, markup(f'<p class="mtl-warning"><strong>{escaped(judged)}</strong></p>'))
    return [*said, *comparison_tables(tasks()[task], result, made[0].rows, made[1].rows)]


def _of_task(package: Package, task: str, entry: Entry) -> Compared:
    results = {**package.results, "tasks": {task: package.results["tasks"][task]}}
    rows = [row for row in package.items if row["task"] == task]
    return Compared(label=entry.model, results=results, rows=rows)


@functools.lru_cache(maxsize=_KEPT_PACKAGES)
def _package(board: Board, name: str) -> Package:
    """A package never changes; who compares one with several others does not read it each time."""
    return board.package(name)


def _heading(a: Entry, b: Entry) -> Markup:
    rows = []
    for letter, entry in (("A", a), ("B", b)):
        about = " · ".join(part for part in (entry.organisation, entry.setting, entry.at[:10]) if part)
        model = in_app_link(entry.model, Address(view="model", model=entry.model))
        rows.append(
            f'<li><b class="mtl-letter">{letter}</b> {model} <span class="mtl-small">{escaped(about)}</span></li>'
        )
    return markup(
        '<h2 class="mtl-title">Two models, item by item</h2>',
        f'<ul class="mtl-pair">{"".join(rows)}</ul>',
        '<p class="mtl-lead">Differences are B minus A, in percentage points where no unit is named, over the items scored in '
        "both.</p>",
    )


def _other_groups(a: Entry, b: Entry) -> Markup:
    """Why entries of two groups are not compared: what differs, and what each group is."""
    known = tasks().get(a.task)
    differ = recipe_differences(a.task, _recipe(a), _recipe(b), metrics=known.metrics if known else ())
    reasons = [*differ.refused, *differ.warned]
    groups = (
        f"{letter} is in group {entry.group}: {Group(name=entry.group, entries=(entry,)).words}."
        for letter, entry in (("A", a), ("B", b))
    )
    return notice(
        "bad",
        "These are of different groups, so their difference would not be the models' alone",
        *groups,
        *reasons,
    )


def _recipe(entry: Entry) -> Mapping[str, Any]:
    return entry.recipe
