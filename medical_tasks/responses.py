"""Reading answers people already have: a JSON Lines file of `{"id": ..., "response": ...}`."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError, system_reason

__all__ = ["read_file", "read_responses"]

_FORM = '{"id": "17", "response": "the raw text of the model"}'
_SHOWN = 5
_LONGEST = 64  # characters of an id


def read_file(path: Path) -> bytes:
    """Reads a responses file once, whatever it is (a pipe can be read only once).

    Raises:
        MissingError: There is no such file.
        UsageError: It is a folder, or may not be read.
    """
    try:
        return path.expanduser().read_bytes()
    except FileNotFoundError as error:
        raise MissingError(
            f"{path}: no such file. Give --responses a JSON Lines file with lines like {_FORM}"
        ) from error
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({system_reason(error)}). Give --responses a JSON Lines file."
        ) from error


def read_responses(path: Path, known_ids: Collection[str], *, content: bytes | None = None) -> dict[str, str]:
    """Reads and checks a responses file.

    A line whose `response` is null says that there is no answer; it counts as unanswered, like a missing line.

    Args:
        path: the file, UTF-8, one object a line; empty lines are passed over.
        known_ids: ids of the task's items.
        content: what is in the file, when it was read before.

    Returns:
        Item id to the model's raw text, for each answered item.

    Raises:
        MissingError: There is no such file.
        UsageError: A line is not of the form, an id is unknown, or an id stands twice; nothing is scored then.
    """
    known = set(known_ids)
    found: dict[str, str] = {}
    line_of: dict[str, int] = {}
    unknown: list[str] = []
    try:
        text = (read_file(path) if content is None else content).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        identifier, response = _parse_line(path, number, line)
        if identifier in line_of:
            raise UsageError(
                f"{path}: lines {line_of[identifier]} and {number} both answer id {_named(identifier)}; one answer an item "
                "is scored. Remove one of them."
            )
        line_of[identifier] = number
        if identifier not in known:
            unknown.append(f"{_named(identifier)} (line {number})")
        elif response is not None:
            found[identifier] = response
    if unknown:
        shown = ", ".join(unknown[:_SHOWN]) + (f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else "")
        sample = ", ".join(repr(known_id) for known_id in sorted(known)[:3])
        raise UsageError(
            f"{path}: {len(unknown)} ids are not items of the task: {shown}. Its ids look like {sample}. Is it the right task "
            "and --config?"
        )
    if not line_of:
        raise UsageError(f"{path}: no lines. Give one line an item, like {_FORM}")
    return found


def _named(text: str) -> str:
    """An id or a key as a message may show it; a long one may be the answer in the wrong field, and quote what it is about."""
    plain = len(text) <= _LONGEST and len(text.split()) <= 2
    return repr(text) if plain else f"a text of {len(text)} characters"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object whose names are each there once: of two responses neither may be dropped in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _parse_line(path: Path, number: int, line: str) -> tuple[str, str | None]:
    try:
        value = json.loads(line, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
        raise UsageError(f"{path}, line {number}: not JSON ({error}). A line is like {_FORM}") from error
    if not isinstance(value, dict) or "id" not in value or "response" not in value:
        got = f"keys [{', '.join(map(_named, sorted(value)))}]" if isinstance(value, dict) else type(value).__name__
        raise UsageError(
            f"{path}, line {number}: needs the keys 'id' and 'response', got {got}. A line is like {_FORM}"
        )
    identifier, response = value["id"], value["response"]
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        got = repr(identifier) if isinstance(identifier, bool | float) else type(identifier).__name__
        raise UsageError(f"{path}, line {number}: 'id' must be text or a whole number, got {got}.")
    if response is not None and not isinstance(response, str):
        raise UsageError(
            f"{path}, line {number}: 'response' must be the model's raw text (or null for no answer), got "
            f"{type(response).__name__}."
        )
    return str(identifier), response
