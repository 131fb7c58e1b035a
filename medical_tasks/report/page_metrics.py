"""A metric's numbers as cells of a table: the same columns wherever metrics are listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medical_tasks.report.html_table import Cell, Column
from medical_tasks.report.html_text import Markup
from medical_tasks.report.page_data import ReportTask
from medical_tasks.report.plots import axis_ticks, interval_mark
from medical_tasks.report.plots_scale import SHARES, Scale, scale_of
from medical_tasks.runs.numbers import bounds, coverage, interval, scored, valued
from medical_tasks.spec import MetricSpec

__all__ = [
    "bounds_cell",
    "clean",
    "coverage_cell",
    "headline",
    "metric_cells",
    "metric_columns",
    "model_of",
    "share_scale",
    "sort_value",
    "spec_of",
]

_NUMBERS = ("value", "ci_low", "ci_high", "bound_low", "bound_high")


def clean(metric: Mapping[str, Any]) -> dict[str, Any]:
    """Takes a metric's entry as `numbers` writes it: what is no number (`nan`, infinite, absent) is None."""
    known = {name: _finite(metric.get(name)) for name in _NUMBERS}
    return {**metric, **known, "n": metric.get("n", 0)}


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def headline(task: ReportTask) -> str | None:
    """The name of the task's headline metric, of those reported; None where none is."""
    reported = task.entry["metrics"]
    return next((spec.name for spec in task.metrics if spec.name in reported), next(iter(reported), None))


def spec_of(task: ReportTask, name: str) -> MetricSpec | None:
    """The declaration of a metric."""
    return next((spec for spec in task.metrics if spec.name == name), None)


def model_of(task: ReportTask) -> str:
    """The name of the model as its recipe has it."""
    return str(task.entry["recipe"].get("model", {}).get("name", ""))


def metric_columns(scale: Scale | None = SHARES) -> list[Column]:
    """The columns that `metric_cells` fills; `scale` is that of the drawings, None leaves them out."""
    columns = [
        Column(name="value", label="Value", kind="number", help="In percent, or in the unit that the metric names.")
    ]
    if scale is not None:
        columns.append(Column(name="plot", label="Interval", kind="plot", axis=axis_ticks(scale)))
    return [
        *columns,
        Column(name="interval", label="95 % interval", kind="range"),
        Column(name="n", label="n", kind="number", help="Over how many items or pairs the value is taken."),
    ]


def metric_cells(metric: Mapping[str, Any], *, strong: bool = False, scale: Scale | None = SHARES) -> list[Cell]:
    """Writes a metric: value, drawing, interval and n.

    Args:
        metric: its entry of `results.json`.
        strong: whether its value stands out.
        scale: the axis of the drawing, the columns' one; a metric with a unit of its own stands on no axis of shares.
    """
    known = clean(metric)
    value, unit = known["value"], known.get("unit", "")
    cells = [Cell(valued(known), sort_value(value, unit), title=str(metric.get("reason", "")), strong=strong)]
    if scale is not None:
        drawn = not unit or scale is not SHARES
        mark = interval_mark(value, known["ci_low"], known["ci_high"], scale=scale) if drawn else Markup("")
        cells.append(Cell(svg=mark))
    return [*cells, Cell(interval(known), sort_value(known["ci_low"], unit)), Cell(f"{known['n']:,}", known["n"])]


def bounds_cell(metric: Mapping[str, Any]) -> Cell:
    """Writes between which values the metric lies, whatever is missing."""
    known = clean(metric)
    return Cell(bounds(known), sort_value(known["bound_low"], known.get("unit", "")))


def sort_value(value: float | None, unit: str = "") -> float | None:
    """What a cell of a metric is sorted by: the number that it shows (percents, for a share), with a few more digits."""
    return None if value is None else round(value if unit else 100 * value, 4)


def coverage_cell(entry: Mapping[str, Any], metric: Mapping[str, Any]) -> Cell:
    """Writes how many of the items asked were scored on a metric, and why the others were not."""
    counts = entry["coverage"]
    asked, decided = counts["asked"], scored(entry, metric)
    reasons = "; ".join(f"{count} x {reason}" for reason, count in counts["unscored"].items())
    title = f"not scored: {reasons}" if reasons and decided < asked else ""
    return Cell(coverage(entry, metric), decided / asked if asked else None, title=title)


def share_scale(metrics: Iterable[Mapping[str, Any]], unit: str) -> Scale:
    """The axis on which all these entries of one metric can stand."""
    ends: Sequence[float | None] = [
        end for metric in metrics for end in (clean(metric)[name] for name in ("value", "ci_low", "ci_high"))
    ]
    return scale_of(ends, unit)
