"""The data of a report, read and checked before a line is written.

`report_data` fills these classes from run folders; the page and the Markdown use nothing else.
For a credentialed dataset the texts are already "" here, so rendering cannot leak them.

A report must open quickly, so its texts have a maximum size. Every text is cut in its middle to
one length, the largest of `LENGTHS` at which all fit; if even the smallest is too long, the last
items have no texts. The report always states what was left out.
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
        id: the id of the question to the judge, such as `must/0`.
        value: the verdict as text, such as `entailment`; "" if there is none.
        unscored: why there is no verdict; "" otherwise.
        text: the judge's words; "" for credentialed data.
        votes: the votes behind the verdict; () with one.
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
        id: the item's id.
        groups: its groups by breakdown, joined by a space.
        values: its values by metric; None without a decision or a denominator.
        question: the question as the model saw it; "" for credentialed data, or if the
            data are missing.
        answer: the model's answer; "" likewise.
        gold: the reference; "" likewise.
        parsed: the final answer as it was read.
        why: how the decision came about.
        unscored: why a part of the item has no score.
        unclear: why the reader could not determine the answer.
        answer_sha256: the hash of the answer; "" for none.
        verdicts: the judge's decisions about it.
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
        tasks: every task of every run; the runs of one task are adjacent, in their order.
        suite: the name and version of the suite that wrote it.
        notes: sentences about the whole report that a reader must know.
    """

    title: str
    tasks: Sequence[ReportTask]
    suite: str
    notes: Sequence[str] = ()


MAX_TEXT_BYTES: Final = 4_000_000
LENGTHS: Final = (12_000, 6_000, 3_000, 1_500, 800)
"""The lengths of texts in characters, tried in this order."""
NOTE_LENGTH: Final = 300
"""The most characters of `parsed`, `why` and a verdict's value, which can be as long as a book."""


@dataclass(frozen=True, kw_only=True)
class FittedItems:
    """The items of one task and run, with their texts cut to the report's limit.

    Attributes:
        items: the items with the texts that they keep.
        length: the number of characters to which texts were cut.
        cut: how many items have a text that was cut.
        emptied: how many items lost their texts.
    """

    items: tuple[ReportItem, ...]
    length: int
    cut: int
    emptied: int


def cut_middle(text: str, length: int) -> str:
    """Shortens a text to about `length` characters by replacing its middle with a mark."""
    if len(text) <= length:
        return text

    head = (length + 1) // 2
    tail = text[len(text) - (length - head) :]
    return (
        f"{text[:head]}\n[... {len(text) - length:,} characters left out ...]\n{tail}"
    )


def size_of(text: str) -> int:
    """Returns the bytes that a text takes in a page: as JSON in UTF-8, escaped for HTML."""
    if not text:
        return 0
    plain = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return plain + 5 * sum(text.count(sign) for sign in "<>&")


def fit_texts(
    tasks: Sequence[tuple[str, Sequence[ReportItem]]], max_bytes: int
) -> list[FittedItems]:
    """Cuts the texts of all runs' items, by task, to `max_bytes` together.

    Runs of one task share their common texts (questions, gold), as in the page. Tasks have
    equal shares of the room, and get what others do not need. In a task that is too large even
    at the smallest length, only the first items keep their texts. `sys.maxsize` cuts nothing.
    """
    for length in LENGTHS if max_bytes < sys.maxsize else (max_bytes,):
        cut_items = [
            [_with_texts(item, partial(cut_middle, length=length)) for item in items]
            for _, items in tasks
        ]
        sizes = _text_sizes([name for name, _ in tasks], cut_items)
        if sum(sizes.values()) <= max_bytes:
            break

    rooms = dict(zip(sizes, _shares(list(sizes.values()), max_bytes), strict=True))
    full = {name for name, room in rooms.items() if room < sizes[name]}
    kept = {
        name: _first_ids(
            [
                items
                for (other, _), items in zip(tasks, cut_items, strict=True)
                if other == name
            ],
            rooms[name],
        )
        for name in full
    }
    return [
        _without_late_texts(before, after, length, kept.get(name))
        for (name, before), after in zip(tasks, cut_items, strict=True)
    ]


def _without_late_texts(
    before: Sequence[ReportItem],
    after: Sequence[ReportItem],
    length: int,
    kept: set[str] | None,
) -> FittedItems:
    """Removes the texts of items that are not `kept`, and counts what was cut and removed.

    Args:
        before: the items with whole texts.
        after: the same items with their texts cut.
        length: the length to which they were cut.
        kept: the ids of items that keep their texts; None for all.
    """
    items = [
        item if kept is None or item.id in kept else _with_texts(item, lambda text: "")
        for item in after
    ]
    emptied = sum(new is not item for new, item in zip(after, items, strict=True))
    cut = sum(
        old is not new is item
        for old, new, item in zip(before, after, items, strict=True)
    )
    return FittedItems(items=tuple(items), length=length, cut=cut, emptied=emptied)


def _text_sizes(
    names: Sequence[str], items_of: Sequence[Sequence[ReportItem]]
) -> dict[str, int]:
    """Returns the size of each task's texts, in all its runs together."""
    texts: dict[str, set[str]] = {}
    for name, items in zip(names, items_of, strict=True):
        texts.setdefault(name, set()).update(
            text for item in items for text in _texts(item)
        )
    return {name: sum(map(size_of, of_task)) for name, of_task in texts.items()}


def _first_ids(runs: Sequence[Sequence[ReportItem]], room: int) -> set[str]:
    """Returns the ids of a task's first items whose texts, in all its runs, fit into the room."""
    by_id: dict[str, list[ReportItem]] = {}
    for items in runs:
        for item in items:
            by_id.setdefault(item.id, []).append(item)

    seen: set[str] = set()
    fitting: set[str] = set()
    for item_id, versions in by_id.items():
        new = {text for item in versions for text in _texts(item)} - seen
        room -= sum(map(size_of, new))
        if room < 0:
            break

        seen |= new
        fitting.add(item_id)

    return fitting


def _shares(requests: Sequence[int], total: int) -> list[int]:
    """Divides a total into equal shares, none larger than its request.

    `_shares([1, 5, 9], 9)` is `[1, 4, 4]`.
    """
    shares = [0] * len(requests)
    open_ones = sorted(range(len(requests)), key=lambda index: requests[index])
    for done, index in enumerate(open_ones):
        shares[index] = min(requests[index], total // (len(open_ones) - done))
        total -= shares[index]
    return shares


def _with_texts(item: ReportItem, change: Callable[[str], str]) -> ReportItem:
    """Returns the item with changed texts, or the same object if none changes."""
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
    """Writes JSON that is safe in a `<script>` element and in UTF-8, and reads back equal."""
    # In parts: the encoder keeps every number as a separate text until it is done.
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
    """Classifies an item in one word by the deciding metric.

    A proportion gives `right` or `wrong`; a share, or a mean of repeats, `full`, `partly` or
    `zero`. An answer that the reader could not determine is `unclear`; it counts as not right.
    A count is `scored`. Without a value the word is `unscored` if there is a reason, and `no
    value` if the metric has no denominator.
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
    """Makes the page's data about a task's items.

    Returns:
        `task`; `metrics` (those with values of items: `label`, `unit`); `groups` (names of
        breakdowns); `strings`; `runs`, each with `name`, `texts` (why there are none), `count`
        of its items, and columns of indexes into `strings`, which may end before the last
        items: `i` id, `q` question, `a` answer, `e` gold, `p` parsed, `w` why, `u` unscored,
        `n` unclear, `h` hash, `s` decision, `d` verdicts as `[id, value, unscored, text,
        votes]`; `v` values, a column for each metric; `g` groups (an index, or a list of
        several), a column for each breakdown.
    """
    strings = {"": 0}  # each text once, with its index

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    items = [item for task in tasks for item in task.items]
    declared = [spec.name for task in tasks for spec in task.metrics]
    # `average` metrics are computed from totals: no item has them.
    metrics_with_values = dict.fromkeys(name for item in items for name in item.values)
    names = [
        name
        for name in dict.fromkeys([*declared, *metrics_with_values])
        if name in metrics_with_values
    ]
    reported: JsonDict = {}
    for task in reversed(tasks):
        reported |= task.entry["metrics"]

    groups = list(dict.fromkeys(name for item in items for name in item.groups))
    runs = []
    for task in tasks:
        deciding_metric = task.spec(names[0]) if names else None
        runs.append(
            {
                "name": task.run,
                "texts": task.texts,
                **_columns(task, number, names, groups, deciding_metric),
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
    deciding_metric: MetricSpec | None,
) -> JsonDict:
    """Makes the columns of a task's items for the page's browser.

    Columns hold indexes into the page's `strings`, 0 for a blank. Trailing zeros are dropped:
    the page reads missing cells as 0.
    """
    items = task.items
    # The texts of items, by their letters in the page.
    texts: dict[str, Callable[[ReportItem], str]] = {
        "i": lambda item: item.id,
        "s": lambda item: decision(item, deciding_metric),
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
    for column in columns.values():
        while column and column[-1] == 0:
            column.pop()

    values = [[_rounded(item.values.get(name)) for item in items] for name in names]
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


def _rounded(value: float | None) -> float | None:
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
    """Returns the index of each item's group in a breakdown, or a list of several."""
    groups = task.entry["breakdown"].get(by, {})
    by_text: dict[str, list[int] | int] = {"": 0}
    for joined in dict.fromkeys(
        item.groups.get(by, "") for item in task.items if item.groups.get(by)
    ):
        numbers = [number(group) for group in groups_of(joined, groups)]
        by_text[joined] = numbers[0] if len(numbers) == 1 else numbers

    return [by_text[item.groups.get(by, "")] for item in task.items]
