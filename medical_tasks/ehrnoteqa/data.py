"""EHRNoteQA from the user's own PhysioNet copies: questions joined with the discharge summaries they are about.

Two projects are needed: the questions (`EHRNoteQA.jsonl`), which hold patient ids and no notes, and MIMIC-IV-Note
(`discharge.csv.gz`), which is read once, row by row. A question whose notes are not all there is an error: the authors'
script leaves such a question without notes and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.columns import Column
from medical_tasks.dataset_source import DatasetSource, OfficialFile
from medical_tasks.ehrnoteqa.demo import DEMO_QUESTIONS, demo_pairs
from medical_tasks.ehrnoteqa.notes import Note, read_notes
from medical_tasks.ehrnoteqa.questions import LEVELS, Question, read_questions
from medical_tasks.ehrnoteqa.spec import DATASET
from medical_tasks.errors import UsageError

__all__ = ["COLUMNS", "SOURCES", "joined_row", "read_rows"]

COLUMNS = (
    Column(name="id", description="MIMIC-IV's subject_id of the patient; every question is about another patient"),
    Column(
        name="level",
        dtype="int64",
        description="1: the patient's notes have up to 3,000 tokens together; 2: 3,000 to 7,000 (paper, section 3.1)",
    ),
    Column(name="num_notes", dtype="int64", description="How many discharge summaries the patient has, 1 to 3"),
    Column(name="clinician", description="Which clinician reviewed the question, as released"),
    Column(name="question", description="The question"),
    Column(name="choices", repeated=True, description="Five answers, A to E in this order; one is right"),
    Column(name="answer", description="Letter of the right answer, `A` to `E`"),
    Column(
        name="notes",
        dtype="struct",
        repeated=True,
        description="The patient's discharge summaries, the oldest first",
        fields=(
            Column(name="note_id", description="MIMIC-IV-Note's id of the note"),
            Column(name="hadm_id", description="The admission"),
            Column(name="charttime", description="When the note was charted, `YYYY-MM-DD HH:MM:SS`, dates shifted"),
            Column(
                name="text", description="Patient id, admission id and chart date, then the note, white space reduced"
            ),
        ),
    ),
)

_LEVEL_OF = {"level1": (1,), "level2": (2,), "all": tuple(LEVELS.values())}


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a configuration.

    Args:
        config: `level1`, `level2`, `all` or `demo`.
        split: always `test`.
        files: the question file under `questions`, the notes under `notes`; empty for `demo`.

    Yields:
        One mapping a question, with the names and types of `COLUMNS`, in the order of the question file.

    Raises:
        UsageError: A file is not of the official form, or some questions have not exactly their notes.
    """
    if config == "demo":
        yield from (joined_row(question, notes) for question, notes in demo_pairs())
        return
    questions = [each for each in read_questions(files["questions"]) if each.level in _LEVEL_OF[config]]
    if not questions:
        names = " or ".join(name for name, level in LEVELS.items() if level in _LEVEL_OF[config])
        raise UsageError(f"{files['questions']}: has no question of category {names}. Download it again.")
    notes = read_notes(files["notes"], {each.patient_id: each.num_notes for each in questions})
    for question in questions:
        yield joined_row(question, notes[question.patient_id])


def joined_row(question: Question, notes: Iterable[Note]) -> dict[str, Any]:
    """Makes the row of a question.

    Args:
        question: the question.
        notes: its patient's, the oldest first.

    Returns:
        Column name to value.
    """
    return {
        "id": question.patient_id,
        "level": question.level,
        "num_notes": question.num_notes,
        "clinician": question.clinician,
        "question": question.question,
        "choices": list(question.choices),
        "answer": question.answer,
        "notes": [
            {"note_id": note.note_id, "hadm_id": note.hadm_id, "charttime": note.charttime, "text": note.text}
            for note in notes
        ],
    }


# Flat in one folder, or below physionet.org/files as wget lays the two projects out.
_QUESTION_PLACES = tuple(
    f"{folder}EHRNoteQA.jsonl"
    for folder in ("", "1.0.1/", "ehr-notes-qa-llms/1.0.1/", "ehr-notes-qa-llms/1.0.1/1.0.1/")
)
_NOTE_PLACES = tuple(
    f"{folder}{name}"
    for folder in ("", "note/", "mimic-iv-note/2.2/note/")
    for name in ("discharge.csv.gz", "discharge.csv")
)
_FILES = {
    "questions": OfficialFile(places=_QUESTION_PLACES, description="the questions, a JSON Lines file"),
    "notes": OfficialFile(places=_NOTE_PLACES, description="MIMIC-IV-Note's discharge summaries, a CSV file"),
}

SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary=(
            "EHRNoteQA asks what clinicians ask about a patient: each of its questions is about all discharge summaries, one "
            "to three, of one patient of MIMIC-IV, and has five choices of which one is right; the text of the right choice is "
            "the gold of the open-ended form. This is its join with the notes, made on the machine of somebody who has both."
        ),
        changes=(
            "Columns have names of their own: `patient_id` is `id`, `category` is `level`, the five choices are one list.",
            "The notes are joined by patient, the oldest first, each with patient id, admission id and chart date before it and "
            "with reduced white space, as the paper's appendix C.1 and the authors' script do.",
            "`demo` is not from the release: it was generated by this package, describes nobody, and is under the package's "
            "licence, Apache-2.0. Its notes are shorter than real ones.",
        ),
        licence_note=(
            "PhysioNet asks that credentialed data go to no service that keeps them. The notes are MIMIC-IV-Note 2.2, under the "
            "same licence."
        ),
        columns=COLUMNS,
        key="id",
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        # PhysioNet 1.0.1 has 961 of the paper's 962 questions; how many of each level is not published.
        published_rows={"all": {"test": 961}, "demo": {"test": DEMO_QUESTIONS}},
        living=frozenset({"all"}),
        files={"level1": _FILES, "level2": _FILES, "all": _FILES, "demo": {}},
        read=read_rows,
        published="2024-06-26",
        creators=(
            "Sunjun Kweon",
            "Jiyoun Kim",
            "Heeyoung Kwak",
            "Dongchul Cha",
            "Hangyul Yoon",
            "Kwanghyun Kim",
            "Jeewon Yang",
            "Seunghyun Won",
            "Edward Choi",
        ),
        task_categories=("question-answering",),
        tags=("medical", "clinical notes", "discharge summaries", "benchmark"),
    ),
)
