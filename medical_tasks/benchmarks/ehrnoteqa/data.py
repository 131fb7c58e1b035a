"""EHRNoteQA from the user's own PhysioNet copies: questions joined with the discharge summaries they are about.

Two projects are needed: the questions (`EHRNoteQA.jsonl`), which hold patient ids and no notes, and MIMIC-IV-Note
(`discharge.csv.gz`), which is read once, row by row. A question whose notes are not all there is an error: the authors'
script leaves such a question without notes and says nothing.

Three more configurations have rows of the same columns: questions on one's own notes (`own`), and the paper's other sets of
discharge summaries, with passages for a gold (`evidence`) and without any (`discq`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import question_categories
from medical_tasks.benchmarks.ehrnoteqa.demo import DEMO_QUESTIONS, demo_pairs
from medical_tasks.benchmarks.ehrnoteqa.discq import QUESTIONS_FILE as DISCQ_FILE
from medical_tasks.benchmarks.ehrnoteqa.discq import read_discq_rows
from medical_tasks.benchmarks.ehrnoteqa.discq_sample import DISCQ_ROWS
from medical_tasks.benchmarks.ehrnoteqa.evidence import read_evidence_rows
from medical_tasks.benchmarks.ehrnoteqa.notes import NoteReading
from medical_tasks.benchmarks.ehrnoteqa.own_questions import read_own_rows
from medical_tasks.benchmarks.ehrnoteqa.questions import LEVELS, Question, read_questions
from medical_tasks.benchmarks.ehrnoteqa.rows import COLUMNS, joined_row
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec

__all__ = ["COLUMNS", "SOURCES", "joined_row", "keeps", "load_items", "read_rows"]

_READERS = {"own": read_own_rows, "evidence": read_evidence_rows, "discq": read_discq_rows}
_LEVEL_OF = {"level1": (1,), "level2": (2,), "all": tuple(LEVELS.values())}


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a configuration.

    Args:
        config: one of the dataset's.
        split: always `test`.
        files: the question file under `questions`; for `level1`, `level2` and `all` the notes under `notes`; empty for `demo`.

    Returns:
        One mapping a question, with the names and types of `COLUMNS`, in the order of the question file. Notes are being read
        from now on, beside whatever is done before the first row is asked for.

    Raises:
        UsageError: A file is not of the official form, or some questions have not exactly their notes.
        MissingError: Texts that the questions of `discq` are about are not there.
    """
    if config == "demo":
        return (joined_row(question, notes) for question, notes in demo_pairs())
    if config in _READERS:
        return _READERS[config](files["questions"])
    questions = [each for each in read_questions(files["questions"]) if each.level in _LEVEL_OF[config]]
    if not questions:
        names = " or ".join(name for name, level in LEVELS.items() if level in _LEVEL_OF[config])
        raise UsageError(f"{files['questions']}: has no question of category {names}. Download it again.")
    reading = NoteReading(files["notes"], {each.patient_id: each.num_notes for each in questions})
    return _joined_rows(questions, reading)


def _joined_rows(questions: Sequence[Question], reading: NoteReading) -> Iterator[dict[str, Any]]:
    # What needs no notes is done while they are read.
    questions = [
        dataclasses.replace(each, categories=question_categories(each.question)) if each.categories is None else each
        for each in questions
    ]
    notes = reading.notes()
    for question in questions:
        yield joined_row(question, notes[question.patient_id])


def keeps(task: TaskSpec, row: Mapping[str, Any]) -> bool:
    """Says whether a row is a question of a task: its level is the task's, or the set has none, and it has what is asked."""
    has_gold = bool(row["choices"]) or task.options["format"] == "open"
    return has_gold and row["level"] in (0, int(task.options["level"]))


def load_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Makes the items of a task.

    Args:
        task: a task of this benchmark.
        rows: rows of the dataset, of any level.

    Returns:
        One item for each row that the task keeps, in order; questions about one patient share its cluster.
    """
    return [
        Item(
            id=row["id"],
            fields=row,
            groups={"num_notes": str(row["num_notes"]), "category": tuple(row["categories"]) or ("none",)},
            cluster=row["patient_id"],
        )
        for row in rows
        if keeps(task, row)
    ]


# Below physionet.org/files as wget lays the projects out, or any end of that.
_QUESTION_PLACES = tuple(f"ehr-notes-qa-llms/1.0.1/{folder}EHRNoteQA.jsonl" for folder in ("", "1.0.1/"))
_DISCQ_PLACES = (f"discq/1.0/{DISCQ_FILE}",)
_YUE_PLACES = ("mimic-iii-question-answer/1.0.0/test.final.json",)
_NOTE_PLACES = tuple(f"mimic-iv-note/2.2/note/{name}" for name in ("discharge.csv.gz", "discharge.csv"))
_FILES = {
    "questions": OfficialFile(places=_QUESTION_PLACES, description="the questions, a JSON Lines file"),
    "notes": OfficialFile(places=_NOTE_PLACES, description="MIMIC-IV-Note's discharge summaries, a CSV file"),
}
_OWN_FILE = OfficialFile(
    places=("questions.jsonl",),
    description="questions on your own notes, a JSON Lines file that `medical-tasks construct ehrnoteqa import` writes",
)
_EVIDENCE_FILE = OfficialFile(
    places=(*_YUE_PLACES, "data.json"),
    description=(
        "a SQuAD-form JSON file: of Yue et al. (https://physionet.org/content/mimic-iii-question-answer/1.0.0/), or made by "
        "emrQA's scripts (https://github.com/panushri25/emrQA)"
    ),
)
_DISCQ_FILE = OfficialFile(
    places=_DISCQ_PLACES,
    description=(
        "DiSCQ's questions, a CSV file (https://physionet.org/content/discq/1.0/), with the texts they are about in its folder "
        "or below (https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/, 2010 relations)"
    ),
)

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
            "`categories` are assigned by a rule of this package: the authors have not released theirs.",
            "`evidence` has one row for each question that has a passage for an answer, of paraphrases the first; `discq` joins "
            "each question with its trigger, as the paper's appendix F.1 does. Their notes are as released.",
            "`demo` is not from the release: it was generated by this package, describes nobody, and is under the package's "
            "licence, Apache-2.0. Its notes are shorter than real ones.",
        ),
        licence_note=(
            "PhysioNet asks that credentialed data go to no service that keeps them. The notes are MIMIC-IV-Note 2.2, under the "
            "same licence. Texts of the n2c2 challenges, in `discq` and in emrQA, are under the n2c2 data use agreement."
        ),
        columns=COLUMNS,
        key="id",
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        # PhysioNet 1.0.1 has 961 of the paper's 962 questions; how many of each level is not published.
        published_rows={
            "all": {"test": 961},
            "discq": {"test": DISCQ_ROWS},
            "demo": {"test": DEMO_QUESTIONS},
        },
        living=frozenset({"all", "discq"}),
        files={
            "level1": _FILES,
            "level2": _FILES,
            "all": _FILES,
            "own": {"questions": _OWN_FILE},
            "evidence": {"questions": _EVIDENCE_FILE},
            "discq": {"questions": _DISCQ_FILE},
            "demo": {},
        },
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
