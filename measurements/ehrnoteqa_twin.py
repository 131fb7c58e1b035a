"""Synthetic twins of EHRNoteQA's two official files, any size, of invented people; the same seed and numbers give the same bytes.

Run: python -m measurements.ehrnoteqa_twin --out FOLDER --questions 961 --notes 331794
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from measurements.twin_files import run_program, twin_parser, write_gzip, write_sums
from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS, Question
from medical_tasks.benchmarks.ehrnoteqa.twin import TwinNote, twin_patients
from medical_tasks.data.building import SUMS_FILE

QUESTIONS_FILE = "EHRNoteQA.jsonl"
NOTES_FILE = "discharge.csv.gz"


def write_twin(
    folder: Path,
    *,
    seed: int,
    questions: int,
    notes: int | None = None,
    scale: float = 1.0,
    sums: bool = True,
) -> Path:
    """Writes a twin of the two official files."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / QUESTIONS_FILE).open(
        "w", encoding="utf-8", newline=""
    ) as question_file:

        def rows() -> Iterator[str]:
            yield ",".join(COLUMNS) + "\n"
            for patient in twin_patients(
                seed=seed, questions=questions, notes=notes, scale=scale
            ):
                if patient.question is not None:
                    question_file.write(
                        json.dumps(_question_fields(patient.question)) + "\n"
                    )
                yield "".join(map(_csv_row, patient.notes))

        write_gzip(folder / NOTES_FILE, rows(), compresslevel=6)
    if sums:
        write_sums(folder, QUESTIONS_FILE, NOTES_FILE)
    return folder


def _csv_row(note: TwinNote) -> str:
    text = note.text.replace('"', '""')
    return f'{note.note_id},{note.subject_id},{note.hadm_id},DS,{note.note_seq},{note.charttime},{note.storetime},"{text}"\n'


def _question_fields(question: Question) -> dict[str, str | int]:
    return {
        "category": f"Level{question.level}",
        "num_notes": question.num_notes,
        "patient_id": int(question.patient_id),
        "clinician": question.clinician,
        "question": question.question,
        **{
            f"choice_{letter}": text
            for letter, text in zip(LETTERS, question.choices, strict=True)
        },
        "answer": question.answer,
    }


def main(words: Sequence[str] | None = None) -> int:
    """Writes a twin; returns the exit code."""
    parser = twin_parser("ehrnoteqa_twin")
    parser.add_argument(
        "--questions",
        type=int,
        default=14,
        metavar="N",
        help="questions, one a patient (default 14)",
    )
    parser.add_argument(
        "--notes",
        type=int,
        metavar="N",
        help="notes in all (default: those of the questions alone)",
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        metavar="X",
        help="of the notes' lengths (default 1)",
    )
    options = parser.parse_args(words)
    folder = write_twin(
        options.out,
        seed=options.seed,
        questions=options.questions,
        notes=options.notes,
        scale=options.scale,
    )
    print(f"wrote {QUESTIONS_FILE}, {NOTES_FILE} and {SUMS_FILE} in {folder}")
    return 0


if __name__ == "__main__":
    run_program(main)
