"""The files in the folder of a construction, and the sampled patients read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow
from medical_tasks.benchmarks.ehrnoteqa.questions import OWN_FIELDS
from medical_tasks.construct.ehrnoteqa.forms import Sample
from medical_tasks.io.json_records import Field

SAMPLE: Final = "sample.json"
LENGTHS: Final = "lengths.json"
PATIENTS: Final = "patients.jsonl"
NOTES: Final = "notes.jsonl"
DRAFTS: Final = "drafts.jsonl"
DRAFTS_RECIPE: Final = "drafts.json"
SHEETS: Final = "sheets"
SHARES: Final = "shares.json"
HISTORY: Final = "history.jsonl"
QUESTIONS: Final = "questions.jsonl"
REVIEW: Final = "review.json"


_NOTE_FIELDS = {"patient_id": OWN_FIELDS["patient_id"], "notes": OWN_FIELDS["notes"]}
_PATIENT_FIELDS = {
    "patient_id": OWN_FIELDS["patient_id"],
    "level": OWN_FIELDS["level"],
    "num_notes": OWN_FIELDS["num_notes"],
    "tokens": Field(
        holds=lambda value: type(value) is int and value >= 0, rule="a whole number"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Patient:
    """A sampled patient.

    `notes` holds `note_id`, `hadm_id`, `charttime` and prepared `text` of each note, the
    oldest first.
    """

    id: str
    level: int
    num_notes: int
    tokens: int
    notes: tuple[NoteRow, ...]


def load_patients(folder: Path) -> list[Patient]:
    """Reads the sample of a construction."""
    sample: Sample = construction.read_json(folder / SAMPLE, step="ehrnoteqa sample")
    notes = {
        record.values["patient_id"]: record.values["notes"]
        for record in construction.read_lines(
            folder / NOTES, _NOTE_FIELDS, step="ehrnoteqa sample"
        )
    }
    patients = construction.read_lines(
        folder / PATIENTS, _PATIENT_FIELDS, step="ehrnoteqa sample"
    )
    digests = sample.get("sha256", {})
    for name in (NOTES, PATIENTS):
        construction.check_unchanged(
            folder / name,
            digests.get(name),
            "Take the sample again, in another --folder.",
        )

    return [
        Patient(
            id=record.values["patient_id"],
            notes=tuple(notes[record.values["patient_id"]]),
            **{name: record.values[name] for name in ("level", "num_notes", "tokens")},
        )
        for record in patients
    ]
