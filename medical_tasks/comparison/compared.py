"""Results to compare, from a run or a package, and the rows that two of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.comparison.statistics import ComparedTask
from medical_tasks.errors import UsageError
from medical_tasks.runs.recipes import one_line
from medical_tasks.runs.results import (
    Results,
    Row,
    read_items,
    read_sound_results,
)

NONE: Final = "none"
ALL: Final = "all"


@dataclass(frozen=True)
class Compared:
    """A result to compare.

    Attributes:
        label: its name in messages, such as its folder.
        results: the content of `results.json`.
        rows: the rows of `items.parquet`, or of a package's `items.jsonl`.
    """

    label: str
    results: Results
    rows: Sequence[Row]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is compared.

    Attributes:
        tasks: the tasks; empty for all.
        metrics: the metrics; empty for all.
        by: a breakdown, `all` or `none`.
        margin: the margin of equivalence; None for no such test.
    """

    tasks: Sequence[str] = ()
    metrics: Sequence[str] = ()
    by: str = NONE
    margin: float | None = None


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two of the runs, by their indexes; differences are `second` minus `first`.

    `tasks` is what `comparing.compare_tasks` returns.
    """

    first: int
    second: int
    tasks: dict[str, ComparedTask]

    @property
    def name(self) -> str:
        """Names the difference, such as `B - A`."""
        return f"{letter(self.second)} - {letter(self.first)}"


def letter(number: int) -> str:
    """Names the runs A, B, ... Z, AA, AB, ..."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def read_compared(folder: Path) -> Compared:
    """Reads a run's folder."""
    return Compared(
        label=str(folder), results=read_sound_results(folder), rows=read_items(folder)
    )


def rows_by_task(run: Compared) -> dict[str, dict[str, Row]]:
    """Groups the rows of a run by task and item.

    Raises:
        UsageError: a row lacks its task or id, or an item has two rows.
    """
    rows: dict[str, dict[str, Row]] = {}
    for row in run.rows:
        problem = "a row lacks its task or id"
        if "task" in row and "id" in row:
            of_task = rows.setdefault(row["task"], {})
            if of_task.setdefault(row["id"], row) is row:
                continue

            task, item = one_line(str(row["task"])), one_line(str(row["id"]))
            problem = f"{task} has two rows of the item {item}"

        raise UsageError(f"{run.label}: its items are damaged: {problem}. Score again.")

    return rows


def shared_rows(
    first: Mapping[str, Row], second: Mapping[str, Row]
) -> tuple[list[Row], list[Row]]:
    """Selects the rows of the items that both runs have, in the same order."""
    ids = [item for item in first if item in second]
    return [first[item] for item in ids], [second[item] for item in ids]
