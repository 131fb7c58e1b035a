"""A JSON list of objects, as the authors of some benchmarks have their files: read strictly, and never quoted.

Such a file may hold credentialed text, so messages name the place of what is wrong and how long it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.io.json_records import is_text

__all__ = ["LONGEST_ID", "json_objects", "json_values", "named", "once", "shown", "text_id"]

_LARGEST = 1 << 28
LONGEST_ID = 64
"""Characters of an id; what is longer may be a text in the wrong field."""


def named(text: str) -> str:
    """A name as a message may show it; a long one may be a text in the wrong field."""
    plain = len(text) <= LONGEST_ID and len(text.split()) <= 2 and text.isprintable()
    return repr(text) if plain else f"a text of {len(text)} characters"


def shown(value: Any) -> str:
    """A value as a message may show it: what kind it is, and how long."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return "null" if value is None else "true or false" if isinstance(value, bool) else "a number"


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object whose names are each there once, for `json.loads`: of two values neither may be dropped in silence.

    Raises:
        ValueError: A name stands twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def json_values(path: Path, content: bytes, *, form: str) -> list[Any]:
    """Reads a list, whatever its values are.

    Args:
        path: where the content is from, for messages.
        content: of the file, UTF-8, with or without a byte order mark.
        form: a record as it should be, for messages.

    Returns:
        The values in order, one or more.

    Raises:
        UsageError: It is no JSON list, or an empty one.
    """
    again = f"Write a JSON list of records like {form}"
    if len(content) > _LARGEST:
        raise UsageError(
            f"{path}: {len(content):,} bytes, and a JSON list may have {_LARGEST:,}. Write JSON Lines instead."
        )
    try:
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # ValueError also for a number of thousands of digits
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{path}: not JSON ({reason}). {again}") from None
    if not isinstance(found, list) or not found:
        raise UsageError(f"{path}: a list of records is needed, got {shown(found)}. {again}")
    return found


def json_objects(path: Path, content: bytes, *, form: str) -> list[dict[str, Any]]:
    """Reads a list of objects, as `json_values` does.

    Raises:
        UsageError: It is no JSON list of objects, or an empty one.
    """
    found = json_values(path, content, form=form)
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise UsageError(
                f"{path}, record {number}: an object is needed, got {shown(record)}. Write a JSON list of records like {form}"
            )
    return found


def text_id(where: str, name: str, value: Any) -> str:
    """Reads a record's id: a text without white space at its ends, or a whole number.

    Args:
        where: the record, for messages.
        name: of the field.
        value: in it.

    Raises:
        UsageError: It is none.
    """
    found = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(found, str) or not 0 < len(found) <= LONGEST_ID or not _plain(found):
        raise UsageError(
            f"{where}: {name} must be a whole number or a text of 1 to {LONGEST_ID} characters without line ends and without "
            f"spaces at its ends, got {shown(value)}."
        )
    return found


def _plain(text: str) -> bool:
    return text.strip() == text and text.isprintable() and is_text().holds(text)
