"""The dataset's rows: their columns, and the two ways in which they come about.

A row of the benchmark is a question with a level, five choices and the notes of a patient. A row of the paper's other sets
(section 4.3) has one note, no level and no choices; what is known of its answer is at most which passages it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import question_categories
from medical_tasks.benchmarks.ehrnoteqa.notes import Note
from medical_tasks.benchmarks.ehrnoteqa.questions import Question
from medical_tasks.io.columns import Column

__all__ = ["COLUMNS", "joined_row", "one_note_row"]

COLUMNS = (
    Column(
        name="id",
        description="Of the question. Official set: the patient's, every question is about another one; `discq`: row of the file",
    ),
    Column(
        name="patient_id",
        description="Whose notes they are: MIMIC-IV's subject_id, in `evidence` and `discq` the note's id. Questions share it",
    ),
    Column(
        name="level",
        dtype="int64",
        description="1: notes of up to 3,000 tokens together; 2: of 3,000 to 7,000 (paper, section 3.1); 0: a set without levels",
    ),
    Column(
        name="num_notes",
        dtype="int64",
        description="How many discharge summaries there are, 1 to 3 in the official set",
    ),
    Column(
        name="clinician",
        description="Who reviewed the question, as released; in `discq` who judged its answers (paper, table 12); or ''",
    ),
    Column(name="question", description="The question"),
    Column(
        name="choices",
        repeated=True,
        description="Five answers, A to E in this order, of which one is right; or none",
    ),
    Column(name="answer", description="Letter of the right answer, `A` to `E`; '' where there are no choices"),
    Column(
        name="categories",
        repeated=True,
        description="What is asked about, of the paper's ten categories (appendix D); by a rule, where the file does not say",
    ),
    Column(
        name="evidence",
        repeated=True,
        description="Passages of the note that answer the question; in `evidence` alone, and in `own` where the file has some",
    ),
    Column(
        name="notes",
        dtype="struct",
        repeated=True,
        description="The discharge summaries, the oldest first",
        fields=(
            Column(name="note_id", description="The note's id in its source"),
            Column(name="hadm_id", description="The admission; '' where it is not told"),
            Column(
                name="charttime", description="When the note was charted, `YYYY-MM-DD HH:MM:SS`, dates shifted; or ''"
            ),
            Column(
                name="text",
                description="Patient id, admission id and chart date, then the note, white space reduced. In the paper's other "
                "sets the note alone, as released",
            ),
        ),
    ),
)
"""Of every configuration, in this order."""


def joined_row(question: Question, notes: Iterable[Note]) -> dict[str, Any]:
    """Makes the row of a question of the benchmark.

    Args:
        question: the question.
        notes: its patient's, the oldest first.

    Returns:
        Column name to value.
    """
    categories = question.categories
    return {
        "id": question.patient_id,
        "patient_id": question.patient_id,
        "level": question.level,
        "num_notes": question.num_notes,
        "clinician": question.clinician,
        "question": question.question,
        "choices": list(question.choices),
        "answer": question.answer,
        "categories": list(question_categories(question.question) if categories is None else categories),
        "evidence": [],
        "notes": [
            {"note_id": note.note_id, "hadm_id": note.hadm_id, "charttime": note.charttime, "text": note.text}
            for note in notes
        ],
    }


def one_note_row(
    row_id: str,
    question: str,
    *,
    note_id: str,
    text: str,
    categories: Iterable[str],
    evidence: Iterable[str] = (),
    clinician: str = "",
) -> dict[str, Any]:
    """Makes the row of a question about one note, of a set without levels and choices.

    Args:
        row_id: unique in its configuration.
        question: as it is asked.
        note_id: of the note; questions about it share it as `patient_id`.
        text: the note.
        categories: of the question.
        evidence: passages of the note that answer the question.
        clinician: who judged its answers.

    Returns:
        Column name to value.
    """
    return {
        "id": row_id,
        "patient_id": note_id,
        "level": 0,
        "num_notes": 1,
        "clinician": clinician,
        "question": question,
        "choices": [],
        "answer": "",
        "categories": list(categories),
        "evidence": list(evidence),
        "notes": [{"note_id": note_id, "hadm_id": "", "charttime": "", "text": text}],
    }
