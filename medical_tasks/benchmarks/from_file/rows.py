"""Reads the rows of the dataset, questions with their right answers, from a table."""

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
_SEPARATOR: Final = re.compile(r"\s*(?:\n|\|)\s*")
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
    """The table's columns that rows keep: groups, and those in the instructions."""
    own = {"question", form.columns.question, "choices", *built_names(form)}
    named = [*form.columns.groups, *SLOT.findall(form.template)]
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
        form: the content of the YAML file.
        path: the table.
        holds: whether the right answer of a row is parsed as right.

    Raises:
        UsageError: The table, or a cell of it, does not fit the form.
        MissingError: There is no table.
    """
    names = [re.escape(folded(name)) for name in _needed(form)]
    numbers = re.escape(folded(form.columns.answer)) if form.answer == "number" else ""
    table = read_table(
        path,
        record=_RECORD,
        knows=has_columns(*names, numbers=numbers),
        missing="It is the file that the YAML names: put it beside, or correct the key file.",
    )
    reader, seen = _Reader(form, _column_names(table)), dict[object, str]()
    for row in table.rows:
        built = reader.row(row)
        first = seen.setdefault(built["id"], row.at)
        if first != row.at:
            column = form.columns.id or form.columns.question
            raise reader.wrong(
                row, column, f"must be unique, and is that of {first} too"
            )

        if not holds(built):
            raise reader.wrong(
                row,
                form.columns.answer,
                "is not read as the right answer when a model replies with it: write it shorter, "
                "and choices so that they differ",
            )

        yield built


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


def _column_names(table: Table) -> Collection[str]:
    return table.columns or {name for row in table.rows for name in row.cells}


class _Reader:
    """Reads the rows of one table.

    `row` calls the method of the form's kind of answer, which returns the fields that its
    scorer reads. Messages name the cell, and quote it only if the data is open.
    """

    def __init__(self, form: Described, columns: Collection[str]) -> None:
        self.form = form
        self.names = {folded(name): name for name in columns}
        for name in _needed(form):
            if folded(name) not in self.names:
                raise UsageError(
                    f"{form.file}: has no column {name!r}, which {form.name} needs."
                    f"{did_you_mean(name, columns)} It has: {', '.join(map(repr, columns))}. Name "
                    "the right one under columns, or in the instructions."
                )

    def row(self, row: TableRow) -> Row:
        """Builds a row of the dataset from one of the table."""
        columns = self.form.columns
        question = self.text(row, columns.question)
        built: dict[str, object] = {
            "id": self.text(row, columns.id) if columns.id else _hashed(question),
            "question": question,
        }
        answers: dict[str, Callable[[TableRow], dict[str, object]]] = {
            "exact": self._exact,
            "choice": self._choice,
            "number": self._number,
            "rubric": self._rubric,
        }
        built |= answers[self.form.answer](row)
        if columns.cluster:
            built["cluster"] = self.text(row, columns.cluster)

        return built | {name: self.text(row, name) for name in more_columns(self.form)}

    def cell(self, row: TableRow, column: str) -> object:
        """A cell; case and separators of its column's name do not matter."""
        return row.cells.get(self.names[folded(column)])

    def text(self, row: TableRow, column: str) -> str:
        """A cell's text, which must not be blank."""
        value = cell_text(self.cell(row, column))
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(row, column, "must be a text", value)
        return plain(value).strip()

    def texts(self, row: TableRow, column: str) -> list[str]:
        """The texts of a cell: of a list, or separated by | or line ends."""
        value = self.cell(row, column)
        entries: Iterable[object] = (
            map(cell_text, value)
            if isinstance(value, list)
            else _SEPARATOR.split(self.text(row, column))
        )
        texts = [
            entry.strip()
            for entry in entries
            if isinstance(entry, str) and entry.strip()
        ]
        if not texts:
            raise self.wrong(row, column, "must be a text or a list of texts", value)

        return texts

    def wrong(
        self, row: TableRow, column: str, rule: str, value: object = ...
    ) -> UsageError:
        """The error for a cell; credentialed values are not quoted."""
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
        """All accepted texts; the first is the one to show as the answer."""
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
        """The right answer with the range that its tolerance allows.

        Example: `10` with a relative tolerance of 0.1 gives the answer `10`, from 9 to 11. With
        both tolerances the wider one counts.
        """
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
        """A rubric; a reply must be able to earn all of its points."""
        column = self.form.columns.criteria
        value = self.cell(row, column)
        lines = (
            value if isinstance(value, list) else self.text(row, column).splitlines()
        )
        criteria = [
            self._criterion(row, number, line)
            for number, line in enumerate(lines, start=1)
            if line != ""
        ]
        counts = Counter(criterion["text"].casefold() for criterion in criteria)
        for criterion in criteria:
            if counts[criterion["text"].casefold()] > 1:
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

    def _criterion(self, row: TableRow, number: int, line: object) -> Criterion:
        """A criterion from a line such as `5: names the emergency number`, or from a record.

        Example: `5: names the emergency number` and `{"points": 5, "text": "names the emergency
        number"}` are the same; `-3: advises rest` takes points off a reply that does.
        """
        column = self.form.columns.criteria
        if isinstance(line, Mapping):
            line = f"{line.get('points')}: {line.get('text') or ''}"

        match = _POINTS.fullmatch(line.strip()) if isinstance(line, str) else None
        if match is None:
            example = "such as 5: names the emergency number"
            rule = f"criterion {number} must be points and what earns them, {example}"
            raise self.wrong(row, column, rule, line)

        points = float(match[1])
        if not points or not math.isfinite(points):
            rule = f"criterion {number} must have points other than 0"
            raise self.wrong(row, column, rule, line)

        return {"text": match[2].strip(), "points": points, "tags": []}


def _hashed(question: str) -> str:
    """The name of a question without an id."""
    return f"q-{hashlib.sha256(json.dumps(question).encode()).hexdigest()[:10]}"
