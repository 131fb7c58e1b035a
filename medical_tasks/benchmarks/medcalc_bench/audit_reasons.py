"""One line on why a label and the published rule differ: what the label did, what the rule gives, and its source.

What the label did comes from `calculators.v1_labels`, the rules that reproduce the labels of v1.0; what the rule gives are
the decisive steps of the published calculator: for a score the points of its items, for an equation its last lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.decision import decimal_or_none
from medical_tasks.benchmarks.medcalc_bench.recomputed import answer_text, entities_of, label_agrees
from medical_tasks.calculators import Answer, AnyCalculator, CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Input
from medical_tasks.calculators.names import fold
from medical_tasks.calculators.v1_labels import label as v1_label

__all__ = ["ScoreItem", "derivation", "doubts", "items", "label_quirks", "origin"]

_ITEM: Final = re.compile(r"(?P<what>.+): (?P<points>[+-][0-9.]+), total (?P<total>-?[0-9.]+)\.")
_ROUNDED: Final = re.compile(
    r"(?P<name>.+): \S+ \S+ became (?P<value>\S+) (?P<unit>\S+) by rounding each step \(exactly \S+\)"
)
_SCORES: Final = re.compile(r" scores (?P<points>[0-9]+)")
_COUNTED: Final = re.compile(r"(?P<name>.+): the text .+ counts as (?P<how>present|absent)")
_MOVED: Final = 0.01
"""A rounding that moves the published answer by less than this share is not why a label is wrong."""


@dataclass(frozen=True, slots=True)
class ScoreItem:
    """One item of a score as the published rule counted it.

    Attributes:
        what: the finding or the class of the value, in words.
        points: what it gives.
    """

    what: str
    points: float


def items(result: Result) -> list[ScoreItem]:
    """The items of a score, in the rule's order; empty for an equation, a dose or a date."""
    found = (_ITEM.fullmatch(line) for line in result.explanation.splitlines())
    return [ScoreItem(match["what"], float(match["points"])) for match in found if match]


def derivation(result: Result, *, named: frozenset[str] = frozenset()) -> str:
    """How the published rule comes to its answer, in one line.

    Args:
        result: of the published calculator.
        named: folded first words of items to show although they give no point.

    Returns:
        `3 (Best eye response 3 of 4) + 4 (...) + 5 (...) = 12`, or the last lines of an equation.
    """
    entry = find(result.calculator_id)
    answer = f"{answer_text(result.answer)} {entry.unit}".strip()
    counted = items(result)
    if not counted:
        return _equation(entry, result)
    shown = [item for item in counted if item.points or _first_word(item.what) in named]
    terms = [f"{'−' if item.points < 0 else '+'} {abs(item.points):g} ({item.what})" for item in shown]
    return f"{' '.join(terms).removeprefix('+ ') or 'no item gives a point'} = {answer}"


def _equation(entry: AnyCalculator, result: Result) -> str:
    """The last two lines of the rule itself: without the inputs it read, and without the line that repeats the answer."""
    read = tuple(f"{item.name}{sign}" for item in entry.inputs for sign in (" =", ":"))
    lines = [
        line for line in result.explanation.splitlines()[:-1] if not line.startswith((*read, "Not used:", "Warning:"))
    ]
    return "; ".join(line.removesuffix(".") for line in lines[-2:])


def _first_word(text: str) -> str:
    return fold(re.split(r"[ :]", text, maxsplit=1)[0])


def label_quirks(row: Mapping[str, Any], result: Result | None = None) -> list[str] | None:
    """What made the label, where the label rules of v1.0 reproduce it.

    Args:
        row: as built.
        result: of the published calculator, None where it has no answer. With it, quirks that change nothing on this row
            are left out, and points that the rule counts otherwise are set beside the label's.

    Returns:
        The quirks, empty when the label rule worked as published; None where the label is not reproduced.
    """
    entities = entities_of(row)
    try:
        made = v1_label(int(row["calculator_id"]), entities)
    except CalculatorInputError:
        return None
    if not label_agrees(row, made.answer):
        return None
    notes = made.note.split("; ") if made.note else []
    if result is not None:
        notes = [note for note in (_compared(note, result) for note in notes) if note is not None]
        decisive = [note for note in notes if _matters(note, entities, result)]
        notes = decisive or notes
    return [note.replace(", the rule knew only", ", the label's program knew only") for note in notes]


def _compared(note: str, result: Result) -> str | None:
    """The note with the published points beside the label's; None when the rule does the same."""
    finding = _COUNTED.fullmatch(note)
    if finding is not None:
        item = find(result.calculator_id).input_named(finding["name"])
        same = item is not None and result.used.get(item.parameter) is (finding["how"] == "present")
        return None if same else note
    scores = _SCORES.search(note)
    if scores is None:
        return note
    counted = [item for item in items(result) if _first_word(item.what) == _first_word(note)]
    if len(counted) != 1:
        return note
    if counted[0].points == float(scores["points"]):
        return None
    return f"{note[: scores.end()]} instead of {counted[0].points:g}{note[scores.end() :]}"


def _matters(note: str, entities: Mapping[str, object], result: Result) -> bool:
    """Whether a rounded conversion moves the published answer; any other quirk does."""
    rounded = _ROUNDED.fullmatch(note)
    if rounded is None:
        return True
    entry = find(result.calculator_id)
    item = entry.input_named(rounded["name"])
    if item is None or item.parameter not in result.used:
        return True
    try:
        moved = _recalculated(entry, entities, item, [float(rounded["value"]), rounded["unit"]])
    except CalculatorInputError:
        return True
    if isinstance(moved, float) and isinstance(result.answer, float):
        return abs(moved - result.answer) > _MOVED * abs(result.answer)
    return moved != result.answer


def _recalculated(entry: AnyCalculator, entities: Mapping[str, object], item: Input, value: object) -> Answer:
    """The published answer with another value of one input, under whichever names the row has it."""
    others = {name: raw for name, raw in entities.items() if entry.input_named(name) is not item}
    return entry.calculate({**others, item.name: value}).answer


def origin(row: Mapping[str, Any], result: Result) -> tuple[str, frozenset[str]]:
    """Where a label that differs from the published answer comes from.

    Args:
        row: as built.
        result: of the published calculator.

    Returns:
        A sentence without its end, and the folded first words of what it names.
    """
    quirks = label_quirks(row, result)
    if quirks:
        return f"Label: {'; '.join(quirks)}", frozenset(map(_first_word, quirks))
    if quirks is not None:
        return "Label: its program rounds every step", frozenset()
    return f"Label: {_distance(row, result)}, its derivation is none that is known here", frozenset()


def _distance(row: Mapping[str, Any], result: Result) -> str:
    label = decimal_or_none(row["ground_truth_answer"])
    if isinstance(result.answer, float) and label is not None and result.answer:
        share = float(100 * (label / Decimal(result.answer) - 1))
        return f"{abs(share):.1f} % {'above' if share > 0 else 'below'} the published value"
    return "another value than the published one"


def doubts(row: Mapping[str, Any], result: Result) -> list[str]:
    """What a reader should know of the row's own entities before the verdict is taken for proven.

    Args:
        row: as built.
        result: of the published calculator.
    """
    check = _DOUBTS.get(result.calculator_id)
    return check(row, entities_of(row), result) if check is not None else []


def _two_strokes(row: Mapping[str, Any], entities: Mapping[str, object], result: Result) -> list[str]:
    other = entities.get("Cerebrovascular disease history")
    counted = result.used["cerebrovascular_disease"]
    if other is None or bool(other) == counted:
        return []
    return [
        f"the row states cerebrovascular disease twice; counted is 'History of cerebrovascular disease' ({counted}), the "
        f"rule's own item, and not 'Cerebrovascular disease history' ({other})"
    ]


def _tumor(row: Mapping[str, Any], entities: Mapping[str, object], result: Result) -> list[str]:
    if entities.get("Solid tumor") is not True:
        return []
    most = _instead(result, entities, "Solid tumor", "Metastatic")
    return [
        f"solid tumor 'True' is counted as localized, the least it can mean; metastatic would give {_judged(row, most)}"
    ]


def _instead(result: Result, entities: Mapping[str, object], name: str, value: object) -> Answer:
    entry = find(result.calculator_id)
    item = next(item for item in entry.inputs if item.name == name)
    return _recalculated(entry, entities, item, value)


def _judged(row: Mapping[str, Any], answer: Answer) -> str:
    return f"{answer}, and the label {'agrees with that' if label_agrees(row, answer) else 'is wrong then too'}"


_DOUBTS: Final[Mapping[int, Callable[[Mapping[str, Any], Mapping[str, object], Result], list[str]]]] = MappingProxyType(
    {17: _two_strokes, 32: _tumor}
)
