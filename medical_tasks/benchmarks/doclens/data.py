"""Reads DocLens' datasets and a user's own texts as rows, and makes items of a task.

Xie et al. 2024, appendices: ACI-BENCH's `test1` and MEDIQA 2021's test set are
evaluated. No message shows a user's own texts.

A user's `input` that begins with `[0]` is numbered: its sentences (or turns,
`[0][doctor] ...`) are the texts between the numbers. Another first number, text before
`[0]`, and a gap or repeat at the beginning of a line or sentence are errors; elsewhere
other numbers in brackets are text (`a dose of [5]`). Without numbers `input` is split into
sentences numbered from 0.

    medical-tasks build aci_bench --fetch
    medical-tasks build doclens_own --source notes.xlsx --config own
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypedDict, cast

from medical_tasks.benchmarks.doclens.declarations import (
    ACI_BENCH,
    MEQSUM,
    OWN,
    demo_entries,
)
from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
from medical_tasks.benchmarks.doclens.pieces import (
    EMPTY,
    SECTIONS,
    begins_turn,
    divide_note,
    split_question,
    split_turns,
)
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile, Pin, pinned
from medical_tasks.errors import UsageError
from medical_tasks.harness.evaluate_rows import Columns
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import read_csv
from medical_tasks.io.files import check_columns, packaged
from medical_tasks.io.json_records import is_text, named, shown, text_id
from medical_tasks.io.tables import folded, has_columns, read_table
from medical_tasks.scoring.sentences import split_sentences
from medical_tasks.spec import Item, Row, TaskSpec

ACI_OFFICIAL_COLUMNS = ("dataset", "encounter_id", "dialogue", "note")

ACI_COLUMNS = (
    Column(name="id", description="Id of the encounter, as released"),
    Column(
        name="dataset",
        description="How the dialogue came about: `aci`, `virtassist` or `virtscribe`",
    ),
    Column(
        name="turns",
        about="note",
        repeated=True,
        description="Turns of the dialogue, each with its speaker; a turn's number is its place, "
        "from 0",
    ),
    Column(
        name="note", about="other", description="The whole clinical note, as released"
    ),
    Column(
        name="subjective",
        about="other",
        description="Its lines of history: complaint, history, review of systems; or empty",
    ),
    Column(
        name="objective_exam",
        about="other",
        description="Its lines of the physical examination; or empty",
    ),
    Column(
        name="objective_results",
        about="other",
        description="Its lines of results; or empty",
    ),
    Column(
        name="assessment_and_plan",
        about="other",
        description="Its lines of assessment and plan; or empty",
    ),
)

_ACI_FILES = {
    "train": "train",
    "validation": "valid",
    "test1": "clinicalnlp_taskB_test1",
}
_MORE_ACI_FILES = {"test2": "clinicalnlp_taskC_test2", "test3": "clef_taskC_test3"}
_ACI_PINS = pinned(
    "wyim/aci-bench",
    "b909b2bb9cf1d19de08df15cddde7bd0179665e4",
    """
611240 6c778d4ac5e6cc6f1964786f9286e8d765c210f22ed6b57f83aff8497409cea4 data/challenge_data/train.csv
177400 6629e89e3fb409d2b3eceab60dc7b32fe1d3fb8d4e07795039284965522aa4d0 data/challenge_data/valid.csv
349998 5cc4008e68545f84913744a8e493a58bdf17ba7e1b7a0be46d6943d6bfca9471 data/challenge_data/clinicalnlp_taskB_test1.csv
385979 599e3330a14e25a0e056aee1365ffac7ebe50058f15821eae42a5513c2bb5a4f data/challenge_data/clinicalnlp_taskC_test2.csv
381908 d3c18362a42124ea2bd1b2b4b66ba76a11bb123dfdb416471ae3b5924d1428ec data/challenge_data/clef_taskC_test3.csv
""",
)
_ACI_ROWS = {"train": 67, "validation": 20, "test1": 40}


class VisitRow(TypedDict):
    """A row of ACI-BENCH; see `ACI_COLUMNS`."""

    id: str
    dataset: str
    turns: list[str]
    note: str
    subjective: str
    objective_exam: str
    objective_results: str
    assessment_and_plan: str


def read_aci_rows(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[VisitRow]:
    """Reads the rows of a split."""
    if config == "demo":
        yield from map(_visit_row, demo_entries("visits", split))
        return

    path = files[split]
    silent = []
    for row in read_csv(path, ACI_OFFICIAL_COLUMNS, release="ACI-BENCH challenge data"):
        # A checkout on Windows has its line ends; the release has only line feeds.
        cells = {name: text.replace("\r\n", "\n") for name, text in row.cells.items()}
        built = _visit_row(cells | {"id": cells["encounter_id"]})
        where = f"{path}: row {row.number}"
        _check_texts(where, row.cells, {name: name for name in ACI_OFFICIAL_COLUMNS})
        if not any(map(begins_turn, built["turns"])):
            raise UsageError(
                f"{where}, column 'dialogue': no line of it begins with a speaker such as "
                "'[doctor]', so that it has no turns to "
                "cite. Download the file again."
            )

        if not begins_turn(built["turns"][0]):
            silent.append(built["id"])

        yield built

    if silent:
        print(
            f"note: {path.name}: {', '.join(silent)}: the dialogue begins before anybody is "
            "named; the text before it is turn 0, "
            "without a speaker, and kept as released",
            file=sys.stderr,
        )


def _visit_row(visit: Row) -> VisitRow:
    turns, note = split_turns(visit["dialogue"]), visit["note"]
    row = {"id": visit["id"], "dataset": visit["dataset"], "turns": turns, "note": note}
    return cast(VisitRow, row | divide_note(note))


def _check_texts(
    where: str, values: Mapping[str, str], names: Mapping[str, str]
) -> None:
    for ours, theirs in names.items():
        if not values[ours].strip():
            raise UsageError(
                f"{where}, column {theirs!r}: must be a text that is not empty. Download the "
                "file again."
            )


def _official(names: Mapping[str, str]) -> dict[str, OfficialFile]:
    pins = {split: _ACI_PINS[f"{name}.csv"] for split, name in names.items()}
    return {
        split: OfficialFile(
            places=(pin.checkout_path,), description=f"{split}, a CSV file", pin=pin
        )
        for split, pin in pins.items()
    }


ACI_SOURCE = DatasetSource(
    spec=ACI_BENCH,
    summary=(
        "ACI-BENCH pairs dialogues of doctor and patient with the clinical notes that were "
        "written of them. Each dialogue is "
        "here a list of its turns, each note whole and in four sections: subjective, objective "
        "exam, objective results, "
        "assessment and plan. A generated note is compared with the reference, and its citations "
        "with the turns they name."
    ),
    changes=(
        "`encounter_id` is `id`. The dialogue is a list of turns: a line that names no speaker "
        "belongs to the turn before it, "
        "so joined by line feeds the turns are the dialogue as released. One dialogue of `test2` "
        "begins without a speaker; that "
        "line is its turn 0. Notes are as released.",
        "The four sections are new: a rule of this package divides the note at its headings. "
        "Every line is in one section. It "
        "gives the official division of the validation notes.",
        "`doclens` has the splits that DocLens uses, `full` all five; the validation file's "
        "split is called `validation`.",
        "`demo` is not from the release: it was written for this package and is under the "
        "package's licence, Apache-2.0.",
    ),
    columns=ACI_COLUMNS,
    key="id",
    id_names=("encounter_id",),
    splits={
        "doclens": tuple(_ACI_FILES),
        "full": (*_ACI_FILES, *_MORE_ACI_FILES),
        "demo": tuple(_ACI_FILES),
    },
    # README of wyim/aci-bench.
    published_rows={
        "doclens": _ACI_ROWS,
        "full": {**_ACI_ROWS, "test2": 40, "test3": 40},
        "demo": {"train": 2, "validation": 1, "test1": 6},
    },
    files={
        "doclens": _official(_ACI_FILES),
        "full": _official({**_ACI_FILES, **_MORE_ACI_FILES}),
        "demo": {},
    },
    beside=(  # the reference claims, for --task-args claims
        Pin(
            "yiqingxyq/DocLens",
            "e77cfc9f200c03cde23c6a8d1ca7b5f2c499e0c7",
            "data/ACI-Bench-TestSet-1_clean.claim_min1max30.json",
            591_430,
            "bbdca185717c667076d5e36c1b630f6cbe1e7927ec8ac7e2553cbf3d705374eb",
        ),
    ),
    read=read_aci_rows,
    published="2023-06-03",
    creators=(
        "Wen-wai Yim",
        "Yujuan Fu",
        "Asma Ben Abacha",
        "Neal Snider",
        "Thomas Lin",
        "Meliha Yetisgen",
    ),
    task_categories=("summarization", "text-generation"),
    tags=("medical", "clinical notes", "dialogue", "benchmark"),
    responsible_ai=packaged(__file__, "responsible_ai.json")["aci_bench"],
)


# Our names to those of the files, whose sheets differ.
MEQSUM_OFFICIAL_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "train": {"id": "File", "question": "CHQ", "summary": "Summary"},
    "validation": {
        "id": "q_id",
        "question": "NLM Question",
        "summary": "Summary",
        "focus": "Question Focus",
        "types": "Question Type",
    },
    "test": {"id": "q_id", "question": "NLM Question", "summary": "Summary"},
}

MEQSUM_COLUMNS = (
    Column(
        name="id",
        description="As released: the file a question is from in `train`, a number in the other "
        "splits",
    ),
    Column(
        name="question",
        about="note",
        description="What somebody wrote to the National Library of Medicine, as released",
    ),
    Column(
        name="sentences",
        about="note",
        repeated=True,
        description="Its sentences, without white space around them; a sentence's number is its "
        "place, from 0",
    ),
    Column(
        name="summary",
        about="other",
        description="The question in one sentence, by an expert, as released",
    ),
    Column(
        name="focus", description="What it is about; only in `validation`, else empty"
    ),
    Column(
        name="types",
        repeated=True,
        description="What is asked, such as `Treatment`; only in `validation`",
    ),
)

_MEDIQA = ("abachaa/MEDIQA2021", "8d7fe20706dd6af0d089a0252a201c3da78ded8f")
# Each split's file, and what it is called in messages.
_MEQSUM_FILES = {
    "train": (
        Pin(
            "abachaa/MeQSum",
            "51e36cf65c12602333b6fdc3ae8ecf10430529f7",
            "MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx",
            216_310,
            "abedd939d5014306ca576522416bf69103e85dc8fcf1668a4099e8b84a39eeea",
        ),
        "MeQSum",
    ),
    "validation": (
        Pin(
            *_MEDIQA,
            "Task1/MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx",
            20_592,
            "6be459891f12bb7d7812d0c2b243ad9e7ae0b178542bab8123a1130312154bb5",
        ),
        "MEDIQA 2021 validation set",
    ),
    "test": (
        Pin(
            *_MEDIQA,
            "Task1/MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx",
            31_481,
            "c5d740a64c84deea4960bb0622b1243cab8664b4b2a387c9b497ddbbafbc9b61",
        ),
        "MEDIQA 2021 test set",
    ),
}


class QuestionRow(TypedDict):
    """A row of MeQSum; see `MEQSUM_COLUMNS`."""

    id: str
    question: str
    sentences: list[str]
    summary: str
    focus: str
    types: list[str]


def read_meqsum_rows(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[QuestionRow]:
    """Reads the rows of a split."""
    if config == "demo":
        yield from map(_question_row, demo_entries("questions", split))
        return

    path, names = files[split], MEQSUM_OFFICIAL_COLUMNS[split]
    again = f"Download the {_MEQSUM_FILES[split][1]} again."
    table = read_table(
        path, form=again, knows=has_columns(*map(folded, names.values()))
    )
    check_columns(
        path, table.columns, tuple(names.values()), release=_MEQSUM_FILES[split][1]
    )
    for row in table.rows:
        values = {ours: row.cells[theirs] or "" for ours, theirs in names.items()}
        _check_texts(
            f"{path}: {row.at}",
            values,
            {ours: names[ours] for ours in ("id", "question", "summary")},
        )
        if names["id"] == "q_id" and not re.fullmatch(r"\d+", values["id"], re.ASCII):
            raise UsageError(
                f"{row.location('q_id')}: must be a whole number, got "
                f"{values['id'][:60]!r}. Download the file again."
            )

        yield _question_row(values)


def _question_row(values: Row) -> QuestionRow:
    return {
        "id": values["id"],
        "question": values["question"],
        "sentences": split_question(values["question"]),
        "summary": values["summary"],
        "focus": values.get("focus", "").strip(),
        "types": [
            name.strip() for name in values.get("types", "").split(";") if name.strip()
        ],
    }


MEQSUM_SOURCE = DatasetSource(
    spec=MEQSUM,
    summary=(
        "MeQSum holds 1,000 questions that people wrote to the U.S. National Library of "
        "Medicine, each with a summary by an "
        "expert: the shortest question whose answers answer the whole. MEDIQA 2021 added a "
        "validation and a test set of the "
        "same kind; its 100 test questions are the ones that DocLens evaluates."
    ),
    changes=(
        "Three files are one dataset: MeQSum is `train`, MEDIQA 2021 task 1 has `validation` and "
        "`test`. Columns have the same "
        "names in all.",
        "`sentences` is new: a rule of this package splits the question. `types` is a list, one "
        "text in the release. Questions "
        "and summaries are as released.",
        "One question of `test` is word for word in `train` as well; it stays in both.",
        "`demo` is not from the release: it was written for this package and is under the "
        "package's licence, Apache-2.0.",
    ),
    licence_note=(
        "That is MeQSum's; for validation and test see the terms at "
        "https://github.com/abachaa/MEDIQA2021."
    ),
    columns=MEQSUM_COLUMNS,
    key="id",
    id_names=("q_id", "file"),
    splits=dict.fromkeys(MEQSUM.configs, tuple(_MEQSUM_FILES)),
    # Abstract of the MeQSum paper; section 3.1 of the MEDIQA 2021 overview.
    published_rows={
        "full": {"train": 1000, "validation": 50, "test": 100},
        "demo": {"train": 2, "validation": 3, "test": 7},
    },
    files={
        "full": {
            split: OfficialFile(
                places=(pin.checkout_path,),
                description=f"{release}, an XLSX file",
                pin=pin,
            )
            for split, (pin, release) in _MEQSUM_FILES.items()
        },
        "demo": {},
    },
    read=read_meqsum_rows,
    published="2019-07-28",
    creators=(
        "Asma Ben Abacha",
        "Dina Demner-Fushman",
        "Yassine Mrabet",
        "Yuhao Zhang",
        "Chaitanya Shivade",
        "Curtis Langlotz",
    ),
    task_categories=("summarization",),
    tags=("medical", "patient questions", "question summarization", "benchmark"),
    responsible_ai=packaged(__file__, "responsible_ai.json")["meqsum"],
)


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Turns rows into items of a task: one per row, or for `section` four, named `ENCOUNTER/SECTION`.

    `sentences` can be cited by their index; `reference` is "" for a section that the
    note does not have.
    """
    return [item for row in rows for item in _items(row, task.options["form"])]


# By form, the columns of a row with the cited texts, the reference, the groups, and the
# cluster.
_OF_FORM: Final[Mapping[str, tuple[str, str, tuple[str, ...], str]]] = {
    "note": ("turns", "note", ("dataset",), "id"),
    "section": ("turns", "", ("dataset",), "id"),
    "impression": ("sentences", "impression", ("modality", "anatomy"), "patient_id"),
    "question": ("sentences", "summary", (), "id"),
    "text": ("sentences", "reference", (), "id"),
}


def _items(row: Row, form: str) -> Iterator[Item]:
    """The items of one row, by the form of its task.

    A row of the form `section` gives four items, one for each section of the note, with
    ids such as `ID/subjective`; others give one. All items of a row share a cluster, so
    that intervals do not count one conversation four times.
    """
    cited, reference, columns, cluster = _OF_FORM[form]
    name, groups = str(row["id"]), {column: str(row[column]) for column in columns}
    more = (
        {"sections": {section: str(row[section]) for section in SECTIONS}}
        if form == "note"
        else {}
    )
    pieces = [(name, reference, groups)]
    if form == "section":
        pieces = [
            (f"{name}/{section}", section, {"section": section} | groups)
            for section in SECTIONS
        ]

    for item, column, own_groups in pieces:
        fields = {
            "form": form,
            "sentences": list(row[cited]),
            "reference": str(row[column]),
            **more,
        }
        yield Item(id=item, fields=fields, groups=own_groups, cluster=str(row[cluster]))


_FORM: Final = '{"example_id": "1", "input": "what the output is made from", "reference": "what it should say"}'
_SECTION: Final = "reference_"
_OWN_NAMES: Final = {"id": "example_id", "source": "input"} | {
    name: name for name in ("example_id", "input", "reference")
}

OWN_COLUMNS = (
    Column(name="id", description="`example_id` of the file, as text"),
    Column(
        name="source", about="note", description="What an output is made from, as given"
    ),
    Column(
        name="sentences",
        about="note",
        repeated=True,
        description="Its sentences, white space run together, without their numbers; a "
        "sentence's number is its place, from 0",
    ),
    Column(
        name="reference",
        about="other",
        description="What an output is compared with, as given; or empty",
    ),
)


@dataclass(frozen=True, kw_only=True)
class OwnText:
    """A record of a user's own texts.

    Attributes:
        sections: the reference's sections by name; "" for an empty one.
    """

    id: str
    source: str
    sentences: list[str]
    reference: str
    sections: Mapping[str, str] = field(default_factory=dict)


def read_own_texts(path: Path) -> list[OwnText]:
    """Reads a user's own texts, from records or from rows of a table."""
    texts: dict[str, OwnText] = {}
    knows = has_columns("example_id|id", "input|source", "reference")
    for row in read_table(path, record=_FORM, knows=knows).rows:
        where, value = row.where, row.cells
        if not row.at.startswith("record"):
            value = {
                _OWN_NAMES.get(folded(name), name.strip()): "" if text is None else text
                for name, text in value.items()
            }

        for name in ("example_id", "input", "reference"):
            if name not in value:
                raise UsageError(f"{where}: has no {name}. A record is like {_FORM}")

        own = _text(where, value)
        if own.id in texts:
            raise UsageError(
                f"{where}: example_id {named(own.id)} appears twice. Give each record its own."
            )

        texts[own.id] = own

    return list(texts.values())


def _text(where: str, record: Row) -> OwnText:
    """Reads one record of a user's own texts.

    The input's sentences are numbered `[0] ... [1] ...` throughout, or not at all: after
    a gap in the numbers, every citation would point to another sentence.
    """
    name = text_id(where, "example_id", record["example_id"])
    where = f"{where} (example_id {named(name)})"
    source = _string(where, "input", record["input"])
    try:
        sentences = source_sentences(source)
    except NumberingError as error:
        raise UsageError(
            f"{where}: its input {error}. Number its sentences [0], [1], [2] without a gap, or "
            "remove the numbers: the input is then "
            "divided into sentences here. A number in brackets that is text must not begin "
            "a sentence."
        ) from None

    if not any(sentences):
        raise UsageError(
            f"{where}: input must be a text that is not blank, since outputs are checked against "
            "it."
        )

    sections = {
        key.removeprefix(_SECTION): key
        for key in record
        if key.startswith(_SECTION) and key != _SECTION
    }
    return OwnText(
        id=name,
        source=source,
        sentences=sentences,
        reference=_without_mark(_string(where, "reference", record["reference"])),
        sections={
            section: _without_mark(_string(where, named(key), record[key]))
            for section, key in sections.items()
        },
    )


def _string(where: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name} must be a text, got {shown(value)}.")
    if not is_text(blank=True).holds(value):
        raise UsageError(
            f"{where}: {name} has invalid characters (half of a surrogate pair). Rewrite "
            "it."
        )
    return value


def _without_mark(text: str) -> str:
    """The text, "" for the mark of an empty section."""
    return "" if text.strip() == EMPTY else text


def read_own_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    """Reads the rows of a configuration."""
    if config == "demo":
        texts = [
            OwnText(sentences=source_sentences(demo["source"]), **demo)
            for demo in demo_entries("texts", split)
        ]
    else:
        texts = read_own_texts(files[split])

    yield from (
        {column.name: getattr(text, column.name) for column in OWN_COLUMNS}
        for text in texts
    )


_NUMBER: Final = re.compile(r"\[([0-9]{1,6})\]")
_CLOSERS: Final = "\"'”’)]}»"
_ENDS: Final = ".!?\n\r"
_SPACES: Final = " \t\u00a0"


class NumberingError(ValueError):
    """A source is numbered, but not 0, 1, 2 and so on from its beginning.

    The message gives the wrong number, and quotes nothing.
    """


def source_sentences(source: str) -> list[str]:
    """Splits a source into its sentences, with white space collapsed.

    Numbered sentences, which may be blank, lose their numbers.

    Raises:
        NumberingError: A numbered source does not begin with [0], or a sentence begins
            with another number than the next.
    """
    if _NUMBER.match(source.lstrip()):
        _check_numbers(source)
        return list(read_sources(source).values())

    numbers = [int(match[1]) for match in _NUMBER.finditer(source)]
    if 0 in numbers and 1 in numbers[numbers.index(0) :]:
        raise NumberingError("is numbered from [0] on, but there is text before it")

    return [" ".join(sentence.split()) for sentence in split_sentences(source)]


def _check_numbers(source: str) -> None:
    after = -1
    for match in _NUMBER.finditer(source):
        number = int(match[1])
        if number == after + 1:
            after = number
        elif after < 0:
            raise NumberingError(
                f"begins with [{number}], the first number must be [0]"
            )
        elif _begins_sentence(source, match.start()):
            raise NumberingError(
                f"has [{number}] after [{after}], where [{after + 1}] comes next"
            )


def _begins_sentence(source: str, position: int) -> bool:
    before = source[max(0, position - 100) : position].rstrip(_SPACES)
    return not before or before.rstrip(_CLOSERS)[-1:] in _ENDS


def read_sources(text: str) -> dict[int, str]:
    """Reads the sentences of a numbered source by number; a number that is not the next is part of a sentence."""
    marks: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        if not marks or int(match[1]) == int(marks[-1][1]) + 1:
            marks.append(match)

    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        int(mark[1]): " ".join(text[mark.end() : end].split())
        for mark, end in zip(marks, ends, strict=False)
    }


OWN_SOURCE = DatasetSource(
    spec=OWN,
    summary=(
        "Sources and references that a user has: dialogues and notes, reports and summaries, or "
        "any text that is made from "
        "another one. An output's claims are compared with the reference's, and its citations "
        "with the sentences of the "
        "source that they name, as DocLens does."
    ),
    changes=(
        "`own` is a user's own file, `example_id` called `id` and `input` called `source`; its "
        "text stays with its owner.",
        "`sentences` is new: those of a numbered source, or what a rule of this package divides "
        "one without numbers into.",
        "`demo` was written for this package and is under the package's licence, Apache-2.0.",
    ),
    licence_note="Rows of `own` are under whatever terms their source is; treat them as "
    "credentialed.",
    columns=OWN_COLUMNS,
    key="id",
    id_names=("example_id",),
    splits=dict.fromkeys(OWN.configs, ("test",)),
    published_rows={"demo": {"test": 4}},
    files={
        "own": {
            "test": OfficialFile(
                places=("notes.json",),
                description="sources with references: CSV, XLSX, parquet, JSON",
            )
        },
        "demo": {},
    },
    read=read_own_rows,
    published="2023-11-16",
    creators=("The medical-tasks developers",),
    task_categories=("summarization", "text-generation"),
    tags=("medical", "clinical notes", "benchmark"),
    responsible_ai=packaged(__file__, "responsible_ai.json")["doclens_own"],
)

SOURCES = (ACI_SOURCE, MEQSUM_SOURCE, MIMIC_SOURCE, OWN_SOURCE)


METRIC_COLUMNS: Final[Columns] = {
    "reference": ("note", "impression", "summary", "Summary"),
    "sentences": (
        "turns",
        (split_turns, "dialogue"),
        (split_question, "CHQ"),
        (split_question, "NLM Question"),
        (source_sentences, "input"),
    ),
}
"""The columns that `metrics/doclens` reads of a row of any of these datasets, official and built
ones."""
