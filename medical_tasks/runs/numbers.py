"""How numbers are written in tables: shares in percent, counts as they are, intervals, bounds, coverage, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.errors import listed
from medical_tasks.runs.estimation import NO_ANSWER, NO_COMPONENT, NOTHING

NOT_COMPUTABLE = "n/a"
NOT_COMPARABLE = "not comparable"
_DECIMALS = {"cosine": 3, "score": 3, "per answer": 2}
_QUIET = (NOTHING, NO_COMPONENT, NO_ANSWER)
_NAMED = 2


def percent(value: float | None) -> str:
    """Writes a 0-1 value in percent; a value nobody can compute is `n/a`, never 0."""
    return NOT_COMPUTABLE if value is None else f"{100 * value:.1f}"


def number(value: float | None, unit: str) -> str:
    """Writes a metric's value: in percent, or as it is where it counts something."""
    if not unit or value is None:
        return percent(value)
    return f"{value:.{_DECIMALS.get(unit, 1)}f}"


def valued(metric: Mapping[str, Any], name: str = "value") -> str:
    """Writes a metric's value with the sign of percent, where it is a share; other units stand with its name."""
    value, unit = metric.get(name), metric.get("unit", "")
    return number(value, unit) + ("" if unit or value is None else " %")


def interval(metric: Mapping[str, Any]) -> str:
    """Writes a metric's 95 % interval."""
    return _range(metric, "ci_low", "ci_high")


def bounds(metric: Mapping[str, Any]) -> str:
    """Writes between which values the metric lies, whatever the missing items and verdicts would have been."""
    if metric["bound_high"] is None and metric["bound_low"] is not None:
        return f"{number(metric['bound_low'], metric.get('unit', ''))} or more"
    return _range(metric, "bound_low", "bound_high")


def _range(metric: Mapping[str, Any], low: str, high: str) -> str:
    if metric[low] is None or metric[high] is None:
        return NOT_COMPUTABLE
    unit = metric.get("unit", "")
    return f"{number(metric[low], unit)} to {number(metric[high], unit)}"


def metric_label(name: str, metric: Mapping[str, Any]) -> str:
    """Writes a metric's name, with its unit, and with a warning where its judge's numbers stand for themselves alone."""
    named = f"{name} ({metric['unit']})" if metric.get("unit") else name
    return named if metric.get("comparable", True) else f"{named} [{NOT_COMPARABLE}]"


def coverage(entry: Mapping[str, Any], metric: Mapping[str, Any] | None = None) -> str:
    """Writes how many of the items asked were scored: on all metrics, or on one of them."""
    return f"{scored(entry, metric)}/{entry['coverage']['asked']}"


def scored(entry: Mapping[str, Any], metric: Mapping[str, Any] | None = None) -> int:
    """How many items are decided on all metrics, or on one of them (a metric that needs no judge lacks no verdict)."""
    counts = entry["coverage"]
    if metric is None or not any("scored" in each for each in entry["metrics"].values()):
        return int(counts["scored"])
    return int(metric.get("scored", counts["asked"]))


def value_notes(entry: Mapping[str, Any]) -> list[str]:
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
    told: dict[str, list[str]] = {}
    for name, metric in entry["metrics"].items():
        if "calibration" in metric:
            told.setdefault(str(metric["calibration"]["said"]), []).append(name)
    said += [f"{listed(names, _NAMED)}: {text}." for text, names in told.items()]
    answered = entry["coverage"]["answered"]
    said += [f"{note}: {count} of {answered} answers." for note, count in entry.get("notes", {}).items()]
    return said
