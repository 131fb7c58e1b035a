"""Writes cells for spreadsheet programs so that no text becomes a formula, and each can be restored.

    cell              CSV that is read again (`escaped`)   CSV for people alone (`table_cell`)
    =1+1              '=1+1                                '=1+1
    -1.50             '-1.50                               -1.50
    3-5               '3-5                                 3-5
    120/80 mmHg       120/80 mmHg                          120/80 mmHg

`plain` removes the apostrophe again. A workbook keeps texts as texts: `workbook_text` writes what
`plain` restores.
"""

from __future__ import annotations

import re
from typing import Final

from medical_tasks.io.patterns import Pattern

_QUOTE: Final = "'"
# The characters that begin a formula, including full-width forms, and the sign that escapes them.
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_ESCAPED: Final = (*_FORMULA, _QUOTE)
_LEADING: Final = ("\t", "\r", "\n")
_NUMBER: Final = Pattern(
    r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE
)
# Texts that such programs take for a number, a date, a time or a truth value, and rewrite: 0.50
# becomes 0.5, 3-5 the fifth of March, the id 0071 a 71.
_MONTHS: Final = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    "|dec(ember)?"
)
_VALUE: Final = Pattern(
    rf"true|false|(?=[^\d]*\d)([\d\s.,:/+\-%()$€£¥]|((?<![a-z])({_MONTHS})|(?<=[\d\s])(e|[ap]m?))(?![a-z]))+",
    re.IGNORECASE,
)
# Longer ones are shown, and saved, as 1.23E+11.
_STAYS: Final = Pattern(r"0|[1-9]\d{0,10}")


class BrokenCell(str):
    """Takes the place of an unreadable cell; its text says why, and what to do."""


def escaped(text: str) -> str:
    """Escapes a text that a spreadsheet program would take for a formula, a number or a date."""
    return _QUOTE + text if _is_taken(text) else text


def table_cell(value: object) -> object:
    """Writes a value of a table that is never read back: no text begins a formula, numbers stay."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()):
        return value
    return (
        _QUOTE + value
        if value.startswith(_LEADING) or value.strip().startswith(_FORMULA)
        else value
    )


def plain(text: str) -> str:
    """Removes the escape; a text that was typed without it stays unchanged."""
    return text[1:] if text.startswith(_QUOTE) and _is_taken(text[1:]) else text


def workbook_text(text: str) -> str:
    """Writes a text for a text cell of a workbook, so that `plain` restores it."""
    return text if plain(text) == text else _QUOTE + text


def _is_taken(text: str) -> bool:
    stripped = text.strip()
    if text.startswith(_LEADING) or stripped.startswith(_ESCAPED):
        return True
    return _VALUE.fullmatch(stripped) is not None and _STAYS.fullmatch(stripped) is None
