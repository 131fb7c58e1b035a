"""The corrected labels of MedCalc-Bench v1.0: 887 test rows relabelled from the notes, 69 "N/A".

Ye et al., "Scalable Stewardship of an LLM-Assisted Clinical Benchmark with Physician
Oversight", version 3, https://arxiv.org/abs/2512.19691;
https://github.com/junzeye/validate-medcalc-labels (MIT licence). A model recomputed the
answers from note and question. A row has a label where most of its runs agree, and 50
rows have the physicians' own answers.

`corrected` is a configuration of its own, and a second set of labels of v1.0: a row is
the same where number and note are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from medical_tasks.benchmarks.medcalc_bench.gold import (
    DAYS,
    NOT_COMPUTABLE,
    AnswerKind,
    answer_kind,
    decimal_or_none,
    is_not_computable,
    label_agrees,
)
from medical_tasks.calculators import Answer, AnyCalculator, CalculatorInputError, find
from medical_tasks.data.dataset_source import Pin, file_sha256
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.errors import UsageError
from medical_tasks.io.csv_files import read_csv
from medical_tasks.spec import DatasetSpec, Row

__all__ = [
    "CORRECTED",
    "CORRECTED_COLUMNS",
    "CORRECTED_PIN",
    "CorrectedLabel",
    "CorrectedLabels",
    "agrees_with_answer",
    "agrees_with_label",
    "built_labels",
    "label_answer",
    "labels_of_file",
    "note_cluster",
    "read_corrected_rows",
]

CORRECTED: Final = "corrected"
V1: Final = "v1.0"
"""The configuration whose rows the corrected labels are for."""

CORRECTED_COLUMNS: Final = (
    "Unique ID",
    "Calculator Name",
    "Question",
    "Patient Note",
    "Ground Truth Answer",
    "Lower Limit",
    "Upper Limit",
)
CORRECTED_PIN: Final = Pin(
    "junzeye/validate-medcalc-labels",
    "b6f0416858f0b1cbb6dcb2ff93214275d0276c49",
    "data/medcalc_v1_corrected.csv",
    2_024_746,
    "f6db9ab8b7bba365f7a0c30127aea0284446fe0269e8f72a7f34e8c52506ce97",
)

_RELEASE: Final = "corrected labels of MedCalc-Bench v1.0"
_ID: Final = re.compile(r"[1-9][0-9]{0,8}")
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")
_DATE: Final = re.compile(r"(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])/\d{4}")
_WEEKS_AND_DAYS: Final = re.compile(r"\('(\d+) weeks?', '(\d+) days?'\)")
_DAYS_A_WEEK: Final = 7
_SHOWN_CHARS: Final = 60
_RULES: Final[Mapping[AnswerKind, str]] = {
    "decimal": "a number",
    "integer": "a whole number",
    "date": "MM/DD/YYYY",
    "gestational_age": "a whole number of days",
}


def read_corrected_rows(path: Path) -> Iterator[Row]:
    """Reads the labels' file as rows of the dataset; a cell that cannot be read is a `UsageError`.

    The file has seven columns. What the calculator determines (id, category, output
    type) follows from its name, the note's id is a hash of the note, and what only v1.0
    has (entities, explanation, note type) is empty.
    """
    rows: dict[int, int] = {}
    for row in read_csv(path, CORRECTED_COLUMNS, release=_RELEASE):
        where = f"{path}: row {row.number}"
        typed = _typed(where, row.cells)
        number = typed["row_number"]
        if number in rows:
            raise UsageError(
                f"{where}: Unique ID {number} is already in row {rows[number]}; "
                "it must be unique. Download the file again."
            )

        rows[number] = row.number
        yield typed


def _typed(where: str, cells: Mapping[str, str]) -> Row:
    """A row of the corrected labels in the columns of the dataset.

    Those that the file does not have, as entities and explanation, are blank.
    """
    if not _ID.fullmatch(cells["Unique ID"]):
        raise _wrong(where, cells, "Unique ID", "expected a whole number")

    for column in ("Patient Note", "Question"):
        if not cells[column].strip():
            raise _wrong(where, cells, column, "must not be empty")

    calculator = _calculator(where, cells)
    answer, lower, upper = _label(where, cells, calculator)
    return {
        "row_number": int(cells["Unique ID"]),
        "calculator_id": calculator.id,
        "calculator_name": cells["Calculator Name"],
        "category": calculator.category,
        "output_type": calculator.output,
        "note_id": note_cluster(cells["Patient Note"]),
        "note_type": "",
        "patient_note": cells["Patient Note"],
        "question": cells["Question"],
        "relevant_entities": "",
        "ground_truth_answer": answer,
        "lower_limit": lower,
        "upper_limit": upper,
        "ground_truth_explanation": "",
        "source_category": "",
    }


def note_cluster(note: str) -> str:
    """Names a note by its content, where the release gives it no id of its own."""
    return f"note-{hashlib.sha256(note.encode()).hexdigest()[:16]}"


def _calculator(where: str, cells: Mapping[str, str]) -> AnyCalculator:
    try:
        return find(cells["Calculator Name"])
    except CalculatorInputError as error:
        rule = f"must be one of the 55 calculators ({error})"
        raise _wrong(where, cells, "Calculator Name", rule) from None


def _label(
    where: str, cells: Mapping[str, str], calculator: AnyCalculator
) -> tuple[str, str, str]:
    """The gold with its limits: none for "N/A", the file's for measurements, else the gold itself.

    The file allows scores and days 5 % too, so that 152 would be right for a pneumonia
    severity index of 160. Scores, dates and ages are right only exactly, as in v1.0.
    """
    kind = answer_kind(calculator.id)
    columns = ("Ground Truth Answer", "Lower Limit", "Upper Limit")
    answer, lower, upper = (cells[column] for column in columns)
    if is_not_computable(answer):
        for column in columns[1:]:
            if cells[column] not in ("", NOT_COMPUTABLE):
                raise _wrong(
                    where, cells, column, f"must be {NOT_COMPUTABLE}, as the answer is"
                )

        return answer, "", ""

    if not _fits(answer, kind):
        rule = f"expected {_RULES[kind]} or {NOT_COMPUTABLE}"
        raise _wrong(where, cells, "Ground Truth Answer", rule)

    if kind != "decimal":
        return answer, answer, answer

    for column in columns[1:]:
        if decimal_or_none(cells[column]) is None:
            raise _wrong(where, cells, column, "expected a number")

    if not float(lower) <= float(answer) <= float(upper):
        rule = (
            f"must lie below the answer {answer}, and the Upper Limit {upper} above it"
        )
        raise _wrong(where, cells, "Lower Limit", rule)

    return answer, lower, upper


def _fits(answer: str, kind: AnswerKind) -> bool:
    if kind == "decimal":
        return decimal_or_none(answer) is not None
    form = {"integer": _WHOLE, "date": _DATE}.get(kind, DAYS)
    return form.fullmatch(answer) is not None


def _wrong(where: str, cells: Mapping[str, str], column: str, rule: str) -> UsageError:
    value = cells[column]
    shown = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}..."
    return UsageError(
        f"{where}, Unique ID {cells['Unique ID']}, column {column!r}: {rule}, got {shown!r}. "
        "Download the file again."
    )


class CorrectedLabel(NamedTuple):
    """The corrected label of a row of v1.0, in the form that v1.0 asks for."""

    answer: str
    lower: str
    upper: str

    @property
    def not_computable(self) -> bool:
        """Whether the labels' authors found that the note does not allow an answer."""
        return is_not_computable(self.answer)

    @property
    def as_row(self) -> dict[str, str]:
        """The label under the names of a row's columns."""
        return {
            "ground_truth_answer": self.answer,
            "lower_limit": self.lower,
            "upper_limit": self.upper,
        }


class CorrectedLabels(NamedTuple):
    """All corrected labels, by row."""

    by_row: Mapping[tuple[int, str], CorrectedLabel]  # row number and the note's hash
    sha256: str  # of the labels' file

    def of(self, row: Row) -> CorrectedLabel | None:
        """The label of a row of v1.0; None where it has none, or another row has its number."""
        return self.by_row.get(
            (int(row["row_number"]), note_cluster(str(row["patient_note"])))
        )


def _labels(rows: Iterable[Row], sha256: str) -> CorrectedLabels:
    by_row = {}
    for row in rows:
        answer, kind = (
            row["ground_truth_answer"],
            answer_kind(int(row["calculator_id"])),
        )
        if kind == "gestational_age" and not is_not_computable(answer):
            weeks, days = divmod(int(answer), _DAYS_A_WEEK)
            answer = f"('{weeks} weeks', '{days} days')"

        label = CorrectedLabel(
            answer=answer, lower=row["lower_limit"], upper=row["upper_limit"]
        )
        by_row[row["row_number"], note_cluster(row["patient_note"])] = label

    return CorrectedLabels(by_row=by_row, sha256=sha256)


def labels_of_file(path: Path) -> CorrectedLabels:
    """Reads the labels' official file."""
    return _labels(read_corrected_rows(path), file_sha256(path))


def built_labels(folder: Path, spec: DatasetSpec) -> CorrectedLabels | None:
    """Reads the labels of a built dataset; None where `corrected` is not built in that folder."""
    built = built_configs(folder).get(CORRECTED)
    if built is None:
        return None
    sha256 = next(iter(built.source.values()), "")
    return _kept_labels(folder, spec, built.splits["test"].sha256, sha256)


@lru_cache(maxsize=2)
def _kept_labels(
    folder: Path, spec: DatasetSpec, parquet: str, sha256: str
) -> CorrectedLabels:
    """Reads the rows once; `parquet` is their file's hash, for a dataset that is rebuilt."""
    return _labels(read_rows(folder, CORRECTED, "test", spec=spec), sha256)


def label_answer(row: Row) -> Answer:
    """A row's label as a calculator would give it.

    Example:
        `25.2`, `4`, `05/30/2024` or `('15 weeks', '1 days')`.
    """
    label = str(row["ground_truth_answer"])
    kind = answer_kind(int(row["calculator_id"]), row.get("output_type"))
    if kind == "date":
        return label

    if kind == "gestational_age":
        match = _WEEKS_AND_DAYS.fullmatch(label)
        if match is None:
            raise UsageError(
                f"the gold answer {label!r} gives no weeks and days. "
                "Check the row's Ground Truth Answer."
            )

        return f"{match[1]} weeks", f"{match[2]} days"

    number = decimal_or_none(label)
    if number is None:
        raise UsageError(
            f"the gold answer {label!r} is no number. Check the row's Ground Truth Answer."
        )

    return int(number) if kind == "integer" else float(number)


def agrees_with_answer(corrected: CorrectedLabel, answer: Answer) -> bool:
    """Whether a calculator's answer is right by a corrected label; by "N/A" none is."""
    return label_agrees(corrected.as_row, answer)


def agrees_with_label(corrected: CorrectedLabel, row: Row) -> bool:
    """Whether a row's own label is right by its corrected one."""
    return agrees_with_answer(corrected, label_answer(row))
