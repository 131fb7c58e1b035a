"""Tables of scores as people keep them: CSV and XLSX files with a row a model and a column a score, joined by the models' names."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.sheets import read_content, read_sheet

MISSING = frozenset({"", "-", "na", "n/a", "nan", "null"})
"""How people write that there is no score, in small letters."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_ROWS = 2_000
_LONGEST = 40
_FORM = "It needs a header and a row a model, such as\nmodel,clinician,benchmark\nmodel-a,61,70.3"


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores of named rows."""

    files: dict[str, str]  # path as it was given, to the SHA-256 of its content
    names: tuple[str, ...]
    columns: tuple[str, ...]  # all that do not name the rows, those that were not asked for too
    scores: dict[
        str, tuple[float, ...]
    ]  # a column's name to one number a row; `nan` where there is none
    texts: tuple[str, ...]  # columns that were passed over because they hold text
    partial: tuple[str, ...] = ()  # names of the rows that not all files have


def read_scores(
    paths: Sequence[Path],
    *,
    names: Sequence[str] = (),
    wanted: Sequence[str] = (),
    others: bool = True,
) -> ScoreTable:
    """Reads files of scores and joins them by the names of their rows; a row that a file lacks has no scores from it.

    A column without a single number holds text; the first such names the rows, unless `names` does. `others`: read all
    columns of numbers, not only those `wanted`, which must be there.
    """
    tables = [_read(path, names, wanted, others=others) for path in paths]
    known = tuple(dict.fromkeys(column for table in tables for column in table.columns))
    for column in wanted:
        if column not in known:
            given = ", ".join(map(str, paths))
            raise UsageError(f"no column {shown(column)} in {given}. There are {_listed(known)}.")
    files: dict[str, str] = {}
    owner: dict[str, Path] = {}
    scores: dict[str, tuple[float, ...]] = {}
    rows = tuple(dict.fromkeys(name for table in tables for name in table.names))
    seen: set[str] = set()
    for path, table in zip(paths, tables, strict=True):
        if str(path) in files:
            raise UsageError(f"{path}: given twice. Name each file once.")
        if files and not seen & set(table.names):
            raise UsageError(
                f"{path}: none of its rows has the name of a row of {', '.join(files)}; it begins with "
                f"{shown(table.names[0])}, the other with {shown(rows[0])}. Rows are joined by name, letter for letter."
            )
        seen |= set(table.names)
        files |= table.files
        place = {name: number for number, name in enumerate(table.names)}
        for column, values in table.scores.items():
            if column in owner:
                raise UsageError(
                    f"column {shown(column)} is in {owner[column]} and in {path}. Rename it in one of them, or take it out."
                )
            owner[column] = path
            scores[column] = tuple(
                values[place[name]] if name in place else math.nan for name in rows
            )
    return ScoreTable(
        files=files,
        names=rows,
        columns=known,
        scores=scores,
        texts=tuple(dict.fromkeys(name for table in tables for name in table.texts)),
        partial=tuple(name for name in rows if not all(name in table.names for table in tables)),
    )


def shown(text: str) -> str:
    """Quotes a cell or name for a message, cut to a length that tells which it is."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def _read(path: Path, names: Sequence[str], wanted: Sequence[str], *, others: bool) -> ScoreTable:
    header, rows, digest = read_cells(path, form=_FORM)
    if len(header) < 2:
        raise UsageError(f"{path}: one column only, {shown(header[0])}. {_FORM}")
    if all(_NUMBER.fullmatch(cell) or cell.lower() in MISSING for cell in header[1:]):
        raise UsageError(
            f"{path}: no header; its first row holds numbers ({_listed(header[1:4])}). {_FORM}"
        )
    if len(rows) > _MOST_ROWS:
        raise UsageError(
            f"{path}: {len(rows):,} rows; a table of scores has a row a model, at most {_MOST_ROWS:,}."
        )
    unknown = [name for name in names if name not in header]
    if unknown:
        raise UsageError(
            f"{path}: no column {shown(unknown[0])} to name the rows. There are {_listed(header)}."
        )
    cells = {name: [row[name] for _, row in rows] for name in header}
    texts = [name for name in header if _is_text(cells[name])]
    naming = list(names) or texts[:1]
    if not naming:
        raise UsageError(
            f"{path}: no column names the rows; none of {_listed(header)} is all text. Add one, or say with --names which it is."
        )
    asked = next((name for name in naming if name in wanted), None)
    if asked is not None:
        raise UsageError(
            f"{path}: column {shown(asked)} names the rows; it holds no scores. There are {_listed(header)}."
        )
    places = [place for place, _ in rows]
    columns = [name for name in header if name not in naming]
    chosen = [name for name in columns if name in wanted or (others and name not in texts)]
    return ScoreTable(
        files={str(path): digest},
        names=_names(path, places, [cells[name] for name in naming]),
        columns=tuple(columns),
        scores={name: _numbers(path, name, places, cells[name]) for name in chosen},
        texts=tuple(name for name in columns if others and name not in chosen),
    )


def _knows_scores(names: Sequence[str]) -> Sequence[str] | None:
    return names if len(names) > 1 else None


def read_cells(path: Path, *, form: str) -> tuple[list[str], list[tuple[str, dict[str, str]]], str]:
    """Reads a table of scores: its header, its rows with their places, cells without blanks around them, and its SHA-256."""
    content = read_content(path, form=f"Give a table of scores, CSV or XLSX. {form}")
    sheet = read_sheet(path, content, form=form, knows=_knows_scores)
    if "" in sheet.columns:
        raise UsageError(f"{path}: column 1 has no name in the header. Name it or take it out.")
    cells = [
        (place, {name: str(value or "").strip() for name, value in row.items()})
        for place, row in sheet.rows
    ]
    return sheet.columns, cells, hashlib.sha256(content).hexdigest()


def _is_text(cells: Sequence[str]) -> bool:
    told = [cell for cell in cells if cell.lower() not in MISSING]
    return bool(told) and not any(_NUMBER.fullmatch(cell) for cell in told)


def _names(path: Path, places: Sequence[str], columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    place_of: dict[str, str] = {}
    for place, *cells in zip(places, *columns, strict=True):
        name = " / ".join(cells)
        if not all(cells):
            raise UsageError(f"{path}, {place}: the row has no name. Name it or take it out.")
        if name in place_of:
            raise UsageError(
                f"{path}: {place_of[name]} and {place} are both named {shown(name)}. Take one out, or say with --names "
                "COLUMN,COLUMN which columns tell the rows apart."
            )
        place_of[name] = place
    return tuple(place_of)


def _numbers(
    path: Path, column: str, places: Sequence[str], cells: Sequence[str]
) -> tuple[float, ...]:
    numbers = []
    for place, cell in zip(places, cells, strict=True):
        if cell.lower() in MISSING:
            numbers.append(math.nan)
            continue
        number = float(cell) if _NUMBER.fullmatch(cell) else math.nan
        if not math.isfinite(number):
            raise UsageError(
                f"{path}, {place}: column {shown(column)} holds {shown(cell)}, which is not a number. A score is a plain "
                f"number such as 61.3; a missing one is an empty cell. If the column names the rows: --names {column}"
            )
        numbers.append(number)
    return tuple(numbers)


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(shown, columns))
