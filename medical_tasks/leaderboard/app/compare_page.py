"""Two submissions side by side, item by item, or the reason why that cannot be done."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.comparison.comparing import Compared, compare_results, recipe_differences
from medical_tasks.errors import MedicalTasksError
from medical_tasks.leaderboard.app.parts import Address, Group, bold_warning, in_app_link, notice, table
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.submission_package.contents import Package
from medical_tasks.report.html_parts import Cell, Markup, escaped, markup
from medical_tasks.runs.numbers import metric_label, number, valued
from medical_tasks.spec import MetricSpec, TaskSpec

_KEPT_PACKAGES = 4


def comparable_entries(snapshot: Snapshot, task: str) -> list[Entry]:
    """Entries of a task that have item rows: those of submissions, the newest first."""
    found = [entry for entry in snapshot.entries if entry.task == task and entry.submission]
    return sorted(found, key=lambda entry: entry.at, reverse=True)


def compare_page(board: Board, snapshot: Snapshot, task: str, first: str, second: str) -> Markup:
    """Compares two submissions on a task: differences (B minus A) with intervals, tests, power, and the items that flipped."""
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
    parts = bold_warning(Group(name=a.group, entries=(a,)).warning)
    parts += [notice("note", "To know about this comparison", *warnings)] if warnings else []
    parts.append(_metrics_table(tasks()[task], result))
    headline = tasks()[task].metrics[0]
    return [*parts, _flipped(headline, made[0].rows, made[1].rows)] if headline.name in result["metrics"] else parts


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
    differ = recipe_differences(a.task, a.recipe, b.recipe, metrics=known.metrics if known else ())
    reasons = [*differ.refused, *differ.warned]
    groups = (
        f"{letter} is in group {entry.group}: {Group(name=entry.group, entries=(entry,)).words}."
        for letter, entry in (("A", a), ("B", b))
    )
    return notice(
        "bad", "These are of different groups, so their difference would not be the models' alone", *groups, *reasons
    )


_MOST_FLIPS: Final = 2000


def _metrics_table(task: TaskSpec, result: Mapping[str, Any]) -> Markup:
    known = {metric.name: metric for metric in task.metrics}
    rows = [_metric_row(known[name], told) for name, told in result["metrics"].items() if name in known]
    return table("comparison", rows, caption=f"{task.name}: {result['n_items']:,} items in both")


def _metric_row(metric: MetricSpec, told: Mapping[str, Any]) -> list[Cell | str]:
    unit, flips = metric.unit, told.get("flips")
    low, high = told.get("ci_low"), told.get("ci_high")
    note = "no interval" if low is None or high is None else f"{_signed(low, unit)} to {_signed(high, unit)}"
    return [
        Cell(metric_label(metric.name, told), note="" if metric.higher_is_better else "lower is better"),
        valued(told, "value_a"),
        valued(told, "value_b"),
        Cell(_signed(told.get("difference"), unit), note=note, strong=True),
        _verdict(metric, low, high),
        Cell(_p_value(told.get("p")), title=str(told.get("test", ""))),
        "n/a" if not flips else f"{flips['improved']} / {flips['worsened']} / {flips['same']}",
        number(told.get("minimum_detectable_difference"), unit),
        Cell(f"{told.get('n', 0):,}", note="; ".join(told.get("notes") or ())),
    ]


def _signed(value: float | None, unit: str) -> str:
    return "n/a" if value is None else f"{'+' if value > 0 else ''}{number(value, unit)}"


def _verdict(metric: MetricSpec, low: float | None, high: float | None) -> str:
    """Says in words what the interval says: no difference is a tie until the interval leaves zero."""
    if low is None or high is None:
        return "cannot be told"
    if low <= 0 <= high:
        return "no difference shown"
    return "B is better" if (low > 0) == metric.higher_is_better else "A is better"


def _p_value(value: float | None) -> str:
    return "n/a" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _flipped(metric: MetricSpec, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> Markup:
    of_first = {row["id"]: row for row in first}
    rows = []
    for row in second:
        other = of_first.get(row["id"])
        before, after = (None if one is None else one.get(metric.name) for one in (other, row))
        if before is None or after is None or before == after:
            continue
        better = (after > before) == metric.higher_is_better
        rows.append(
            (
                str(row["id"]),
                "better in B" if better else "better in A",
                Cell(number(before, metric.unit), sort=float(before)),
                Cell(number(after, metric.unit), sort=float(after)),
                ", ".join(f"{key.removeprefix('group_')} {row[key]}" for key in row if key.startswith("group_")),
            )
        )
    cut = f" The first {_MOST_FLIPS:,} are shown." if len(rows) > _MOST_FLIPS else ""
    return markup(
        f"<h3>Items that changed: {len(rows):,}</h3>",
        f'<p class="mtl-lead">By {escaped(metric.name)}, by id alone.{cut}</p>',
        table("flips", rows[:_MOST_FLIPS]),
    )
