"""Tables of scores as people keep them.

A row a model, a column a score, joined by the models' names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.tables import Table, TableRow, read_table

MISSING = frozenset({"", "-", "na", "n/a", "nan", "null"})
"""How people write that there is no score, in small letters."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MOST_ROWS = 2_000
_LONGEST = 40
_FORM = "It needs a header and a row a model, such as\nmodel,clinician,benchmark\nmodel-a,61,70.3"


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores of named rows.

    Attributes:
        files: each path as it was given, to the SHA-256 of its content.
        names: of the rows.
        columns: all that do not name the rows, those that were not wanted too.
        scores: a column's name to one number a row; `nan` where there is none.
        texts: columns that were passed over because they hold text.
        partial: names of the rows that not all files have.
    """

    files: dict[str, str]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    scores: dict[str, tuple[float, ...]]
    texts: tuple[str, ...]
    partial: tuple[str, ...] = ()


def read_scores(
    paths: Sequence[Path],
    *,
    names: Sequence[str] = (),
    wanted: Sequence[str] = (),
    others: bool = True,
) -> ScoreTable:
    """Reads files of scores and joins them by the names of their rows.

    A row that a file lacks has no scores from it. A column without a single number
    holds text; the first such names the rows, unless `names` does.

    Args:
        paths: CSV and XLSX files.
        names: the columns that name the rows.
        wanted: columns of scores that must be there.
        others: read all other columns of numbers too.
    """
    tables = [_read(path, names, wanted, others=others) for path in paths]
    columns = _unique(column for table in tables for column in table.columns)
    for column in wanted:
        if column not in columns:
            raise UsageError(
                f"no column {shown(column)} in {', '.join(map(str, paths))}. There are "
                f"{_listed(columns)}."
            )

    for number, path in enumerate(paths):
        _check_joins(path, tables[number], paths[:number], tables[:number])

    rows = _unique(name for table in tables for name in table.names)
    return ScoreTable(
        files={
            path: digest for table in tables for path, digest in table.files.items()
        },
        names=rows,
        columns=columns,
        scores=_joined(tables, rows),
        texts=_unique(name for table in tables for name in table.texts),
        partial=tuple(
            name for name in rows if not all(name in table.names for table in tables)
        ),
    )


def _joined(
    tables: Sequence[ScoreTable], rows: Sequence[str]
) -> dict[str, tuple[float, ...]]:
    """The scores of all tables, one number a row; `nan` where a table does not have the row."""
    scores: dict[str, tuple[float, ...]] = {}
    for table in tables:
        for column, values in table.scores.items():
            of_row = dict(zip(table.names, values, strict=True))
            scores[column] = tuple(of_row.get(name, math.nan) for name in rows)
    return scores


def _check_joins(
    path: Path, table: ScoreTable, before: Sequence[Path], tables: Sequence[ScoreTable]
) -> None:
    """Refuses a file that has no row in common with those before, or a column that they have."""
    if path in before:
        raise UsageError(f"{path}: given twice. Name each file once.")

    joined = {name for other in tables for name in other.names}
    if before and joined.isdisjoint(table.names):
        raise UsageError(
            f"{path}: none of its rows has the name of a row of {', '.join(map(str, before))}; it "
            f"begins with {shown(table.names[0])}, the other with {shown(tables[0].names[0])}. "
            "Rows are joined by name, letter for letter."
        )

    for other_path, other in zip(before, tables, strict=True):
        if shared := [column for column in table.scores if column in other.scores]:
            raise UsageError(
                f"column {shown(shared[0])} is in {other_path} and in {path}. Rename it in one of "
                "them, or take it out."
            )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def shown(text: str) -> str:
    """Quotes a cell or name for a message, cut to a length that tells which it is."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def _read(
    path: Path, names: Sequence[str], wanted: Sequence[str], *, others: bool
) -> ScoreTable:
    """Reads a table: columns that name rows, wanted scores, columns of text."""
    table = read_cells(path, form=_FORM)
    _check_shape(path, table)
    header = table.columns
    texts = [
        name for name in header if _is_text([row.cells[name] for row in table.rows])
    ]
    naming = _naming(path, header, list(names) or texts[:1], wanted)
    columns = [name for name in header if name not in naming]
    chosen = [
        name for name in columns if name in wanted or (others and name not in texts)
    ]

    return ScoreTable(
        files={str(path): table.content_sha256},
        names=_names(table.rows, naming),
        columns=tuple(columns),
        scores={
            name: tuple(_number(row, name) for row in table.rows) for name in chosen
        },
        texts=tuple(name for name in columns if others and name not in chosen),
    )


def _naming(
    path: Path, header: Sequence[str], naming: Sequence[str], wanted: Sequence[str]
) -> Sequence[str]:
    """The columns that name the rows, checked; no score is wanted of them."""
    if not naming:
        raise UsageError(
            f"{path}: no column names the rows; none of {_listed(header)} is all text. Add one, or "
            "say with --names which it is."
        )

    for name in naming:
        if name not in header:
            raise UsageError(
                f"{path}: no column {shown(name)} to name the rows. There are {_listed(header)}."
            )

    for name in naming:
        if name in wanted:
            raise UsageError(
                f"{path}: column {shown(name)} names the rows; it holds no scores. There are "
                f"{_listed(header)}."
            )

    return naming


def _check_shape(path: Path, table: Table) -> None:
    """Refuses what is no table of scores: one column, no header, or far too many rows."""
    header = table.columns
    if len(header) < 2:
        raise UsageError(f"{path}: one column only, {shown(header[0])}. {_FORM}")

    if all(_NUMBER.fullmatch(name) or name.lower() in MISSING for name in header[1:]):
        raise UsageError(
            f"{path}: no header; its first row holds numbers ({_listed(header[1:4])}). {_FORM}"
        )

    if len(table.rows) > _MOST_ROWS:
        raise UsageError(
            f"{path}: {len(table.rows):,} rows; a table of scores has a row a model, at most "
            f"{_MOST_ROWS:,}."
        )


def _knows_scores(names: Sequence[str]) -> Sequence[str] | None:
    return names if len(names) > 1 else None


def read_cells(path: Path, *, form: str, needed: Sequence[str] = ()) -> Table:
    """Reads a table of scores that has the columns `needed`.

    Its cells have no blanks at their ends.
    """
    table = read_table(
        path,
        form=form,
        knows=_knows_scores,
        missing=f"Give a table of scores, CSV or XLSX. {form}",
    )
    if "" in table.columns:
        raise UsageError(
            f"{path}: column 1 has no name in the header. Name it or take it out."
        )

    for name in needed:
        if name not in table.columns:
            raise UsageError(
                f"{path}: its header, of {len(table.columns)} columns, has no column {name!r}. "
                f"{form}"
            )

    rows = [
        replace(
            row,
            cells={name: str(cell or "").strip() for name, cell in row.cells.items()},
        )
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _is_text(cells: Sequence[str]) -> bool:
    stated = [cell for cell in cells if cell.lower() not in MISSING]
    return bool(stated) and not any(_NUMBER.fullmatch(cell) for cell in stated)


def _names(rows: Sequence[TableRow], columns: Sequence[str]) -> tuple[str, ...]:
    """The names of rows, which must be complete and different."""
    row_of: dict[str, TableRow] = {}
    for row in rows:
        cells = [row.cells[column] for column in columns]
        name = " / ".join(cells)
        if not all(cells):
            raise UsageError(
                f"{row.where}: the row has no name. Name it or take it out."
            )

        if name in row_of:
            raise UsageError(
                f"{row.path}: {row_of[name].at} and {row.at} are both named {shown(name)}. Take "
                "one out, or say with --names COLUMN,COLUMN which columns tell the rows apart."
            )

        row_of[name] = row

    return tuple(row_of)


def _number(row: TableRow, column: str) -> float:
    cell = row.cells[column]
    if cell.lower() in MISSING:
        return math.nan

    number = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not math.isfinite(number):
        raise UsageError(
            f"{row.where}: column {shown(column)} holds {shown(cell)}, which is not a number. A "
            "score is a plain number such as 61.3; a missing one is an empty cell. If the column "
            f"names the rows: --names {column}"
        )

    return number


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(shown, columns))
