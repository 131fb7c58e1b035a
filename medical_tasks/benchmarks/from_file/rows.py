"""From the table to the rows of the dataset, each with what is right beside the question."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.from_file.form import SLOT, Described
from medical_tasks.errors import UsageError, did_you_mean
from medical_tasks.io.cells import plain
from medical_tasks.io.columns import Column
from medical_tasks.io.tables import (
    Table,
    TableRow,
    cell_text,
    folded,
    has_columns,
    read_table,
)
from medical_tasks.io.untrusted import finite, shown
from medical_tasks.judges.rubrics import CRITERIA, Criterion
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.spec import Row

LETTERS: Final = "ABCDEFGHIJ"
_RECORD: Final = '{"id": "1", "question": "...", "answer": "..."}'
_PARTS: Final = re.compile(r"\s*(?:\n|\|)\s*")
_POINTS: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*[:\s]\s*(\S.*)", re.DOTALL)
_BY_KIND: Final[Mapping[str, tuple[Column, ...]]] = {
    "exact": (
        Column(name="accepted", description="answers that are right", repeated=True),
    ),
    "choice": (
        Column(name="choices", description="what can be answered", repeated=True),
    ),
    "number": (
        Column(
            name="low", description="smallest number that is right", dtype="float64"
        ),
        Column(
            name="high", description="largest number that is right", dtype="float64"
        ),
    ),
    "rubric": (CRITERIA,),
}


def more_columns(form: Described) -> list[str]:
    """The columns that rows have under their own names: groups, and what the instructions name."""
    own = {"question", form.columns.question, "choices", *built_names(form)}
    named = [*form.columns.groups, *SLOT.findall(form.asked)]
    return [name for name in dict.fromkeys(named) if name not in own]


def built_names(form: Described) -> list[str]:
    """The columns that every row has."""
    names = [
        "id",
        "question",
        "answer",
        *(column.name for column in _BY_KIND[form.answer]),
    ]
    return [*names, *(["cluster"] if form.columns.cluster else [])]


def built_columns(form: Described) -> tuple[Column, ...]:
    """The columns of the built dataset."""
    kind = _BY_KIND[form.answer]
    cluster = (
        Column(name="cluster", description=f"the table's {form.columns.cluster}"),
    )

    return (
        Column(name="id", description="name of the question"),
        Column(name="question", description="the question"),
        Column(name="answer", description="a right answer"),
        *kind,
        *(cluster if form.columns.cluster else ()),
        *(
            Column(name=name, description="as in the table")
            for name in more_columns(form)
        ),
    )


def read_rows(
    form: Described, path: Path, holds: Callable[[Row], bool]
) -> Iterator[Row]:
    """Reads the rows of a table.

    Args:
        form: what the YAML file says.
        path: the table.
        holds: whether the right answer of a row is read as right.

    Raises:
        UsageError: The table, or a cell of it, is not as the form says.
        MissingError: It is not there.
    """
    names = [re.escape(folded(name)) for name in _needed(form)]
    numbers = re.escape(folded(form.columns.answer)) if form.answer == "number" else ""
    table = read_table(
        path,
        record=_RECORD,
        knows=has_columns(*names, numbers=numbers),
        missing="It is the file that the YAML names: put it beside, or correct the key file.",
    )
    reader, known = _Reader(form, _known(table)), dict[object, str]()
    for row in table.rows:
        made = reader.row(row)
        first = known.setdefault(made["id"], row.at)
        if first != row.at:
            column = form.columns.id or form.columns.question
            raise reader.wrong(
                row, column, f"must be unique, and is that of {first} too"
            )

        if not holds(made):
            raise reader.wrong(
                row,
                form.columns.answer,
                "is not read as the right answer when a model replies with it: write it shorter, "
                "and choices so that they differ",
            )

        yield made


def _needed(form: Described) -> list[str]:
    """The columns that the table must have."""
    columns = form.columns
    kinds: dict[str, Sequence[str]] = {
        "choice": [columns.choices]
        if isinstance(columns.choices, str)
        else columns.choices,
        "rubric": [columns.criteria],
    }
    named = [columns.id, columns.question, columns.answer, columns.cluster]

    return list(
        dict.fromkeys(
            filter(None, [*named, *kinds.get(form.answer, ()), *more_columns(form)])
        )
    )


def _known(table: Table) -> Collection[str]:
    return table.columns or {name for row in table.rows for name in row.cells}


class _Reader:
    """Makes rows of one table."""

    def __init__(self, form: Described, known: Collection[str]) -> None:
        self.form = form
        self.names = {folded(name): name for name in known}
        for name in _needed(form):
            if folded(name) not in self.names:
                raise UsageError(
                    f"{form.file}: has no column {name!r}, which {form.name} needs."
                    f"{did_you_mean(name, known)} It has: {', '.join(map(repr, known))}. Name the "
                    "right one under columns, or in the instructions."
                )

    def row(self, row: TableRow) -> Row:
        """Makes a row of one of the table."""
        columns = self.form.columns
        question = self.text(row, columns.question)
        made: dict[str, object] = {
            "id": self.text(row, columns.id) if columns.id else _hashed(question),
            "question": question,
        }
        answers: dict[str, Callable[[TableRow], dict[str, object]]] = {
            "exact": self._exact,
            "choice": self._choice,
            "number": self._number,
            "rubric": self._rubric,
        }
        made |= answers[self.form.answer](row)
        if columns.cluster:
            made["cluster"] = self.text(row, columns.cluster)

        return made | {name: self.text(row, name) for name in more_columns(self.form)}

    def cell(self, row: TableRow, column: str) -> object:
        """A cell, however its column is written."""
        return row.cells.get(self.names[folded(column)])

    def text(self, row: TableRow, column: str) -> str:
        """A cell's text, which must say something."""
        value = cell_text(self.cell(row, column))
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(row, column, "must be a text", value)
        return plain(value).strip()

    def texts(self, row: TableRow, column: str) -> list[str]:
        """The parts of a cell: of a list, or of a text with | or line ends between."""
        value = self.cell(row, column)
        parts: Iterable[object] = (
            map(cell_text, value)
            if isinstance(value, list)
            else _PARTS.split(self.text(row, column))
        )
        found = [
            part.strip() for part in parts if isinstance(part, str) and part.strip()
        ]
        if not found:
            raise self.wrong(row, column, "must be a text or a list of texts", value)

        return found

    def wrong(
        self, row: TableRow, column: str, rule: str, value: object = ...
    ) -> UsageError:
        """The error about a cell; what is credentialed is not quoted."""
        quoted = value is not ... and self.form.access == "open"
        got = (
            f", got {shown(value if isinstance(value, str | list | dict) else str(value))}"
            if quoted
            else ""
        )
        return UsageError(
            f"{row.location(column)}: {rule}{got}. Correct the cell, and build again."
        )

    def _exact(self, row: TableRow) -> dict[str, object]:
        accepted = [
            " ".join(text.split()) for text in self.texts(row, self.form.columns.answer)
        ]
        return {"answer": accepted[0], "accepted": accepted}

    def _choice(self, row: TableRow) -> dict[str, object]:
        """The choices of a row, in one column or several, and the right letter."""
        column = self.form.columns.choices
        choices = (
            self.texts(row, column)
            if isinstance(column, str)
            else [self.text(row, name) for name in column]
        )
        if not 2 <= len(choices) <= len(LETTERS):
            name = column if isinstance(column, str) else column[0]
            raise self.wrong(
                row, name, f"must be 2 to {len(LETTERS)} choices, got {len(choices)}"
            )

        answer = self.text(row, self.form.columns.answer)
        letters = LETTERS[: len(choices)]
        if answer.upper() not in set(letters):
            rule = f"must be a letter from A to {letters[-1]}"
            raise self.wrong(row, self.form.columns.answer, rule, answer)

        return {"answer": answer.upper(), "choices": choices}

    def _number(self, row: TableRow) -> dict[str, object]:
        text = self.text(row, self.form.columns.answer)
        try:
            value = finite(text)
        except ValueError:
            raise self.wrong(
                row, self.form.columns.answer, "must be a number without its unit", text
            ) from None
        tolerance = self.form.tolerance
        width = max(tolerance.abs, abs(value) * tolerance.rel) if tolerance else 0.0
        return {"answer": text, "low": value - width, "high": value + width}

    def _rubric(self, row: TableRow) -> dict[str, object]:
        """A rubric, of which the row's own answer can earn all points."""
        column = self.form.columns.criteria
        value = self.cell(row, column)
        parts = (
            value if isinstance(value, list) else self.text(row, column).splitlines()
        )
        criteria = [
            self._criterion(row, number, part)
            for number, part in enumerate(parts, start=1)
            if part != ""
        ]
        known = Counter(criterion["text"].casefold() for criterion in criteria)
        for criterion in criteria:
            if known[criterion["text"].casefold()] > 1:
                rule = (
                    "must have each criterion once, so that a reply can earn all points"
                )
                raise self.wrong(row, column, rule, criterion["text"])

        if not any(criterion["points"] > 0 for criterion in criteria):
            raise self.wrong(
                row, column, "must have a criterion with points above 0", value
            )

        answer = self.text(row, self.form.columns.answer)
        if not as_written(answer).strip():
            rule = (
                "is read as reasoning alone, and no criterion holds of an empty reply"
            )
            raise self.wrong(row, self.form.columns.answer, rule, answer)

        return {"answer": answer, "criteria": criteria}

    def _criterion(self, row: TableRow, number: int, part: object) -> Criterion:
        """A criterion of a line such as `5: names the emergency number`, or of a record."""
        column = self.form.columns.criteria
        if isinstance(part, Mapping):
            part = f"{part.get('points')}: {part.get('text') or ''}"

        found = _POINTS.fullmatch(part.strip()) if isinstance(part, str) else None
        if found is None:
            example = "such as 5: names the emergency number"
            rule = f"criterion {number} must be points and what earns them, {example}"
            raise self.wrong(row, column, rule, part)

        points = float(found[1])
        if not points or not math.isfinite(points):
            rule = f"criterion {number} must have points other than 0"
            raise self.wrong(row, column, rule, part)

        return {"text": found[2].strip(), "points": points, "tags": []}


def _hashed(question: str) -> str:
    """The name of a question without an id."""
    return f"q-{hashlib.sha256(json.dumps(question).encode()).hexdigest()[:10]}"
