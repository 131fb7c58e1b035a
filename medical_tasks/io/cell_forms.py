"""Recognises the form of numbers and dates that are texts in a table, or asks the user.

A spreadsheet saves numbers and dates in the format of its locale: 24.7 and 3/25/2020, or 24,7
and 25.03.2020. A single cell may be ambiguous (`25,238`, `03/04/2020`), so all cells of some
columns that are only a number, or only a date, are judged together, since one program wrote the
file:

    25,238  151,2     the second can only have a decimal comma, so the first is 25.238
    25,238  1,500     nobody can tell
"""

from __future__ import annotations

import datetime
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, NamedTuple

from medical_tasks.errors import UsageError, listed
from medical_tasks.io.patterns import Pattern
from medical_tasks.options import Options, WithTables

_SHOWN: Final = 5
_LONGEST: Final = 60
"""The most characters of a cell with only a number or a date, including blanks around it."""

_MONTH: Final = (
    "(?:jan|gen|f[eé]b|f[eé]v|mar|mär|mrz|mrt|apr|avr|abr|may|mai|mag|mei|maj|jun|jui|giu|jul|lug"
    r"|aug|aoû|ago|sep|set|oct|okt|ott|out|nov|d[eé]c|dez|dic)[^\W\d]?\.?"
)
# A spreadsheet turns 24.7 or 3-40 into "24. Jul", "7-Mar" or "Mar-40".
_NO_YEAR: Final = Pattern(
    rf"\d{{1,2}}(?:-|\. ?){_MONTH}|{_MONTH}[- ]\d{{2}}", re.IGNORECASE
)
_ERROR: Final = Pattern(
    r"#(NAME\?|VALUE!|REF!|DIV/0!|N/A|NUM!|NULL!|SPILL!)|(Err|Error):\d{3}",
    re.IGNORECASE,
)
# Separators of thousands, whatever the decimal sign is.
_GROUPS: Final = " '\u2019\u00a0\u202f"


def _number(decimal: str, group: str) -> Pattern:
    """Matches a number with such a decimal or group sign, and its unit, which is not a sentence."""
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{group}{_GROUPS}]\d{{3}})+)"
    return Pattern(
        rf"((?=\S*[.,\u00a0\u202f])[+\-\u2212]?{whole}(?:{decimal}\d+)?(?:[eE][+-]?\d+)?)"
        r"(\s?[^\W\d_][^,;:!?\n]{0,24}|\s?[%°].{0,9})?\Z",
    )


_COMMA: Final = _number(",", ".")


def _with_point(match: re.Match[str]) -> str:
    return re.sub(f"[.{_GROUPS}]", "", match[1]).replace(",", ".") + (match[2] or "")


def _date(first: str, second: str, signs: str) -> Pattern:
    """Matches a date whose day and month differ."""
    return Pattern(
        rf"(?!(\d+)[/-]\1[/-])({first})([{signs}])({second})\3(\d{{4}}|\d\d)", re.ASCII
    )


_DAY, _OF_YEAR = r"0?[1-9]|[12]\d|3[01]", r"0?[1-9]|1[0-2]"


class _Kind(NamedTuple):
    """Numbers or dates: the usual form, and a foreign one that is rewritten.

    Attributes:
        option: the option that chooses the form.
        usual: the form that is read.
        foreign: the form that is rewritten.
        descriptions: each form in words.
        patterns: each form's pattern.
        rewrite: turns the foreign form into the usual one.
        by_file: whether only the file shows who wrote the foreign form, a spreadsheet or a
            model.
    """

    option: str
    usual: str
    foreign: str
    descriptions: Mapping[str, str]
    patterns: Mapping[str, Pattern]
    rewrite: Callable[[str], str]
    by_file: bool


_NUMBERS: Final = _Kind(
    option="decimal",
    usual="point",
    foreign="comma",
    descriptions={
        "point": "numbers with a decimal point",
        "comma": "numbers with a decimal comma",
    },
    patterns={"point": _number(r"\.", ","), "comma": _COMMA},
    rewrite=lambda text: _COMMA.compiled.sub(_with_point, text, count=1),
    by_file=False,
)
_DATES: Final = _Kind(
    option="dates",
    usual="month-first",
    foreign="day-first",
    descriptions={
        "month-first": "dates with the month first",
        "day-first": "dates with the day first",
    },
    # With dots the day comes first.
    patterns={
        "month-first": _date(_OF_YEAR, _DAY, "/-"),
        "day-first": _date(_DAY, _OF_YEAR, "/.-"),
    },
    rewrite=lambda text: "{1}/{0}/{2}".format(*re.split("[/.-]", text)),
    by_file=True,
)


@dataclass(frozen=True, kw_only=True)
class TableChoice:
    """A user's choices about the tables of a command; other forms must be evident in a table.

    Attributes:
        sheet: the names of sheets to read, including hidden ones.
        decimal: "comma" or "point".
        dates: "day-first" or "month-first".
        python: whether the choices were made in Python, so that messages name parameters.
    """

    sheet: Sequence[str] = ()
    decimal: str | None = None
    dates: str | None = None
    python: bool = False

    @property
    def recorded(self) -> dict[str, object]:
        """The choices that a recipe records."""
        return {
            name: value
            for name, value in vars(self).items()
            if value and name != "python"
        }

    def option(self, name: str, value: str) -> str:
        """Writes an option for this user: `--decimal comma`, or `decimal='comma'`."""
        return f"{name}={value!r}" if self.python else f"--{name} {shlex.quote(value)}"


_CHOICE: ContextVar[TableChoice] = ContextVar("table choice", default=TableChoice())  # noqa: B039 - frozen
"""The choices of the running command: its tables are read by functions that know no options."""

table_choice = _CHOICE.get


def table_choice_of(options: Options, *, python: bool = False) -> TableChoice:
    """Returns the choices about tables among a verb's options.

    Args:
        options: the verb's options.
        python: whether messages name Python parameters.
    """
    if not isinstance(options, WithTables):
        return TableChoice(python=python)

    return TableChoice(
        sheet=list(options.sheet),
        decimal=options.decimal,
        dates=options.dates,
        python=python,
    )


@contextmanager
def reading_tables(choice: TableChoice) -> Iterator[None]:
    """Reads the tables within a block according to a user's choices."""
    before = _CHOICE.set(choice)
    try:
        yield
    finally:
        _CHOICE.reset(before)


def note(text: str) -> None:
    """Prints on stderr what was done with a table."""
    print(f"note: {text}", file=sys.stderr)


def is_formula_error(text: str) -> bool:
    """Whether a cell shows a formula's error."""
    return _ERROR.fullmatch(text) is not None


Cell = tuple[str, str]
"""A cell's row (`row 3`) and column."""


def settle(where: str, cells: Mapping[Cell, object], *, local: bool) -> dict[Cell, str]:
    """Rewrites cells with a decimal point, or with the month first.

    Args:
        where: the file, for messages. One program wrote all its cells.
        cells: the cells; only texts are judged, since numbers and dates have types.
        local: whether the file separates cells by semicolons or tabs, as spreadsheets do in
            locales with a decimal comma.

    Returns:
        The new texts. A note on stderr says why.

    Example: the second of the cells `25,238` and `151,2` shows that a file with semicolons has
    decimal commas: they become `25.238` and `151.2`. In a file with commas the same cells are
    ambiguous: the error asks for `--decimal comma` or `--decimal point`.
    """
    texts = {
        cell: value.strip()
        for cell, value in cells.items()
        if isinstance(value, str) and len(value) <= _LONGEST
    }
    for form, description in (
        (_ERROR, "a formula's error"),
        (_NO_YEAR, "a date without its day or year"),
    ):
        if damaged := [cell for cell, text in texts.items() if form.fullmatch(text)]:
            raise UsageError(
                f"{where}: {_locations_text({description: damaged})}. A spreadsheet puts it in the place of a "
                "text such as -3, 24.7 or 3-4. Format the column as Text and enter the text again."
            )

    typed = [cell for cell, value in cells.items() if isinstance(value, datetime.date)]
    return _rewritten_cells(_NUMBERS, where, texts, [], local) | _rewritten_cells(
        _DATES, where, texts, typed, local
    )


def _rewritten_cells(
    kind: _Kind,
    where: str,
    texts: Mapping[Cell, str],
    typed: Sequence[Cell],
    local: bool,
) -> dict[Cell, str]:
    """Rewrites the cells in the foreign form; raises an error if the form is ambiguous."""
    choice = table_choice()
    chosen = getattr(choice, kind.option)
    usual = _of_forms(kind, texts, {kind.usual})
    foreign = _of_forms(kind, texts, {kind.foreign})
    either = _of_forms(kind, texts, {kind.usual, kind.foreign})
    if chosen == kind.usual:
        return {}

    rewritten = [*foreign, *either] * bool(chosen or (local and foreign))
    if rewritten:
        doubt = usual or (typed and not chosen)
    elif local:
        doubt = either and not usual
    else:
        doubt = foreign and (kind.by_file or (either and not usual))

    usual_text, foreign_text = (
        kind.descriptions[kind.usual],
        kind.descriptions[kind.foreign],
    )
    as_they_are = choice.option(kind.option, kind.usual)
    if doubt:
        cells_by_text = {
            usual_text: usual,
            foreign_text: foreign,
            f"cells that may be {foreign_text} or {usual_text}": either,
            "dates as the spreadsheet took them": typed,
        }
        raise UsageError(
            f"{where}: {_locations_text(cells_by_text)}.{' Write all in one form.' * bool(usual)} Say how the "
            f"spreadsheet writes them, {choice.option(kind.option, kind.foreign)}; or have the "
            f"cells read as they are, {as_they_are}."
        )

    if rewritten and not chosen:
        locations = _locations_text({foreign_text: rewritten})
        note(f"{where}: {locations}, read as such. If that is wrong: {as_they_are}.")

    return {cell: kind.rewrite(texts[cell]) for cell in rewritten}


def _of_forms(kind: _Kind, texts: Mapping[Cell, str], forms: set[str]) -> list[Cell]:
    """Returns the cells that match exactly these forms."""
    return [
        cell
        for cell, text in texts.items()
        if {name for name, form in kind.patterns.items() if form.fullmatch(text)}
        == forms
    ]


def _locations_text(cells: Mapping[str, Sequence[Cell]]) -> str:
    """Words the location of cells: `decimal commas in column 'response', rows 3, 5 and 2 more`."""
    rows: dict[tuple[str, str], list[str]] = {}
    for what, locations in cells.items():
        for row, column in locations:
            rows.setdefault((what, column), []).append(row.split()[1])
    return "; ".join(
        f"{what} in column {column!r}, row{'s' * (len(numbers) > 1)} "
        f"{listed(sorted(numbers, key=int), _SHOWN)}"
        for (what, column), numbers in rows.items()
    )
