"""Questions about synthetic notes, one right choice each: about one note, or about the first and the last.

Between them the kinds ask about all ten categories of the paper (`categories`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.benchmarks.ehrnoteqa.twin_notes import TwinStay
from medical_tasks.benchmarks.ehrnoteqa.twin_words import ACTIVITIES, ADVICE, PAST, PRESSURES, STAYS, VALUES

__all__ = ["KINDS", "AskedChoices", "ask_across", "ask_one"]


@dataclass(frozen=True, kw_only=True)
class AskedChoices:
    """A question with its choices.

    Attributes:
        text: the question.
        choices: five, A to E.
        answer: letter of the right one.
    """

    text: str
    choices: tuple[str, ...]
    answer: str


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """What can be asked of one note: the words before and after its name, the answer and what could be taken for it."""

    text: str
    right: Callable[[TwinStay], str]
    choices: tuple[str, ...]


_KINDS = (
    _Kind(
        text="What was the primary diagnosis in {note}?",
        right=lambda stay: stay.about.diagnosis,
        choices=tuple(each.diagnosis for each in STAYS),
    ),
    _Kind(
        text="Which procedure did the patient undergo according to {note}?",
        right=lambda stay: stay.about.procedure,
        choices=tuple(each.procedure for each in STAYS),
    ),
    _Kind(
        text="Which medication was newly prescribed at discharge in {note}?",
        right=lambda stay: stay.about.drug,
        choices=tuple(each.drug for each in STAYS),
    ),
    _Kind(
        text="Where was the patient to be seen next according to {note}?",
        right=lambda stay: stay.about.clinic,
        choices=tuple(each.clinic for each in STAYS),
    ),
    _Kind(text="What was the creatinine at discharge in {note}?", right=lambda stay: stay.creatinine, choices=VALUES),
    _Kind(
        text="With which symptoms did the patient come to the hospital according to {note}?",
        right=lambda stay: stay.about.complaint,
        choices=tuple(each.complaint for each in STAYS),
    ),
    _Kind(
        text="What did the work-up show to be the reason for the patient's coming to the hospital in {note}?",
        right=lambda stay: stay.about.diagnosis,
        choices=tuple(each.diagnosis for each in STAYS),
    ),
    _Kind(
        text="What was the blood pressure on admission in {note}?",
        right=lambda stay: stay.pressure,
        choices=PRESSURES,
    ),
    _Kind(
        text="What was the patient's activity status at discharge in {note}?",
        right=lambda stay: stay.activity,
        choices=ACTIVITIES,
    ),
    _Kind(
        text="Which operation stands in the past medical history in {note}?",
        right=lambda stay: stay.past,
        choices=PAST,
    ),
    _Kind(
        text="What was the patient instructed to do at home according to {note}?",
        right=lambda stay: stay.advice,
        choices=ADVICE,
    ),
)

KINDS = len(_KINDS)
"""How many kinds of questions there are about one note."""


def ask_one(draw: random.Random, stay: TwinStay, *, kind: int) -> AskedChoices:
    """Asks about one note, by its date.

    Args:
        draw: the source of chance.
        stay: what the note tells.
        kind: 0 to `KINDS` - 1.
    """
    asked = _KINDS[kind]
    right = asked.right(stay)
    text = asked.text.format(note=f"the discharge summary charted on {stay.date}")
    return _placed(draw, text, right, [each for each in asked.choices if each != right])


def ask_across(draw: random.Random, stays: Sequence[TwinStay], *, kind: int) -> AskedChoices:
    """Asks something that takes the first and the last note.

    Args:
        draw: the source of chance.
        stays: what the notes tell, the oldest first; no two about the same, nor with the same creatinine.
        kind: even: the diagnoses; odd: how the creatinine changed.
    """
    if kind % 2 == 0:
        text = "Which primary diagnoses did the patient have in the first and in the last of the discharge summaries?"
        first, last, form = stays[0].about.diagnosis, stays[-1].about.diagnosis, "first {}, last {}"
        pool: Sequence[str] = [each.diagnosis for each in STAYS]
    else:
        text = "How did the creatinine at discharge change between the first and the last of the discharge summaries?"
        first, last, form, pool = stays[0].creatinine, stays[-1].creatinine, "from {} to {}", VALUES
    other = draw.sample([each for each in pool if each not in (first, last)], 3)
    wrong = [(last, first), (first, other[0]), (first, other[1]), (other[2], last)]
    return _placed(draw, text, form.format(first, last), [form.format(*pair) for pair in wrong])


def _placed(draw: random.Random, text: str, right: str, wrong: Sequence[str]) -> AskedChoices:
    """Puts the right choice somewhere among four wrong ones."""
    chosen = draw.sample(wrong, len(LETTERS) - 1)
    place = draw.randrange(len(LETTERS))
    return AskedChoices(text=text, choices=(*chosen[:place], right, *chosen[place:]), answer=LETTERS[place])
