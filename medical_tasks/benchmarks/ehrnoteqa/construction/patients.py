"""The sampled patients with their notes, read back whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.construction import files
from medical_tasks.benchmarks.ehrnoteqa.own_questions import OWN_FIELDS
from medical_tasks.errors import UsageError
from medical_tasks.io.json_records import Field

__all__ = ["Patient", "load_patients"]

_NOTE_FIELDS = {"patient_id": OWN_FIELDS["patient_id"], "notes": OWN_FIELDS["notes"]}
_PATIENT_FIELDS = {
    "patient_id": OWN_FIELDS["patient_id"],
    "level": OWN_FIELDS["level"],
    "num_notes": OWN_FIELDS["num_notes"],
    "tokens": Field(holds=lambda value: type(value) is int and value >= 0, rule="a whole number"),
}


@dataclass(frozen=True, kw_only=True)
class Patient:
    """A sampled patient.

    Attributes:
        id: the patient's.
        level: 1 or 2.
        num_notes: how many discharge summaries there are.
        tokens: of all of them.
        notes: `note_id`, `hadm_id`, `charttime`, `text` of each, the oldest first, prepared.
    """

    id: str
    level: int
    num_notes: int
    tokens: int
    notes: tuple[Mapping[str, Any], ...]


def load_patients(folder: Path) -> list[Patient]:
    """Reads the sample of a construction.

    Raises:
        MissingError: There is none.
        UsageError: Its files are not as they were written.
    """
    made = files.read_json(folder / files.SAMPLE, step="sample")
    notes = {
        record.values["patient_id"]: record.values["notes"]
        for record in files.read_lines(folder / files.NOTES, _NOTE_FIELDS, step="sample")
    }
    patients = files.read_lines(folder / files.PATIENTS, _PATIENT_FIELDS, step="sample")
    digests = made.get("sha256", {})
    for name in (files.NOTES, files.PATIENTS):
        if digests.get(name) != files.text_sha256(folder / name):
            raise UsageError(
                f"{folder / name}: was changed since it was written. Take the sample again, in another --folder."
            )
    return [
        Patient(
            id=record.values["patient_id"],
            level=record.values["level"],
            num_notes=record.values["num_notes"],
            tokens=record.values["tokens"],
            notes=tuple(notes[record.values["patient_id"]]),
        )
        for record in patients
    ]
