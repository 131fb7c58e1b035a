"""Forms of the values in a package: what each field must be, in code and in words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any, Final

from medical_tasks.io.json_records import Field
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown

__all__ = [
    "any_text",
    "check_fields",
    "hash_or_empty",
    "is_object",
    "is_plain",
    "line_text",
    "number",
    "one_of",
    "plain_json",
    "suite_name",
    "true_or_false",
    "whole_number",
]

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_SUITE: Final = re.compile(r"medical-tasks [0-9][0-9A-Za-z.+-]{0,30}")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LONGEST_SETTING: Final = 2000
_LARGEST: Final = 2**53


def is_plain(text: str) -> bool:
    """Whether a text has no character that hides something: control and bidirectional characters, separators of lines."""
    return (text.isascii() and text.isprintable()) or not any(unicodedata.category(each) in _HIDDEN for each in text)


def _encodes(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def line_text(most: int, *, least: int = 0) -> Field:
    """A text of one line, without characters that hide something."""
    return Field(
        holds=lambda value: isinstance(value, str) and least <= len(value) <= most and is_plain(value),
        rule=f"a text of {least} to {most} characters, none of them a control or bidirectional one",
    )


def any_text(most: int, *, halves: bool = False) -> Field:
    """Any text, as models write them; with `halves` also halves of surrogate pairs."""
    return Field(
        holds=lambda value: isinstance(value, str) and len(value) <= most and (halves or _encodes(value)),
        rule=f"a text of at most {most:,} characters",
    )


def hash_or_empty(*, empty: bool = False) -> Field:
    """A SHA-256 in hexadecimal; with `empty` also the empty text."""
    return Field(
        holds=lambda value: isinstance(value, str) and (bool(_HASH.fullmatch(value)) or (empty and not value)),
        rule=f"64 digits of a SHA-256{' or empty' if empty else ''}",
    )


def number(low: float, high: float, *, null: bool = False, nan: bool = False) -> Field:
    """A number in a range, ends included; with `nan` also the text that stands for a value without a denominator."""
    also = f"{', null' if null else ''}{', or the text nan' if nan else ''}"

    def holds(value: Any) -> bool:
        if value is None:
            return null
        if nan and value == "nan":
            return True
        return not isinstance(value, bool) and isinstance(value, int | float) and low <= value <= high

    return Field(holds=holds, rule=f"a number of {low:g} to {high:g}{also}")


def whole_number(low: int = 0, high: int = _LARGEST) -> Field:
    """A whole number in a range."""
    return Field(
        holds=lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
        rule=f"a whole number of {low:,} to {high:,}",
    )


def suite_name() -> Field:
    """Name and version of this suite."""
    return Field(
        holds=lambda value: isinstance(value, str) and bool(_SUITE.fullmatch(value)),
        rule="medical-tasks and its version",
    )


def true_or_false(*, null: bool = False) -> Field:
    """True or false; with `null` also null."""
    return Field(
        holds=lambda value: isinstance(value, bool) or (null and value is None),
        rule=f"true or false{' or null' if null else ''}",
    )


def one_of(allowed: Collection[Any]) -> Field:
    """One of a few values."""
    return Field(
        holds=lambda value: isinstance(value, str | int | None) and not isinstance(value, bool) and value in allowed,
        rule=f"one of {', '.join(map(repr, allowed))}",
    )


def is_object(value: Any) -> bool:
    """Whether it is an object whose names are short and plain."""
    return isinstance(value, dict) and all(len(name) <= 200 and is_plain(name) for name in value)


def plain_json(*, of: type | None = None) -> Field:
    """Any JSON whose texts are settings: short, and with no hidden character but line feeds and tabs."""
    return Field(
        holds=lambda value: (of is None or isinstance(value, of)) and _plain(value),
        rule=f"{'an object' if of is dict else 'JSON'} with texts of at most {_LONGEST_SETTING:,} characters, none of them hidden, "
        "and numbers that can be counted",
    )


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return is_object(value) and all(map(_plain, value.values()))
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, str):
        return len(value) <= _LONGEST_SETTING and is_plain(value.translate({9: " ", 10: " "}))
    if isinstance(value, bool) or value is None:
        return True
    return bool(math.isfinite(value)) and abs(value) <= _LARGEST


def check_fields(where: str, value: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Checks an object: these fields and no other, each as it must be.

    Args:
        where: where it stands, for messages.
        value: as read.
        fields: name to form.

    Raises:
        PackageError: It is not of that form; names the first thing that is wrong.
    """
    if not isinstance(value, dict):
        raise PackageError(f"{where}: must be an object, got {shown(value)}. {WRITE_AGAIN}")
    missing = [name for name, form in fields.items() if form.required and name not in value]
    unknown = [name for name in value if name not in fields]
    if missing or unknown:
        wrong = f"lacks {missing[0]!r}" if missing else f"has a field {shown(unknown[0])}, which is none of its own"
        raise PackageError(f"{where}: {wrong}. {WRITE_AGAIN}")
    for name, each in value.items():
        if not fields[name].holds(each):
            raise PackageError(f"{where}, {name}: must be {fields[name].rule}, got {shown(each)}. {WRITE_AGAIN}")
    return value
