"""Scores of single outputs, as people keep them: a CSV file with a row an output, named by its item and its system.

    item,system,claim_recall,rouge,human_ann,human_ben
    visit-1,model-a,0.61,0.40,60,55
    visit-1,model-b,0.58,0.44,40,50

`cluster` may say what items share (a visit, a patient). Columns that hold text are labels, to choose rows by. Sources are joined by
item and system. Outputs may be of credentialed notes, and a text may be in the wrong cell: no message quotes more than a few
characters of what is not a name.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import csv_lines, open_file
from medical_tasks.io.score_table import MISSING

__all__ = ["NAMES", "OutputRow", "OutputTable", "check_size", "join_outputs", "read_csv_rows", "read_outputs", "told"]

NAMES: Final = ("item", "system")
"""The columns that together name an output."""

_CLUSTER: Final = "cluster"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_BYTES: Final = 64 * 1024 * 1024
_MOST_ROWS: Final = 20_000
_MOST_CLUSTERS: Final = 2_000
_LONGEST_NAME: Final = 120
_SHOWN: Final = 16
_FORM: Final = (
    "It needs a header and a row an output, such as\nitem,system,claim_recall,rouge\nvisit-1,model-a,0.61,0.40"
)


@dataclass(frozen=True, kw_only=True)
class OutputRow:
    """What one source knows of one output.

    Attributes:
        item: what the output is of.
        system: what made it.
        cluster: what the item shares with others; "" where the source does not say.
        where: the source, for messages.
        scores: column to number; a missing score is not there.
        labels: column to text.
    """

    item: str
    system: str
    cluster: str
    where: str
    scores: Mapping[str, float]
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class OutputTable:
    """All outputs.

    Attributes:
        rows: one an output, in the order they first appear; each has a cluster.
        columns: names of the columns of numbers, in the order they first appear.
        sources: what was read, name to SHA-256.
        less_is_better: columns of which a smaller value is better.
    """

    rows: tuple[OutputRow, ...]
    columns: tuple[str, ...]
    sources: Mapping[str, str]
    less_is_better: frozenset[str] = frozenset()

    def column(self, name: str) -> list[float]:
        """One number an output, `nan` where there is none; larger is better."""
        sign = -1.0 if name in self.less_is_better else 1.0
        return [sign * row.scores[name] if name in row.scores else math.nan for row in self.rows]


def told(text: str) -> str:
    """Quotes a cell for a message; a long one may be a sentence of a note and is not shown."""
    return repr(text) if len(text) <= _SHOWN else f"a text of {len(text)} characters"


def read_csv_rows(
    path: Path, needed: Sequence[str], *, form: str
) -> tuple[list[str], list[tuple[int, dict[str, str]]], str]:
    """Reads a CSV file whole.

    Args:
        path: the file: UTF-8, comma-separated, with a header.
        needed: columns that must be there.
        form: what it should look like, for messages.

    Returns:
        The header, the rows with the line each ends on (cells without blanks around them), and the file's SHA-256.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, or is not of that form.
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
    nameless = next((place for place, name in enumerate(header, start=1) if not name), None)
    if nameless is not None:
        raise UsageError(f"{path}: column {nameless} has no name in the header. Name it or take it out.")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: two columns are named {told(twice)}. Rename one of them.")
    rows = []
    for line, row in cells[1:]:
        if len(row) != len(header):
            raise UsageError(f"{path}, line {line}: {len(row)} cells, the header has {len(header)}. {form}")
        rows.append((line, dict(zip(header, row, strict=True))))
    return header, rows, hashlib.sha256(content).hexdigest()


def read_outputs(path: Path) -> tuple[list[OutputRow], str]:
    """Reads a CSV file of scores of outputs.

    Args:
        path: the file, with the columns `item` and `system`, perhaps `cluster`, and any others. A column is of numbers if it has
            one; an empty cell, `-`, `NA`, `N/A`, `nan` or `null` is a missing number.

    Returns:
        Its rows, and its SHA-256.

    Raises:
        MissingError: There is no such file.
        UsageError: It is not of that form; names the line, the column and the rule.
    """
    header, rows, digest = read_csv_rows(path, NAMES, form=_FORM)
    others = [name for name in header if name not in (*NAMES, _CLUSTER)]
    numeric = {name for name in others if any(_NUMBER.fullmatch(cells[name]) for _, cells in rows)}
    lines: dict[tuple[str, str], int] = {}
    found = []
    for line, cells in rows:
        where = f"{path}, line {line}"
        item, system = (_name(cells[name], name, where) for name in NAMES)
        if (item, system) in lines:
            raise UsageError(
                f"{path}: lines {lines[item, system]} and {line} are the same output: item {item!r}, system {system!r}. Put all "
                "its scores into one row."
            )
        lines[item, system] = line
        scores = {name: _score(cells[name], name, where) for name in others if name in numeric}
        found.append(
            OutputRow(
                item=item,
                system=system,
                cluster=cells.get(_CLUSTER, ""),
                where=where,
                scores={name: value for name, value in scores.items() if not math.isnan(value)},
                labels={name: cells[name] for name in others if name not in numeric},
            )
        )
    return found, digest


def join_outputs(
    sources: Sequence[Sequence[OutputRow]], *, digests: Mapping[str, str], less_is_better: frozenset[str] = frozenset()
) -> OutputTable:
    """Joins what several sources know of the same outputs.

    Args:
        sources: the rows of each.
        digests: what was read, name to SHA-256.
        less_is_better: columns of which a smaller value is better.

    Raises:
        UsageError: Two sources give an output different numbers under one name, or an item two clusters.
    """
    rows: dict[tuple[str, str], OutputRow] = {}
    for row in (row for source in sources for row in source):
        there = rows.get((row.item, row.system))
        rows[row.item, row.system] = row if there is None else _merged(there, row)
    clusters: dict[str, str] = {}
    for row in rows.values():
        if row.cluster and clusters.setdefault(row.item, row.cluster) != row.cluster:
            raise UsageError(f"{row.where}: item {row.item!r} is in another cluster than in a row before it.")
    whole = tuple(
        OutputRow(
            item=row.item,
            system=row.system,
            cluster=clusters.get(row.item, row.item),
            where=row.where,
            scores=row.scores,
            labels=row.labels,
        )
        for row in rows.values()
    )
    columns = tuple(dict.fromkeys(name for row in whole for name in row.scores))
    return OutputTable(rows=whole, columns=columns, sources=dict(digests), less_is_better=less_is_better)


def check_size(table: OutputTable) -> None:
    """Refuses what would take hours: Kendall's tau looks at all pairs of outputs, and its interval at all pairs of clusters.

    Raises:
        UsageError: More than 20,000 outputs, or 2,000 clusters.
    """
    clusters = len({row.cluster for row in table.rows})
    if len(table.rows) > _MOST_ROWS or clusters > _MOST_CLUSTERS:
        raise UsageError(
            f"{len(table.rows):,} outputs in {clusters:,} clusters (an item is one where nothing else is said); at most "
            f"{_MOST_ROWS:,} in {_MOST_CLUSTERS:,} are compared. Choose some: --where LABEL=TEXT"
        )


def _merged(one: OutputRow, other: OutputRow) -> OutputRow:
    for name in one.scores.keys() & other.scores.keys():
        if one.scores[name] != other.scores[name]:
            raise UsageError(
                f"{other.where}: column {name!r} is {other.scores[name]:g} for item {one.item!r} of system {one.system!r}, and "
                f"{one.scores[name]:g} in {one.where}. Two scores of one output need two names; of a run: SYSTEM@LABEL=FOLDER. "
                "A score that no judge decides differs only where the outputs do."
            )
    return OutputRow(
        item=one.item,
        system=one.system,
        cluster=one.cluster or other.cluster,
        where=one.where,
        scores={**one.scores, **other.scores},
        labels={**other.labels, **one.labels},
    )


def _name(text: str, column: str, where: str) -> str:
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        got = "nothing" if not text else f"a text of {len(text)} characters"
        raise UsageError(f"{where}, column {column!r}: must be a name of 1 to {_LONGEST_NAME} characters, got {got}.")
    return text


def _score(text: str, column: str, where: str) -> float:
    if text.lower() in MISSING:
        return math.nan
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise UsageError(
            f"{where}, column {told(column)}: must be a number, or an empty cell where there is none; got {told(text)}. A column "
            "of text has no number in any row."
        )
    return number
