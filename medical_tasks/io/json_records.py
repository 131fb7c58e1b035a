"""Strict reading of official JSON Lines files: whole lines, the right fields of the right types, or a message that says where."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.whole_file import check_line, read_bytes

__all__ = ["Field", "Record", "is_list_of", "is_text", "is_text_or_null", "one_of", "optional", "read_records"]

_SHOWN_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class Field:
    """What a field of the file must be.

    Attributes:
        holds: whether a value is right.
        rule: the same in words, behind "must be".
        required: whether every line has it.
        private: whether messages must not show its value, because the file is credentialed.
    """

    holds: Callable[[Any], bool]
    rule: str
    required: bool = True
    private: bool = False


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line of a file.

    Attributes:
        path: the file.
        line: number of the line, from 1.
        values: field to value, checked.
        private: fields whose values messages must not show.
    """

    path: Path
    line: int
    values: Mapping[str, Any]
    private: frozenset[str] = frozenset()

    def wrong(self, field: str, rule: str) -> UsageError:
        """Makes the error for a field that breaks a rule beyond its type."""
        return _wrong(self.path, self.line, field, rule, self.values[field], private=field in self.private)


def is_text(*, blank: bool = False) -> Field:
    """A string, which says something unless it may be `blank`."""
    return Field(
        holds=lambda value: isinstance(value, str) and _encodes(value) and (blank or bool(value.strip())),
        rule="a text" if blank else "a text that is not empty",
    )


def is_text_or_null() -> Field:
    """A string or null."""
    return Field(holds=lambda value: value is None or is_text(blank=True).holds(value), rule="a text or null")


def is_list_of(element: Field, *, null: bool = False) -> Field:
    """A list whose elements are as stated, or null where that is allowed."""
    return Field(
        holds=lambda value: (
            (null and value is None) or (isinstance(value, list) and all(element.holds(each) for each in value))
        ),
        rule=f"a list, each element {element.rule}{', or null' if null else ''}",
    )


def one_of(names: Sequence[str]) -> Field:
    """One of a few texts."""
    return Field(holds=lambda value: value in names, rule=f"one of {', '.join(names)}")


def optional(field: Field) -> Field:
    """The same, in files where lines may lack it."""
    return dataclasses.replace(field, required=False)


def read_records(path: Path, fields: Mapping[str, Field], *, release: str, again: str) -> Iterator[Record]:
    """Reads a file with one JSON object a line.

    Args:
        path: the file, UTF-8; a byte order mark at its start and blank lines are skipped.
        fields: what an object must have; it may have nothing else.
        release: what the file should be, for messages ("K-QA file of answered questions").
        again: what to do about a damaged file, one sentence.

    Yields:
        The lines in order.

    Raises:
        UsageError: The file cannot be read, holds nothing, is cut off, or has a line that is not as it must be; the message
            names line, field, rule and value.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    count = 0
    private = frozenset(name for name, field in fields.items() if field.private)
    # Lines of bytes: JSON texts may hold the separators at which str.splitlines breaks.
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not raw.strip():
            continue
        count += 1
        check_line(path, raw, where=f", line {number}")
        values = _object(path, number, raw, again, private=bool(private))
        _check_names(path, number, values, fields, release)
        for name, value in values.items():
            if not fields[name].holds(value):
                raise _wrong(path, number, name, f"must be {fields[name].rule}", value, private=fields[name].private)
        yield Record(path=path, line=number, values=values, private=private)
    if not count:
        raise UsageError(f"{path}: is empty, expected the {release}. {again}")


def _object(path: Path, number: int, raw: bytes, again: str, *, private: bool) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            raise ValueError("a field stands twice")
        return values

    try:
        values = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise UsageError(f"{path}: line {number} is not UTF-8 (byte 0x{byte:02x}). {again}") from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{path}: line {number} is not a whole JSON object ({reason}). {again}") from error
    if not isinstance(values, dict):
        raise UsageError(f"{path}: line {number} is not a JSON object, got {_shown(values, private=private)}. {again}")
    return values


def _check_names(path: Path, number: int, values: Mapping[str, Any], fields: Mapping[str, Field], release: str) -> None:
    missing = [name for name, field in fields.items() if field.required and name not in values]
    unexpected = [name for name in values if name not in fields]
    problems = [
        f"{label}: {', '.join(map(repr, names))}"
        for label, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if problems:
        raise UsageError(
            f"{path}: line {number} has the wrong fields for the {release}. {'; '.join(problems)}. "
            f"Expected: {', '.join(map(repr, fields))}."
        )


def _encodes(text: str) -> bool:
    """Whether a text can be written as UTF-8; JSON's escapes can name lone surrogates, which parquet cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong(path: Path, line: int, field: str, rule: str, value: Any, *, private: bool) -> UsageError:
    return UsageError(f"{path}: line {line}, field {field!r}: {rule}, got {_shown(value, private=private)}.")


def _shown(value: Any, *, private: bool) -> str:
    text = repr(value)
    if private:
        return f"a {type(value).__name__} of {len(text)} characters"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
