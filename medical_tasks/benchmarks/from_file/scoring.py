"""Reads the answer of a reply and decides whether it is right: exact, a letter, or a number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from medical_tasks.scoring.letters import NOT_TAKEN, SEVERAL, read_letter
from medical_tasks.scoring.normal_form import normal_form, without_marks
from medical_tasks.scoring.numbers.quantities import measurements
from medical_tasks.scoring.numbers.reading import read_answer
from medical_tasks.scoring.numbers.subject import Subject
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import Item, ItemScore, TaskSpec, unclear_limits

NUMBER: Final = Subject(scan=measurements, numeric=True)
NOTE_WORDS: Final = frozenset(
    f"{SEVERAL} {NOT_TAKEN} several numbers no answer".split()
)
_LINE: Final = re.compile(
    r"(?:^|\n)[\W_]*(?:final )?answer(?: is)?\W*[:=]([^\n]*)", re.IGNORECASE
)
_LETTER_LINE: Final = re.compile(r"\W*answer\W*[:=]\W*([A-J])\W*", re.IGNORECASE)
_AROUND: Final = " \"'*_`."

Reading = tuple[str, bool, str]
"""The parsed answer, whether it is right, and why it is unclear ("" if it is not)."""


def score_item(task: TaskSpec, item: Item, reply: str) -> ItemScore:
    """Scores a reply; without an answer it is wrong, with an ambiguous one it is unclear."""
    read = _READERS[task.options["answer"]]
    parsed, right, unclear = read(item, reply, task.options)
    values = {"accuracy": float(right)}

    return ItemScore(
        id=item.id,
        values=values,
        parsed=parsed,
        why="" if parsed or unclear else "no answer",
        unclear=unclear,
        limits=unclear_limits(task.metrics, values) if unclear else {},
    )


def plain_answer(text: str, *, fold: bool) -> str:
    """An answer without differences that do not count: white space, surrounding quotes and marks, and case."""
    shown = " ".join(unicodedata.normalize("NFKC", normal_form(text)).split())
    shown = shown.strip(_AROUND) or shown
    return shown.casefold() if fold else shown


def stated(reply: str) -> str:
    """The text after the last `Answer:`, or the whole reply if there is none."""
    text = without_marks(without_reasoning(reply))
    lines = _LINE.findall(text)
    return (lines[-1] if lines else text).strip()


def _exact(item: Item, reply: str, options: Mapping[str, str]) -> Reading:
    fold = options["fold_case"] == "yes"
    answer = plain_answer(stated(reply), fold=fold)
    accepted = {plain_answer(text, fold=fold) for text in item.fields["accepted"]}
    return answer, bool(answer) and answer in accepted, ""


def _choice(item: Item, reply: str, options: Mapping[str, str]) -> Reading:
    line = _LETTER_LINE.fullmatch(stated_line(reply))
    if line is not None:
        return line[1].upper(), line[1].upper() == item.fields["answer"], ""
    letter = read_letter(reply, item.fields["choices"])
    if letter is None:
        return "", False, ""
    return letter.letter, letter.letter == item.fields["answer"], letter.unclear


def stated_line(reply: str) -> str:
    """The last line of a reply."""
    return without_marks(without_reasoning(reply)).rpartition("\n")[2]


def _number(item: Item, reply: str, options: Mapping[str, str]) -> Reading:
    """Reads the number that a reply states, and whether the row's limits include it.

    Several numbers that are all right, or all wrong, decide the answer; right and wrong
    ones together are unclear, since which one was meant would be a guess.
    """
    statement = read_answer(reply, NUMBER)
    values = {quantity.value for quantity in statement.stated}
    numbers = sorted(
        value for value in values if value is not None and not isinstance(value, date)
    )
    low, high = item.fields["low"], item.fields["high"]
    within = [low <= number <= high for number in numbers]
    parsed = " or ".join(f"{number:.15g}" for number in numbers)
    if any(within) != all(within):
        return parsed, False, "several numbers"
    if not numbers and statement.unclear:
        return "", False, "no answer"

    return parsed, bool(within) and all(within), ""


_READERS: Final[Mapping[str, Callable[[Item, str, Mapping[str, str]], Reading]]] = {
    "exact": _exact,
    "choice": _choice,
    "number": _number,
}
