"""Plots that are no mere breakdown: MedCalc-Bench's attributes, K-QA's statements, levels, components, the judge's agreement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.report.page_data import PagePlotPoint, ReportPlot
from medical_tasks.spec import Item, MetricSpec, TaskSpec

__all__ = ["attribute_plots", "component_plots", "judge_plots", "level_plots", "statement_plots"]

_ATTRIBUTES: Final = {
    "equation": "Accuracy by number of attributes, equations",
    "rule": "Accuracy by number of attributes, scores",
}
_JUDGE_RECIPE: Final = frozenset({"name", "comparable", "votes", "reasks", "reply_tokens", "mode", "prompts"})
"""What a judge's recipe has beside its identity."""
_STATEMENTS: Final = ("must-have, said", "nice-to-have, said", "of both, contradicted")
_TALLY: Final = re.compile(r"must (\d+)/(\d+), nice (\d+)/(\d+), contradicted (\d+)")
"""How scoring counts an answer's statements, where all of them are decided."""


def attribute_plots(rows: Sequence[Mapping[str, Any]], items: Mapping[str, Item]) -> list[ReportPlot]:
    """Accuracy of MedCalc-Bench by kind of calculator and number of attributes, as `medical-tasks errors` counts them.

    Args:
        rows: of `items.parquet`.
        items: the run's items; none where its data are not here, which makes no plot.
    """
    from medical_tasks.benchmarks.medcalc_bench.attributes import accuracy_by_attributes

    scored = [
        (items[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"])
        for row in rows
        if row.get("accuracy") is not None and row["id"] in items
    ]
    points, left_out = accuracy_by_attributes(scored)
    note = f"{left_out} answers are left out: the attributes of their questions cannot be read." if left_out else ""
    made = []
    for kind, title in _ATTRIBUTES.items():
        shown = tuple(
            PagePlotPoint(label=str(each.attributes), value=each.accuracy, low=each.ci_low, high=each.ci_high, n=each.n)
            for each in points
            if each.kind == kind
        )
        if shown:
            made.append(
                ReportPlot(title=title, x_label="Number of attributes", y_label="Accuracy", points=shown, note=note)
            )
    return made


def statement_plots(rows: Sequence[Mapping[str, Any]]) -> list[ReportPlot]:
    """How many of K-QA's must-have and nice-to-have statements the answers say, all answers together.

    Args:
        rows: of `items.parquet`; answers of which not every statement has a verdict are left out and counted.
    """
    from medical_tasks.scoring.intervals import proportion_interval

    said: dict[str, list[tuple[float, str]]] = {label: [] for label in _STATEMENTS}
    left_out = 0
    for row in rows:
        tally = _TALLY.fullmatch(str(row.get("parsed") or ""))
        if tally is None:
            left_out += 1
            continue
        must, all_must, nice, all_nice, contradicted = (int(count or 0) for count in tally.groups())
        counts = ((must, all_must), (nice, all_nice), (contradicted, all_must + all_nice))
        for label, (count, total) in zip(_STATEMENTS, counts, strict=True):
            said[label] += [(float(number < count), row["cluster"]) for number in range(total)]
    points = []
    for label, values in said.items():
        if values:
            found = proportion_interval([value for value, _ in values], clusters=[cluster for _, cluster in values])
            points.append(
                PagePlotPoint(label=label, value=found.value, low=found.ci_low, high=found.ci_high, n=len(values))
            )
    if not points:
        return []
    note = "Over all statements of all answers; the intervals allow for those of one answer not being independent."
    if left_out:
        note += f" {left_out} answers are left out, of which not every statement has a verdict or none was asked for."
    return [
        ReportPlot(
            title="Statements the answers say",
            x_label="Kind of statement",
            y_label="Share of statements",
            points=tuple(points),
            note=note,
        )
    ]


def component_plots(entry: Mapping[str, Any], metrics: Sequence[MetricSpec]) -> list[ReportPlot]:
    """The parts of each average, side by side: the components of ArchEHR-QA's overall scores.

    Args:
        entry: of `results.json`.
        metrics: those that are reported.
    """
    specs = {metric.name: metric for metric in metrics}
    made = []
    for metric in metrics:
        names = [name for name in metric.of if name in specs]
        points = [
            point for name in (*names, metric.name) if (point := _point(name, entry["metrics"][name])) is not None
        ]
        if names and len(points) > 1:
            missing = [name for name in metric.of if name not in specs]
            note = f"Not reported, and not part of {metric.name}: {', '.join(missing)}." if missing else ""
            made.append(
                ReportPlot(
                    title=f"Components of {metric.name}",
                    x_label="Metric",
                    y_label="Value",
                    points=tuple(points),
                    note=note,
                )
            )
    return made


def level_plots(task: TaskSpec, entries: Mapping[str, Mapping[str, Any]]) -> list[ReportPlot]:
    """The headline of a task by level, where the run has the task at more than one: EHRNoteQA.

    Args:
        task: the task; the plot stands with the first of its levels.
        entries: all of the run's.
    """
    base, mark, _ = task.name.rpartition("_level")
    levels = {name: name.removeprefix(base + mark) for name in sorted(entries) if mark and name.startswith(base + mark)}
    if len(levels) < 2 or task.name != next(iter(levels)):
        return []
    metric = task.metrics[0].name
    found = {level: _point(level, entries[name]["metrics"].get(metric, {})) for name, level in levels.items()}
    points = tuple(point for point in found.values() if point is not None)
    if len(points) < 2:
        return []
    return [ReportPlot(title=f"{metric} by level", x_label="Level", y_label=metric, points=points)]


def _point(label: str, value: Mapping[str, Any]) -> PagePlotPoint | None:
    """A metric's value as a point; None for what is no share, or cannot be computed."""
    middle, low, high = (value.get(name) for name in ("value", "ci_low", "ci_high"))
    if value.get("unit") or middle is None or low is None or high is None:
        return None
    if not all(0 <= each <= 1 for each in (middle, low, high)):
        return None
    return PagePlotPoint(label=label, value=middle, low=low, high=high, n=value["n"])


def judge_plots(task: TaskSpec, entry: Mapping[str, Any]) -> list[ReportPlot]:
    """How well the run's judge agrees with people, by the last check of it on record on this machine.

    Args:
        task: a judged task.
        entry: of `results.json`.
    """
    judge = entry["recipe"].get("judge")
    if not isinstance(judge, Mapping) or not isinstance(judge.get("prompts"), Mapping):
        return []
    identity = {name: value for name, value in judge.items() if name not in _JUDGE_RECIPE}
    asked = {
        "votes": judge.get("votes", 1),
        "mode": judge.get("mode", "single"),
        "prompts": judge["prompts"].get("set", "own"),
        "name": check_set_of(task),
    }
    check = last_check(identity, **asked)
    if check is None or "problem" in check:
        return []
    points = tuple(
        point
        for name in ("accuracy", "kappa")
        if (point := _point(name, {**check[name], "n": check["scored"]})) is not None
    )
    if not points:
        return []
    return [
        ReportPlot(
            title="Agreement of the judge with people",
            x_label="Measure",
            y_label="Agreement",
            points=points,
            note=describe(check, judge=str(judge.get("name")), **asked) + ".",
        )
    ]
