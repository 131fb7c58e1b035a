"""Reads K-QA from its official JSON Lines files as rows of the dataset, and as items of a task.

The release has two files: 201 questions with a physician's answer split into
statements, and all 1,212 questions with their metadata (paper, table 2). Both become
rows with the same columns; `questions` has no answers and no statements. Statements
stay as released, including three blank must-have ones: they are part of the published
892.

Ids are the first 16 digits of the SHA-256 of the question with white space collapsed. In
`questions`, 45 rows repeat a question with another diagnosis; a dash and 8 digits of the
diagnosis's hash follow.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

from medical_tasks.benchmarks.kqa.declarations import DATASET, KQA_OWN
from medical_tasks.benchmarks.kqa.documents import Document
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile, pinned
from medical_tasks.errors import UsageError
from medical_tasks.harness.evaluate_rows import Columns
from medical_tasks.io.columns import Column
from medical_tasks.io.files import packaged
from medical_tasks.io.json_records import (
    Field,
    Record,
    checked_record,
    is_list_of,
    is_text,
    is_text_or_null,
    one_of,
    optional,
    read_records,
)
from medical_tasks.io.tables import (
    TableRow,
    folded,
    has_columns,
    is_json,
    read_content,
    read_table,
)
from medical_tasks.io.wording import sheet_words
from medical_tasks.spec import Item, Row, TaskSpec


def question_id(question: str, diagnosis: str | None = None) -> str:
    """Names a question by a hash of its text: 16 hexadecimal digits, and a dash with 8 more for a repeat.

    White space does not count: one question of the release ends in a line break, and
    copies of a dataset differ there. `diagnosis` distinguishes repeats of a question; a
    question's first occurrence is named without it.
    """
    name = _digest(question)[:16]
    return name if diagnosis is None else f"{name}-{_digest(diagnosis)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


class KqaRow(TypedDict):
    """A row of the dataset, and the `fields` of an item; see `COLUMNS`."""

    id: str
    question: str
    answer: str
    must_have: list[str]
    nice_to_have: list[str]
    sources: list[str]
    icd_10_diag: str
    entity_text: list[str]
    matched_entity: str
    entity_tag: list[str]


def typed_row(**values: object) -> KqaRow:
    """Builds a row with empty defaults and an id from the question."""
    row = {column.name: [] if column.repeated else "" for column in COLUMNS}
    return cast(KqaRow, row | {"id": question_id(str(values["question"]))} | values)


FORMS = ("yes or no", "open", "other")

_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?")
_OPENERS = frozenset(
    "so and but or also ok okay oh alright well then now hi hello wait sorry question lets just".split()
)
_YES_OR_NO = frozenset(
    "is are am was were isnt arent do does did doe dont doesnt didnt have has had havent hasnt "
    "can could cant couldnt will "
    "would wont wouldnt should shouldnt shall may might must".split()
)
_OPEN = frozenset(
    "what whats which who whos whom whose when whens where wheres why whys how hows".split()
)


def question_form(question: str) -> str:
    """Classifies a question as one of `FORMS` by its first word.

    Words that merely open a turn ("Ok so", "Also") are skipped. Patients write too
    little punctuation to find the question within a text.
    """
    words = (
        match[0].replace("'", "").replace("’", "")
        for match in _WORD.finditer(question.lower())
    )
    first = next((word for word in words if word not in _OPENERS), "")

    return FORMS[0] if first in _YES_OR_NO else FORMS[1] if first in _OPEN else FORMS[2]


def demo_rows() -> list[KqaRow]:
    """The rows of the `demo` configuration: synthetic questions in the forms of the release.

    They were written for this package; no patient asked them, and they are no medical
    advice. Each answer says what its statements say.
    """
    return [
        typed_row(**question)
        for question in packaged(__file__, "demo.json")["questions"]
    ]


@cache
def demo_ids() -> frozenset[str]:
    """The ids of the demo's questions."""
    return frozenset(row["id"] for row in demo_rows())


def demo_documents() -> list[Document]:
    """The demo's corpus, for lay readers.

    It does not cover all questions, so "I don't know" is sometimes right.
    """
    return [
        Document(**document)
        for document in packaged(__file__, "demo.json")["documents"]
    ]


COLUMNS = (
    Column(
        name="id",
        description="Hash of the question's text; repeats of a question add a hash of their "
        "diagnosis",
    ),
    Column(
        name="question", about="note", description="What the patient asked, as released"
    ),
    Column(
        name="answer",
        about="other",
        description="The physician's free-form answer; empty in `questions`",
    ),
    Column(
        name="must_have",
        about="other",
        repeated=True,
        description="Statements an answer has to make; empty in `questions`",
    ),
    Column(
        name="nice_to_have",
        about="other",
        repeated=True,
        description="Statements that supplement it; empty in `questions`",
    ),
    Column(
        name="sources",
        repeated=True,
        description="Addresses the physician consulted; empty in `questions`",
    ),
    Column(
        name="icd_10_diag",
        description="Condition the question is about, the wording of ICD-10; empty when unknown",
    ),
    Column(
        name="entity_text",
        repeated=True,
        description="Clinical terms found in the question; only in `questions`",
    ),
    Column(
        name="matched_entity",
        description="The authors' name for the main term; only in `questions`",
    ),
    Column(
        name="entity_tag",
        repeated=True,
        description="Kinds of the terms: `problem`, `treatment`, `test`; only in `questions`",
    ),
)

METRIC_COLUMNS: Columns = {
    "must_have": ("Must_have",),
    "nice_to_have": ("Nice_to_have",),
}
"""The columns of a row that `metrics/kqa` reads, with their official names."""

ANSWERED_SHA256 = "1d4204665e2c9e50c3c348b8ad1de2ddf5d90205c3efaea0eb38135192272c6f"
QUESTIONS_SHA256 = "8038e1f0a173ffcbf918de3d7161e09d16c6ef77252d54995d0ffe6b07770887"

_GOLD_FIELDS = {
    "Question": is_text(),
    "Free_form_answer": is_text(),
    "Must_have": is_list_of(is_text(blank=True)),
    "Nice_to_have": is_list_of(is_text(blank=True)),
}
_ANSWERED_FIELDS = {
    **_GOLD_FIELDS,
    "Sources": is_text(blank=True),
    "ICD_10_diag": is_text_or_null(),
}
_USERS_FIELDS = {
    **_GOLD_FIELDS,
    **{name: optional(is_text_or_null()) for name in ("Sources", "ICD_10_diag")},
}
_TABLE_FIELDS = {**_USERS_FIELDS, "Free_form_answer": is_text(blank=True)}
# Columns of a built dataset, which are recomputed.
_BUILT = "id", "entity_text", "matched_entity", "entity_tag"
_OWN_RELEASE = "file of questions with statements"
_TABLE = "Columns are question, must_have and nice_to_have; statements stand one a line of a cell, or in must_have_1, must_have_2."
# The documented names of a table's columns.
_COLUMNS = sheet_words(
    {
        "Question": "question",
        "Free_form_answer": "answer",
        "Must_have": "must_have",
        "Nice_to_have": "nice_to_have",
        "Sources": "sources",
        "ICD_10_diag": "icd_10_diag",
    }
)
_QUESTION_FIELDS = {
    "Question": is_text(),
    "ICD_10_diag": is_text_or_null(),
    "entity_text": is_list_of(is_text(), null=True),
    "matched_entity": is_text_or_null(),
    "entity_tag": is_list_of(one_of(("problem", "treatment", "test")), null=True),
}

# White space may break an address in the release; the next address begins with its
# scheme.
_NEXT_ADDRESS = re.compile(r"\s+(?=https?://)")

# Groups of items by number of must-have statements, with their upper ends; each has
# about a third of the 201 items.
_SIZES, _SIZE_ENDS = ("up to 2", "3 to 4", "5 or more"), (2, 4)


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[KqaRow]:
    """Reads the rows of a configuration from its file; `demo` has none."""
    if config == "demo":
        yield from demo_rows()
    elif config == "own":
        yield from read_gold_file(files[split])
    elif config == "answered":
        yield from _gold_rows(
            _released(files[split], _ANSWERED_FIELDS, "K-QA file of answered questions")
        )
    else:
        yield from _question_rows(
            _released(files[split], _QUESTION_FIELDS, "K-QA file of all questions")
        )


def _released(
    path: Path, fields: Mapping[str, Field], release: str
) -> Iterator[Record]:
    return read_records(path, fields, release=release, again="Download it again.")


def read_gold_file(path: Path) -> list[KqaRow]:
    """Reads a user's own questions with statements, as rows for `load_items`.

    The file has the dataset's format, or is a table.
    """
    if not is_json(path, content := read_content(path, form=_TABLE)):
        knows = has_columns("question", "(must|nice_to)_have.*")
        table = read_table(path, content=content, form=_TABLE, knows=knows)
        return list(_gold_rows(map(_table_record, table.rows)))

    again = "Rewrite it, for example with `medical-tasks decompose`."
    return list(
        _gold_rows(read_records(path, _USERS_FIELDS, release=_OWN_RELEASE, again=again))
    )


def _table_record(row: TableRow) -> Record:
    """Converts a table's row.

    A cell has one statement per line, or columns `must_have_1`, `must_have_2` and so on
    have one each.
    """
    names = {name.casefold(): name for name in _TABLE_FIELDS} | {
        "answer": "Free_form_answer"
    }
    values: dict[str, object] = {"Free_form_answer": ""}
    statements: dict[str, list[str]] = {"Must_have": [], "Nice_to_have": []}
    for column, cell in row.cells.items():
        name = names.get(
            re.sub(r"_?[0-9]+$", "", folded(column)), names.get(folded(column), column)
        )
        if name in statements:
            lines = cell if isinstance(cell, list) else (cell or "").splitlines()
            statements[name] += [line.strip() for line in lines if line.strip()]
        elif name in names.values() or (cell and folded(column) not in _BUILT):
            values[name] = "\n".join(cell) if isinstance(cell, list) else cell or ""

    return checked_record(
        row.path,
        row.number,
        values | statements,
        _TABLE_FIELDS,
        release=_OWN_RELEASE,
        words=_COLUMNS,
    )


def _gold_rows(records: Iterable[Record]) -> Iterator[KqaRow]:
    """The questions with statements, as rows; a question without any is refused, since it cannot be scored."""
    lines: dict[str, int] = {}
    for record in records:
        values = record.values
        if not any(
            text.strip()
            for name in ("Must_have", "Nice_to_have")
            for text in values[name]
        ):
            raise record.wrong(
                "Must_have",
                f"there must be a statement here or in {record.words.name('Nice_to_have')!r}",
            )

        record.check_unique("Question", question_id(values["Question"]), lines)
        addresses = _NEXT_ADDRESS.split(values.get("Sources") or "")
        yield typed_row(
            question=values["Question"],
            answer=values["Free_form_answer"],
            must_have=values["Must_have"],
            nice_to_have=values["Nice_to_have"],
            sources=[
                "".join(address.split()) for address in addresses if address.strip()
            ],
            icd_10_diag=values.get("ICD_10_diag") or "",
        )


def _question_rows(records: Iterable[Record]) -> Iterator[KqaRow]:
    """The questions without answers, as rows; repeated questions get different ids."""
    seen: dict[str, int] = {}
    for record in records:
        values = record.values
        diagnosis = values["ICD_10_diag"] or ""
        name = question_id(values["Question"])
        if name in seen:
            # Patients with different conditions asked the same; the diagnosis
            # distinguishes the repeats.
            name = question_id(values["Question"], diagnosis)

        if name in seen:
            raise record.wrong(
                "Question",
                f"must be unique for its ICD_10_diag, it stands on line {seen[name]} with the "
                "same already",
            )

        seen[name] = record.line
        yield typed_row(
            question=values["Question"],
            icd_10_diag=diagnosis,
            entity_text=values["entity_text"] or [],
            matched_entity=values["matched_entity"] or "",
            entity_tag=values["entity_tag"] or [],
            id=name,
        )


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Turns built rows into items, grouped by number of must-have statements, without blank ones, and by form."""
    return [_item(task, row) for row in rows]


def _item(task: TaskSpec, row: Row) -> Item:
    name = str(row["id"])
    if not any(
        text.strip() for column in ("must_have", "nice_to_have") for text in row[column]
    ):
        raise UsageError(
            f"{task.name}: question {name} has no statements of a physician, so no answer to it "
            "can be scored. "
            f"Configuration `questions` of the dataset {DATASET.name} holds questions alone, to "
            "load or to answer and take "
            "apart with `medical-tasks decompose`. Evaluate with --config answered or --config "
            "demo."
        )

    must_haves = sum(bool(text.strip()) for text in row["must_have"])
    return Item(
        id=name,
        fields=row,
        groups={
            "must_haves": _SIZES[bisect_left(_SIZE_ENDS, must_haves)],
            "question_form": question_form(str(row["question"])),
        },
        cluster=name,
    )


# The last three files are for `judge-check kqa` and `--prompts official`.
_PINS = pinned(
    "Itaymanes/K-QA",
    "ef403d012e199fcfa0d8c02b38a96ff95164f4d0",
    f"""
380918 {ANSWERED_SHA256} dataset/questions_w_answers.jsonl
258904 {QUESTIONS_SHA256} dataset/questions.jsonl
388292 98372a3feea2ac7b445357ec2ab2e6f6251ecd72ad03a102ea4e4cdf53956779 dataset/NLI_medical_annotator.csv
4789 97befde88ba48ffc0ea577c87945e47d78511174f79ddb585a62a6c9f13c40bd evaluation/prompts/is_contradict.txt
5624 3fb4f55f5bbe4ad31046cb9956ba2ab5c786ba501835d141b690d712d2463eb3 evaluation/prompts/is_entails.txt
""",
)


def _official(name: str, description: str) -> dict[str, OfficialFile]:
    return {
        "test": OfficialFile(
            places=(f"K-QA/dataset/{name}",), description=description, pin=_PINS[name]
        )
    }


SOURCE = DatasetSource(
    spec=DATASET,
    summary=(
        "K-QA holds 1,212 questions that patients asked on an online clinic, each "
        "understandable by itself. Physicians "
        "answered 201 of them and took each answer apart into statements, marked as "
        "must-have or nice-to-have. An answer "
        "to such a question is judged by the statements it entails or contradicts."
    ),
    changes=(
        "Columns have lower-case names with underscores, and are the same in all "
        "configurations.",
        "`id` is new. The lists of addresses in `sources` are one text in the release; an "
        "address broken over lines is "
        "joined. Values that are null in the release are empty.",
        "Questions and statements are as released: with their white space, and with three "
        "blank must-have statements.",
        "`own` is not from the release: it holds a user's questions, from a table or such as "
        "`medical-tasks decompose` writes.",
        "`demo` is not from the release: it was written for this package and is under the "
        "package's licence, Apache-2.0.",
    ),
    columns=COLUMNS,
    key="id",
    splits=dict.fromkeys(DATASET.configs, ("test",)),
    # Paper, table 2.
    published_rows={
        "answered": {"test": 201},
        "questions": {"test": 1212},
        "demo": {"test": 13},
    },
    files={
        "answered": _official(
            "questions_w_answers.jsonl", "the answered questions, a JSON Lines file"
        ),
        "questions": _official("questions.jsonl", "all questions, a JSON Lines file"),
        "own": {
            "test": OfficialFile(
                places=("gold.jsonl",),
                description="your questions with statements: CSV, XLSX, parquet or JSON Lines",
            )
        },
        "demo": {},
    },
    beside=tuple(_PINS.values())[2:],
    known_files={ANSWERED_SHA256: "answered", QUESTIONS_SHA256: "questions"},
    read=read_rows,
    published="2024-01-25",
    creators=(
        "Itay Manes",
        "Naama Ronn",
        "David Cohen",
        "Ran Ilan Ber",
        "Zehavi Horowitz-Kugler",
        "Gabriel Stanovsky",
    ),
    task_categories=("question-answering",),
    tags=("medical", "patient questions", "long-form", "benchmark"),
    responsible_ai=packaged(__file__, "responsible_ai.json")["kqa"],
)

OWN_SOURCE = replace(
    SOURCE,
    spec=KQA_OWN,
    summary=(
        "Questions in K-QA's form that patients asked their own clinicians, with statements of "
        "what an answer must say. They stay on the machine of their holder."
    ),
    changes=(
        "`demo` was written for this package and is under the package's licence, Apache-2.0.",
    ),
    licence_note="Rows of `own` are under the terms of whoever asked and answered.",
    splits=dict.fromkeys(KQA_OWN.configs, ("test",)),
    published_rows={"demo": {"test": 13}},
    files={config: SOURCE.files[config] for config in KQA_OWN.configs},
    beside=(),
    known_files={},
    creators=("The medical-tasks developers",),
    responsible_ai=packaged(__file__, "responsible_ai.json")["kqa_own"],
)

SOURCES = (SOURCE, OWN_SOURCE)
