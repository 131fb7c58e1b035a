"""What a report shows: everything it needs, read and checked before a line is written.

`report_data` fills these from run folders; the page and the Markdown are made from them
alone. Where a dataset is credentialed, texts are "" here already: what renders a report
cannot leak what it was never given.

A report must open quickly, so its texts have a maximum size. Every text is cut in its
middle to one length, the largest of `LENGTHS` at which all fit; where even the smallest
is too much, the last items have no texts. What was left out is always stated.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from medical_tasks.io.patterns import Pattern
from medical_tasks.report.html_parts import Markup, markup
from medical_tasks.report.plots import finite
from medical_tasks.report.report_task import ReportTask
from medical_tasks.runs.numbers import metric_label
from medical_tasks.runs.results import JsonDict, groups_of
from medical_tasks.spec import MetricSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportVerdict:
    """One decision of the judge on an item.

    Attributes:
        id: which question to the judge it is, such as `must/0`.
        value: the verdict as text, such as `entailment`; "" where there is none.
        unscored: why there is none; "" otherwise.
        text: the judge's words; "" for credentialed data.
        votes: the votes behind it; () with one.
    """

    id: str
    value: str
    unscored: str = ""
    text: str = ""
    votes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportItem:
    """One item of a task in one run.

    Attributes:
        groups: by breakdown; several are joined by a space.
        values: by metric; None without a decision or a denominator.
        question: as the model saw it; "" for credentialed data, or where the data are
            not here.
        answer: what the model answered; "" likewise.
        gold: the reference; "" likewise.
        parsed: the final answer as it was read.
        why: how the decision came about.
        unscored: the reason for which something of it has no score.
        unclear: why the reader could not tell what the answer is.
        answer_sha256: of the answer; "" for none.
        verdicts: what the judge decided about it.
    """

    id: str
    groups: Mapping[str, str]
    values: Mapping[str, float | None]
    question: str = ""
    answer: str = ""
    gold: str = ""
    parsed: str = ""
    why: str = ""
    unscored: str = ""
    unclear: str = ""
    answer_sha256: str = ""
    verdicts: tuple[ReportVerdict, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """A report.

    Attributes:
        title: its heading.
        tasks: every task of every run: those of one task stand together, in the order
            of the runs.
        suite: name and version of what wrote it.
        notes: what a reader must know of all of it, a sentence each.
    """

    title: str
    tasks: Sequence[ReportTask]
    suite: str
    notes: Sequence[str] = ()


MAX_TEXT_BYTES: Final = 4_000_000
LENGTHS: Final = (12_000, 6_000, 3_000, 1_500, 800)
"""Characters a text may have, tried in this order."""
NOTE_LENGTH: Final = 300
"""Characters of `parsed`, `why` and a verdict's value, of which a wild answer makes a book."""


@dataclass(frozen=True, kw_only=True)
class FittedItems:
    """The items of one task and run with as much of their texts as there is room for.

    Attributes:
        items: with the texts that they keep.
        length: characters to which texts were cut.
        cut: how many items have a text that was cut.
        emptied: how many had their texts left out.
    """

    items: tuple[ReportItem, ...]
    length: int
    cut: int
    emptied: int


def cut_middle(text: str, length: int) -> str:
    """Shortens a text to about `length` characters.

    Its beginning, a mark that says how many are left out, its end.
    """
    if len(text) <= length:
        return text

    head = (length + 1) // 2
    tail = text[len(text) - (length - head) :]
    return (
        f"{text[:head]}\n[... {len(text) - length:,} characters left out ...]\n{tail}"
    )


def size_of(text: str) -> int:
    """How many bytes a text takes in a page.

    As JSON in UTF-8, with what HTML could read escaped.
    """
    if not text:
        return 0
    plain = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return plain + 5 * sum(text.count(sign) for sign in "<>&")


def fit_texts(
    tasks: Sequence[tuple[str, Sequence[ReportItem]]], max_bytes: int
) -> list[FittedItems]:
    """Cuts the texts of all runs' items, by task, to `max_bytes` together.

    Runs of one task share texts that are the same in them (questions, gold), as they do
    in the page. Each task has an equal part, and what one does not need the others
    have. Of a task that has too much even at the smallest length, the first items keep
    their texts. `sys.maxsize` cuts nothing.
    """
    for length in LENGTHS if max_bytes < sys.maxsize else (max_bytes,):
        cut_items = [
            [_with_texts(item, partial(cut_middle, length=length)) for item in items]
            for _, items in tasks
        ]
        wanted = _wanted([name for name, _ in tasks], cut_items)
        if sum(wanted.values()) <= max_bytes:
            break

    rooms = dict(zip(wanted, _shares(list(wanted.values()), max_bytes), strict=True))
    full = {name for name, room in rooms.items() if room < wanted[name]}
    kept = {
        name: _first_ids(
            [
                own
                for (other, _), own in zip(tasks, cut_items, strict=True)
                if other == name
            ],
            rooms[name],
        )
        for name in full
    }
    fitted = []
    for (name, before), after in zip(tasks, cut_items, strict=True):
        items = [
            new
            if name not in full or new.id in kept[name]
            else _with_texts(new, lambda text: "")
            for new in after
        ]
        emptied = sum(new is not shown for new, shown in zip(after, items, strict=True))
        cut = sum(
            old is not new is shown
            for old, new, shown in zip(before, after, items, strict=True)
        )
        fitted.append(
            FittedItems(items=tuple(items), length=length, cut=cut, emptied=emptied)
        )

    return fitted


def _wanted(
    names: Sequence[str], items_of: Sequence[Sequence[ReportItem]]
) -> dict[str, int]:
    """How much each task's texts take, those of its runs together."""
    texts: dict[str, set[str]] = {}
    for name, items in zip(names, items_of, strict=True):
        texts.setdefault(name, set()).update(
            text for item in items for text in _texts(item)
        )
    return {name: sum(map(size_of, of_task)) for name, of_task in texts.items()}


def _first_ids(runs: Sequence[Sequence[ReportItem]], room: int) -> set[str]:
    """The items of a task, the same in all its runs, whose texts there is room for."""
    by_id: dict[str, list[ReportItem]] = {}
    for items in runs:
        for item in items:
            by_id.setdefault(item.id, []).append(item)

    seen: set[str] = set()
    kept: set[str] = set()
    for item_id, shown in by_id.items():
        new = {text for item in shown for text in _texts(item)} - seen
        room -= sum(map(size_of, new))
        if room < 0:
            break

        seen |= new
        kept.add(item_id)

    return kept


def _shares(wanted: Sequence[int], total: int) -> list[int]:
    """Parts a total: nobody has more than they want, and whoever has less has as much as any.

    `_shares([1, 5, 9], 9)` is `[1, 4, 4]`.
    """
    shares = [0] * len(wanted)
    open_ones = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for done, index in enumerate(open_ones):
        shares[index] = min(wanted[index], total // (len(open_ones) - done))
        total -= shares[index]
    return shares


def _with_texts(item: ReportItem, change: Callable[[str], str]) -> ReportItem:
    """The item with other texts; where none of them changes, the very same one."""
    if all(change(text) is text for text in _texts(item)):
        return item
    verdicts = tuple(
        replace(verdict, text=change(verdict.text)) for verdict in item.verdicts
    )
    question, answer, gold = map(change, (item.question, item.answer, item.gold))
    return replace(item, question=question, answer=answer, gold=gold, verdicts=verdicts)


def _texts(item: ReportItem) -> Iterator[str]:
    yield from (item.question, item.answer, item.gold)
    yield from (verdict.text for verdict in item.verdicts)


_ENDS_SCRIPT = Pattern("[<>&\u2028\u2029\ud800-\udfff]")


def script_json(value: object) -> Markup:
    """Writes JSON that can stand in a `<script>` element and in UTF-8, and reads back equal."""
    # A part at a time: the encoder keeps every number as a text of its own until it is
    # done.
    if isinstance(value, dict):
        return markup(
            "{",
            ",".join(
                f"{script_json(str(name))}:{script_json(inner)}"
                for name, inner in value.items()
            ),
            "}",
        )

    if (
        isinstance(value, list)
        and value
        and all(isinstance(inner, dict) for inner in value)
    ):
        return markup("[", ",".join(map(script_json, value)), "]")

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return markup(_ENDS_SCRIPT.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def decision(item: ReportItem, metric: MetricSpec | None) -> str:
    """Sorts an item under one word by the metric that decides.

    For a metric that is one or the other `right` or `wrong`; for a share, or a mean of
    repeats, `full`, `partly` or `zero`. `unclear` for an answer that the reader could
    not tell, which counts as not right; `scored` for a count; `unscored` where a reason
    says why there is no value, `no value` where the metric has no denominator.
    """
    value = finite(item.values.get(metric.name)) if metric is not None else None
    if value is None or metric is None:
        return "unscored" if item.unscored else "no value"

    low, high = metric.limits
    if metric.unit or math.isinf(high):
        return "scored"

    best, worst = metric.best, metric.worst
    if item.unclear and value == worst:
        return "unclear"
    if metric.kind == "proportion" and value in (low, high):
        return "right" if value == best else "wrong"

    return "full" if value == best else "zero" if value == worst else "partly"


def items_json(tasks: Sequence[ReportTask]) -> JsonDict:
    """What the page holds of a task's items.

    Returns:
        `task`; `metrics` (those that items have values of: `label`, `unit`); `groups`
        (names of breakdowns); `strings`; `runs`, each with `name`, `texts` (why there
        are none), `count` of
        its items, and columns of numbers of strings, which may end before the last
        items: `i` id, `q` question, `a` answer, `e` gold, `p` parsed, `w` why, `u`
        unscored, `n` unclear, `h` hash, `s` decision, `d` verdicts as `[id, value,
        unscored, text, votes]`; `v` values, a column a metric; `g` groups (a number, or
        a list where they are several), a column a breakdown.
    """
    strings = {"": 0}  # each text once, by its number

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    items = [item for task in tasks for item in task.items]
    declared = [spec.name for task in tasks for spec in task.metrics]
    # `average` metrics are of totals: no item has them.
    valued = dict.fromkeys(name for item in items for name in item.values)
    names = [name for name in dict.fromkeys([*declared, *valued]) if name in valued]
    reported: JsonDict = {}
    for task in reversed(tasks):
        reported |= task.entry["metrics"]

    groups = list(dict.fromkeys(name for item in items for name in item.groups))
    runs = []
    for task in tasks:
        decides = task.spec(names[0]) if names else None
        runs.append(
            {
                "name": task.run,
                "texts": task.texts,
                **_columns(task, number, names, groups, decides),
            }
        )

    return {
        "task": tasks[0].name,
        "metrics": [
            {"label": metric_label(name, metric), "unit": str(metric.get("unit", ""))}
            for name, metric in ((name, reported.get(name, {})) for name in names)
        ],
        "groups": groups,
        "strings": list(strings),
        "runs": runs,
    }


def _columns(
    task: ReportTask,
    number: Callable[[str], int],
    names: Sequence[str],
    groups: Sequence[str],
    decides: MetricSpec | None,
) -> JsonDict:
    """The items of a task as columns of numbers, for the page's browser.

    A text stands once in the page's `strings`; columns hold its number, 0 for a blank.
    Ends of zeros are cut off: the page reads what is missing as 0.
    """
    items = task.items
    # By their letters in the page: the texts of items, each a number of `strings`.
    texts: dict[str, Callable[[ReportItem], str]] = {
        "i": lambda item: item.id,
        "s": lambda item: decision(item, decides),
        "q": lambda item: item.question,
        "a": lambda item: item.answer,
        "e": lambda item: item.gold,
        "p": lambda item: item.parsed,
        "w": lambda item: item.why,
        "u": lambda item: item.unscored,
        "n": lambda item: item.unclear,
        "h": lambda item: item.answer_sha256,
    }
    columns: dict[str, list[object]] = {
        letter: [number(text(item)) for item in items] for letter, text in texts.items()
    }
    columns["d"] = [_verdict_numbers(item, number) or 0 for item in items]
    for column in columns.values():  # what the last items lack takes no room
        while column and column[-1] == 0:
            column.pop()

    values = [[_written(item.values.get(name)) for item in items] for name in names]
    return {
        "count": len(items),
        **columns,
        "v": values,
        "g": [_group_numbers(task, by, number) for by in groups],
    }


def _verdict_numbers(item: ReportItem, number: Callable[[str], int]) -> list[object]:
    return [
        [
            *map(number, (verdict.id, verdict.value, verdict.unscored, verdict.text)),
            list(map(number, verdict.votes)),
        ]
        for verdict in item.verdicts
    ]


def _written(value: float | None) -> float | None:
    number = finite(value)
    return (
        number
        if number is None
        else int(number)
        if number.is_integer()
        else round(number, 6)
    )


def _group_numbers(
    task: ReportTask, by: str, number: Callable[[str], int]
) -> list[list[int] | int]:
    """Each item's groups of a breakdown.

    Several come joined by a blank, and are written as a list.
    """
    groups = task.entry["breakdown"].get(by, {})
    by_text: dict[str, list[int] | int] = {"": 0}
    for joined in dict.fromkeys(
        item.groups.get(by, "") for item in task.items if item.groups.get(by)
    ):
        numbers = [number(group) for group in groups_of(joined, groups)]
        by_text[joined] = numbers[0] if len(numbers) == 1 else numbers

    return [by_text[item.groups.get(by, "")] for item in task.items]
