"""Tables of scores as people keep them: CSV files with a row a model and a column a score, joined by the models' names."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import csv_lines, open_file

__all__ = ["MISSING", "NUMBER", "ScoreTable", "read_csv_rows", "read_scores", "shown", "told"]

MISSING = frozenset({"", "-", "na", "n/a", "nan", "null"})
"""How people write that there is no score, in small letters."""

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_BYTES = 64 * 1024 * 1024
_MOST_ROWS = 2_000
_LONGEST = 40
_TOLD = 16
_FORM = "It needs a header and a row a model, such as\nmodel,clinician,benchmark\nmodel-a,61,70.3"


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores of named rows."""

    files: dict[str, str]  # path as it was given, to the SHA-256 of its content
    names: tuple[str, ...]
    scores: dict[str, tuple[float, ...]]  # a column's name to one number a row; `nan` where there is none
    texts: tuple[str, ...]  # columns that were passed over because they hold text
    partial: tuple[str, ...]  # names of the rows that not all files have


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file's part: `columns` are all it has, those that were not asked for too."""

    path: Path
    digest: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    scores: dict[str, tuple[float, ...]]
    texts: tuple[str, ...]


def read_scores(
    paths: Sequence[Path], *, names: Sequence[str] = (), wanted: Sequence[str] = (), others: bool = True
) -> ScoreTable:
    """Reads CSV files of scores and joins them by the names of their rows; a row that a file lacks has no scores from it.

    A column without a single number holds text; the first such names the rows, unless `names` does. `others`: read all
    columns of numbers, not only those `wanted`, which must be there.
    """
    files = [_read(path, names, wanted, others=others) for path in paths]
    known = [column for file in files for column in file.columns]
    for column in wanted:
        if column not in known:
            raise UsageError(
                f"no column {shown(column)} in {_paths(files)}. There are {_listed(dict.fromkeys(known))}."
            )
    digests: dict[str, str] = {}
    owner: dict[str, Path] = {}
    scores: dict[str, tuple[float, ...]] = {}
    rows = tuple(dict.fromkeys(name for file in files for name in file.names))
    seen: set[str] = set()
    for file in files:
        if str(file.path) in digests:
            raise UsageError(f"{file.path}: given twice. Name each file once.")
        if digests and not seen & set(file.names):
            raise UsageError(
                f"{file.path}: none of its rows has the name of a row of {', '.join(digests)}; it begins with "
                f"{shown(file.names[0])}, the other with {shown(rows[0])}. Rows are joined by name, letter for letter."
            )
        seen |= set(file.names)
        digests[str(file.path)] = file.digest
        place = {name: number for number, name in enumerate(file.names)}
        for column, values in file.scores.items():
            if column in owner:
                raise UsageError(
                    f"column {shown(column)} is in {owner[column]} and in {file.path}. Rename it in one of them, or take it out."
                )
            owner[column] = file.path
            scores[column] = tuple(values[place[name]] if name in place else math.nan for name in rows)
    return ScoreTable(
        files=digests,
        names=rows,
        scores=scores,
        texts=tuple(dict.fromkeys(name for file in files for name in file.texts)),
        partial=tuple(name for name in rows if not all(name in file.names for file in files)),
    )


def shown(text: str) -> str:
    """Quotes a cell or name for a message, cut to a length that tells which it is."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def told(text: str) -> str:
    """Quotes a cell for a message; a long one may be a sentence of a note and is not shown."""
    return repr(text) if len(text) <= _TOLD else f"a text of {len(text)} characters"


def read_csv_rows(
    path: Path, needed: Sequence[str], *, form: str, nameless: int = 0
) -> tuple[list[str], list[tuple[int, dict[str, str]]], str]:
    """Reads a UTF-8 CSV file: its header, its rows with the line each ends on (cells stripped), and its SHA-256.

    The first `nameless` columns may have no name.
    """
    try:
        with open_file(path) as stream:
            content = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError as error:
        raise MissingError(f"{path}: no such file or folder. {form}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    if len(content) > _LARGEST_BYTES:
        raise UsageError(f"{path}: larger than {_LARGEST_BYTES // 2**20} MiB; that is no table of scores. {form}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from None
    reader = csv.reader(csv_lines(path, io.StringIO(text, newline="")), strict=True)
    try:
        cells = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise UsageError(
            f"{path}: not a whole CSV file ({error}, line {reader.line_num}). Save it with commas."
        ) from None
    if len(cells) < 2:
        raise UsageError(f"{path}: {'has a header and no rows' if cells else 'is empty'}. {form}")
    header = cells[0][1]
    for name in needed:
        if name not in header:
            raise UsageError(f"{path}: its header, of {len(header)} columns, has no column {name!r}. {form}")
    empty = next((place for place, name in enumerate(header, start=1) if not name and place > nameless), None)
    if empty is not None:
        raise UsageError(f"{path}: column {empty} has no name in the header. Name it or take it out.")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: two columns are named {told(twice)}. Rename one of them.")
    rows = []
    for line, row in cells[1:]:
        if len(row) != len(header):
            raise UsageError(
                f"{path}, line {line}: {len(row)} cells, the header has {len(header)}. Every row needs as many."
            )
        rows.append((line, dict(zip(header, row, strict=True))))
    return header, rows, hashlib.sha256(content).hexdigest()


def _read(path: Path, names: Sequence[str], wanted: Sequence[str], *, others: bool) -> _File:
    header, rows, digest = read_csv_rows(path, (), form=_FORM, nameless=1)
    _check_header(path, header)
    if len(rows) > _MOST_ROWS:
        raise UsageError(f"{path}: {len(rows):,} rows; a table of scores has a row a model, at most {_MOST_ROWS:,}.")
    unknown = [name for name in names if name not in header]
    if unknown:
        raise UsageError(f"{path}: no column {shown(unknown[0])} to name the rows. There are {_listed(header)}.")
    cells = {name: [row[name] for _, row in rows] for name in header}
    texts = [name for name in header if _is_text(cells[name])]
    naming = list(names) or texts[:1]
    if not naming:
        raise UsageError(
            f"{path}: no column names the rows; none of {_listed(header)} is all text. Add one, or say with --names which it is."
        )
    if not header[0] and header[0] not in naming:
        raise UsageError(f"{path}: column 1 has no name in the header. Name it or take it out.")
    asked = next((name for name in naming if name in wanted), None)
    if asked is not None:
        raise UsageError(
            f"{path}: column {shown(asked)} names the rows; it holds no scores. There are {_listed(header)}."
        )
    lines = [line for line, _ in rows]
    columns = [name for name in header if name not in naming]
    chosen = [name for name in columns if name in wanted or (others and name not in texts)]
    return _File(
        path=path,
        digest=digest,
        names=_names(path, lines, [cells[name] for name in naming]),
        columns=tuple(columns),
        scores={name: _numbers(path, name, lines, cells[name]) for name in chosen},
        texts=tuple(name for name in columns if others and name not in chosen),
    )


def _check_header(path: Path, header: Sequence[str]) -> None:
    """A table without a header is told from its numbers."""
    if len(header) < 2:
        hint = " Is it separated by semicolons or tabs? Save it with commas." if re.search(r"[;\t]", header[0]) else ""
        raise UsageError(f"{path}: one column only, {shown(header[0])}.{hint} {_FORM}")
    if all(NUMBER.fullmatch(cell) or cell.lower() in MISSING for cell in header[1:]):
        raise UsageError(
            f"{path}: no header; its first row holds numbers ({', '.join(map(shown, header[1:4]))}). {_FORM}"
        )


def _is_text(cells: Sequence[str]) -> bool:
    told = [cell for cell in cells if cell.lower() not in MISSING]
    return bool(told) and not any(NUMBER.fullmatch(cell) for cell in told)


def _names(path: Path, lines: Sequence[int], columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    line_of: dict[str, int] = {}
    for line, *cells in zip(lines, *columns, strict=True):
        name = " / ".join(cells)
        if not all(cells):
            raise UsageError(f"{path}, line {line}: the row has no name. Name it or take it out.")
        if name in line_of:
            raise UsageError(
                f"{path}: lines {line_of[name]} and {line} are both named {shown(name)}. Take one out, or say with --names "
                "COLUMN,COLUMN which columns tell the rows apart."
            )
        line_of[name] = line
    return tuple(line_of)


def _numbers(path: Path, column: str, lines: Sequence[int], cells: Sequence[str]) -> tuple[float, ...]:
    numbers = []
    for line, cell in zip(lines, cells, strict=True):
        if cell.lower() in MISSING:
            numbers.append(math.nan)
            continue
        number = float(cell) if NUMBER.fullmatch(cell) else math.nan
        if not math.isfinite(number):
            raise UsageError(
                f"{path}, line {line}: column {shown(column)} holds {shown(cell)}, which is not a number. A score is a plain "
                f"number such as 61.3; a missing one is an empty cell. If the column names the rows: --names {column}"
            )
        numbers.append(number)
    return tuple(numbers)


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(shown, columns))


def _paths(files: Sequence[_File]) -> str:
    return ", ".join(str(file.path) for file in files)
