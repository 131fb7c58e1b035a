"""What a comparison shows: tables and notes, as texts that the terminal and Markdown set in their own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medical_tasks.comparison.comparing import Compared
from medical_tasks.comparison.notes import breakdown_notes, change_said, headline_notes
from medical_tasks.comparison.pairs import Pair, letter
from medical_tasks.runs.numbers import NOT_COMPUTABLE, interval, metric_label, number, valued
from medical_tasks.runs.recipe_differences import mapping, one_line

__all__ = ["Section", "run_names", "sections"]

_LONGEST_NAME = 160


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table.

    Attributes:
        title: its heading, "" for the first.
        header: names of the columns.
        rows: the cells; the first three columns are text.
        notes: sentences below it.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def run_names(runs: Sequence[Compared]) -> list[str]:
    """Names each run by its letter, its folder and its model."""
    named = []
    for place, run in enumerate(runs):
        models = dict.fromkeys(
            str(mapping(mapping(entry.get("recipe")).get("model")).get("name", ""))
            for entry in run.results["tasks"].values()
        )
        told = ", ".join(one_line(model, _LONGEST_NAME) for model in models if model)
        named.append(f"{letter(place)}: {one_line(run.label, _LONGEST_NAME)}" + (f" ({told})" if told else ""))
    return named


def sections(pairs: Sequence[Pair]) -> list[Section]:
    """Makes the tables of a comparison: of all tasks, of each breakdown, and of the items that changed, where there are some.

    Args:
        pairs: from `compare_pairs`.
    """
    several = len(pairs) > 1
    headline = [
        _row((name, metric_label(metric, entry)), entry, pair, several=several, adjusted=several)
        for name in _names(pairs)
        for metric in _metrics(pairs, name)
        for pair in pairs
        if (entry := pair.tasks.get(name, {}).get("metrics", {}).get(metric))
    ]
    header = _header(("task", "metric"), several=several, adjusted=several)
    made = [Section(title="", header=header, rows=headline, notes=headline_notes(pairs))]
    for name in _names(pairs):
        for by in dict.fromkeys(by for pair in pairs for by in pair.tasks.get(name, {}).get("breakdown", {})):
            made.append(_breakdown(pairs, name, by))
    for pair in pairs:
        for name, task in pair.tasks.items():
            for metric, entry in task["metrics"].items():
                made += _flips(pair, f"{name}, {metric}" + (f", {pair.name}" if several else ""), entry)
    return made


def _names(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(name for pair in pairs for name in pair.tasks))


def _metrics(pairs: Sequence[Pair], name: str) -> list[str]:
    return list(dict.fromkeys(metric for pair in pairs for metric in pair.tasks.get(name, {}).get("metrics", {})))


def _header(first: tuple[str, str], *, several: bool, adjusted: bool) -> tuple[str, ...]:
    sides = ("pair", "test", "first", "second", "difference") if several else ("test", "A", "B", "B - A")
    return (
        *first,
        *sides,
        "95 % interval",
        "p",
        *(("p Holm",) if adjusted else ()),
        "detectable",
        "better",
        "worse",
        "same",
    )


def _row(
    first: tuple[str, str], entry: Mapping[str, Any], pair: Pair, *, several: bool, adjusted: bool
) -> tuple[str, ...]:
    unit, flips, few = entry.get("unit", ""), entry["flips"], entry.get("too_few", False)
    return (
        *first,
        *((pair.name,) if several else ()),
        "none" if few else entry["test"],
        valued(entry, "value_a"),
        valued(entry, "value_b"),
        _signed(entry["difference"], unit),
        f"too few: {_counted(entry)}" if few else interval(entry),
        _p_value(entry["p"]),
        *((_p_value(entry["p_holm"]),) if adjusted else ()),
        number(entry["minimum_detectable_difference"], unit),
        *([NOT_COMPUTABLE] * 3 if flips is None else [str(flips[name]) for name in ("improved", "worsened", "same")]),
    )


def _counted(entry: Mapping[str, Any]) -> str:
    """How many independent pairs there are."""
    return (
        f"{entry['n_clusters']}"
        if entry["n_clusters"] == entry["n"]
        else f"{entry['n_clusters']} (of {entry['n']} items)"
    )


def _breakdown(pairs: Sequence[Pair], name: str, by: str) -> Section:
    several = len(pairs) > 1
    found = [(pair, pair.tasks.get(name, {}).get("breakdown", {}).get(by, {})) for pair in pairs]
    rows = [
        _row((one_line(group, _LONGEST_NAME), metric_label(metric, entry)), entry, pair, several=several, adjusted=True)
        for group in dict.fromkeys(group for _, groups in found for group in groups)
        for metric in dict.fromkeys(metric for _, groups in found for metric in groups.get(group, {}))
        for pair, groups in found
        if (entry := groups.get(group, {}).get(metric)) and entry["n"]  # without any pair there is nothing to show
    ]
    tests = max(
        (entry["tests"] for _, groups in found for group in groups.values() for entry in group.values()), default=0
    )
    return Section(
        title=f"{name} by {by}",
        header=_header((by, "metric"), several=several, adjusted=True),
        rows=rows,
        notes=breakdown_notes(tests),
    )


def _flips(pair: Pair, title: str, entry: Mapping[str, Any]) -> list[Section]:
    if "items" not in entry:
        return []
    made = []
    a, b = letter(pair.first), letter(pair.second)
    for direction in ("improved", "worsened"):
        items = entry["items"][direction]
        parsed = any("parsed_a" in item for item in items)
        unit = entry.get("unit", "")
        rows = [
            (
                one_line(item["id"], _LONGEST_NAME),
                *((item["parsed_a"], item["parsed_b"]) if parsed else ()),
                number(item["a"], unit),
                number(item["b"], unit),
            )
            for item in items
        ]
        header = ("id", *((f"answer of {a}", f"answer of {b}") if parsed else ()), *_sides(a, b, unit))
        total = entry["flips"][direction]
        shown = f"{len(items)} of {total} items" if len(items) < total else f"{total} item{'' if total == 1 else 's'}"
        made.append(Section(title=f"{title}: {change_said(entry, direction)}, {shown}", header=header, rows=rows))
    return made


def _sides(a: str, b: str, unit: str) -> tuple[str, str]:
    return (a, b) if unit else (f"{a} %", f"{b} %")


def _signed(value: float | None, unit: str) -> str:
    text = number(value, unit)
    return f"+{text}" if value is not None and value > 0 else text


def _p_value(value: float | None) -> str:
    if value is None:
        return NOT_COMPUTABLE
    return "<1e-6" if value < 1e-6 else f"{value:.3g}"
