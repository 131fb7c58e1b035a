"""Every patient's notes and tokens, in one pass; what is held is two numbers a patient, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from medical_tasks.benchmarks.ehrnoteqa.construction.all_notes import read_all
from medical_tasks.benchmarks.ehrnoteqa.construction.tokens import TokenCounter
from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS, prepared_text
from medical_tasks.benchmarks.ehrnoteqa.own_questions import OWN_FIELDS
from medical_tasks.errors import UsageError
from medical_tasks.io.progress import Progress

__all__ = ["PatientLength", "as_json", "from_json", "measure_patients"]

_BATCH = 64
_MEGABYTE = 1_000_000
_ID = OWN_FIELDS["patient_id"]
_USED = ("subject_id", "hadm_id", "charttime", "text")


@dataclass(frozen=True, slots=True)
class PatientLength:
    """A patient's accumulated discharge summaries.

    Attributes:
        num_notes: how many there are.
        tokens: of all together, prepared as models get them, header included.
    """

    num_notes: int
    tokens: int


def measure_patients(path: Path, counter: TokenCounter) -> dict[str, PatientLength]:
    """Measures all patients of a file.

    Args:
        path: `discharge.csv.gz`, or a file of the same columns.
        counter: counts tokens.

    Returns:
        Patient id to lengths, in the order in which they first appear.

    Raises:
        MissingError: There is no such file.
        UsageError: It is not of the form; names line and rule, never text.
    """
    notes: dict[str, int] = {}
    tokens: dict[str, int] = {}
    try:
        megabytes = path.stat().st_size // _MEGABYTE + 1
    except OSError:
        megabytes = 1  # opening it says what is wrong
    with Progress(f"{path.name}, MB measured", megabytes) as progress:
        rows = _prepared(path, progress)
        while batch := list(islice(rows, _BATCH)):
            for (patient, _), length in zip(batch, counter.count([text for _, text in batch]), strict=True):
                notes[patient] = notes.get(patient, 0) + 1
                tokens[patient] = tokens.get(patient, 0) + length
        progress.advance_to(megabytes)
    return {patient: PatientLength(count, tokens[patient]) for patient, count in notes.items()}


def _prepared(path: Path, progress: Progress) -> Iterator[tuple[str, str]]:
    places = [COLUMNS.index(name) for name in _USED]
    rows = read_all(path, COLUMNS, on_read=lambda read: progress.advance_to(read // _MEGABYTE))
    for number, cells in enumerate(rows, start=1):
        patient, admission, time, text = (cells[place] for place in places)
        if not _ID.holds(patient):
            raise UsageError(
                f"{path}: row {number:,}, field 'subject_id': must be {_ID.rule}, got a text of {len(patient)} characters. Are the "
                "columns in the order of the header?"
            )
        yield patient, prepared_text(text, patient_id=patient, hadm_id=admission, charttime=time)


def as_json(lengths: Mapping[str, PatientLength]) -> dict[str, list[int]]:
    """Writes lengths as JSON values."""
    return {patient: [each.num_notes, each.tokens] for patient, each in lengths.items()}


def from_json(values: Mapping[str, list[int]]) -> dict[str, PatientLength]:
    """Reads them back."""
    return {patient: PatientLength(*numbers) for patient, numbers in values.items()}
