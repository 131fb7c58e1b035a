"""Annotation by people: who gets which rows, reading sheets back, agreement.

All constructions distribute sheets in the same way. Each row has one person who decides
about it; `overlap` rows go to everybody, so that agreement can be measured. All problems
of returned sheets are reported at once, by file, row and column. Cells are never quoted,
since they may hold a patient's words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypedDict, TypeVar

from medical_tasks.construct.shared import lines_sha256, ranked, read_json, write_json
from medical_tasks.errors import UsageError, listed
from medical_tasks.io.cell_forms import is_formula_error
from medical_tasks.io.tables import TableRow, write_sheet

LEAVE: Final = "leave that column as it was"
"""The next step in messages about a column that annotators must not edit."""

_SHOWN: Final = 5
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_Key = TypeVar("_Key", bound=Hashable)
_Mark = TypeVar("_Mark")


class Shares(TypedDict):
    """Who gets which rows; part of a file of the step `sheet`.

    Attributes:
        sheets: Name of a person to the ids in that person's sheet, in order.
        first: Id to the person who decides about it.
    """

    sheets: dict[str, list[str]]
    first: dict[str, str]


class Settings(TypedDict):
    """The settings with which sheets were exported."""

    schema_version: int
    reviewers: list[str]
    overlap: int
    seed: int


class Pair(NamedTuple, Generic[_Key, _Mark]):
    """The marks of two people on the same items.

    Attributes:
        names: The names of the two, in alphabetical order.
        both: The items that both of them marked.
        first: The marks of the first person, in the order of `both`.
        second: The marks of the second person, in the same order.
    """

    names: list[str]
    both: list[_Key]
    first: list[_Mark]
    second: list[_Mark]


def parse_names(text: str, *, option: str = "--reviewers") -> tuple[str, ...]:
    """Parses `NAME,NAME,...`.

    Names that differ in case alone are refused, since they become file names and some
    file systems ignore case.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{option} {text!r}: {name!r} is no valid name. Give up to 30 letters, digits, - "
                "and _, as in a,b,c."
            )

    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(f"{option} {text!r}: a name appears twice.")

    return names


def share_out(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> dict[str, tuple[str, ...]]:
    """Assigns each id to one person, and `overlap` of them to everybody.

    Example: `a`, `b` and `c` for Ann and Bob, with an overlap of 1 and seed 0: `a` goes
    to both, `c` to Bob, `b` to Ann.

    Args:
        ids: The ids of the items to annotate.
        names: The annotators.
        overlap: The number of ids that everybody gets.
        seed: Decides the order in which ids are dealt.

    Returns:
        Id to names, of which the first decides about it.

    Raises:
        UsageError: When the overlap exceeds the number of ids, or there is only one
            annotator.
    """
    if not 0 <= overlap <= len(ids):
        raise UsageError(
            f"--overlap must be from 0 to the number of questions, {len(ids):,}, got {overlap:,}."
        )

    if overlap and len(names) < 2:
        raise UsageError(
            f"--overlap {overlap}: there is one name, {names[0]}; agreement needs two."
        )

    shares: dict[str, tuple[str, ...]] = {}
    for number, identifier in enumerate(ranked(ids, seed, str)):
        first = names[number % len(names)]
        others = [name for name in names if name != first] if number < overlap else []
        shares[identifier] = (first, *others)

    return shares


def sheet_order(
    shares: Mapping[str, tuple[str, ...]], name: str, *, seed: int
) -> list[str]:
    """Orders the ids of one person so that shared ids are among the others.

    Annotators must not see which rows will be compared.
    """
    own = [identifier for identifier, names in shares.items() if name in names]
    return ranked(own, seed, lambda identifier: f"{name}:{identifier}")


def shared_sheets(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> Shares:
    """Assigns ids to people, in the order of their sheets, and to those who decide."""
    shares = share_out(ids, names, overlap=overlap, seed=seed)
    return {
        "sheets": {name: sheet_order(shares, name, seed=seed) for name in names},
        "first": {identifier: chosen[0] for identifier, chosen in shares.items()},
    }


def keep_once(
    path: Path, shares: Mapping[str, object], *, step: str, refusal: str
) -> None:
    """Writes the shares, unless other shares were written before.

    Somebody may be working on the earlier sheets.
    """
    if path.exists() and read_json(path, step=step) != shares:
        raise UsageError(refusal)
    write_json(path, shares)


def check_exported(
    path: Path,
    name: str,
    lines: Iterable[Mapping[str, object]],
    *,
    step: str,
    refusal: str,
) -> None:
    """Refuses to write lines that differ from those in exported sheets.

    People may be working on the sheets.

    Args:
        path: The file of the step `sheet`.
        name: Its field with the hash of the lines.
        lines: The lines about to be written.
        step: The name of the step `sheet`, for messages.
        refusal: The message of the error.
    """
    if path.exists() and read_json(path, step=step).get(name) != lines_sha256(lines):
        raise UsageError(refusal)


def write_sheets(
    folder: Path,
    columns: Sequence[str],
    rows: Mapping[str, Iterable[Mapping[str, object]]],
) -> None:
    """Writes a sheet for each person, except existing ones, which may have been edited."""
    for name, own in rows.items():
        if not (folder / f"{name}.csv").exists():
            write_sheet(folder / f"{name}.csv", columns, own)


def unknown_reviewer(
    row: TableRow, reviewer: str, sheets: Collection[str]
) -> str | None:
    """Says what is wrong with the name in a row; None if that person has a sheet."""
    if reviewer in sheets:
        return None
    return f"{row.location('reviewer')}: must be one of {', '.join(sheets)}; {LEAVE}"


def repeated_row(row: TableRow, column: str, what: str, earlier: TableRow) -> str:
    """Says that a row repeats an earlier one."""
    return f"{row.location(column)}: {what} is already in {earlier.path}, row {earlier.number}"


def unknown_mark(row: TableRow, column: str, rule: str, mark: str) -> str:
    """Says that a mark is not allowed, showing only its length."""
    return (
        f"{row.location(column)}: must be {rule}, got a text of {len(mark)} characters"
    )


def formula_problem(row: TableRow, column: str) -> str | None:
    """Says that a spreadsheet program replaced a text by a formula error; None if not.

    A text that begins with `=` is saved as `#NAME?`, and what the annotator typed is lost.
    """
    if not is_formula_error(row.cells[column].strip()):
        return None

    return (
        f"{row.location(column)}: is the error of a formula; type the text again, with an "
        "apostrophe before it"
    )


def first_few(names: Sequence[str]) -> str:
    """Lists the first five names, and the number of others."""
    return listed(names, _SHOWN)


def missing_sheets(
    sheets: Mapping[str, Sequence[str]], received: Collection[str], *, partial: bool
) -> tuple[list[str], list[str]]:
    """Lists the people whose sheets are missing, and the problem unless `partial`."""
    absent = [name for name, ids in sheets.items() if ids and name not in received]
    problem = f"no sheet of {', '.join(absent)} is among the files; to continue without, add --partial"
    return absent, [problem] if absent and not partial else []


def pairs_of_people(
    marks: Mapping[str, Mapping[_Key, _Mark]],
) -> Iterator[Pair[_Key, _Mark]]:
    """Yields each pair of people who marked the same items, in alphabetical order.

    Example:
        `{"a": {1: "o", 2: "x"}, "b": {2: "o"}, "c": {3: "x"}}` has one pair,
        `Pair(["a", "b"], [2], ["x"], ["o"])`: nobody shares an item with `c`.
    """
    for first, second in combinations(sorted(marks), 2):
        if both := [key for key in marks[first] if key in marks[second]]:
            yield Pair(
                [first, second],
                both,
                [marks[first][key] for key in both],
                [marks[second][key] for key in both],
            )
