"""Numbers and dates that are texts in a table.

In which form they are, and when only a person can tell.

A spreadsheet saves numbers and dates as its country writes them: 24.7 and 3/25/2020, or
24,7 and 25.03.2020. A cell alone may not tell (`25,238`, `03/04/2020`), so the cells of
some columns that are only a number, or only a date, are judged together. The file was
written by one program:

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
"""Characters of a cell that is no more than a number or a date, blanks around it included."""

_MONTH: Final = (
    "(?:jan|gen|f[eé]b|f[eé]v|mar|mär|mrz|mrt|apr|avr|abr|may|mai|mag|mei|maj|jun|jui|giu|jul|lug"
    r"|aug|aoû|ago|sep|set|oct|okt|ott|out|nov|d[eé]c|dez|dic)[^\W\d]?\.?"
)
# What a spreadsheet makes of 24.7 or 3-40: "24. Jul", "7-Mar", "Mar-40".
_NO_YEAR: Final = Pattern(
    rf"\d{{1,2}}(?:-|\. ?){_MONTH}|{_MONTH}[- ]\d{{2}}", re.IGNORECASE
)
_ERROR: Final = Pattern(
    r"#(NAME\?|VALUE!|REF!|DIV/0!|N/A|NUM!|NULL!|SPILL!)|(Err|Error):\d{3}",
    re.IGNORECASE,
)
# divide thousands, whatever the decimal sign is
_GROUPS: Final = " '\u2019\u00a0\u202f"


def _number(decimal: str, group: str) -> Pattern:
    """A number with such a sign in it, whole or decimal; and its unit, which is no sentence."""
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{group}{_GROUPS}]\d{{3}})+)"
    return Pattern(
        rf"((?=\S*[.,\u00a0\u202f])[+\-\u2212]?{whole}(?:{decimal}\d+)?(?:[eE][+-]?\d+)?)"
        r"(\s?[^\W\d_][^,;:!?\n]{0,24}|\s?[%°].{0,9})?\Z",
    )


_COMMA: Final = _number(",", ".")


def _with_point(found: re.Match[str]) -> str:
    return re.sub(f"[.{_GROUPS}]", "", found[1]).replace(",", ".") + (found[2] or "")


def _date(first: str, second: str, signs: str) -> Pattern:
    """A date whose day and month differ."""
    return Pattern(
        rf"(?!(\d+)[/-]\1[/-])({first})([{signs}])({second})\3(\d{{4}}|\d\d)", re.ASCII
    )


_DAY, _OF_YEAR = r"0?[1-9]|[12]\d|3[01]", r"0?[1-9]|1[0-2]"


class _Kind(NamedTuple):
    """Numbers or dates: the form that is read, and another that is written anew."""

    option: str
    usual: str
    foreign: str
    told: Mapping[str, str]  # each form in words
    patterns: Mapping[str, Pattern]
    anew: Callable[[str], str]
    by_file: bool  # only the file shows who wrote the foreign form: a spreadsheet, or a model


_NUMBERS: Final = _Kind(
    option="decimal",
    usual="point",
    foreign="comma",
    told={
        "point": "numbers with a decimal point",
        "comma": "numbers with a decimal comma",
    },
    patterns={"point": _number(r"\.", ","), "comma": _COMMA},
    anew=lambda text: _COMMA.compiled.sub(_with_point, text, count=1),
    by_file=False,
)
_DATES: Final = _Kind(
    option="dates",
    usual="month-first",
    foreign="day-first",
    told={
        "month-first": "dates with the month first",
        "day-first": "dates with the day first",
    },
    # Between dots the day comes first.
    patterns={
        "month-first": _date(_OF_YEAR, _DAY, "/-"),
        "day-first": _date(_DAY, _OF_YEAR, "/.-"),
    },
    anew=lambda text: "{1}/{0}/{2}".format(*re.split("[/.-]", text)),
    by_file=True,
)


@dataclass(frozen=True, kw_only=True)
class TableChoice:
    """What a person said about the tables of a command; what was not said, a table must tell.

    Attributes:
        sheet: names of sheets to read, hidden ones too.
        decimal: "comma" or "point".
        dates: "day-first" or "month-first".
        python: said in Python, so messages name parameters.
    """

    sheet: Sequence[str] = ()
    decimal: str | None = None
    dates: str | None = None
    python: bool = False

    @property
    def said(self) -> dict[str, object]:
        """What a recipe records of it: what was said."""
        return {
            name: value
            for name, value in vars(self).items()
            if value and name != "python"
        }

    def option(self, name: str, value: str) -> str:
        """Writes an option as it is given here: `--decimal comma`, or `decimal='comma'`."""
        return f"{name}={value!r}" if self.python else f"--{name} {shlex.quote(value)}"


_CHOICE: ContextVar[TableChoice] = ContextVar("table choice", default=TableChoice())  # noqa: B039 - frozen
"""Of the command that runs: its tables are read deep inside, by readers that know no options."""

table_choice = _CHOICE.get


def table_choice_of(options: Options, *, python: bool = False) -> TableChoice:
    """Returns what was said about tables to a verb that may read some.

    Args:
        options: of the verb.
        python: whether messages name parameters of Python.
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
    """Has the tables within a block read as a person chose."""
    before = _CHOICE.set(choice)
    try:
        yield
    finally:
        _CHOICE.reset(before)


def note(text: str) -> None:
    """Says on stderr what was done with a table."""
    print(f"note: {text}", file=sys.stderr)


def is_formula_error(text: str) -> bool:
    """Whether a cell shows the error of a formula in the place of what somebody typed."""
    return _ERROR.fullmatch(text) is not None


Cell = tuple[str, str]
"""Where a cell is: its row's place (`row 3`) and its column."""


def settled(
    where: str, cells: Mapping[Cell, object], *, local: bool
) -> dict[Cell, str]:
    """Finds the cells to write anew: with a decimal point, or the month first.

    Args:
        where: the file, for messages. One program has written all cells.
        cells: only texts are judged; a number or date has its type.
        local: whether the file separates cells as spreadsheets do where the comma is
            the decimal sign, by semicolons or tabs.

    Returns:
        The new texts. A note on stderr has said why.

    Example: a file with semicolons whose cells are `25,238` and `151,2` was written
    with decimal commas, by the second: they become `25.238` and `151.2`. In a file with
    commas the same cells are an error, as nobody can tell: it asks for
    `--decimal comma` or `--decimal point`.
    """
    texts = {
        place: cell.strip()
        for place, cell in cells.items()
        if isinstance(cell, str) and len(cell) <= _LONGEST
    }
    for form, what in (
        (_ERROR, "a formula's error"),
        (_NO_YEAR, "a date without its day or year"),
    ):
        if damaged := [place for place, text in texts.items() if form.fullmatch(text)]:
            raise UsageError(
                f"{where}: {_places({what: damaged})}. A spreadsheet puts it in the place of a "
                "text such as -3, 24.7 or 3-4. Format the column as Text and enter the text again."
            )

    typed = [place for place, cell in cells.items() if isinstance(cell, datetime.date)]
    return _anew(_NUMBERS, where, texts, [], local) | _anew(
        _DATES, where, texts, typed, local
    )


def _anew(
    kind: _Kind,
    where: str,
    texts: Mapping[Cell, str],
    typed: Sequence[Cell],
    local: bool,
) -> dict[Cell, str]:
    """The cells in the foreign form, written anew; raises where the form is not known."""
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

    told, other = kind.told[kind.usual], kind.told[kind.foreign]
    as_they_are = choice.option(kind.option, kind.usual)
    if doubt:
        seen = {
            told: usual,
            other: foreign,
            f"cells that may be {other} or {told}": either,
            "dates as the spreadsheet took them": typed,
        }
        raise UsageError(
            f"{where}: {_places(seen)}.{' Write all in one form.' * bool(usual)} Say how the "
            f"spreadsheet writes them, {choice.option(kind.option, kind.foreign)}; or have the "
            f"cells read as they are, {as_they_are}."
        )

    if rewritten and not chosen:
        found = _places({other: rewritten})
        note(f"{where}: {found}, read as such. If that is wrong: {as_they_are}.")

    return {place: kind.anew(texts[place]) for place in rewritten}


def _of_forms(kind: _Kind, texts: Mapping[Cell, str], forms: set[str]) -> list[Cell]:
    """The cells that can be read in just these forms."""
    return [
        place
        for place, text in texts.items()
        if {name for name, form in kind.patterns.items() if form.fullmatch(text)}
        == forms
    ]


def _places(cells: Mapping[str, Sequence[Cell]]) -> str:
    """Says where something is: `decimal commas in column 'response', rows 3, 5 and 2 more`."""
    rows: dict[tuple[str, str], list[str]] = {}
    for what, places in cells.items():
        for place, column in places:
            rows.setdefault((what, column), []).append(place.split()[1])
    return "; ".join(
        f"{what} in column {column!r}, row{'s' * (len(numbers) > 1)} "
        f"{listed(sorted(numbers, key=int), _SHOWN)}"
        for (what, column), numbers in rows.items()
    )
