"""Questions made on one's own notes: a JSON Lines file whose records are the dataset's rows, checked to the last field.

`medical-tasks construct ehrnoteqa import` writes such a file and `medical-tasks build ehrnoteqa --config own` builds it. It holds
notes: it is as credentialed as they are, and messages about it say where something is wrong and never what stands there.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import CATEGORIES, question_categories
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.io.json_records import Field, Record, is_list_of, is_text, one_of, optional, read_records

__all__ = ["OWN_FIELDS", "read_own_rows"]

_RELEASE = "file of own questions"
_AGAIN = "Write it again: medical-tasks construct ehrnoteqa import."
_NOTE_FIELDS = frozenset({"note_id", "hadm_id", "charttime", "text"})
_ID = re.compile(r"[!-~]{1,60}")
_TIME = "%Y-%m-%d %H:%M:%S"
_TEXT = dataclasses.replace(is_text(), private=True)


def _is_time(text: Any) -> bool:
    try:
        # Written back, since strptime takes 1-2-2150 as readily, which would not sort.
        return isinstance(text, str) and datetime.datetime.strptime(text, _TIME).strftime(_TIME) == text
    except ValueError:
        return False


def _is_note(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == _NOTE_FIELDS
        and _IS_ID.holds(value["note_id"])
        and _IS_ID.holds(value["hadm_id"])
        and _is_time(value["charttime"])
        and _TEXT.holds(value["text"])
    )


_IS_ID = Field(
    holds=lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None,
    rule="an id of 1 to 60 letters, digits and signs, no spaces",
    private=True,
)
_IS_NOTE = Field(
    holds=_is_note,
    rule=f"an object with {', '.join(sorted(_NOTE_FIELDS))}: ids, a time YYYY-MM-DD HH:MM:SS, a text that is not empty",
)

OWN_FIELDS: dict[str, Field] = {
    "id": _IS_ID,
    "patient_id": _IS_ID,
    "level": Field(holds=lambda value: type(value) is int and value in (0, 1, 2), rule="0, 1 or 2", private=True),
    "num_notes": Field(
        holds=lambda value: type(value) is int and value >= 1, rule="a whole number from 1", private=True
    ),
    "clinician": dataclasses.replace(is_text(blank=True), private=True),
    "question": _TEXT,
    "choices": Field(
        holds=lambda value: isinstance(value, list) and len(value) == len(LETTERS) and all(map(_TEXT.holds, value)),
        rule=f"a list of {len(LETTERS)} texts that are not empty",
        private=True,
    ),
    "answer": dataclasses.replace(one_of(tuple(LETTERS)), private=True),
    "categories": dataclasses.replace(optional(is_list_of(one_of(CATEGORIES))), private=True),
    "evidence": dataclasses.replace(optional(is_list_of(is_text())), private=True),
    "notes": dataclasses.replace(is_list_of(_IS_NOTE), private=True),
}
"""What a record has; `categories` and `evidence` may be absent."""


def read_own_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Reads questions on one's own notes.

    Args:
        path: JSON Lines; where a record has no `categories` they are those of the rule, where it has no `evidence` it is empty.

    Yields:
        The dataset's rows, in the order of the file; `id` is unique, a patient may have several.

    Raises:
        UsageError: The file is not of that form; the message names line, field and rule, of the texts only how long they are.
    """
    lines: dict[str, int] = {}
    for record in read_records(path, OWN_FIELDS, release=_RELEASE, again=_AGAIN):
        row = dict(record.values)
        _check(record, lines)
        row.setdefault("categories", list(question_categories(row["question"])))
        row.setdefault("evidence", [])
        yield {name: row[name] for name in OWN_FIELDS}


def _check(record: Record, lines: dict[str, int]) -> None:
    """Checks what one field alone does not show."""
    row = record.values
    first = lines.setdefault(row["id"], record.line)
    if first != record.line:
        raise record.wrong("id", f"must be unique, it stands on line {first} already")
    if len({" ".join(choice.split()).casefold() for choice in row["choices"]}) != len(LETTERS):
        raise record.wrong("choices", "must be five different texts, two are the same but for case and white space")
    if len(set(row.get("categories", ()))) != len(row.get("categories", ())):
        raise record.wrong("categories", "must not name one twice")
    notes = row["notes"]
    if len(notes) != row["num_notes"]:
        raise record.wrong("num_notes", f"must be the number of notes, which is {len(notes)}")
    if len({note["note_id"] for note in notes}) != len(notes):
        raise record.wrong("notes", "must each have another note_id")
    times = [note["charttime"] for note in notes]
    if times != sorted(times):
        raise record.wrong("notes", "must stand in the order of their charttime, the oldest first")
