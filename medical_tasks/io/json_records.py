"""Reads JSON records strictly: an error names position, rule and value.

For credentialed files it gives only the value's kind and length.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.io.files import check_line, read_bytes, readable
from medical_tasks.io.wording import RECORDS, Words

_SHOWN_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class Field:
    """The rule for a field of a file.

    Attributes:
        holds: whether a value is valid.
        rule: the rule in words, after "must be".
        required: whether every line must have the field.
        private: whether messages must not show its value, since the file is credentialed.
    """

    holds: Callable[[object], bool]
    rule: str
    required: bool = True
    private: bool = False


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line of a file.

    Attributes:
        path: the file.
        line: the line's number, from 1.
        values: field to checked value.
        private: fields whose values messages must not show.
        words: the reader's words for lines and fields.
    """

    path: Path
    line: int
    values: Mapping[str, Any]
    private: frozenset[str] = frozenset()
    words: Words = RECORDS

    def wrong(self, field: str, rule: str) -> UsageError:
        """Makes the error for a field that breaks a rule beyond its type."""
        return _wrong(
            self.path,
            self.line,
            field,
            rule,
            self.values[field],
            private=field in self.private,
            words=self.words,
        )

    def check_unique(self, field: str, name: str, lines: dict[str, int]) -> None:
        """Refuses a record whose `name` an earlier record has; `lines` maps names to lines."""
        if (first := lines.setdefault(name, self.line)) != self.line:
            raise self.wrong(
                field, f"must be unique, it stands on {self.words.row} {first} already"
            )


def is_text(*, blank: bool = False) -> Field:
    """A string, which must not be empty unless `blank`."""
    return Field(
        holds=lambda value: (
            isinstance(value, str)
            and _encodes(value)
            and (blank or bool(value.strip()))
        ),
        rule="a text" if blank else "a text that is not empty",
    )


def is_text_or_null() -> Field:
    """A string or null."""
    return Field(
        holds=lambda value: value is None or is_text(blank=True).holds(value),
        rule="a text or null",
    )


def is_list_of(element: Field, *, null: bool = False) -> Field:
    """A list with elements of this rule, or null if that is allowed."""
    return Field(
        holds=lambda value: (
            (null and value is None)
            or (isinstance(value, list) and all(element.holds(item) for item in value))
        ),
        rule=f"a list, each element {element.rule}{', or null' if null else ''}",
    )


def one_of(names: Sequence[str]) -> Field:
    """One of a few texts."""
    return Field(holds=lambda value: value in names, rule=f"one of {', '.join(names)}")


def optional(field: Field) -> Field:
    """Makes a field optional."""
    return dataclasses.replace(field, required=False)


def read_records(
    path: Path, fields: Mapping[str, Field], *, release: str, again: str
) -> Iterator[Record]:
    """Reads JSON Lines with these fields and no others.

    Args:
        path: the file.
        fields: the rule for each field.
        release: the expected file, for messages.
        again: what to do about a damaged file.
    """
    with readable(path):
        content = read_bytes(path)

    count, private = 0, any(field.private for field in fields.values())
    for number, values in _numbered(path, content, again):
        count += 1
        if not isinstance(values, dict):
            got = _shown(values, private=private)
            raise UsageError(
                f"{path}: line {number} is not a JSON object, got {got}. {again}"
            )

        yield checked_record(path, number, values, fields, release=release)

    if not count:
        raise UsageError(f"{path}: is empty, expected the {release}. {again}")


def _numbered(path: Path, content: bytes, again: str) -> Iterator[tuple[int, object]]:
    """Yields the values of JSON Lines that are not blank, with their line numbers."""
    # Lines of bytes: JSON texts may contain separators at which str.splitlines breaks.
    for number, raw in enumerate(
        io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), start=1
    ):
        if not raw.strip():
            continue

        check_line(path, raw, where=f", line {number}")
        try:
            value = _DECODER.decode(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            byte = f"0x{error.object[error.start]:02x}"
            raise UsageError(
                f"{path}: line {number} is not UTF-8 (byte {byte}), as JSON must be. {again}"
            ) from error
        # ValueError also for a number with thousands of digits.
        except (ValueError, RecursionError) as error:
            reason = (
                "nested too deeply" if isinstance(error, RecursionError) else str(error)
            )
            raise UsageError(
                f"{path}: line {number} is not whole JSON ({reason}). {again}"
            ) from error

        yield number, value


def checked_record(
    path: Path,
    line: int,
    values: Mapping[str, object],
    fields: Mapping[str, Field],
    *,
    release: str,
    words: Words = RECORDS,
) -> Record:
    """Checks what was read and makes a record of it.

    The arguments are those of `read_records`; `words` are the reader's.
    """
    _check_names(path, line, values, fields, release, words)
    for name, value in values.items():
        if not fields[name].holds(value):
            raise _wrong(
                path,
                line,
                name,
                f"must be {fields[name].rule}",
                value,
                private=fields[name].private,
                words=words,
            )

    private = frozenset(name for name, field in fields.items() if field.private)
    return Record(path=path, line=line, values=values, private=private, words=words)


def _check_names(
    path: Path,
    number: int,
    values: Mapping[str, object],
    fields: Mapping[str, Field],
    release: str,
    words: Words,
) -> None:
    """Refuses a line that lacks a field, or has one that the release does not have."""
    missing = [
        repr(words.name(name))
        for name, field in fields.items()
        if field.required and name not in values
    ]
    unexpected = [named(name) for name in values if name not in fields]
    names_by_problem = {"missing": missing, "unexpected": unexpected}
    problems = [
        f"{label}: {', '.join(names)}"
        for label, names in names_by_problem.items()
        if names
    ]
    if problems:
        raise UsageError(
            f"{path}: {words.row} {number} has the wrong {words.cell}s for the {release}. "
            f"{'; '.join(problems)}. Expected: {', '.join(map(repr, map(words.name, fields)))}."
        )


def _encodes(text: str) -> bool:
    """Whether a text can be written as UTF-8.

    JSON's escapes can name lone surrogates, which parquet cannot hold.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong(
    path: Path,
    line: int,
    field: str,
    rule: str,
    value: object,
    *,
    private: bool,
    words: Words,
) -> UsageError:
    where = f"{words.row} {line}, {words.cell} {words.name(field)!r}"
    return UsageError(f"{path}: {where}: {rule}, got {_shown(value, private=private)}.")


def _shown(value: object, *, private: bool) -> str:
    text = repr(value)
    if private:
        return f"a {type(value).__name__} of {len(text)} characters"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


_LARGEST = 1 << 28
LONGEST_ID = 64
"""The most characters of an id; a longer one may be a text in the wrong field."""


def named(text: str) -> str:
    """Writes a name for a message; a long one may be a text in the wrong field, and is hidden."""
    plain = len(text) <= LONGEST_ID and len(text.split()) <= 2 and text.isprintable()
    return repr(text) if plain else f"a text of {len(text)} characters"


def shown(value: object) -> str:
    """Describes a value in a message by its kind and length."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"

    return (
        "null"
        if value is None
        else "true or false"
        if isinstance(value, bool)
        else "a number"
    )


def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Makes an object for `json.loads`; refuses repeated names, since no value may be dropped."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a name appears twice in one object")
    return result


_DECODER: Final = json.JSONDecoder(object_pairs_hook=once)
"""Made once, not for each of many short lines."""


def json_values(path: Path, content: bytes, *, form: str) -> list[object]:
    """Reads a JSON list of at least one value; `form` is an example record, for messages."""
    advice = f"Write a JSON list of records like {form}"
    if len(content) > _LARGEST:
        raise UsageError(
            f"{path}: {len(content):,} bytes, and a JSON list may have {_LARGEST:,}. Write JSON "
            "Lines instead."
        )

    try:
        values = json.loads(content.decode("utf-8-sig"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8."
        ) from None
    # ValueError also for a number with thousands of digits.
    except (ValueError, RecursionError) as error:
        reason = (
            "nested too deeply" if isinstance(error, RecursionError) else str(error)
        )
        raise UsageError(f"{path}: not JSON ({reason}). {advice}") from None

    if not isinstance(values, list) or not values:
        raise UsageError(
            f"{path}: a list of records is needed, got {shown(values)}. {advice}"
        )

    return values


def json_lines(path: Path, content: bytes, *, form: str) -> Iterator[tuple[str, Any]]:
    """Yields the values of JSON Lines, at least one, with their positions.

    `form` as in `json_values`.
    """
    empty = True
    for number, value in _numbered(path, content, f"A line is like {form}"):
        empty = False
        yield f"line {number}", value
    if empty:
        raise UsageError(f"{path}: no lines. Give one line an item, like {form}")


def json_objects(path: Path, content: bytes, *, form: str) -> list[dict[str, Any]]:
    """Reads a JSON list of objects, like `json_values`."""
    objects: list[dict[str, Any]] = []
    for number, record in enumerate(json_values(path, content, form=form), start=1):
        if not isinstance(record, dict):
            raise UsageError(
                f"{path}, record {number}: an object is needed, got {shown(record)}. Write a JSON "
                f"list of records like {form}"
            )
        objects.append(record)
    return objects


def _is_id(text: str) -> bool:
    plain = is_text().holds(text) and text.strip() == text and text.isprintable()
    return plain and len(text) <= LONGEST_ID


def text_id(where: str, name: str, value: object) -> str:
    """Reads a record's id: a text without white space at its ends, or a whole number."""
    text = (
        str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    )
    if not isinstance(text, str) or not _is_id(text):
        raise UsageError(
            f"{where}: {name} must be a whole number or a text of 1 to {LONGEST_ID} characters "
            f"without line ends and without spaces at its ends, got {shown(value)}."
        )
    return text
