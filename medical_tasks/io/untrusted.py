"""Checks values from untrusted files, and shows them in messages."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final, TypeGuard

LARGEST_COUNT: Final = 2**53
"""The largest whole number that every reader of JSON can count to."""

# Half of a surrogate pair is not a character: no terminal and no page can show it.
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SHOWN_CHARS: Final = 60


def shown(value: object) -> str:
    r"""Writes an untrusted value for a message: short, one line of ASCII, all else escaped.

    Only the length of a list or an object is shown: `shown([1, 2])` is `a list of 2`.
    """
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value[: _SHOWN_CHARS + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def shown_path(*parts: object) -> str:
    """Writes a path in a JSON document, such as `medcalc, recipe, model`."""
    plain = (
        step if isinstance(step, str) and _is_short_ascii(step) else shown(step)
        for step in parts
    )
    return ", ".join(plain)


def _is_short_ascii(text: str) -> bool:
    return len(text) <= _SHOWN_CHARS and text.isascii() and text.isprintable()


def is_plain(text: str) -> bool:
    """Whether no character is hidden: none controls, reorders or separates lines."""
    if text.isascii() and text.isprintable():
        return True
    return not any(unicodedata.category(char) in _HIDDEN for char in text)


def is_one_line(text: str) -> bool:
    """Whether a text can be shown on one line: nothing in it controls a terminal or a page."""
    return _CONTROL.search(text) is None


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number, and not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def finite(text: str) -> float:
    """Parses a number for `json.loads`; raises `ValueError` for one that no float can hold."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {shown(text)} is too large")
    return value
