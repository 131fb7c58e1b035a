"""The sentences below a comparison: what the columns are, what was left out, what not to conclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.comparison.pairs import Pair
from medical_tasks.comparison.statistics import FEWEST, GROUP_RESAMPLES

__all__ = ["breakdown_notes", "change_said", "headline_notes"]

_NAMED: Final = 3


def headline_notes(pairs: Sequence[Pair]) -> list[str]:
    """Explains the columns, then says what each task's comparison lacks.

    Args:
        pairs: from `compare_pairs`.
    """
    several = len(pairs) > 1
    notes = [
        "p: exact McNemar test for proportions (whole clusters where items share a note), paired bootstrap otherwise.",
        "detectable: the smallest true difference that so many items find in 4 of 5 cases.",
        "better, worse, same: items on which the second run is so, by the metric's direction.",
    ]
    if several:
        notes.append(
            f"p Holm: adjusted for the {len(pairs)} pairs of one task and metric. Read this one: of several tests some look "
            "significant by chance."
        )
    for pair in pairs:
        at = f"{pair.name}: " if several else ""
        for name, task in pair.tasks.items():
            notes += [f"note: {at}{name}: {said}" for said in (*task["warnings"], *_few(task["metrics"]))]
    for pair in pairs:
        at = f"{pair.name}: " if several else ""
        notes += [f"not compared: {at}{name}: {said}" for name, task in pair.tasks.items() for said in task["refused"]]
    return notes


def breakdown_notes(tests: int) -> list[str]:
    """Says what a breakdown's columns are.

    Args:
        tests: how many tests its largest family has.
    """
    few = f"Groups of fewer than {FEWEST} independent pairs get no interval and no test."
    if not tests:
        return [f"{few} No group has enough: conclude nothing group by group."]
    return [
        f"{few} Intervals are of {GROUP_RESAMPLES:,} draws.",
        f"p Holm: adjusted for the tests of one metric in this breakdown ({tests} at most). Read this one: of many groups some "
        "look different by chance.",
    ]


def change_said(entry: Mapping[str, Any], direction: str) -> str:
    """Names a change of an item.

    Args:
        entry: of the metric.
        direction: `improved` or `worsened`.
    """
    if entry["test"] != "McNemar":
        return f"{direction} most"
    words = ("wrong", "right") if entry["higher_is_better"] else ("yes", "no")
    before, after = words if direction == "improved" else words[::-1]
    return f"{before} -> {after} ({direction})"


def _few(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is said of metrics with few pairs, once for all of which the same is said."""
    found: dict[str, list[str]] = {}
    for name, entry in metrics.items():
        for said in entry["notes"]:
            found.setdefault(said, []).append(name)
    return [f"{_listed(names)}: {said}" for said, names in found.items()]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_NAMED])} and {more} more"
