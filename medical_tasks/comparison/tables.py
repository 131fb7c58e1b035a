"""Formats a comparison for the terminal or as Markdown: tables, notes and changed items."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.comparison.compared import (
    Compared,
    Pair,
    letter,
    rows_by_task,
    shared_rows,
)
from medical_tasks.comparison.statistics import (
    CHANGED,
    GROUP_RESAMPLES,
    ComparedTask,
    Difference,
    Differences,
    item_value,
)
from medical_tasks.errors import listed
from medical_tasks.io.table import align
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import (
    FEWEST,
    NOT_COMPUTABLE,
    interval,
    metric_label,
    number,
    valued,
)
from medical_tasks.runs.recipes import mapping, one_line
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.scoring.paired import ALPHA
from medical_tasks.spec import MetricSpec, TaskSpec

_LONGEST_NAME: Final = 160
_DIGITS: Final = re.compile(r"(\d+)")
_NAMED: Final = 3
_SPECIAL: Final = "\\`*_[]|~$"


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table; its first three columns are text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def run_names(runs: Sequence[Compared]) -> list[str]:
    """Names each run by its letter, its folder and its model."""
    names = []
    for index, run in enumerate(runs):
        models = dict.fromkeys(
            str(mapping(mapping(entry.get("recipe")).get("model")).get("name", ""))
            for entry in run.results["tasks"].values()
        )
        model_names = ", ".join(
            one_line(model, _LONGEST_NAME) for model in models if model
        )
        names.append(
            f"{letter(index)}: {one_line(run.label, _LONGEST_NAME)}"
            + (f" ({model_names})" if model_names else "")
        )

    return names


def sections(pairs: Sequence[Pair]) -> list[Section]:
    """Makes the tables of a comparison: all tasks, each breakdown, and the changed items."""
    several = len(pairs) > 1
    names = list(dict.fromkeys(name for pair in pairs for name in pair.tasks))
    compared = [
        (name, [(pair, pair.tasks[name]) for pair in pairs if name in pair.tasks])
        for name in names
    ]
    headline = [
        row
        for name, of_pairs in compared
        for row in _rows(
            [(pair, task["metrics"]) for pair, task in of_pairs],
            name,
            several=several,
            adjusted=several,
        )
    ]
    header = _header(("task", "metric"), several=several, adjusted=several)
    tables = [
        Section(title="", header=header, rows=headline, notes=headline_notes(pairs))
    ]
    for name, of_pairs in compared:
        for by in dict.fromkeys(by for _, task in of_pairs for by in task["breakdown"]):
            tables.append(_breakdown(of_pairs, name, by, several=several))

    for pair in pairs:
        title = f", {pair.name}" * several
        for name, task in pair.tasks.items():
            for metric, entry in task["metrics"].items():
                tables += _flips(pair, f"{name}, {metric}{title}", entry)

    return tables


def _rows(
    of_pairs: Sequence[tuple[Pair, Differences]],
    label: str,
    *,
    several: bool,
    adjusted: bool,
) -> list[tuple[str, ...]]:
    """Makes the rows of some metrics, one for each pair that has the metric."""
    metrics = dict.fromkeys(
        metric for _, differences in of_pairs for metric in differences
    )
    return [
        _row(
            (label, metric_label(metric, entry)),
            entry,
            pair,
            several=several,
            adjusted=adjusted,
        )
        for metric in metrics
        for pair, differences in of_pairs
        if (entry := differences.get(metric))
    ]


def _header(
    first: tuple[str, str], *, several: bool, adjusted: bool
) -> tuple[str, ...]:
    sides = (
        ("pair", "test", "first", "second", "difference")
        if several
        else ("test", "A", "B", "B - A")
    )
    p_values = ("p", "p Holm") if adjusted else ("p",)
    return (
        *first,
        *sides,
        "95 % interval",
        *p_values,
        "detectable",
        "better",
        "worse",
        "same",
    )


def _row(
    first: tuple[str, str],
    entry: Difference,
    pair: Pair,
    *,
    several: bool,
    adjusted: bool,
) -> tuple[str, ...]:
    """Makes the row of a metric of a pair; with too few items it has no interval and no test."""
    unit, flips, n = entry.get("unit", ""), entry["flips"], entry["n_clusters"]
    few = entry.get("too_few") and entry["ci_low"] is None
    counted = f"{n}" if n == entry["n"] else f"{n} (of {entry['n']} items)"
    changes = [NOT_COMPUTABLE] * 3
    if flips is not None:
        changes = [str(flips[name]) for name in ("improved", "worsened", "same")]

    return (
        *first,
        *((pair.name,) if several else ()),
        "none" if few else entry["test"],
        valued(entry, "value_a"),
        valued(entry, "value_b"),
        signed(entry["difference"], unit),
        f"too few to tell: {counted}" if few else interval(entry),
        _p_value(entry["p"]),
        *((_p_value(entry["p_holm"]),) if adjusted else ()),
        number(entry["minimum_detectable_difference"], unit),
        *changes,
    )


def _breakdown(
    of_pairs: Sequence[tuple[Pair, ComparedTask]], name: str, by: str, *, several: bool
) -> Section:
    """Makes the table of a breakdown; a group without any pair of items is left out."""
    breakdowns = [(pair, task["breakdown"].get(by, {})) for pair, task in of_pairs]
    rows: list[tuple[str, ...]] = []
    for group in dict.fromkeys(group for _, groups in breakdowns for group in groups):
        of_group = [
            (
                pair,
                {
                    metric: entry
                    for metric, entry in groups.get(group, {}).items()
                    if entry["n"]
                },
            )
            for pair, groups in breakdowns
        ]
        rows += _rows(
            of_group, one_line(group, _LONGEST_NAME), several=several, adjusted=True
        )

    entries = [
        entry
        for _, groups in breakdowns
        for metrics in groups.values()
        for entry in metrics.values()
    ]
    return Section(
        title=f"{name} by {by}",
        header=_header((by, "metric"), several=several, adjusted=True),
        rows=rows,
        notes=breakdown_notes(max((entry["tests"] for entry in entries), default=0)),
    )


def _flips(pair: Pair, title: str, entry: Difference) -> list[Section]:
    """Makes two tables of the items that improved and worsened from the first run to the second.

    They include the answers as read, if the run kept them.
    """
    tables = []
    a, b, unit = letter(pair.first), letter(pair.second), entry.get("unit", "")
    for direction in ("improved", "worsened") if "items" in entry else ():
        items, total = (
            entry["items"][direction],
            (entry["flips"] or {}).get(direction, 0),
        )
        parsed = any("parsed_a" in item for item in items)
        rows = [
            (
                one_line(item["id"], _LONGEST_NAME),
                *((item["parsed_a"], item["parsed_b"]) if parsed else ()),
                number(item["a"], unit),
                number(item["b"], unit),
            )
            for item in items
        ]
        sides = (a, b) if unit else (f"{a} %", f"{b} %")
        header = (
            "id",
            *((f"answer of {a}", f"answer of {b}") if parsed else ()),
            *sides,
        )
        count = (
            f"{len(items)} of {total} items"
            if len(items) < total
            else f"{total} item{'' if total == 1 else 's'}"
        )
        tables.append(
            Section(
                title=f"{title}: {change_text(entry, direction)}, {count}",
                header=header,
                rows=rows,
            )
        )

    return tables


def signed(value: float | None, unit: str) -> str:
    """Writes a difference with its sign."""
    text = number(value, unit)
    return f"+{text}" if value is not None and value > 0 else text


def _p_value(value: float | None) -> str:
    if value is None:
        return NOT_COMPUTABLE
    return "<1e-6" if value < 1e-6 else f"{value:.3g}"


def as_text(
    names: Sequence[str], parts: Sequence[Section], more: Sequence[str] = ()
) -> str:
    """Formats tables for a terminal, between the runs' names and `more` sentences."""
    lines = [*names, ""]
    for section in parts:
        if section.title:
            lines += ["", section.title]

        if section.rows:
            lines += [
                *([""] if section.title else []),
                *align(section.header, section.rows),
                *([""] if section.notes else []),
            ]

        lines += section.notes

    if more and not parts[-1].notes:
        lines.append("")

    return "\n".join([*lines, *more])


def as_markdown(
    names: Sequence[str], parts: Sequence[Section], more: Sequence[str] = ()
) -> str:
    """Formats tables as Markdown, with all texts escaped."""
    lines = ["# Comparison", "", *(f"- {_escaped(name)}" for name in names), ""]
    for section in parts:
        if section.title:
            lines += [f"## {_escaped(section.title)}", ""]

        if section.rows:
            lines += [
                _markdown_row(section.header),
                "|" + "---|" * len(section.header),
                *map(_markdown_row, section.rows),
                "",
            ]

        lines += [f"- {_escaped(note)}" for note in section.notes]
        lines += [""] if section.notes else []

    lines += [f"- {_escaped(note)}" for note in more]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    text = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)


def headline_notes(pairs: Sequence[Pair]) -> list[str]:
    """Explains the columns, then says what each task's comparison lacks."""
    several = len(pairs) > 1
    notes = [
        "p: exact McNemar test for proportions (whole clusters where items share a note), paired "
        "bootstrap otherwise.",
        "detectable: the smallest true difference that so many items find in 4 of 5 cases.",
        "better, worse, same: items on which the second run is so, by the metric's direction.",
    ]
    if several:
        notes.append(
            f"p Holm: adjusted for the {len(pairs)} pairs of one task and metric. Read this one: "
            "of several tests some look significant by chance."
        )

    tasks = [
        (f"{pair.name}: {name}" if several else name, task)
        for pair in pairs
        for name, task in pair.tasks.items()
    ]
    for label, task in tasks:
        for metric, entry in task["metrics"].items():
            if "equivalence" in entry:
                tested = _equivalence(entry["equivalence"], entry.get("unit", ""))
                notes.append(f"{label}, {metric}: {tested}")

    for label, task in tasks:
        warnings = (*task["warnings"], *_few(task["metrics"]))
        notes += [f"note: {label}: {warning}" for warning in warnings]

    notes += dict.fromkeys(line for pair in pairs for line in _papers(pair))
    return notes + [
        f"not compared: {label}: {reason}"
        for label, task in tasks
        for reason in task["refused"]
    ]


def _papers(pair: Pair) -> Iterator[str]:
    """Says whether the figures of both runs of a pair are comparable with the paper's."""
    for name, task in pair.tasks.items():
        for run, paper in zip((pair.first, pair.second), task["paper"], strict=False):
            for line in paper_lines({"paper": paper}):
                yield f"{letter(run)}, {name}: {line}"


def _equivalence(tested: Json, unit: str) -> str:
    """Words the result on equivalence: shown, refuted, or neither.

    These are two tests: a difference that is not significantly within the margin need not be
    beyond it.
    """
    within, beyond = (
        tested[name] is not None and tested[name] < ALPHA for name in ("p", "p_beyond")
    )
    verdict = (
        "equivalent"
        if within
        else "not equivalent"
        if beyond
        else "equivalence not shown"
    )
    margin = number(tested["margin"], unit) + ("" if unit else " points")

    return f"{verdict} within {margin} (p {_p_value(tested['p'])}; of a difference beyond it {_p_value(tested['p_beyond'])})."


def breakdown_notes(tests: int) -> list[str]:
    """Explains a breakdown's columns; `tests` is the size of its largest family."""
    few = (
        f"Groups of fewer than {FEWEST} independent pairs get no interval and no test."
    )
    few += " Too few to tell: too few to detect the difference shown (it is below the detectable one)."
    if not tests:
        return [f"{few} No group has enough: conclude nothing group by group."]

    return [
        f"{few} Intervals are of {GROUP_RESAMPLES:,} draws.",
        f"p Holm: adjusted for the tests of one metric in this breakdown ({tests} at most). Read "
        "this one: of many groups some look different by chance.",
    ]


def change_text(entry: Difference, direction: str) -> str:
    """Words an item's change (`improved` or `worsened`)."""
    if entry["test"] != "McNemar":
        return f"{direction} most"
    words = ("wrong", "right") if entry["higher_is_better"] else ("yes", "no")
    before, after = words if direction == "improved" else words[::-1]
    return f"{before} -> {after} ({direction})"


def _few(metrics: Differences) -> list[str]:
    """Returns the notes below a table, each once with all its metrics."""
    notes: dict[str, list[str]] = {}
    for name, entry in metrics.items():
        for note in entry["notes"]:
            notes.setdefault(note, []).append(name)
    return [f"{listed(names, _NAMED)}: {note}" for note, names in notes.items()]


def flipped_items(
    metric: MetricSpec,
    first: Sequence[Json],
    second: Sequence[Json],
    *,
    most: int,
    parsed: bool,
) -> dict[str, list[JsonDict]]:
    """Lists the items on which a metric `improved` and `worsened`, at most `most` each.

    Proportions list the first by id, other metrics the largest changes; `parsed`, for open
    data only, adds the answers as read.
    """
    changed = []
    for a, b in zip(first, second, strict=True):
        change = item_value(metric, b) - item_value(metric, a)
        if abs(change) > CHANGED:  # not for nan
            changed.append((change if metric.higher_is_better else -change, a, b))

    # By the size of the change, the same for all in a proportion, then by id.
    changed.sort(key=_largest_first)
    return {
        name: [
            _change_json(metric, a, b, parsed=parsed)
            for change, a, b in changed
            if (change > 0) is better
        ][:most]
        for name, better in (("improved", True), ("worsened", False))
    }


def add_flips(
    pair: Pair,
    runs: Sequence[Compared],
    tasks: Mapping[str, TaskSpec],
    *,
    most: int,
    metrics: Collection[str] = (),
    parsed: Collection[str] = (),
) -> None:
    """Adds the items that changed to a pair's entries.

    `parsed` names the tasks whose answers may be shown as they were read.
    """
    sides = [rows_by_task(runs[number]) for number in (pair.first, pair.second)]
    for name, entry in pair.tasks.items():
        if not entry["metrics"]:
            continue

        rows = shared_rows(sides[0].get(name, {}), sides[1].get(name, {}))
        specs = {metric.name: metric for metric in tasks[name].metrics}
        for metric in metrics or [next(iter(entry["metrics"]))]:
            if metric in entry["metrics"] and specs[metric].kind != "average":
                changed = flipped_items(
                    specs[metric], *rows, most=most, parsed=name in parsed
                )
                entry["metrics"][metric]["items"] = changed


def _largest_first(
    changed: tuple[float, Json, Json],
) -> tuple[float, list[tuple[int, int, str]]]:
    change, first, _ = changed
    return -abs(change), _by_number(str(first["id"]))


def _by_number(text: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(piece[:18]), piece)
        if piece.isascii() and piece.isdigit()
        else (1, 0, piece)
        for piece in _DIGITS.split(text)
        if piece
    ]


def _change_json(metric: MetricSpec, a: Json, b: Json, *, parsed: bool) -> JsonDict:
    """Returns an item that changed, with both values and both answers as read."""
    change: JsonDict = {
        "id": str(a["id"]),
        "a": item_value(metric, a),
        "b": item_value(metric, b),
    }
    # A redacted row has a hash of its answer instead of the answer.
    if parsed and "response_sha256" not in a and "response_sha256" not in b:
        change |= {
            f"parsed_{side}": one_line(str(row.get("parsed") or ""))
            for side, row in (("a", a), ("b", b))
        }

    return change
