"""The records of a submission to the shared task, read from its file: a JSON list of `{"case_id": "1", "answer": "..."}`.

What is no such list is refused; a field that is wrong is a problem of its record, and the others are read on. Messages hold ids,
places and counts, never a word of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.json_list import json_objects, named, shown
from medical_tasks.whole_file import open_file

__all__ = ["FORM", "LARGEST", "Problem", "Record", "is_number", "of_case", "read_records"]

FORM: Final = '{"case_id": "1", "answer": "A sentence. |1,2|\\nAnother one. |3|"}'
"""A record of a submission."""

LARGEST: Final = 10_000_000
"""Most bytes of a submission; one of 200 cases has about 100,000."""

_LONGEST_NUMBER: Final = 6


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong.

    Attributes:
        place: the case, or the record where no case is named.
        text: what is wrong.
        fatal: whether the official scorer gives no score at all to a submission that has it.
    """

    place: str
    text: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record of a submission, as far as it can be read.

    Attributes:
        number: its place in the list, from 1.
        case_id: None where there is none.
        answer: None where there is none.
        problems: of its fields.
    """

    number: int
    case_id: str | None
    answer: str | None
    problems: tuple[Problem, ...] = ()


def read_records(path: Path) -> list[Record]:
    """Reads a submission.

    Args:
        path: the file.

    Returns:
        Its records in order, one or more.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, is too large, or is no JSON list of objects.
    """
    try:
        with open_file(path) as stream:
            content = stream.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give a JSON list of records like {FORM}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}). Give the file of a submission.") from error
    if len(content) > LARGEST:
        raise UsageError(
            f"{path}: has more than {LARGEST:,} bytes, the most that is read; a submission has some hundred a case. Is it the "
            "right file?"
        )
    objects = json_objects(path, content, form=FORM)
    return [_record(number, value) for number, value in enumerate(objects, start=1)]


def is_number(text: str) -> bool:
    """Says whether an id is a number, which a message may show; another may be words of an answer."""
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER


def of_case(case_id: str) -> str:
    """Names a case in a message."""
    return f"case {case_id if is_number(case_id) else named(case_id)}"


def _record(number: int, value: Mapping[str, Any]) -> Record:
    case, answer = value.get("case_id"), value.get("answer")
    readable = isinstance(case, str) or (isinstance(case, int) and not isinstance(case, bool))
    case_id = str(case) if readable else None
    place = f"record {number}" if case_id is None else of_case(case_id)
    problems = []
    for name, found in (("case_id", case), ("answer", answer)):
        if not isinstance(found, str):
            got = f"got {shown(found)}" if name in value else "there is none"
            problems.append(Problem(place=place, text=f"its {name!r} must be a text, {got}", fatal=True))
    return Record(
        number=number,
        case_id=case_id,
        answer=answer if isinstance(answer, str) else None,
        problems=tuple(problems),
    )
