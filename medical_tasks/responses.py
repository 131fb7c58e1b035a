"""Reading answers people already have.

Two forms are read. JSON Lines, an item a line: `{"id": "17", "response": "the raw text"}`. Or a JSON list, as in the authors'
files of DocLens: `[{"example_id": "17", "output": "the raw text"}, ...]`, or a submission to ArchEHR-QA's shared task:
`[{"case_id": "17", "answer": "the raw text"}, ...]`. A file that begins with `[` is a list. What else an object holds is passed
over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.json_list import json_objects, named, once
from medical_tasks.json_records import is_text
from medical_tasks.whole_file import check_line, read_bytes

__all__ = ["Answer", "parse_answers", "read_file", "read_responses"]

_FORM: Final = '{"id": "17", "response": "the raw text of the model"}'
_LIST_FORM: Final = '{"example_id": "17", "output": "the raw text of the model"}'
_SHOWN: Final = 5
_BOM: Final = b"\xef\xbb\xbf"
_NAMES: Final = (("id", "example_id"), ("response", "output"))
"""Ours and the authors' name of each field."""
_SUBMITTED: Final = ("case_id", "answer")
"""Their names in a submission. Never mixed with others: "answer" may be the gold beside a response."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of a file.

    Attributes:
        id: of the item.
        text: the model's raw text; None where the file says that there is none.
        place: where it stands (`line 3`, `record 3`).
    """

    id: str
    text: str | None
    place: str


def read_file(path: Path, *, option: str = "--responses") -> bytes:
    """Reads a responses file.

    Args:
        path: the file.
        option: by which it was given, for messages.

    Raises:
        MissingError: There is no such file.
        UsageError: It is a folder, or may not be read.
    """
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file. Give {option} a JSON Lines file with lines like {_FORM}") from error
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({system_reason(error)}). Give {option} a JSON Lines file."
        ) from error


def read_responses(path: Path, known_ids: Collection[str], *, content: bytes | None = None) -> dict[str, str]:
    """Reads and checks a responses file.

    A `response` that is null says that there is no answer; it counts as unanswered, like an item that is not there.

    Args:
        path: the file, UTF-8, of either form.
        known_ids: ids of the task's items.
        content: what is in the file, when it was read before.

    Returns:
        Item id to the model's raw text, for each answered item.

    Raises:
        MissingError: There is no such file.
        UsageError: An answer is not of the form, an id is unknown, or an id stands twice; nothing is scored then.
    """
    known = set(known_ids)
    answers = parse_answers(path, read_file(path) if content is None else content)
    unknown = [f"{named(answer.id)} ({answer.place})" for answer in answers if answer.id not in known]
    if unknown:
        shown = ", ".join(unknown[:_SHOWN]) + (f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else "")
        sample = ", ".join(repr(known_id) for known_id in sorted(known)[:3])
        counted = "1 id is no item" if len(unknown) == 1 else f"{len(unknown)} ids are not items"
        raise UsageError(
            f"{path}: {counted} of the task: {shown}. Its ids look like {sample}. Is it the right task and --config?"
        )
    return {answer.id: answer.text for answer in answers if answer.text is not None}


def parse_answers(path: Path, content: bytes) -> list[Answer]:
    """Reads the answers of a file, of whatever items.

    Args:
        path: where the content is from, for messages.
        content: of the file.

    Returns:
        The answers in order, one or more.

    Raises:
        UsageError: An answer is not of the form, or an id stands twice.
    """
    is_list = content.removeprefix(_BOM).lstrip()[:1] == b"["
    found: dict[str, Answer] = {}
    for answer in _list_answers(path, content) if is_list else _line_answers(path, content):
        if answer.id in found:
            raise UsageError(
                f"{path}: {_both(found[answer.id].place, answer.place)} both answer id {named(answer.id)}; one answer an item "
                "is scored. Remove one of them."
            )
        found[answer.id] = answer
    if not found:
        raise UsageError(f"{path}: no lines. Give one line an item, like {_FORM}")
    return list(found.values())


def _both(first: str, second: str) -> str:
    kind, number = first.split()
    return f"{kind}s {number} and {second.split()[1]}"


def _list_answers(path: Path, content: bytes) -> Iterator[Answer]:
    for number, value in enumerate(json_objects(path, content, form=_LIST_FORM), start=1):
        for ours, theirs in _NAMES:
            if ours in value and theirs in value:
                raise UsageError(
                    f"{path}, record {number}: has both {ours!r} and {theirs!r}, of which one is meant. Leave the other out."
                )
        yield _answer(path, f"record {number}", value, f"A record is like {_LIST_FORM}", own=1)


def _line_answers(path: Path, content: bytes) -> Iterator[Answer]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        check_line(path, line, where=f", line {number}")
        try:
            value = json.loads(line, object_pairs_hook=once)
        except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
            raise UsageError(f"{path}, line {number}: not JSON ({error}). A line is like {_FORM}") from error
        yield _answer(path, f"line {number}", value, f"A line is like {_FORM}", own=0)


def _answer(path: Path, place: str, value: Any, form: str, *, own: int) -> Answer:
    """Reads one answer; `own` says which of `_NAMES` are this form's own."""
    submitted = isinstance(value, dict) and _SUBMITTED[0] in value and not any(name in value for name in _NAMES[0])
    spellings = [(name,) for name in _SUBMITTED] if submitted else _NAMES
    names = [next((name for name in each if isinstance(value, dict) and name in value), None) for each in spellings]
    if names[0] is None or names[1] is None:
        got = f"keys [{', '.join(map(named, sorted(value)))}]" if isinstance(value, dict) else type(value).__name__
        wanted = " and ".join(map(repr, _SUBMITTED if submitted else [each[own] for each in _NAMES]))
        raise UsageError(f"{path}, {place}: needs the keys {wanted}, got {got}. {form}")
    identifier, response = value[names[0]], value[names[1]]
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        got = repr(identifier) if isinstance(identifier, bool | float) else type(identifier).__name__
        raise UsageError(f"{path}, {place}: {names[0]!r} must be text or a whole number, got {got}.")
    if response is not None and not isinstance(response, str):
        raise UsageError(
            f"{path}, {place}: {names[1]!r} must be the model's raw text (or null for no answer), got "
            f"{type(response).__name__}."
        )
    if response is not None and not is_text(blank=True).holds(response):
        raise UsageError(f"{path}, {place}: {names[1]!r} has characters that are none (half of a pair). Write it anew.")
    return Answer(id=str(identifier), text=response, place=place)
