"""Cells that several tables show: a metric with its interval, a state, a day, a coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.leaderboard.records import Entry, EntryState
from medical_tasks.report.html_table import Cell
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, valued
from medical_tasks.spec import MetricSpec

__all__ = ["STATE_WORDS", "badge", "coverage_cell", "day", "metric_cell", "metric_heading", "state_cell", "yes_no"]

STATE_WORDS: Final[Mapping[str, str]] = {
    "verified": "a maintainer scored the answers again and found the same numbers",
    "unverified": "a maintainer looked at the package; its answers were not scored again, or not its judge asked again",
    "accepted": "shown in the tables",
    "reported": "a figure from a paper, verified by nobody here",
    "pending": "waits for a maintainer",
    "rejected": "not shown in the tables",
}
"""What the states mean, for the reader."""


def metric_cell(metric: Mapping[str, Any] | None, *, state: EntryState, strong: bool = False) -> Cell:
    """Writes a metric's value with its interval below it.

    Args:
        metric: as in `results.json`; None where the entry does not have it.
        state: of the entry: a paper's figure has no interval of ours.
        strong: whether it is the one the table is about.

    Returns:
        The cell, sorted by the value; the title says the number of items and the bounds.
    """
    if metric is None:
        return Cell("n/a", title="not reported")
    value = metric.get("value")
    if metric.get("ci_low") is None or metric.get("ci_high") is None:
        note = "no interval reported" if state == "reported" else "no interval"
        note = note if value is not None else str(metric.get("reason", ""))
    else:
        note = interval(metric)
    words = []
    if metric.get("n") is not None:
        words.append(f"over {metric['n']:,} items")
    if metric.get("bound_low") is not None and metric.get("bound_high") != metric["bound_low"]:
        words.append(f"bounds, whatever is missing: {bounds({'bound_high': None, **metric})}")
    return Cell(valued(metric), sort=value, note=note, title="; ".join(words), strong=strong)


def metric_heading(metric: MetricSpec, *, comparable: bool = True) -> Markup:
    """Writes a metric's name with its unit, so that it can go over several lines.

    Args:
        metric: the metric.
        comparable: whether its numbers can be set beside others'.
    """
    label = metric_label(metric.name, {"unit": metric.unit, "comparable": comparable})
    return markup(escaped(label).replace("_", "_<wbr>"))


def coverage_cell(entry: Entry) -> Cell:
    """Writes how many of the items asked were scored, and why the others were not."""
    if entry.coverage is None:
        return Cell("not reported")
    counts = entry.coverage
    missing = ", ".join(f"{count} x {reason}" for reason, count in dict(counts.get("unscored") or {}).items())
    asked = counts["asked"]
    share = counts["scored"] / asked if asked else 0.0
    return Cell(coverage({"coverage": counts}), sort=float(share), title=f"not scored: {missing}" if missing else "")


def badge(state: str) -> Markup:
    """Writes a state as a word in its colour."""
    return markup(f'<span class="mtl-badge mtl-{escaped(state)}">', escaped(state), "</span>")


def state_cell(state: str) -> Cell:
    """Writes a state, with what it means."""
    return Cell(badge(state), sort=state, title=STATE_WORDS.get(state, ""))


def day(moment: str) -> str:
    """The day of a moment in ISO 8601; what is not known is said."""
    return moment[:10] or "not known"


def yes_no(value: bool | None) -> str:
    """Writes what a submitter says or leaves open."""
    return "not said" if value is None else "yes" if value else "no"
