"""Reads EHRNoteQA from the user's own PhysioNet copies, as rows of the dataset and items of a task.

A question without all its notes is an error, unlike in the authors' script.

DiSCQ: Lehman et al., "Learning to Ask Like a Physician", ClinicalNLP 2022,
https://physionet.org/content/discq/1.0/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.evidence import read_evidence_rows
from medical_tasks.benchmarks.ehrnoteqa.notes import Note, prepared_text, read_notes
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    COLUMNS,
    LEVELS,
    Question,
    QuestionRow,
    joined_row,
    one_note_row,
    question_categories,
    read_own_rows,
    read_questions,
)
from medical_tasks.benchmarks.ehrnoteqa.twin import TwinNote, twin_patients
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import MissingError, UsageError, listed
from medical_tasks.guard.leak_sources import walk_files
from medical_tasks.io.csv_files import read_csv
from medical_tasks.io.files import packaged, read_text, readable
from medical_tasks.scoring.choice_orders import in_orders
from medical_tasks.spec import Item, Row, TaskSpec

DISCQ_ROWS = 1089
"""Number of rows of `discq_questions_final.csv`, without its header (paper, section 4.3)."""


@cache
def paper_clinicians() -> dict[int, str]:
    """Maps rows of `discq_questions_final.csv`, from 0, to clinicians.

    Each has one hundred, in the order of the paper's table 12.
    """
    sample = packaged(__file__, "discq_sample.json")
    return {row: clinician for clinician, rows in sample.items() for row in rows}


QUESTIONS_FILE = "discq_questions_final.csv"

# The columns `start_index` and `end_index` of the trigger are not read: they count in a
# text that was prepared in the authors' way.
_DISCQ_COLUMNS = ("id", "question", "reasoning")
_DISCQ_RELEASE = "question file of DiSCQ 1.0"
_DISCQ_AGAIN = f"Download the {_DISCQ_RELEASE} again; do not open and save it with a spreadsheet program."
_NAME = re.compile(r"[!-.0-~]{1,80}")  # no slash: a name is no path

# Words that keep their capital within a sentence; abbreviations are recognised by form.
_NAMES = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June "
    "July August "
    "September October November December".split()
)
# Words with which questions begin; a sentence of the trigger may begin with one too.
_BEGINNINGS = frozenset(
    "A Any Are At Can Could Did Do Does For Had Has Have How If In Is On Should The There Was "
    "Were What When Where Which Who "
    "Why Will With Would".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_FORM = re.compile(r"[\w.]+")
_VOWELS = frozenset("aeiouy")


def read_discq_rows(path: Path) -> Iterator[QuestionRow]:
    """Reads the questions, with their texts from the file's folder or below it.

    Ids are row numbers from 0, as in the paper.
    """
    rows = read_csv(path, _DISCQ_COLUMNS, release=_DISCQ_RELEASE, others=True)
    questions = [_discq_question(path, row.number, row.cells) for row in rows]
    texts = _find_texts(path, list(dict.fromkeys(name for name, _, _ in questions)))
    # Only row numbers identify the clinicians' rows, so a file with another number of
    # rows has none.
    clinicians = paper_clinicians() if len(questions) == DISCQ_ROWS else {}
    last = text = ""  # questions about the same text follow one another
    for number, (name, question, trigger) in enumerate(questions):
        if name != last:
            last, text = name, _read_text(texts[name])

        yield one_note_row(
            str(number),
            with_respect_to(trigger, question),
            note_id=name,
            text=text,
            categories=question_categories(question),
            clinician=clinicians.get(number, ""),
        )


def with_respect_to(trigger: str, question: str) -> str:
    """Joins a question with its trigger (appendix F.1, table 11).

    The question begins in lower case, except for names and abbreviations. Example:
    "CHF" and "Is it treated?" give "With respect to CHF, is it treated?".
    """
    trigger, question = (" ".join(text.split()) for text in (trigger, question))
    return f"With respect to {trigger}, {_within_a_sentence(question, trigger)}"


def _within_a_sentence(question: str, trigger: str) -> str:
    """The question in lower case, unless its first word always has a capital.

    Such words are names of the calendar, words with a capital in the trigger, and
    abbreviations: those with more capitals or digits, without a vowel, or of one letter.

    Example: `Does he smoke` becomes `does he smoke`, `A scan was done` becomes `a scan
    was done`; `CT of the head`, `MRI` and `A-fib` stay.
    """
    first = _WORD.match(question)
    if first is None:
        return question

    word, form = first[0], _FORM.match(question)
    is_abbreviation = (
        (
            form is not None
            and any(sign.isupper() or sign.isdigit() for sign in form[0][1:])
        )
        or not _VOWELS & set(word.lower())
        or (len(word) == 1 and (word != "A" or question[1:2] == "-"))
    )
    is_name = word in _NAMES or (
        word not in _BEGINNINGS and word in _WORD.findall(trigger)
    )

    return question if is_abbreviation or is_name else word[0].lower() + question[1:]


def _discq_question(
    path: Path, row: int, cells: dict[str, str]
) -> tuple[str, str, str]:
    """The name of the text, the question and its trigger."""
    name, question, trigger = (
        cells["id"].strip(),
        cells["question"],
        cells["reasoning"],
    )
    for field, text, holds, rule in (
        ("id", name, _NAME.fullmatch(name), "must be the name of a text"),
        ("question", question, question.strip(), "must not be empty"),
        ("reasoning", trigger, trigger.strip(), "must not be empty"),
    ):
        if not holds:
            raise UsageError(
                f"{path}: row {row}, field {field!r}: {rule}, got a text of {len(text)} "
                f"characters. {_DISCQ_AGAIN}"
            )

    return name, question, trigger


def _find_texts(path: Path, names: Sequence[str]) -> dict[str, Path]:
    """Finds the text of each name in the folder of the questions or below it.

    The challenge's texts come in several folders. A name in two of them is refused,
    since it could mean either text.
    """
    lines = partial(listed, between="\n  ")
    names_by_file = {f"{name}.txt": name for name in names} | {
        name: name for name in names
    }
    paths: dict[str, list[Path]] = {name: [] for name in names}
    for file in walk_files(path.absolute().parent):
        if file.name in names_by_file:
            paths[names_by_file[file.name]].append(file)

    missing = [name for name, files in paths.items() if not files]
    if missing:
        raise MissingError(
            f"{path}: {len(missing):,} of the {len(names):,} texts that its questions are about "
            "are not below its folder:\n  "
            f"{lines(missing, 10)}\nPut the texts of the n2c2 2010 challenge on relations there, "
            "in one folder or several "
            "(https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/)."
        )

    several = [
        f"{name}: {', '.join(map(str, files))}"
        for name, files in paths.items()
        if len(files) > 1
    ]
    if several:
        raise UsageError(
            f"{path}: {len(several):,} texts are in its folder more than once:\n  "
            f"{lines(several, 10)}\nKeep one of "
            "each there."
        )

    return {name: files[0] for name, files in paths.items()}


def _read_text(file: Path) -> str:
    with readable(file, again="Get the text again."):
        # line ends become line feeds, as in the authors' script
        text = read_text(file, encoding="utf-8-sig")
    if not text.strip():
        raise UsageError(f"{file}: is empty. Get the text again.")
    return text


# Two patients of each kind, and four of the first and third kind.
DEMO_QUESTIONS = 14
DEMO_SEED = 5
# A quarter of the length of real notes, so that tasks run in seconds on a laptop.
DEMO_SCALE = 0.25


def demo_pairs() -> Iterator[tuple[Question, list[Note]]]:
    """Generates the demo's questions with their notes."""
    for patient in twin_patients(
        seed=DEMO_SEED, questions=DEMO_QUESTIONS, scale=DEMO_SCALE
    ):
        if patient.question is not None:
            yield (
                patient.question,
                sorted(
                    map(_note, patient.notes),
                    key=lambda note: (note.charttime, note.seq),
                ),
            )


def _note(note: TwinNote) -> Note:
    hadm_id, charttime = note.hadm_id, note.charttime
    text = prepared_text(
        note.text, patient_id=note.subject_id, hadm_id=hadm_id, charttime=charttime
    )
    return Note(
        note_id=note.note_id,
        hadm_id=hadm_id,
        charttime=charttime,
        seq=note.note_seq,
        text=text,
    )


_READERS = {
    "own": read_own_rows,
    "evidence": read_evidence_rows,
    "discq": read_discq_rows,
}
_LEVEL_OF = {"level1": (1,), "level2": (2,), "all": tuple(LEVELS.values())}


def read_rows(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[QuestionRow]:
    """Reads the rows of a configuration, in the order of the question file."""
    if config == "demo":
        return (joined_row(question, notes) for question, notes in demo_pairs())
    if config in _READERS:
        return _READERS[config](files["questions"])

    questions = [
        question
        for question in read_questions(files["questions"])
        if question.level in _LEVEL_OF[config]
    ]
    if not questions:
        names = " or ".join(
            name for name, level in LEVELS.items() if level in _LEVEL_OF[config]
        )
        raise UsageError(
            f"{files['questions']}: has no question of category {names}. Download it again."
        )

    notes = read_notes(
        files["notes"],
        {question.patient_id: question.num_notes for question in questions},
    )
    return (joined_row(question, notes[question.patient_id]) for question in questions)


def keeps(task: TaskSpec, row: Row) -> bool:
    """Whether a row belongs to a task: by its level, if the set has levels, and by the gold that the format needs."""
    has_gold = bool(row["choices"]) or task.options["format"] == "open"
    return has_gold and row["level"] in (0, int(task.options["level"]))


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Turns each row of the task into an item, or into one for each order of its choices.

    Questions about one patient share a cluster.
    """
    items = [
        Item(
            id=row["id"],
            fields=row,
            groups={
                "num_notes": str(row["num_notes"]),
                "category": tuple(row["categories"]) or ("none",),
            },
            cluster=row["patient_id"],
        )
        for row in rows
        if keeps(task, row)
    ]
    return in_orders(task, items)


# Paths below physionet.org/files, as wget lays out the projects; the end of one is enough.
_QUESTION_PLACES = tuple(
    f"ehr-notes-qa-llms/1.0.1/{folder}EHRNoteQA.jsonl" for folder in ("", "1.0.1/")
)
_DISCQ_PLACES = (f"discq/1.0/{QUESTIONS_FILE}",)
_YUE_PLACES = ("mimic-iii-question-answer/1.0.0/test.final.json",)
_NOTE_PLACES = tuple(
    f"mimic-iv-note/2.2/note/{name}" for name in ("discharge.csv.gz", "discharge.csv")
)
_FILES = {
    "questions": OfficialFile(
        places=_QUESTION_PLACES, description="the questions, a JSON Lines file"
    ),
    "notes": OfficialFile(
        places=_NOTE_PLACES,
        description="MIMIC-IV-Note's discharge summaries, a CSV file",
    ),
}
_OWN_FILE = OfficialFile(
    places=("questions.jsonl",),
    description="questions on your own notes, a JSON Lines file that `medical-tasks construct "
    "ehrnoteqa import` writes",
)
_EVIDENCE_FILE = OfficialFile(
    places=(*_YUE_PLACES, "data.json"),
    description=(
        "a SQuAD-form JSON file: of Yue et al. "
        "(https://physionet.org/content/mimic-iii-question-answer/1.0.0/), or made by "
        "emrQA's scripts (https://github.com/panushri25/emrQA)"
    ),
)
_DISCQ_FILE = OfficialFile(
    places=_DISCQ_PLACES,
    description=(
        "DiSCQ's questions, a CSV file (https://physionet.org/content/discq/1.0/), with the "
        "texts they are about in its folder "
        "or below (https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/, 2010 relations)"
    ),
)

SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary=(
            "EHRNoteQA asks what clinicians ask about a patient: each of its questions is about "
            "all discharge summaries, one "
            "to three, of one patient of MIMIC-IV, and has five choices of which one is right; "
            "the text of the right choice is "
            "the gold of the open-ended form. This is its join with the notes, made on the "
            "machine of somebody who has both."
        ),
        changes=(
            "Columns have names of their own: `patient_id` is `id`, `category` is `level`, the "
            "five choices are one list.",
            "The notes are joined by patient, the oldest first, each with patient id, admission "
            "id and chart date before it and "
            "with reduced white space, as the paper's appendix C.1 and the authors' script do.",
            "`categories` are assigned by a rule of this package: the authors have not released "
            "theirs.",
            "`evidence` has one row for each question that has a passage for an answer, of "
            "paraphrases the first; `discq` joins "
            "each question with its trigger, as the paper's appendix F.1 does. Their notes are "
            "as released.",
            "`demo` is not from the release: it was generated by this package, describes nobody, "
            "and is under the package's "
            "licence, Apache-2.0. Its notes are shorter than real ones.",
        ),
        licence_note=(
            "PhysioNet asks that credentialed data go to no service that keeps them. The notes "
            "are MIMIC-IV-Note 2.2, under the "
            "same licence. Texts of the n2c2 challenges, in `discq` and in emrQA, are under the "
            "n2c2 data use agreement."
        ),
        columns=COLUMNS,
        key="id",
        id_names=("patient_id",),
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        # PhysioNet 1.0.1 has 961 of the paper's 962 questions; how many of each level
        # is not published.
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
        responsible_ai=packaged(__file__, "responsible_ai.json")["ehrnoteqa"],
    ),
)
