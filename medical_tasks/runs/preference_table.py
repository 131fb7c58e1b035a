"""What people prefer, as they note it down: a CSV file with a row a pair of outputs and annotator.

    item,system_a,system_b,annotator,preferred
    visit-1,model-a,model-b,ann,model-a
    visit-1,model-a,model-b,ben,tie

`preferred` is the name of one of the two systems, or `tie` where neither is better; blank where the annotator did not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.runs.output_table import OutputTable, read_csv_rows, told
from medical_tasks.scoring.preferences import OutputPairs, Vote

__all__ = ["TIE", "PreferenceTable", "Stated", "read_preferences", "votes_of"]

TIE: Final = "tie"
_COLUMNS: Final = ("item", "system_a", "system_b", "annotator", "preferred")
_FORM: Final = (
    "It needs a header and a row a pair and annotator, such as\nitem,system_a,system_b,annotator,preferred\n"
    "visit-1,model-a,model-b,ann,model-a"
)


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What one annotator says of one pair.

    Attributes:
        item: what both outputs are of.
        systems: whose they are.
        annotator: who says so.
        preferred: one of the two systems, or `tie`.
    """

    item: str
    systems: tuple[str, str]
    annotator: str
    preferred: str


@dataclass(frozen=True, kw_only=True)
class PreferenceTable:
    """A file of preferences.

    Attributes:
        path: the file as it was given.
        sha256: of its content.
        stated: what annotators say, in the file's order.
        blank: rows without an answer, which are left out.
    """

    path: str
    sha256: str
    stated: tuple[Stated, ...]
    blank: int

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who they are, in the order they first appear."""
        return tuple(dict.fromkeys(each.annotator for each in self.stated))


def read_preferences(path: Path) -> PreferenceTable:
    """Reads a file of preferences.

    Raises:
        MissingError: There is no such file.
        UsageError: It is not of the form above, or an annotator stands twice on one pair; names the line and the rule.
    """
    _, rows, digest = read_csv_rows(path, _COLUMNS, form=_FORM)
    lines: dict[tuple[str, frozenset[str], str], int] = {}
    stated = []
    blank = 0
    for line, cells in rows:
        where = f"{path}, line {line}"
        item, first, second, annotator, preferred = (cells[name] for name in _COLUMNS)
        for name in _COLUMNS[:4]:
            if not cells[name]:
                raise UsageError(f"{where}, column {name!r}: empty. {_FORM}")
        if first == second:
            raise UsageError(f"{where}: both systems are {told(first)}. A pair is of two different ones.")
        if TIE in (first, second):
            raise UsageError(f"{where}: a system named {TIE!r} cannot be told from no preference. Rename it.")
        key = (item, frozenset((first, second)), annotator)
        if key in lines:
            raise UsageError(
                f"{path}: lines {lines[key]} and {line} are the same pair and annotator. Keep one: an answer counts once."
            )
        lines[key] = line
        if not preferred:
            blank += 1
            continue
        if preferred not in (first, second, TIE):
            raise UsageError(
                f"{where}, column 'preferred': must be {told(first)}, {told(second)}, {TIE!r}, or blank for no answer; got "
                f"{told(preferred)}."
            )
        stated.append(Stated(item=item, systems=(first, second), annotator=annotator, preferred=preferred))
    if not stated:
        raise UsageError(f"{path}: no row has an answer in the column 'preferred'. {_FORM}")
    return PreferenceTable(path=str(path), sha256=digest, stated=tuple(stated), blank=blank)


def votes_of(preferences: PreferenceTable, table: OutputTable, pairs: OutputPairs) -> tuple[list[list[Vote]], int]:
    """Finds what people say of each pair of a table's outputs.

    Args:
        preferences: from `read_preferences`; which system stands first in a row makes no difference.
        table: the outputs.
        pairs: their pairs.

    Returns:
        The votes of each pair, none where nobody was asked; and how many answers are about pairs that are not there.

    Raises:
        UsageError: All of them are.
    """
    rows = {(row.item, row.system): place for place, row in enumerate(table.rows)}
    places = {(int(a), int(b)): place for place, (a, b) in enumerate(zip(pairs.first, pairs.second, strict=True))}
    votes: list[list[Vote]] = [[] for _ in range(len(pairs))]
    elsewhere = 0
    for each in preferences.stated:
        outputs: Sequence[int | None] = [rows.get((each.item, system)) for system in each.systems]
        one, other = outputs
        if one is None or other is None:
            elsewhere += 1
            continue
        first = table.rows[min(one, other)].system
        vote: Vote = "tie" if each.preferred == TIE else "first" if each.preferred == first else "second"
        votes[places[min(one, other), max(one, other)]].append(vote)
    if elsewhere == len(preferences.stated):
        raise UsageError(
            f"{preferences.path}: none of its pairs is among the outputs compared; it begins with item "
            f"{told(preferences.stated[0].item)}, the outputs with {told(table.rows[0].item)}. Items and systems are found by "
            "name, letter for letter."
        )
    return votes, elsewhere
