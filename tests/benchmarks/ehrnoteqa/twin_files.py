"""Small files in the official format, with rows written by hand."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

from measurements.ehrnoteqa_twin import NOTES_FILE, QUESTIONS_FILE
from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS
from tests.benchmarks.common import write_jsonl

SECRET = "swallowed a marble"


def question(patient: int = 100, **changes: Any) -> dict[str, Any]:
    fields = {
        "category": "Level1",
        "num_notes": 1,
        "patient_id": patient,
        "clinician": "1",
        "question": f"What happened after the patient {SECRET}?",
        **{f"choice_{letter}": f"choice {letter}, {SECRET}" for letter in "ABCDE"},
        "answer": "B",
    }
    return fields | changes


def note(patient: int | str = 100, seq: int = 2, **changes: str) -> list[str]:
    fields = {
        "note_id": f"{patient}-DS-{seq}",
        "subject_id": str(patient),
        "hadm_id": f"2{seq}",
        "note_type": "DS",
        "note_seq": str(seq),
        "charttime": "2150-01-02 00:00:00",
        "storetime": "2150-01-03 10:00:00",
        "text": f'The "patient" {SECRET},\nthen ___.',
    }
    return list((fields | changes).values())


def csv_bytes(
    *rows: list[str], columns: tuple[str, ...] = COLUMNS, line_end: str = "\n"
) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=line_end)
    writer.writerows([columns, *rows])
    return stream.getvalue().encode()


def write_files(
    folder: Path, questions: list[dict[str, Any]], notes: bytes, *, packed: bool = True
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / QUESTIONS_FILE, questions)
    if packed:
        (folder / NOTES_FILE).write_bytes(gzip.compress(notes))
    else:
        (folder / "discharge.csv").write_bytes(notes)
    return folder
