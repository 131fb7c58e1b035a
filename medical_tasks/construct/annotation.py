"""How people annotate what a construction made: who gets which rows, sheets read back, agreement.

All constructions hand out sheets in the same way. Every row has one person who decides
about it; `overlap` rows go to everybody, so that agreement can be measured. What is
wrong with the sheets that come back is listed at once, by file, row and column, and
never by what stands there: a cell may hold a patient's words.
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
"""The next step of a message about a column that no annotator should edit."""

_SHOWN: Final = 5
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,29}")
_Key = TypeVar("_Key", bound=Hashable)
_Mark = TypeVar("_Mark")


class Shares(TypedDict):
    """Who gets which rows; part of what a step of sheets keeps.

    Attributes:
        sheets: name of a person to the ids of that person's sheet, in the order of its
            rows.
        first: id to the person who decides about it.
    """

    sheets: dict[str, list[str]]
    first: dict[str, str]


class Settings(TypedDict):
    """How sheets were requested, as a step of sheets keeps it."""

    schema_version: int
    reviewers: list[str]
    overlap: int
    seed: int


class Pair(NamedTuple, Generic[_Key, _Mark]):
    """Two people who marked the same things.

    Attributes:
        names: of the two, in alphabetical order.
        both: what both of them marked.
        first: the marks of the one who is named first, in the order of `both`.
        second: the marks of the other, in the same order.
    """

    names: list[str]
    both: list[_Key]
    first: list[_Mark]
    second: list[_Mark]


def parse_names(text: str, *, option: str = "--reviewers") -> tuple[str, ...]:
    """Reads `NAME,NAME,...`.

    Names become files' names, and some file systems do not tell A from a: names that
    differ in case alone are refused.
    """
    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{option} {text!r}: {name!r} is no name; up to 30 letters, digits, - and _, as in "
                "a,b,c."
            )

    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(f"{option} {text!r}: a name appears twice.")

    return names


def share_out(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> dict[str, tuple[str, ...]]:
    """Says who annotates what: one person each id, everybody `overlap` of them.

    Example: `a`, `b` and `c` for Ann and Bob, with an overlap of 1 and seed 0: `a` goes
    to both, `c` to Bob, `b` to Ann. The first name of an id decides about it.

    Args:
        ids: What is annotated.
        names: Who annotates.
        overlap: How many of the ids everybody gets.
        seed: Decides the order in which ids are dealt.

    Returns:
        Id to names.

    Raises:
        UsageError: When the overlap is larger than the ids, or there is nobody to
            overlap with.
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
    """Orders the ids of one person, so that those of everybody stand among the others.

    An annotator must not see which rows are compared.
    """
    own = [identifier for identifier, names in shares.items() if name in names]
    return ranked(own, seed, lambda identifier: f"{name}:{identifier}")


def shared_sheets(
    ids: Sequence[str], names: Sequence[str], *, overlap: int, seed: int
) -> Shares:
    """Says who gets which ids, in which order, and who decides about each."""
    shares = share_out(ids, names, overlap=overlap, seed=seed)
    return {
        "sheets": {name: sheet_order(shares, name, seed=seed) for name in names},
        "first": {identifier: chosen[0] for identifier, chosen in shares.items()},
    }


def keep_once(
    path: Path, shares: Mapping[str, object], *, step: str, refusal: str
) -> None:
    """Writes what was shared out.

    Refuses where it was done otherwise before, since somebody may be at work on that.
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
    """Refuses to write other lines than those of which sheets were exported.

    People may be at work on them.

    Args:
        path: What the step of sheets kept.
        name: Field of it that holds the hash of the lines.
        lines: What is about to be written.
        step: The step of sheets, for messages.
        refusal: Message of the error.
    """
    if path.exists() and read_json(path, step=step).get(name) != lines_sha256(lines):
        raise UsageError(refusal)


def write_sheets(
    folder: Path,
    columns: Sequence[str],
    rows: Mapping[str, Iterable[Mapping[str, object]]],
) -> None:
    """Writes a sheet a person; those that are there stay, since they may be edited."""
    for name, own in rows.items():
        if not (folder / f"{name}.csv").exists():
            write_sheet(folder / f"{name}.csv", columns, own)


def unknown_reviewer(
    row: TableRow, reviewer: str, sheets: Collection[str]
) -> str | None:
    """Says what is wrong with the name in a row; None where that person has a sheet."""
    if reviewer in sheets:
        return None
    return f"{row.location('reviewer')}: must be one of {', '.join(sheets)}; {LEAVE}"


def stands_already(row: TableRow, column: str, what: str, before: TableRow) -> str:
    """Says that a row repeats another, and where that one is."""
    return f"{row.location(column)}: {what} stands in {before.path}, row {before.number}, already"


def unknown_mark(row: TableRow, column: str, rule: str, mark: str) -> str:
    """Says that a mark is none of the allowed ones; of the mark, only its length is shown."""
    return (
        f"{row.location(column)}: must be {rule}, got a text of {len(mark)} characters"
    )


def formula_problem(row: TableRow, column: str) -> str | None:
    """Says that a spreadsheet program took a text for a formula; None where it did not.

    A text that begins with `=` comes back as `#NAME?`, and what the annotator typed is
    lost.
    """
    if not is_formula_error(row.cells[column].strip()):
        return None

    return (
        f"{row.location(column)}: is the error of a formula; type the text again, with an "
        "apostrophe before it"
    )


def first_few(names: Sequence[str]) -> str:
    """Names the first five, and how many more there are."""
    return listed(names, _SHOWN)


def missing_sheets(
    sheets: Mapping[str, Sequence[str]], received: Collection[str], *, partial: bool
) -> tuple[list[str], list[str]]:
    """Says whose sheets are not among the files, and what is wrong with that."""
    absent = [name for name, ids in sheets.items() if ids and name not in received]
    problem = f"no sheet of {', '.join(absent)} is among the files; to go on without, add --partial"
    return absent, [problem] if absent and not partial else []


def pairs_of_people(
    marks: Mapping[str, Mapping[_Key, _Mark]],
) -> Iterator[Pair[_Key, _Mark]]:
    """Yields each two people who marked the same things, in alphabetical order.

    Example:
        Of `{"a": {1: "o", 2: "x"}, "b": {2: "o"}, "c": {3: "x"}}` the one pair is
        `Pair(["a", "b"], [2], ["x"], ["o"])`: nobody shares a mark with `c`.
    """
    for first, second in combinations(sorted(marks), 2):
        if both := [key for key in marks[first] if key in marks[second]]:
            yield Pair(
                [first, second],
                both,
                [marks[first][key] for key in both],
                [marks[second][key] for key in both],
            )
