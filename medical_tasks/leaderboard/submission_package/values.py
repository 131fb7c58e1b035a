"""Values of a package, read without trust: what each field must be, in code and in words, and JSON within limits.

Depth, length of numbers and count of values are limited before anything is parsed, and no name may occur twice in an object.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, TypeGuard

from medical_tasks.io.json_records import Field, once
from medical_tasks.leaderboard.submission_package.contents import (
    SHA256,
    PackageError,
    ReadLimits,
    not_sound,
    shown,
)

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LONGEST_SETTING: Final = 2000
_LARGEST: Final = 2**53


def is_plain(text: str) -> bool:
    """Whether a text has no character that hides something: control and bidirectional characters, separators of lines."""
    return (text.isascii() and text.isprintable()) or not any(
        unicodedata.category(each) in _HIDDEN for each in text
    )


def line_text(most: int, *, least: int = 0) -> Field:
    """A text of one line, without characters that hide something."""
    return Field(
        holds=lambda value: (
            isinstance(value, str) and least <= len(value) <= most and is_plain(value)
        ),
        rule=f"a text of {least} to {most} characters, none of them a control or bidirectional one",
    )


def any_text(most: int, *, halves: bool = False) -> Field:
    """Any text, as models write them; with `halves` also halves of surrogate pairs."""
    return Field(
        holds=lambda value: (
            isinstance(value, str)
            and len(value) <= most
            and (
                halves or value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)
            )
        ),
        rule=f"a text of at most {most:,} characters",
    )


def text_like(pattern: str, rule: str) -> Field:
    """A text that a pattern describes whole."""
    known = re.compile(pattern)
    return Field(
        holds=lambda value: isinstance(value, str) and known.fullmatch(value) is not None, rule=rule
    )


HASH: Final = text_like(SHA256.pattern, "64 digits of a SHA-256")
HASH_OR_EMPTY: Final = text_like(f"(?:{SHA256.pattern})?", f"{HASH.rule} or empty")
SUITE: Final = text_like(
    r"medical-tasks [0-9][0-9A-Za-z.+-]{0,30}", "medical-tasks and its version"
)
TRUE_OR_FALSE: Final = Field(holds=lambda value: isinstance(value, bool), rule="true or false")


def number(low: float, high: float, *, null: bool = False, nan: bool = False) -> Field:
    """A number in a range, ends included; with `nan` also the text that stands for a value without a denominator."""
    also = f"{', null' if null else ''}{', or the text nan' if nan else ''}"

    def holds(value: Any) -> bool:
        if value is None:
            return null
        if nan and value == "nan":
            return True
        return (
            not isinstance(value, bool) and isinstance(value, int | float) and low <= value <= high
        )

    return Field(holds=holds, rule=f"a number of {low:g} to {high:g}{also}")


def whole_number(low: int = 0, high: int = _LARGEST) -> Field:
    """A whole number in a range."""
    return Field(
        holds=lambda value: (
            isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        ),
        rule=f"a whole number of {low:,} to {high:,}",
    )


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number, and no truth value."""
    try:
        return (
            not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
        )
    except OverflowError:  # a whole number that no float can hold
        return False


def is_object(value: Any) -> bool:
    """Whether it is an object whose names are short and plain."""
    return isinstance(value, dict) and all(len(name) <= 200 and is_plain(name) for name in value)


OBJECT: Final = Field(holds=is_object, rule="an object with short names")


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


def or_null(form: Field, rule: str = "") -> Field:
    """The same, or null."""
    return Field(
        holds=lambda value: value is None or form.holds(value), rule=rule or f"{form.rule}; or null"
    )


def check_fields(where: str, value: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Checks an object: these fields and no other, each as it must be; the error names the first that is wrong."""
    if not isinstance(value, dict):
        raise not_sound(f"{where}: must be an object, got {shown(value)}")
    missing = [name for name, form in fields.items() if form.required and name not in value]
    unknown = [name for name in value if name not in fields]
    if missing or unknown:
        wrong = (
            f"lacks {missing[0]!r}"
            if missing
            else f"has a field {shown(unknown[0])}, which is none of its own"
        )
        raise not_sound(f"{where}: {wrong}")
    for name, each in value.items():
        if not fields[name].holds(each):
            raise not_sound(f"{where}, {name}: must be {fields[name].rule}, got {shown(each)}")
    return value


# A text, to the end where it has none: what stands behind it no parser reaches.
_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKET: Final = bytes({*range(256)} - {*b"[]{}"})


class JsonReader:
    """Reads the JSON files of one package; `ReadLimits.total_values` is counted over everything read."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._values = 0

    def whole(self, name: str, content: bytes) -> Any:
        """Reads a file that is one JSON value."""
        return self._read(name, content, self.limits.values)

    def lines(self, name: str, content: bytes, *, most: int) -> Iterator[tuple[str, Any]]:
        """Reads a file with a JSON value a line: yields where it stands (`items.jsonl, line 3`), and the value."""
        if content.count(b"\n") > most:
            raise PackageError(
                f"{name}: {content.count(10):,} lines, and at most {most:,} are taken. Submit fewer tasks at once "
                "(--task NAME), or a run of fewer items."
            )
        if content and not content.endswith(b"\n"):
            raise not_sound(f"{name}: its last line is cut off")
        start = number = 0
        while start < len(content):
            number += 1
            end = content.index(b"\n", start)
            where = f"{name}, line {number}"
            if end - start > self.limits.line_bytes:
                raise PackageError(
                    f"{where}: has {end - start:,} bytes, and a line has at most {self.limits.line_bytes:,}. Submit the run "
                    "without that task, or shorten its answers."
                )
            yield where, self._read(where, content[start:end], self.limits.line_values)
            start = end + 1

    def _read(self, where: str, raw: bytes, most: int) -> Any:
        # Before a parser makes anything of it, and with no recursion. A value has a name and a text at most.
        bare = _TEXT.sub(b"", raw, count=2 * most)
        values = 1 + sum(map(bare.count, (b"[", b"{", b",", b":")))
        if values > most or b'"' in bare:
            raise not_sound(f"{where}: more than {most:,} values")
        steps = (1 if each in b"[{" else -1 for each in bare.translate(None, _NO_BRACKET))
        if max(accumulate(steps), default=0) > self.limits.depth:
            raise not_sound(
                f"{where}: lists and objects stand more than {self.limits.depth} deep in one another"
            )
        self._values += values
        if self._values > self.limits.total_values:
            raise PackageError(
                f"{where}: the package has more than {self.limits.total_values:,} values. Submit fewer tasks at once "
                "(--task NAME)."
            )
        try:
            return json.loads(
                raw.decode("utf-8"),
                object_pairs_hook=once,
                parse_constant=_no_constant,
                parse_int=lambda text: int(self._short(text)),
                parse_float=lambda text: finite(self._short(text)),
            )
        except UnicodeDecodeError as error:
            raise not_sound(f"{where}: not UTF-8 text (byte {error.start})") from error
        except (ValueError, RecursionError) as error:
            raise not_sound(f"{where}: not JSON ({error})") from error

    def _short(self, text: str) -> str:
        if len(text) > self.limits.number_characters:
            raise ValueError(
                f"a number of {len(text):,} characters; at most {self.limits.number_characters} are taken"
            )
        return text


def finite(text: str) -> float:
    """Reads a number; `ValueError` for one that no float can hold."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {shown(text)} is too large")
    return value


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON; a value without a denominator is written as the text nan")
