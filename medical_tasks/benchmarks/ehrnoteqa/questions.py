"""The questions: `EHRNoteQA.jsonl`, one object a line, one question a patient."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import CATEGORIES
from medical_tasks.io.json_records import Field, is_list_of, is_text, one_of, optional, read_records

__all__ = ["LETTERS", "LEVELS", "Question", "read_questions"]

LETTERS = "ABCDE"
# As the file names them, to the paper's numbers (section 3.1).
LEVELS = {"Level1": 1, "Level2": 2}

_RELEASE = "EHRNoteQA question file"
_AGAIN = "Download it again."
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about a patient's discharge summaries.

    Attributes:
        patient_id: MIMIC-IV's subject_id, digits.
        level: 1 or 2, by the length of the notes.
        num_notes: how many discharge summaries the patient has.
        clinician: who reviewed the question, as released; empty when not told.
        question: its text.
        choices: the five answers, A to E.
        answer: letter of the right one.
        categories: what is asked about, as the file says; None where it does not, which the official one never does.
    """

    patient_id: str
    level: int
    num_notes: int
    clinician: str
    question: str
    choices: tuple[str, ...]
    answer: str
    categories: tuple[str, ...] | None = None


def _is_number(value: Any, *, lowest: int = 0) -> bool:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return isinstance(text, str) and _NUMBER.fullmatch(text) is not None and int(text) >= lowest


_TEXT = dataclasses.replace(is_text(), private=True)
_FIELDS = {
    "category": one_of(tuple(LEVELS)),
    "num_notes": Field(holds=lambda value: _is_number(value, lowest=1), rule="a whole number from 1"),
    "patient_id": Field(holds=_is_number, rule="a whole number"),
    "clinician": Field(
        holds=lambda value: value is None or _is_number(value) or is_text(blank=True).holds(value),
        rule="a text, a whole number or null",
    ),
    "question": _TEXT,
    **{f"choice_{letter}": _TEXT for letter in LETTERS},
    "answer": one_of(tuple(LETTERS)),
    "categories": optional(dataclasses.replace(is_list_of(one_of(CATEGORIES)), private=True)),
}


def read_questions(path: Path) -> Iterator[Question]:
    """Reads the question file.

    Args:
        path: the file.

    Yields:
        The questions in order.

    Raises:
        UsageError: The file is not of the official form, or a patient has two questions; the message names line, field,
            rule and value, of the texts only how long they are.
    """
    lines: dict[str, int] = {}
    for record in read_records(path, _FIELDS, release=_RELEASE, again=_AGAIN):
        values = record.values
        patient = str(int(values["patient_id"]))
        if patient in lines:
            raise record.wrong("patient_id", f"must be unique, it stands on line {lines[patient]} already")
        lines[patient] = record.line
        categories = values.get("categories")
        if categories is not None and len(set(categories)) != len(categories):
            raise record.wrong("categories", "must not name one twice")
        yield Question(
            patient_id=patient,
            level=LEVELS[values["category"]],
            num_notes=int(values["num_notes"]),
            clinician="" if values["clinician"] is None else str(values["clinician"]),
            question=values["question"],
            choices=tuple(values[f"choice_{letter}"] for letter in LETTERS),
            answer=values["answer"],
            categories=None if categories is None else tuple(categories),
        )
