"""How numbers are written in tables: shares in percent, counts as they are, intervals, bounds, coverage, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from medical_tasks.errors import listed
from medical_tasks.runs.estimation import NO_ANSWER, NO_COMPONENT, NOTHING
from medical_tasks.runs.results import Json

NOT_COMPUTABLE = "n/a"
PARTIAL = "partial"
"""What an average is called that lacks some of its metrics."""
_DECIMALS = {"cosine": 3, "kappa": 3, "score": 3, "per answer": 2}
_QUIET = (NOTHING, NO_COMPONENT, NO_ANSWER)
_NAMED = 2
FEWEST: Final = 10
"""Fewer independent items than these, and no interval is to be relied on; a group of fewer gets none in a comparison."""
_DETECTABLE: Final = 1.43
"""What half a 95 % interval times this is, so many items detect in 4 of 5 cases: (1.96 + 0.84) / 1.96."""


def too_few_to_tell(difference: float | None, detectable: float | None, independent: float) -> bool:
    """The rule of every breakdown: fewer independent items than would detect the difference that a group shows."""
    few = independent < FEWEST or difference is None or detectable is None
    return few or abs(difference or 0.0) < (detectable or 0.0)


def group_too_few(group: Json, whole: Json, *, parts: bool = False) -> bool:
    """The same of a group in one run, beside all items, or (`parts`) of a part of each; its interval accounts for clusters."""
    value, of_all = group["value"], whole.get("sample", whole)["value"]
    if value is None or of_all is None or group["ci_low"] is None or group["ci_high"] is None:
        return True
    half = group["ci_high"] - value if of_all > value else value - group["ci_low"]
    others = 1.0 if parts else max(0.0, 1.0 - group["n"] / whole["n"])
    return too_few_to_tell(of_all - value, _DETECTABLE * half * math.sqrt(others), group["n"])


def percent(value: float | None) -> str:
    """Writes a 0-1 value in percent; a value nobody can compute is `n/a`, never 0."""
    return NOT_COMPUTABLE if value is None else f"{100 * value:.1f}"


def number(value: float | None, unit: str) -> str:
    """Writes a metric's value: in percent, or as it is where it counts something."""
    if not unit or value is None:
        return percent(value)
    return f"{value:.{_DECIMALS.get(unit, 1)}f}"


def valued(metric: Json, name: str = "value") -> str:
    """Writes a metric's value with the sign of percent, where it is a share; other units stand with its name."""
    value, unit = metric.get(name), metric.get("unit", "")
    return number(value, unit) + ("" if unit or value is None else " %")


def interval(metric: Json) -> str:
    """Writes a metric's 95 % interval, and whether a group's is of too few items."""
    return _range(metric, "ci_low", "ci_high") + (
        ", too few to tell" if metric.get("too_few") else ""
    )


def bounds(metric: Json) -> str:
    """Writes between which values the metric lies, whatever the missing items and verdicts would have been."""
    if metric["bound_high"] is None and metric["bound_low"] is not None:
        return f"{number(metric['bound_low'], metric.get('unit', ''))} or more"
    return _range(metric, "bound_low", "bound_high")


def _range(metric: Json, low: str, high: str) -> str:
    if metric[low] is None or metric[high] is None:
        return NOT_COMPUTABLE
    unit = metric.get("unit", "")
    return f"{number(metric[low], unit)} to {number(metric[high], unit)}"


def metric_label(name: str, metric: Json) -> str:
    """Writes a metric's name, with its unit, and with a mark where it is an average that lacks some of its metrics."""
    named = f"{name} ({metric['unit']})" if metric.get("unit") else name
    return f"{named} [{PARTIAL}]" if metric.get("missing_components") else named


def coverage(entry: Json, metric: Json | None = None) -> str:
    """Writes how many of the items asked were scored: on all metrics, or on one of them."""
    return f"{scored(entry, metric)}/{entry['coverage']['asked']}"


def scored(entry: Json, metric: Json | None = None) -> int:
    """How many items are decided on all metrics, or on one of them (a metric that needs no judge lacks no verdict)."""
    counts = entry["coverage"]
    if metric is None or not any("scored" in each for each in entry["metrics"].values()):
        return int(counts["scored"])
    return int(metric.get("scored", counts["asked"]))


def explanation(why: str, unscored: str | None = None, unclear: str = "") -> str:
    """How the decision on an answer came about, for harnesses that show one text: with what is missing or unclear of it."""
    parts = [
        why,
        f"unclear: {unclear}" if unclear else "",
        f"unscored: {unscored}" if unscored else "",
    ]
    return "; ".join(filter(None, parts))


def unclear_counts(entry: Json) -> Mapping[str, int]:
    """How many answers are unclear, by reason; none in results of versions whose readers never said so."""
    counts: Mapping[str, int] = entry["coverage"].get("unclear") or {}
    return counts


def unclear_notes(entry: Json) -> list[str]:
    """Says how many answers nobody could tell the meaning of, what they count as, and what was decided about them."""
    said = []
    decided = entry["recipe"].get("adjudication")
    if counts := unclear_counts(entry):
        total = sum(counts.values())
        reasons = ", ".join(f"{count:,} x {reason}" for reason, count in counts.items())
        further = "adjudicate: `medical-tasks adjudicate RUN`"
        if decided:
            further = "fill in the rest of their sheet and score again"
        said.append(
            f"{total:,} {'answers' if total > 1 else 'answer'} unclear ({reasons}); counted as not right; {further}."
        )
    if isinstance(decided, Mapping):
        by = ", ".join(f"{count} by {name}" for name, count in dict(decided["by"]).items())
        said.append(f"{decided['decisions']} answers were read by adjudication ({by}).")
    return said


def _repeats_said(name: str, metric: Json) -> str:
    """Writes what the repeats of a metric were, and where its variance comes from."""
    told, unit = metric["repeats"], metric.get("unit", "")
    parts = {"items": "sd_items", "answers to an item": "sd_run", "votes on an answer": "sd_judge"}
    sds = [
        f"sd of {of} {number(told[sd], unit)}"
        for of, sd in parts.items()
        if told.get(sd) is not None
    ]
    said = [
        f"{len(told['values'])} repeats {', '.join(number(value, unit) for value in told['values'])}",
        *sds,
    ]
    alike = told.get("stability")
    return f"{name}: {'; '.join([*said, *([] if alike is None else [f'{percent(alike)} % of items alike in all'])])}."


def value_notes(entry: Json) -> list[str]:
    """Says why metrics have no value, and which are estimated in part. What has nothing to count anywhere speaks for itself."""
    why: dict[str, list[str]] = {}
    estimated: dict[tuple[int, int], list[str]] = {}
    for name, metric in entry["metrics"].items():
        if metric.get("reason", NOTHING) not in _QUIET:
            why.setdefault(str(metric["reason"]), []).append(name)
        if metric.get("estimated"):
            estimated.setdefault((metric["estimated"], metric["n"]), []).append(name)
    said = [f"{listed(names, _NAMED)}: n/a, {reason}." for reason, names in why.items()]
    for (count, of), names in estimated.items():
        named = listed(names, _NAMED)
        said.append(
            f"{named}: {count} of {of} items lack verdicts; known ones stand for them. Bounds: whatever they would say."
        )
    if counted := [name for name, each in entry["metrics"].items() if "unanswered" in each]:
        named = listed(counted, _NAMED)
        said.append(f"{named}: an item without an answer counts as 0, as in the authors' script.")
    said += [
        _repeats_said(*each)
        for each in [*entry["metrics"].items()][:1]
        if "sd_run" in each[1].get("repeats", {})
    ]
    told: dict[str, list[str]] = {}
    for name, metric in entry["metrics"].items():
        if "said" in metric.get("calibration", {}):
            told.setdefault(str(metric["calibration"]["said"]), []).append(name)
    said += [f"{listed(names, _NAMED)}: {text}." for text, names in told.items()]
    answered = entry["coverage"]["answered"]
    said += [
        f"{note}: {count} of {answered} answers." for note, count in entry.get("notes", {}).items()
    ]
    return said
