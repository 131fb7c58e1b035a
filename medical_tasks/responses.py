"""Reading answers people already have: a JSON Lines file of `{"id": ..., "response": ...}`."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError

__all__ = ["read_responses"]

_FORM = '{"id": "17", "response": "the raw text of the model"}'
_SHOWN = 5


def read_responses(path: Path, known_ids: Collection[str]) -> dict[str, str]:
    """Reads and checks a responses file.

    A line whose `response` is null says that there is no answer; it counts as unanswered, like a missing line.

    Args:
        path: the file, UTF-8, one object a line; empty lines are passed over.
        known_ids: ids of the task's items.

    Returns:
        Item id to the model's raw text, for each answered item.

    Raises:
        MissingError: There is no such file.
        UsageError: A line is not of the form, an id is unknown, or an id stands twice; nothing is scored then.
    """
    if not path.is_file():
        raise MissingError(f"{path}: no such file. Give --responses a JSON Lines file with lines like {_FORM}")
    known = set(known_ids)
    found: dict[str, str] = {}
    line_of: dict[str, int] = {}
    unknown: list[str] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                identifier, response = _parse_line(path, number, line)
                if identifier in line_of:
                    raise UsageError(
                        f"{path}: lines {line_of[identifier]} and {number} both answer id {identifier!r}; one answer an item "
                        "is scored. Remove one of them."
                    )
                line_of[identifier] = number
                if identifier not in known:
                    unknown.append(f"{identifier!r} (line {number})")
                elif response is not None:
                    found[identifier] = response
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from error
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


def _parse_line(path: Path, number: int, line: str) -> tuple[str, str | None]:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{path}, line {number}: not JSON ({error}). A line is like {_FORM}") from error
    if not isinstance(value, dict) or "id" not in value or "response" not in value:
        got = f"keys {sorted(value)}" if isinstance(value, dict) else type(value).__name__
        raise UsageError(
            f"{path}, line {number}: needs the keys 'id' and 'response', got {got}. A line is like {_FORM}"
        )
    identifier, response = value["id"], value["response"]
    if isinstance(identifier, bool) or not isinstance(identifier, str | int):
        raise UsageError(f"{path}, line {number}: 'id' must be text or a whole number, got {identifier!r}.")
    if response is not None and not isinstance(response, str):
        raise UsageError(
            f"{path}, line {number}: 'response' must be the model's raw text (or null for no answer), got "
            f"{type(response).__name__}."
        )
    return str(identifier), response
