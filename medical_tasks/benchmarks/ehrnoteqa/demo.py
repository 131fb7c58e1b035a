"""The `demo` configuration: a small twin with short notes, put together without any file."""

from __future__ import annotations

from collections.abc import Iterator

from medical_tasks.benchmarks.ehrnoteqa.notes import Note, prepared_text
from medical_tasks.benchmarks.ehrnoteqa.questions import Question
from medical_tasks.benchmarks.ehrnoteqa.twin import TwinNote, twin_patients

__all__ = ["DEMO_QUESTIONS", "DEMO_SCALE", "DEMO_SEED", "demo_pairs"]

# Two of each kind of patient that the questions have, and of the first and third kind four.
DEMO_QUESTIONS = 14
DEMO_SEED = 5
# A quarter of the length of real notes, so that tasks run in seconds on a laptop.
DEMO_SCALE = 0.25


def demo_pairs() -> Iterator[tuple[Question, list[Note]]]:
    """Generates the demo.

    Yields:
        Questions, each with its notes, the oldest first, prepared as those of the official files.
    """
    for patient in twin_patients(seed=DEMO_SEED, questions=DEMO_QUESTIONS, scale=DEMO_SCALE):
        if patient.question is not None:
            yield patient.question, sorted(map(_note, patient.notes), key=lambda note: (note.charttime, note.seq))


def _note(note: TwinNote) -> Note:
    return Note(
        note_id=note.note_id,
        hadm_id=note.hadm_id,
        charttime=note.charttime,
        seq=note.note_seq,
        text=prepared_text(note.text, patient_id=note.subject_id, hadm_id=note.hadm_id, charttime=note.charttime),
    )
