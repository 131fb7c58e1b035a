"""What a comparison found: a table of the metrics, and one of the items that flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.report.html_table import Cell, Column, Row, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.runs.numbers import metric_label, number, valued
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = ["comparison_tables"]

_MOST_FLIPS: Final = 2000


def comparison_tables(
    task: TaskSpec, result: Mapping[str, Any], first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> list[Markup]:
    """Writes a comparison.

    Args:
        task: the task.
        result: its entry of what `compare_results` returns.
        first: rows of A's items of the task.
        second: rows of B's.

    Returns:
        HTML parts: the metrics, and the items on which the headline metric differs, by id.
    """
    parts = [_metrics(task, result)]
    headline = task.metrics[0]
    if headline.name in result["metrics"]:
        parts.append(_flipped(headline, first, second))
    return parts


def _metrics(task: TaskSpec, result: Mapping[str, Any]) -> Markup:
    columns = [
        Column(name="metric", label="Metric", header=True),
        Column(name="a", label="A", kind="number"),
        Column(name="b", label="B", kind="number"),
        Column(name="difference", label="B minus A", kind="number", help="With its 95 % interval, paired by item"),
        Column(name="verdict", label="What it says"),
        Column(name="p", label="p", kind="number", help="McNemar for proportions, else the paired bootstrap"),
        Column(name="items", label="Better / worse / same", kind="number", help="Items, in B against A"),
        Column(
            name="detectable",
            label="Can detect",
            kind="number",
            help="The smallest difference so many items show 4 times in 5",
        ),
        Column(name="n", label="n", kind="number", help="Items with a value in both"),
    ]
    known = {metric.name: metric for metric in task.metrics}
    rows = [_row(known[name], told) for name, told in result["metrics"].items() if name in known]
    return html_table(
        columns, rows, id="comparison", caption=f"{task.name}: {result['n_items']:,} items in both", sortable=False
    )


def _row(metric: MetricSpec, told: Mapping[str, Any]) -> Row:
    unit = metric.unit
    flips = told.get("flips")
    items = "n/a" if not flips else f"{flips['improved']} / {flips['worsened']} / {flips['same']}"
    detectable = told.get("minimum_detectable_difference")
    low, high = told.get("ci_low"), told.get("ci_high")
    note = "no interval" if low is None or high is None else f"{_signed(low, unit)} to {_signed(high, unit)}"
    return Row(
        [
            Cell(metric_label(metric.name, told), note="" if metric.higher_is_better else "lower is better"),
            Cell(valued(told, "value_a")),
            Cell(valued(told, "value_b")),
            Cell(_signed(told.get("difference"), unit), note=note, strong=True),
            Cell(_verdict(metric, low, high)),
            Cell(_p(told.get("p")), title=str(told.get("test", ""))),
            Cell(items),
            Cell(number(detectable, unit)),
            Cell(f"{told.get('n', 0):,}", note="; ".join(told.get("notes") or ())),
        ]
    )


def _signed(value: float | None, unit: str) -> str:
    return "n/a" if value is None else f"{'+' if value > 0 else ''}{number(value, unit)}"


def _verdict(metric: MetricSpec, low: float | None, high: float | None) -> str:
    """Says in words what the interval says: no difference is a tie until the interval leaves zero."""
    if low is None or high is None:
        return "cannot be told"
    if low <= 0 <= high:
        return "no difference shown"
    return "B is better" if (low > 0) == metric.higher_is_better else "A is better"


def _p(value: float | None) -> str:
    return "n/a" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _flipped(metric: MetricSpec, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> Markup:
    of_first = {row["id"]: row for row in first}
    rows: list[Row] = []
    for row in second:
        other = of_first.get(row["id"])
        before, after = (None if one is None else one.get(metric.name) for one in (other, row))
        if before is None or after is None or before == after:
            continue
        better = (after > before) == metric.higher_is_better
        groups = ", ".join(f"{key.removeprefix('group_')} {row[key]}" for key in row if key.startswith("group_"))
        rows.append(
            Row(
                [
                    Cell(str(row["id"])),
                    Cell("better in B" if better else "better in A"),
                    Cell(number(before, metric.unit), sort=float(before)),
                    Cell(number(after, metric.unit), sort=float(after)),
                    Cell(groups),
                ]
            )
        )
    columns = [
        Column(name="id", label="Item", header=True),
        Column(name="change", label="Change", facet=True),
        Column(name="a", label="A", kind="number"),
        Column(name="b", label="B", kind="number"),
        Column(name="groups", label="Groups"),
    ]
    cut = f" The first {_MOST_FLIPS:,} are shown." if len(rows) > _MOST_FLIPS else ""
    return markup(
        f"<h3>Items that changed: {len(rows):,}</h3>",
        f'<p class="mtl-lead">By {escaped(metric.name)}, by id alone.{cut}</p>',
        html_table(
            columns,
            rows[:_MOST_FLIPS],
            id="flips",
            caption="Items whose value differs between the two",
            filter_label="Filter by id or group",
            show_caption=False,
            empty="None: every item has the same value in both.",
        ),
    )
