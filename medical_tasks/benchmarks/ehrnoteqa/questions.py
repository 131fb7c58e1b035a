"""Reads EHRNoteQA's questions, assigns their categories, and builds the dataset's rows; messages quote nothing.

The authors released no categories (appendix D); our rule was written with the 40
examples of tables 3 and 9 in view.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict, cast

from medical_tasks.benchmarks.ehrnoteqa.notes import Note, NoteRow
from medical_tasks.harness.evaluate_rows import Columns
from medical_tasks.io.columns import Column
from medical_tasks.io.json_records import (
    Field,
    Record,
    is_list_of,
    is_text,
    one_of,
    optional,
    read_records,
)

FALLBACK: Final = "treatment"
"""Category of a question without any of the words: the most frequent one (64 %, table 3)."""

# Such a clause states a condition instead of asking: "Given the history of X, what ...".
# The pattern matches one clause, up to its comma.
_GIVEN = re.compile(
    r"(?:given|considering|based on|according to|as per|after|following|during|upon)\b[^,?]*,"
)

# A few words between a question word and its object; limited, so that no text takes long.
_FEW = r"(?:[\w'/-]+ ){0,4}?"
_ASKED = rf"\b(?:what|which|any|other|main|primary|principal|new|experienced?|suffer(?:ed)?|sustain(?:ed)?|list of) {_FEW}"
_DRUGS = r"(?:medic|drug|dos|prescri|regimen|treat|therap)"

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "treatment": (
        r"\b(?:treat|therap|medication|medicine|prescri|antibiotic|intervention|procedure|regimen|transfus|transplant)",
        r"\b(?:manag(?:e|ed|ing|ement)|drugs?|dos(?:e|es|age|ages|ing)|surger(?:y|ies)|surgical|operated)\b",
        r"(?<!post[ -])\boperations?\b",
        r"\b(?:undergo|undergone|underwent|performed|addressed|administered|received|stent\w*"
        r"|resect\w+|repair\w*)\b",
        r"\b(?:insulin|dialysis|chemotherapy|radiation|anticoag\w+|prophyla\w+|steroids?"
        r"|discontinu\w+|measures)\b",
    ),
    "assessment": (
        r"\b(?:resolv|resolution|improv|worsen|deteriorat|progress|success|recover|stabili|evolv|evolution)",
        r"\b(?:status|stable|mobility|prognosis|severity|fluctuat\w+|characteristics"
        r"|differ(?:ed|ences?)?|outcome|respond(?:ed)?)\b",
        r"\b(?:current|overall|clinical|general|physical|mental|discharge|patient's|his|her|their) condition\b",
        r"\bchang(?:e|es|ed) (?:in|of|over|between)\b"
        rf"(?! (?:(?:the|his|her|their|patient's) ){{0,2}}{_DRUGS})",
        r"\bhow did [\w'/ -]{1,60}\bchange\b",
        r"\bassess",
    ),
    "problem": (
        r"\b(?:complication|ailment|comorbidit)",
        r"\b(?:diagnosis|diagnoses|(?:allergic|adverse) (?:drug )?(?:reactions?|events?)"
        r"|side effects?)\b",
        rf"{_ASKED}(?:problem|disease|disorder|injur|infection|illness|issue|conditions\b"
        r"|medical condition)",
        rf"{_ASKED}(?:diagnosed|suffering)\b",
    ),
    "etiology": (
        r"\b(?:why|because|etiolog|aetiolog|caus(?:e|es|ed|ing)\b|reason|contribut|trigger"
        r"|precipitat|prompted|attribut)",
        r"\b(?:due to|lea?d to|result(?:ed|ing)? (?:in|from)|relates? to|responsible for"
        r"|source of|risk factors?)\b",
        r"\b(?:relationship|correlat\w+|justif\w+|rationale|explanation|indications? for)\b",
    ),
    "sign_symptom": (
        r"\bsymptom",
        r"(?<!vital )\bsigns?\b",
        r"\b(?:chief complaint|complain(?:ed|ts?)?|present(?:ed|ing)? with|presentation"
        r"|manifest\w+|physical exam\w*)\b",
        r"\b(?:experienc\w+|report(?:ed)?|den(?:y|ied)|feel(?:ing)?|felt|suffer(?:ed|ing)?|any) "
        rf"{_FEW}(?:pain|shortness of breath|dyspnea|dizziness|lightheaded|nausea|vomiting"
        r"|fatigue|fever|headache|swelling|weakness|"
        r"numbness|cough|palpitation|bleeding|seizure|confusion)",
    ),
    "vitals": (
        r"\b(?:vitals|vital signs?|blood pressures?|heart rates?|pulse|respirat(?:ory|ion) rates?"
        r"|temperatures?)\b",
    ),
    "test_results": (
        r"\b(?:tests?|labs?|laboratory|imaging|scans?|ct|mri|x-?rays?|radiographs?|ultrasounds?"
        r"|ekg|ecg|lfts?|findings?)\b",
        r"\b(?:echocardiogra|electrocardiogra|biops|patholog|culture|electrolyte|troponin"
        r"|angiogra|catheterization results)",
        r"\b(?:levels?|ha?emoglobin|ha?ematocrit|creatinine|bilirubin|potassium|glucose"
        r"|white blood cells?|wbc|inr)\b",
        r"\b(?:platelets?|ejection fraction|(?:liver|kidney|renal) function|blood counts?)\b",
    ),
    "history": (
        r"\b(?:medical|surgical|past|family|social|clinical|personal|smoking|psychiatric|cardiac"
        r"|medication) history\b",
        r"\b(?:have|has|had|any|there) (?:a |any |known |prior |previous |family )*history\b",
        rf"\b(?:previous|prior|past|earlier) {_FEW}"
        r"(?:admission|hospitali|surger|surgical|procedure|operation|intervention|episode|illness"
        r"|diagnos|condition|treat)",
        r"\b(?:surger(?:y|ies)|interventions?|operations?|procedures?|hospitali[sz]ations?)"
        r" (?:prior to|before)\b",
        r"\b(?:previously|allerg(?:y|ies|ic)|smok(?:es?|ed|er|ing)|tobacco|alcohol|occupation"
        r"|home medications?)\b",
    ),
    "instruction": (
        r"\b(?:instruct|advi[cs]e|advising|counsel|precaution|restriction|educat)",
        r"\b(?:weight[ -]bearing|told to|encouraged to|asked to|warned|to avoid)\b",
    ),
    "plan": (
        r"\b(?:plan(?:s|ned|ning)?|follow(?:ed)?[ -]?up|future|scheduled|appointments?|upcoming"
        r"|recommend(?:ed|ations?)?)\b",
        r"\b(?:next steps?|(?:seen|done|visit) next|considered for)\b",
    ),
}
CATEGORIES: Final[tuple[str, ...]] = tuple(_WORDS)
"""The paper's categories (appendix D), in its order."""

_PATTERNS: Final = {
    category: re.compile("|".join(patterns)) for category, patterns in _WORDS.items()
}


def question_categories(question: str) -> tuple[str, ...]:
    """Assigns one or more of `CATEGORIES` to a question, in their order; `FALLBACK` if no word matches."""
    text = " ".join(question.lower().replace("\u2019", "'").split())
    core = _GIVEN.sub("", text, count=1) if _GIVEN.match(text) else text
    categories = tuple(
        category for category, pattern in _PATTERNS.items() if pattern.search(core)
    )
    return categories or (FALLBACK,)


LETTERS = "ABCDE"
# Maps the file's names to the paper's numbers (section 3.1).
LEVELS = {"Level1": 1, "Level2": 2}

_OFFICIAL_FILE = "EHRNoteQA question file"
_DOWNLOAD_AGAIN = "Download it again."
_NUMBER = re.compile(r"[0-9]{1,18}")


class QuestionRow(TypedDict):
    """A row of the dataset, and the `fields` of an item; see `COLUMNS`."""

    id: str
    patient_id: str
    level: int
    num_notes: int
    clinician: str
    question: str
    choices: list[str]
    answer: str
    categories: list[str]
    evidence: list[str]
    notes: list[NoteRow]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about a patient's discharge summaries.

    Attributes:
        categories: None if the file has none, as the official one.
    """

    patient_id: str
    level: int
    num_notes: int
    clinician: str
    question: str
    choices: tuple[str, ...]
    answer: str
    categories: tuple[str, ...] | None = None


def _is_number(value: object, *, lowest: int = 0) -> bool:
    text = (
        str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    )
    return (
        isinstance(text, str)
        and _NUMBER.fullmatch(text) is not None
        and int(text) >= lowest
    )


_TEXT = dataclasses.replace(is_text(), private=True)
_OFFICIAL_FIELDS = {
    "category": one_of(tuple(LEVELS)),
    "num_notes": Field(
        holds=lambda value: _is_number(value, lowest=1), rule="a whole number from 1"
    ),
    "patient_id": Field(holds=_is_number, rule="a whole number"),
    "clinician": Field(
        holds=lambda value: (
            value is None or _is_number(value) or is_text(blank=True).holds(value)
        ),
        rule="a text, a whole number or null",
    ),
    "question": _TEXT,
    **{f"choice_{letter}": _TEXT for letter in LETTERS},
    "answer": one_of(tuple(LETTERS)),
    "categories": optional(
        dataclasses.replace(is_list_of(one_of(CATEGORIES)), private=True)
    ),
}


def read_questions(path: Path) -> Iterator[Question]:
    """Reads the question file."""
    lines: dict[str, int] = {}
    for record in read_records(
        path, _OFFICIAL_FIELDS, release=_OFFICIAL_FILE, again=_DOWNLOAD_AGAIN
    ):
        values = record.values
        patient = str(int(values["patient_id"]))
        record.check_unique("patient_id", patient, lines)
        categories = values.get("categories")
        if categories is not None and len(set(categories)) != len(categories):
            raise record.wrong("categories", "must not name one twice")

        yield Question(
            patient_id=patient,
            level=LEVELS[values["category"]],
            num_notes=int(values["num_notes"]),
            clinician="" if values["clinician"] is None else str(values["clinician"]),
            question=values["question"],
            choices=tuple(values[f"choice_{letter}"] for letter in LETTERS),
            answer=values["answer"],
            categories=None if categories is None else tuple(categories),
        )


_OWN_FILE = "file of own questions"
_WRITE_AGAIN = "Write it again: medical-tasks construct ehrnoteqa import."
_NOTE_FIELDS = frozenset({"note_id", "hadm_id", "charttime", "text"})
_ID = re.compile(r"[!-~]{1,60}")
_TIME = "%Y-%m-%d %H:%M:%S"


def _is_time(text: object) -> bool:
    try:
        # Compared after formatting, since strptime accepts 1-2-2150, which does not sort.
        return (
            isinstance(text, str)
            and datetime.datetime.strptime(text, _TIME).strftime(_TIME) == text
        )
    except ValueError:
        return False


def _is_note(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == _NOTE_FIELDS
        and _IS_ID.holds(value["note_id"])
        and _IS_ID.holds(value["hadm_id"])
        and _is_time(value["charttime"])
        and _TEXT.holds(value["text"])
    )


_IS_ID = Field(
    holds=lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None,
    rule="an id of 1 to 60 letters, digits and signs, no spaces",
    private=True,
)
_IS_NOTE = Field(
    holds=_is_note,
    rule=f"an object with {', '.join(sorted(_NOTE_FIELDS))}: ids, a time YYYY-MM-DD HH:MM:SS, a text that is not empty",
)

OWN_FIELDS: dict[str, Field] = {
    "id": _IS_ID,
    "patient_id": _IS_ID,
    "level": Field(
        holds=lambda value: type(value) is int and value in (0, 1, 2),
        rule="0, 1 or 2",
        private=True,
    ),
    "num_notes": Field(
        holds=lambda value: type(value) is int and value >= 1,
        rule="a whole number from 1",
        private=True,
    ),
    "clinician": dataclasses.replace(is_text(blank=True), private=True),
    "question": _TEXT,
    "choices": Field(
        holds=lambda value: (
            isinstance(value, list)
            and len(value) == len(LETTERS)
            and all(map(_TEXT.holds, value))
        ),
        rule=f"a list of {len(LETTERS)} texts that are not empty",
        private=True,
    ),
    "answer": dataclasses.replace(one_of(tuple(LETTERS)), private=True),
    "categories": dataclasses.replace(
        optional(is_list_of(one_of(CATEGORIES))), private=True
    ),
    "evidence": dataclasses.replace(optional(is_list_of(is_text())), private=True),
    "notes": dataclasses.replace(is_list_of(_IS_NOTE), private=True),
}
"""The fields of a record; `categories` and `evidence` are optional."""


def read_own_rows(path: Path) -> Iterator[QuestionRow]:
    """Reads questions on a user's own notes; records without `categories` get those of the rule."""
    lines: dict[str, int] = {}
    for record in read_records(path, OWN_FIELDS, release=_OWN_FILE, again=_WRITE_AGAIN):
        row = dict(record.values)
        _check_own(record, lines)
        row.setdefault("categories", list(question_categories(row["question"])))
        row.setdefault("evidence", [])
        yield cast(QuestionRow, {name: row[name] for name in OWN_FIELDS})


def _check_own(record: Record, lines: dict[str, int]) -> None:
    """Checks rules about several fields or elements."""
    row = record.values
    record.check_unique("id", row["id"], lines)
    different = {" ".join(choice.split()).casefold() for choice in row["choices"]}
    if len(different) != len(LETTERS):
        raise record.wrong(
            "choices",
            "must be five different texts, two are the same but for case and white space",
        )

    if len(set(row.get("categories", ()))) != len(row.get("categories", ())):
        raise record.wrong("categories", "must not name one twice")

    notes = row["notes"]
    if len(notes) != row["num_notes"]:
        raise record.wrong(
            "num_notes", f"must be the number of notes, which is {len(notes)}"
        )

    if len({note["note_id"] for note in notes}) != len(notes):
        raise record.wrong("notes", "must each have another note_id")

    times = [note["charttime"] for note in notes]
    if times != sorted(times):
        raise record.wrong(
            "notes", "must stand in the order of their charttime, the oldest first"
        )


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
    Column(name="question", about="other", description="The question"),
    Column(
        name="choices",
        about="other",
        repeated=True,
        description="Five answers, A to E in this order, of which one is right; or none",
    ),
    Column(
        name="answer",
        description="Letter of the right answer, `A` to `E`; '' where there are no choices",
    ),
    Column(
        name="categories",
        repeated=True,
        description="What is asked about, of the paper's ten categories (appendix D); by a rule, where the file does not say",
    ),
    Column(
        name="evidence",
        about="other",
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
            Column(
                name="hadm_id", description="The admission; '' where it is not known"
            ),
            Column(
                name="charttime",
                description="When the note was charted, `YYYY-MM-DD HH:MM:SS`, dates shifted; or ''",
            ),
            Column(
                name="text",
                about="note",
                description="Patient id, admission id and chart date, then the note, white space reduced. In the paper's other "
                "sets the note alone, as released",
            ),
        ),
    ),
)
"""The columns of every configuration, in order."""


METRIC_COLUMNS: Columns = {
    "choices": (
        (lambda *texts: list(texts), *(f"choice_{letter}" for letter in LETTERS)),
    ),
    "answer": (),
}
"""The columns of a row that `metrics/ehrnoteqa` reads, official and built ones."""


def joined_row(question: Question, notes: Iterable[Note]) -> QuestionRow:
    """Builds the row of a question with its notes."""
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
        "categories": list(
            question_categories(question.question) if categories is None else categories
        ),
        "evidence": [],
        "notes": [note.row for note in notes],
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
) -> QuestionRow:
    """Builds the row of a question about one note, in a set without levels and choices."""
    built = Question(
        patient_id=note_id,
        level=0,
        num_notes=1,
        clinician=clinician,
        question=question,
        choices=(),
        answer="",
        categories=tuple(categories),
    )
    note = Note(note_id=note_id, hadm_id="", charttime="", seq=0, text=text)
    row = joined_row(built, [note])
    row["id"], row["evidence"] = row_id, list(evidence)

    return row
