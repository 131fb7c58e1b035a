"""How numbers are written in tables: percent with one decimal, counts with their unit, intervals, bounds, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["bounds", "coverage", "interval", "metric_label", "number", "percent"]

NOT_COMPUTABLE = "n/a"
NOT_COMPARABLE = "not comparable"


def percent(value: float | None) -> str:
    """Writes a 0-1 value in percent; a value nobody can compute is `n/a`, never 0."""
    return NOT_COMPUTABLE if value is None else f"{100 * value:.1f}"


def number(value: float | None, unit: str) -> str:
    """Writes a metric's value: in percent, or as it is where it counts something."""
    if not unit or value is None:
        return percent(value)
    return f"{value:.3f}" if unit == "cosine" else f"{value:.1f}"


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


def coverage(entry: Mapping[str, Any]) -> str:
    """Writes how many of the items asked were scored."""
    counts = entry["coverage"]
    return f"{counts['scored']}/{counts['asked']}"
