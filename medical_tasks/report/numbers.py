"""How numbers are written in tables: percent with one decimal, intervals, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["coverage", "interval", "percent"]

NOT_COMPUTABLE = "n/a"


def percent(value: float | None) -> str:
    """Writes a 0-1 value in percent; a value nobody can compute is `n/a`, never 0."""
    return NOT_COMPUTABLE if value is None else f"{100 * value:.1f}"


def interval(metric: Mapping[str, Any]) -> str:
    """Writes a metric's 95 % interval."""
    if metric["ci_low"] is None or metric["ci_high"] is None:
        return NOT_COMPUTABLE
    return f"{percent(metric['ci_low'])} to {percent(metric['ci_high'])}"


def coverage(entry: Mapping[str, Any]) -> str:
    """Writes how many of the items asked were scored."""
    counts = entry["coverage"]
    return f"{counts['scored']}/{counts['asked']}"
