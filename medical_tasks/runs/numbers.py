"""Formats numbers for tables: shares in percent, counts, intervals, bounds, coverage, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from medical_tasks.errors import listed
from medical_tasks.runs.results import NO_ANSWER, NO_COMPONENT, NOTHING, Json

NOT_COMPUTABLE = "n/a"
PARTIAL = "partial"
"""The mark of an average that lacks some of its metrics."""
_DECIMALS = {"cosine": 3, "kappa": 3, "score": 3, "per answer": 2}
_QUIET = (NOTHING, NO_COMPONENT, NO_ANSWER)
_NAMED = 2
_SPREADS: Final = {
    "items": "sd_items",
    "answers to an item": "sd_run",
    "votes on an answer": "sd_judge",
}
FEWEST: Final = 10
"""The fewest independent items for a reliable interval; a smaller group in a comparison gets none."""
_DETECTABLE: Final = 1.43
"""Half a 95 % interval times this is detected in 4 of 5 cases: (1.96 + 0.84) / 1.96."""


def too_few_to_tell(
    difference: float | None, detectable: float | None, independent: float
) -> bool:
    """Whether a group has too few independent items to detect the difference that it shows.

    Every breakdown follows this rule.
    """
    few = independent < FEWEST or difference is None or detectable is None
    return few or abs(difference or 0.0) < (detectable or 0.0)


def group_too_few(group: Json, whole: Json, *, parts: bool = False) -> bool:
    """Applies `too_few_to_tell` to a group of one run, or (`parts`) to a part of each item.

    A group is part of the whole it is compared with, so that the error of their difference is
    the group's own error times the root of the share of items outside of it. For `parts` it
    is the group's own error.

    Example: half of the items reach 0.5, with 0.1 on either side.

        >>> group = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 50}
        >>> [group_too_few(group, {"value": value, "n": 100}) for value in (0.55, 0.8)]
        [True, False]
    """
    value, of_all = group["value"], whole.get("sample", whole)["value"]
    if (
        value is None
        or of_all is None
        or group["ci_low"] is None
        or group["ci_high"] is None
    ):
        return True

    half = group["ci_high"] - value if of_all > value else value - group["ci_low"]
    others = 1.0 if parts else max(0.0, 1.0 - group["n"] / whole["n"])
    return too_few_to_tell(
        of_all - value, _DETECTABLE * half * math.sqrt(others), group["n"]
    )


def percent(value: float | None) -> str:
    """Writes a 0-1 value in percent; a value that cannot be computed is `n/a`, never 0."""
    return NOT_COMPUTABLE if value is None else f"{100 * value:.1f}"


def number(value: float | None, unit: str) -> str:
    """Writes a metric's value: shares in percent, other units unchanged."""
    if not unit or value is None:
        return percent(value)
    return f"{value:.{_DECIMALS.get(unit, 1)}f}"


def valued(metric: Json, name: str = "value") -> str:
    """Writes a metric's value, a share with a percent sign; the label names other units."""
    value, unit = metric.get(name), metric.get("unit", "")
    return number(value, unit) + ("" if unit or value is None else " %")


def interval(metric: Json) -> str:
    """Writes a metric's 95 % interval, and whether a group has too few items to tell."""
    return _range(metric, "ci_low", "ci_high") + (
        ", too few to tell" if metric.get("too_few") else ""
    )


def bounds(metric: Json) -> str:
    """Writes the metric's bounds, which hold whatever is missing."""
    if metric["bound_high"] is None and metric["bound_low"] is not None:
        return f"{number(metric['bound_low'], metric.get('unit', ''))} or more"
    return _range(metric, "bound_low", "bound_high")


def _range(metric: Json, low: str, high: str) -> str:
    if metric[low] is None or metric[high] is None:
        return NOT_COMPUTABLE
    unit = metric.get("unit", "")
    return f"{number(metric[low], unit)} to {number(metric[high], unit)}"


def metric_label(name: str, metric: Json) -> str:
    """Writes a metric's name with its unit, and marks an average that lacks some of its metrics."""
    label = f"{name} ({metric['unit']})" if metric.get("unit") else name
    return f"{label} [{PARTIAL}]" if metric.get("missing_components") else label


def coverage(entry: Json, metric: Json | None = None) -> str:
    """Writes how many of the items asked were scored, on all metrics or on one of them."""
    return f"{scored(entry, metric)}/{entry['coverage']['asked']}"


def scored(entry: Json, metric: Json | None = None) -> int:
    """Counts the items that are decided on all metrics, or on one of them.

    A metric that needs no judge lacks no verdict.
    """
    counts = entry["coverage"]
    if metric is None or not any(
        "scored" in metric_entry for metric_entry in entry["metrics"].values()
    ):
        return int(counts["scored"])
    return int(metric.get("scored", counts["asked"]))


def explanation(why: str, unscored: str | None = None, unclear: str = "") -> str:
    """Explains the decision on an answer in one text, for harnesses, with what is missing or unclear."""
    parts = [
        why,
        f"unclear: {unclear}" if unclear else "",
        f"unscored: {unscored}" if unscored else "",
    ]
    return "; ".join(filter(None, parts))


def unclear_counts(entry: Json) -> Mapping[str, int]:
    """Counts the unclear answers by reason; empty for results of versions that did not count them."""
    counts: Mapping[str, int] = entry["coverage"].get("unclear") or {}
    return counts


def unclear_notes(entry: Json) -> list[str]:
    """Says how many answers are unclear, what they count as, and what was decided about them."""
    notes = []
    decided = entry["recipe"].get("adjudication")
    if counts := unclear_counts(entry):
        total = sum(counts.values())
        reasons = ", ".join(f"{count:,} x {reason}" for reason, count in counts.items())
        further = "adjudicate: `medical-tasks adjudicate RUN`"
        if decided:
            further = "fill in the rest of their sheet and score again"

        notes.append(
            f"{total:,} {'answers' if total > 1 else 'answer'} unclear ({reasons}); counted as not "
            f"right; {further}."
        )

    if isinstance(decided, Mapping):
        by = ", ".join(
            f"{count} by {name}" for name, count in dict(decided["by"]).items()
        )
        notes.append(
            f"{decided['decisions']} answers were read by adjudication ({by})."
        )

    return notes


def value_notes(entry: Json) -> list[str]:
    """Says why metrics have no value, and which are estimated in part.

    What has nothing to count anywhere speaks for itself. Metrics of which the same is
    to be said share a sentence.

    Example:
        value_notes(entry) == [
            "completeness, hallucination_rate: 3 of 40 items lack verdicts; known ones replace them. ..."
        ]
    """
    metrics = entry["metrics"]
    notes: list[str] = []
    for note_of in (_no_value, _estimated, _unanswered, _repeats, _corrected):
        # Of repeats the headline alone is reported.
        names = list(metrics)[:1] if note_of is _repeats else metrics
        by_note: dict[str, list[str]] = {}
        for name in names:
            by_note.setdefault(note_of(metrics[name]), []).append(name)

        by_note.pop("", None)
        notes += [f"{listed(own, _NAMED)}: {note}." for note, own in by_note.items()]

    answered = entry["coverage"]["answered"]
    return notes + [
        f"{note}: {count} of {answered} answers."
        for note, count in entry.get("notes", {}).items()
    ]


def _no_value(metric: Json) -> str:
    reason = metric.get("reason", NOTHING)
    return "" if reason in _QUIET else f"n/a, {reason}"


def _estimated(metric: Json) -> str:
    if not metric.get("estimated"):
        return ""
    return (
        f"{metric['estimated']} of {metric['n']} items lack verdicts; known ones replace them. "
        "Bounds: whatever they would say"
    )


def _unanswered(metric: Json) -> str:
    counts = "unanswered" in metric
    return (
        "an item without an answer counts as 0, as in the authors' script"
        if counts
        else ""
    )


def _repeats(metric: Json) -> str:
    """What the repeats of a metric were, and where its variance comes from."""
    repeats, unit = metric.get("repeats", {}), metric.get("unit", "")
    if "sd_run" not in repeats:
        return ""

    values = [number(value, unit) for value in repeats["values"]]
    phrases = [f"{len(values)} repeats {', '.join(values)}"]
    for of, name in _SPREADS.items():
        if repeats.get(name) is not None:
            phrases.append(f"sd of {of} {number(repeats[name], unit)}")

    if repeats.get("stability") is not None:
        phrases.append(f"{percent(repeats['stability'])} % of items alike in all")

    return "; ".join(phrases)


def _corrected(metric: Json) -> str:
    return str(metric.get("calibration", {}).get("said", ""))
