"""Reading what a model drafted: strict JSON of the right form, or what is wrong with it, told without quoting it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import free_text, one_of, read_object

__all__ = ["DraftedChoices", "DraftedQuestion", "one_line", "read_choices", "read_question", "same_text"]

MAX_QUESTION: Final = 1_000
MAX_ANSWER: Final = 2_000
MAX_CHOICE: Final = 1_000
"""Longest texts, in characters; what is longer is no question and no choice."""

_LABEL = re.compile(r"\(?([A-E])\s?[.:)]\s", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class DraftedQuestion:
    """The first step's outcome.

    Attributes:
        question: on one line.
        answer: on one line.
        reason: why, as the model wrote it.
    """

    question: str
    answer: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class DraftedChoices:
    """The second step's outcome.

    Attributes:
        choices: five texts, each on one line, in the model's order.
        answer: letter of the right one in that order.
        reason: why, as the model wrote it.
    """

    choices: tuple[str, ...]
    answer: str
    reason: str


def one_line(text: str) -> str:
    """Puts a text on one line, so that a spreadsheet's way with line ends changes nothing."""
    return " ".join(text.split())


def same_text(text: str) -> str:
    """What two texts share that differ in case, white space or a full stop alone."""
    return one_line(text).casefold().rstrip(".")


def read_question(reply: str) -> DraftedQuestion | Unreadable:
    """Reads the reply to `prompts.question_messages`."""
    found = read_object(reply, {"question": free_text, "answer": free_text, "reason": free_text})
    if isinstance(found, Unreadable):
        return found
    question, answer = one_line(found["question"]), one_line(found["answer"])
    for name, text, most in (("question", question, MAX_QUESTION), ("answer", answer, MAX_ANSWER)):
        if len(text) > most:
            return Unreadable(f"{name} must have at most {most:,} characters")
    if not _encodes(question, answer, found["reason"]):
        return Unreadable("the texts hold signs that cannot be written")
    return DraftedQuestion(question=question, answer=answer, reason=found["reason"].strip())


def read_choices(reply: str) -> DraftedChoices | Unreadable:
    """Reads the reply to `prompts.choices_messages`."""
    found = read_object(reply, {"choices": _choices, "answer": one_of(*LETTERS), "reason": free_text})
    if isinstance(found, Unreadable):
        return found
    choices = tuple(one_line(found["choices"][letter]) for letter in LETTERS)
    if any(len(choice) > MAX_CHOICE for choice in choices):
        return Unreadable(f"each choice must have at most {MAX_CHOICE:,} characters")
    if len(set(map(same_text, choices))) < len(choices):
        return Unreadable("two choices are the same; all five must differ")
    labels = [_LABEL.match(choice) for choice in choices]
    if all(label and label[1].upper() == letter for label, letter in zip(labels, LETTERS, strict=True)):
        return Unreadable("choices must not begin with their letter")
    if not _encodes(*choices, found["reason"]):
        return Unreadable("the texts hold signs that cannot be written")
    return DraftedChoices(choices=choices, answer=found["answer"], reason=found["reason"].strip())


def _choices(value: Any) -> str | None:
    if not isinstance(value, Mapping) or set(value) != set(LETTERS):
        return f"must be an object with the keys {', '.join(LETTERS)} and no others"
    return None if all(free_text(text) is None for text in value.values()) else "must be five texts"


def _encodes(*texts: str) -> bool:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True
