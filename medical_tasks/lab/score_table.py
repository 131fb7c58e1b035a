"""Tables of scores: a row a model, a column a score, joined by the models' names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.io.tables import Table, TableRow, read_table

MISSING = frozenset({"", "-", "na", "n/a", "nan", "null"})
"""The ways to write a missing score, in lower case."""

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A plain number, as spreadsheets export it."""

_MOST_ROWS = 2_000
_LONGEST = 40
_FORM = "It needs a header and a row a model, such as\nmodel,clinician,benchmark\nmodel-a,61,70.3"


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores of named rows.

    Attributes:
        files: Path to the SHA-256 of its content.
        names: The names of the rows.
        columns: All columns that do not name the rows, read or not.
        scores: Column to one number a row; `nan` for a missing score.
        texts: Columns that were skipped because they hold text.
        partial: The names of rows that are not in all files.
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
    required: Sequence[str] = (),
    others: bool = True,
) -> ScoreTable:
    """Reads files of scores and joins them by the names of their rows.

    A row that is missing in a file has no scores from it. A column without any number
    holds text; the first such column names the rows, unless `names` is given.

    Args:
        paths: CSV and XLSX files.
        names: The columns that name the rows.
        required: Columns of scores that must exist.
        others: Whether to read all other columns of numbers.
    """
    tables = [_read(path, names, required, others=others) for path in paths]
    columns = _unique(column for table in tables for column in table.columns)
    for column in required:
        if column not in columns:
            raise UsageError(
                f"no column {quoted(column)} in {', '.join(map(str, paths))}. There are "
                f"{_listed(columns)}."
            )

    for index, path in enumerate(paths):
        _check_joins(path, tables[index], paths[:index], tables[:index])

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
    """Joins the scores of all tables, one number a row; `nan` for a row not in the table."""
    scores: dict[str, tuple[float, ...]] = {}
    for table in tables:
        for column, values in table.scores.items():
            score_of = dict(zip(table.names, values, strict=True))
            scores[column] = tuple(score_of.get(name, math.nan) for name in rows)
    return scores


def _check_joins(
    path: Path, table: ScoreTable, before: Sequence[Path], tables: Sequence[ScoreTable]
) -> None:
    """Refuses a file without a row in common with the earlier ones, or with a column of theirs."""
    if path in before:
        raise UsageError(f"{path}: given twice. Name each file once.")

    earlier_names = {name for other in tables for name in other.names}
    if before and earlier_names.isdisjoint(table.names):
        raise UsageError(
            f"{path}: none of its rows has the name of a row of {', '.join(map(str, before))}; it "
            f"begins with {quoted(table.names[0])}, the other with {quoted(tables[0].names[0])}. "
            "Rows are joined by name, which must match exactly."
        )

    for other_path, other in zip(before, tables, strict=True):
        if shared := [column for column in table.scores if column in other.scores]:
            raise UsageError(
                f"column {quoted(shared[0])} is in {other_path} and in {path}. Rename it in one of "
                "them, or remove it."
            )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def quoted(text: str) -> str:
    """Quotes a cell or name for a message, shortened to a recognisable length."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def _read(
    path: Path, names: Sequence[str], required: Sequence[str], *, others: bool
) -> ScoreTable:
    """Reads a table: columns that name rows, required scores, columns of text."""
    table = read_cells(path, form=_FORM)
    _check_shape(path, table)
    header = table.columns
    texts = [
        name for name in header if _is_text([row.cells[name] for row in table.rows])
    ]
    naming = _naming_columns(path, header, list(names) or texts[:1], required)
    columns = [name for name in header if name not in naming]
    selected = [
        name for name in columns if name in required or (others and name not in texts)
    ]

    return ScoreTable(
        files={str(path): table.content_sha256},
        names=_names(table.rows, naming),
        columns=tuple(columns),
        scores={
            name: tuple(_number(row, name) for row in table.rows) for name in selected
        },
        texts=tuple(name for name in columns if others and name not in selected),
    )


def _naming_columns(
    path: Path, header: Sequence[str], naming: Sequence[str], required: Sequence[str]
) -> Sequence[str]:
    """Checks and returns the columns that name the rows; none may be a required score."""
    if not naming:
        raise UsageError(
            f"{path}: no column names the rows; none of {_listed(header)} is all text. Add one, or "
            "select it with --names."
        )

    for name in naming:
        if name not in header:
            raise UsageError(
                f"{path}: no column {quoted(name)} to name the rows. There are {_listed(header)}."
            )

    for name in naming:
        if name in required:
            raise UsageError(
                f"{path}: column {quoted(name)} names the rows; it holds no scores. There are "
                f"{_listed(header)}."
            )

    return naming


def _check_shape(path: Path, table: Table) -> None:
    """Refuses files that are no table of scores: one column, no header, or far too many rows."""
    header = table.columns
    if len(header) < 2:
        raise UsageError(f"{path}: one column only, {quoted(header[0])}. {_FORM}")

    if all(NUMBER.fullmatch(name) or name.lower() in MISSING for name in header[1:]):
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
    """Reads a table of scores with the columns `needed`, and strips its cells."""
    table = read_table(
        path,
        form=form,
        knows=_knows_scores,
        missing=f"Give a table of scores, CSV or XLSX. {form}",
    )
    if "" in table.columns:
        raise UsageError(
            f"{path}: column 1 has no name in the header. Name it or remove it."
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
    return bool(stated) and not any(NUMBER.fullmatch(cell) for cell in stated)


def _names(rows: Sequence[TableRow], columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of rows, which must be complete and distinct."""
    row_of: dict[str, TableRow] = {}
    for row in rows:
        cells = [row.cells[column] for column in columns]
        name = " / ".join(cells)
        if not all(cells):
            raise UsageError(f"{row.where}: the row has no name. Name it or remove it.")

        if name in row_of:
            raise UsageError(
                f"{row.path}: {row_of[name].at} and {row.at} are both named {quoted(name)}. Remove "
                "one, or select columns that distinguish the rows: --names COLUMN,COLUMN."
            )

        row_of[name] = row

    return tuple(row_of)


def parse_score(cell: str) -> float | None:
    """Returns the number in a cell, `nan` for a missing score; None for other text."""
    if cell.lower() in MISSING:
        return math.nan
    number = float(cell) if NUMBER.fullmatch(cell) else math.inf
    return number if math.isfinite(number) else None


def _number(row: TableRow, column: str) -> float:
    cell = row.cells[column]
    number = parse_score(cell)
    if number is None:
        raise UsageError(
            f"{row.where}: column {quoted(column)} holds {quoted(cell)}, which is not a number. A "
            "score is a plain number such as 61.3; a missing one is an empty cell. If the column "
            f"names the rows: --names {column}"
        )

    return number


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))
