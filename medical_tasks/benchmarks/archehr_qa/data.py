"""ArchEHR-QA from the user's own PhysioNet copy, as rows and as items of a task.

What is built depends on which splits lie there. The organizers' open files have
questions alone (configuration `questions`).
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypedDict

from medical_tasks.benchmarks.archehr_qa.declarations import DATASET
from medical_tasks.benchmarks.archehr_qa.release import (
    CASES_FILE,
    KEY_FILE,
    MAPPING_FILE,
    AnswerSentence,
    Case,
    CaseKey,
    Document,
    FullCase,
    Sentence,
    read_cases,
    read_key,
    read_mapping,
)
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.files import packaged
from medical_tasks.spec import Item, Row, TaskSpec

FOLDERS: Final = {"dev": "dev", "test": "test", "test_2026": "test-2026"}
"""The folders of a release, by split."""

SPLITS: Final = tuple(FOLDERS)

QUESTION_SPLITS: Final = {
    "dev": "archehr-qa/data/dev/archehr-qa.xml",
    "test_2026": "archehr-qa-2026/data/subtask_1/test/archehr-qa.xml",
}
"""The files of open questions by split, from the folder above the organizers' checkouts."""

_TEST: Final = re.compile(r"(?:^|[^a-z])test(?:$|[^a-z])")
_LATER_TEST: Final = re.compile(r"(?:^|[^a-z])test[^a-z0-9]*2026(?![0-9])")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PROJECT: Final = "archehr-qa"
_DEV_IDS: Final = frozenset(map(str, range(1, 21)))


def split_of(folder: Path) -> str:
    """The split of a folder with a file of cases, by its name: `test_2026`, `test` with that word, else `dev`."""
    name = folder.resolve().name.lower()
    if _LATER_TEST.search(name):
        return "test_2026"
    return "test" if _TEST.search(name) else "dev"


def find_splits(folder: Path) -> dict[str, Path]:
    """Finds the files of cases of a release, in the order of `SPLITS`, at or below a folder."""
    _check_folder(folder)
    splits = _splits(folder)
    if splits:
        return splits

    releases = {root: splits for root in _roots(folder) if (splits := _splits(root))}
    if len(releases) > 1:
        names = ", ".join(root.relative_to(folder).as_posix() for root in releases)
        raise UsageError(
            f"{folder}: has several releases: {names}. Give --source the folder of one."
        )

    return next(iter(releases.values()), {})


def find_questions(folder: Path) -> dict[str, Path]:
    """Finds the organizers' open files of questions; their case ids determine the split."""
    _check_folder(folder)
    files: dict[str, Path] = {}
    for path in question_files(folder):
        split = (
            "dev"
            if {case.id for case in read_cases(path, notes=False)} <= _DEV_IDS
            else "test_2026"
        )
        if split in files:
            raise UsageError(
                f"{folder}: has two files of the split {split}: {files[split]} and {path}. Give "
                "one of them."
            )

        files[split] = path

    return {split: files[split] for split in QUESTION_SPLITS if split in files}


def question_files(folder: Path) -> list[Path]:
    """Lists files at the paths of the organizers' checkouts; `find_questions` determines their splits."""
    alone = folder / CASES_FILE
    if alone.is_file():
        return [alone]

    checkouts = [child for child in _folders(folder) if child.name.startswith(_PROJECT)]
    inner = [path.split("/", 1)[1] for path in QUESTION_SPLITS.values()]
    ends = dict.fromkeys(
        path.split("/", start)[-1] for path in inner for start in range(path.count("/"))
    )
    paths = [
        *(folder / end for end in ends),
        *(checkout / path for checkout in checkouts for path in inner),
    ]

    return [path for path in paths if path.is_file()]


def _check_folder(folder: Path) -> None:
    if folder.is_file():
        raise UsageError(
            f"{folder}: is a file. Give --source its folder, since it also needs the key and the mapping."
        )


def _splits(root: Path) -> dict[str, Path]:
    alone = root / CASES_FILE
    paths = {split: root / folder / CASES_FILE for split, folder in FOLDERS.items()}
    files = {split: path for split, path in paths.items() if path.is_file()}
    if not alone.is_file():
        return files

    if files:
        folders = " and ".join(FOLDERS[split] for split in files)
        raise UsageError(
            f"{root}: has {CASES_FILE} in itself and in {folders}. Give --source the folder of "
            "one split, or move "
            "the file that belongs to neither away."
        )

    return {split_of(root): alone}


def _roots(root: Path) -> Iterator[Path]:
    for folder in _folders(root):
        if _VERSION.fullmatch(folder.name):
            yield folder
        elif folder.name == "data":
            yield from [folder] if _splits(folder) else _folders(folder)
        elif folder.name.startswith(_PROJECT):
            yield folder
            yield from (
                child for child in _folders(folder) if _VERSION.fullmatch(child.name)
            )


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(child for child in folder.iterdir() if child.is_dir())


COLUMNS = (
    Column(name="id", description="Id of the case, as released"),
    Column(
        name="source",
        description="Whose note it is: `mimic-iii` (intensive care), `mimic-iv` (emergency "
        "department); '' where it is not known",
    ),
    Column(
        name="patient_narrative",
        about="other",
        description="What the patient, or a relative, wrote",
    ),
    Column(
        name="patient_question",
        about="other",
        description="The parts of it that ask, a line each, as clinicians marked them; '' where "
        "none is",
    ),
    Column(
        name="clinician_question",
        about="other",
        description="The question as a clinician would put it; '' where it is not released",
    ),
    Column(
        name="sentence_ids",
        repeated=True,
        description="Ids of the note excerpt's sentences, whole numbers as text; empty in "
        "`questions`, which has no excerpts",
    ),
    Column(
        name="sentences",
        about="note",
        repeated=True,
        description="The sentences, in the same order; may have line ends within",
    ),
    Column(
        name="paragraph_ids",
        repeated=True,
        description="Of each sentence, in the same order; '' where it is not known",
    ),
    Column(
        name="relevance",
        repeated=True,
        description="What each sentence is worth: `essential`, `supplementary` or "
        "`not-relevant`; empty without a key",
    ),
    Column(
        name="clinician_answer",
        about="other",
        description="A clinician's answer, without citations; '' where it is not released",
    ),
    Column(
        name="answer_sentences",
        about="other",
        repeated=True,
        description="Its sentences, without citations; empty where not released",
    ),
    Column(
        name="answer_citations",
        repeated=True,
        description="Sentence ids that each of them rests on, commas between, or ''; empty where "
        "not released",
    ),
    Column(
        name="answer_sentence_ids",
        repeated=True,
        description="Ids of the answer's sentences, in the same order",
    ),
    Column(
        name="document_id",
        description="The note: `HADM_ID_ROW_ID` in MIMIC-III, `hadm_id` in MIMIC-IV; '' where it "
        "is not known",
    ),
)
"""The columns of every configuration, in order."""


class CaseRow(TypedDict):
    """A row of the dataset, and the `fields` of an item; see `COLUMNS`."""

    id: str
    source: str
    patient_narrative: str
    patient_question: str
    clinician_question: str
    sentence_ids: list[str]
    sentences: list[str]
    paragraph_ids: list[str]
    relevance: list[str]
    clinician_answer: str
    answer_sentences: list[str]
    answer_citations: list[str]
    answer_sentence_ids: list[str]
    document_id: str


def case_row(case: Case, key: CaseKey, document: Document) -> CaseRow:
    """Builds a row, with the columns in order."""
    return {
        "id": case.id,
        "source": document.source,
        "patient_narrative": case.narrative,
        "patient_question": "\n".join(case.phrases),
        "clinician_question": case.clinician_question,
        "sentence_ids": [sentence.id for sentence in case.sentences],
        "sentences": [sentence.text for sentence in case.sentences],
        "paragraph_ids": [sentence.paragraph_id for sentence in case.sentences],
        "relevance": [key.relevance[sentence.id] for sentence in case.sentences]
        if key.relevance
        else [],
        "clinician_answer": key.clinician_answer,
        "answer_sentences": [sentence.text for sentence in key.answer_sentences],
        "answer_citations": [
            ",".join(sentence.citations) for sentence in key.answer_sentences
        ]
        if key.cited
        else [],
        "answer_sentence_ids": [sentence.id for sentence in key.answer_sentences],
        "document_id": document.id,
    }


def read_case_rows(path: Path, *, notes: bool = True) -> Iterator[CaseRow]:
    """Reads the cases of a split, with key and mapping where they exist.

    Open questions (`notes=False`) never have a key.
    """
    cases = read_cases(path, notes=notes)
    key, mapping = path.with_name(KEY_FILE), path.with_name(MAPPING_FILE)
    keys = read_key(key, cases) if notes and key.is_file() else {}
    documents = read_mapping(mapping, cases) if mapping.is_file() else {}
    for case in cases:
        yield case_row(
            case, keys.get(case.id, CaseKey()), documents.get(case.id, Document())
        )


_LABELS: Final = {"E": "essential", "S": "supplementary", "N": "not-relevant"}


@cache
def demo_cases() -> dict[str, tuple[FullCase, ...]]:
    """The demo's cases by split: synthetic, written for this package; they describe nobody and give no advice.

    In `demo_cases.json` a sentence begins with the first letter of its label.
    """
    splits = packaged(__file__, "demo_cases.json")
    return {split: tuple(map(_full, cases)) for split, cases in splits.items()}


def _full(record: Row) -> FullCase:
    """Builds a case from a record of the demo.

    Each line of the note begins with the letter of its relevance and a space. Sentences
    are numbered through the note from 1, paragraphs from 0.

    Example: the line `E He bled.` is the sentence `He bled.`, which is essential.
    """
    lines = [
        (str(number), line)
        for number, paragraph in enumerate(record["note"])
        for line in paragraph
    ]
    return FullCase(
        case=Case(
            id=record["id"],
            narrative=record["narrative"],
            phrases=tuple(record["phrases"]),
            clinician_question=record["question"],
            sentences=tuple(
                Sentence(id=str(number), paragraph_id=paragraph, text=line[2:])
                for number, (paragraph, line) in enumerate(lines, start=1)
            ),
        ),
        key=CaseKey(
            relevance={
                str(number): _LABELS[line[0]]
                for number, (_, line) in enumerate(lines, start=1)
            },
            clinician_answer=" ".join(text for text, _ in record["answer"]),
            answer_sentences=tuple(
                AnswerSentence(
                    id=str(number),
                    text=text,
                    citations=tuple(ids.split(",")) if ids else (),
                )
                for number, (text, ids) in enumerate(record["answer"], start=1)
            ),
            cited=True,
        ),
        document=Document(id=record["document_id"], source=record["source"]),
    )


_OFFICIAL: Final = "official"
_QUESTIONS: Final = "questions"
_ROWS: Final = {"dev": 20, "test": 100, "test_2026": 47}
_ABOUT: Final = (
    "the cases of {}, an XML file, with key and mapping beside it where released"
)
_ABOUT_QUESTIONS: Final = "the open questions of {}, an XML file"
_BESIDE: Final = {
    KEY_FILE: "what their sentences are worth, a JSON file",
    MAPPING_FILE: "which notes they are from, a JSON file",
}


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[CaseRow]:
    """Reads the rows of a split from its file of cases; `demo` has none."""
    if config in (_OFFICIAL, _QUESTIONS):
        yield from read_case_rows(files[split], notes=config == _OFFICIAL)
    else:
        yield from (
            case_row(demo_case.case, demo_case.key, demo_case.document)
            for demo_case in demo_cases()[split]
        )


def source_at(config: str, folder: Path | None) -> DatasetSource:
    """The source of a configuration with the files of a folder; without files it has all splits."""
    (source,) = SOURCES
    if folder is None or config not in (_OFFICIAL, _QUESTIONS):
        return source

    released = config == _OFFICIAL
    splits = find_splits(folder) if released else find_questions(folder)
    if not splits:
        _check_other(released, folder)
        return source

    files = {}
    for split, cases in splits.items():
        about = _ABOUT if released else _ABOUT_QUESTIONS
        files[split] = _file(cases, folder, about.format(split))
        for name in (KEY_FILE, MAPPING_FILE) if released else (MAPPING_FILE,):
            if (path := cases.with_name(name)).is_file():
                files[f"{split}/{name}"] = _file(path, folder, _BESIDE[name])

        if released and f"{split}/{KEY_FILE}" not in files:
            print(
                f"note: {cases.parent}: has no {KEY_FILE}, so that of answers to {split} only "
                "the form is scored",
                file=sys.stderr,
            )

    # The published numbers apply to a whole release; a single folder may be part of one.
    published = {
        split: _ROWS[split]
        for split in splits
        if not released or splits[split].parent != folder
    }
    return dataclasses.replace(
        source,
        at=None,
        splits={**source.splits, config: tuple(splits)},
        files={**source.files, config: files},
        published_rows={**source.published_rows, config: published},
    )


def _check_other(released: bool, folder: Path) -> None:
    if released and question_files(folder):
        raise UsageError(
            f"{folder}: has the organizers' open files, whose cases have no note excerpts, so "
            "that nothing can be cited. Build "
            "them as --config questions, or give the folder of PhysioNet's release."
        )

    if not released and find_splits(folder):
        raise UsageError(
            f"{folder}: is PhysioNet's release, and the configuration questions is built from the "
            "organizers' open files. Build it as "
            "--config official."
        )


def _file(path: Path, root: Path, description: str) -> OfficialFile:
    return OfficialFile(
        places=(path.relative_to(root).as_posix(),), description=description
    )


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Turns the rows that have the task's input into items, with gold or without.

    Raises:
        UsageError: No row has it.
    """
    needed, has_input = _INPUTS.get(
        _form(task), ("a note excerpt", lambda row: bool(row["sentences"]))
    )
    kept = [row for row in rows if has_input(row)]
    if not kept:
        raise UsageError(
            f"{task.name}: none of the {len(rows):,} cases has {needed}, which it asks about. The "
            "organizers' open files "
            "(--config questions) are for archehr_question alone. Choose another --split, or "
            "build PhysioNet's release with "
            f"{KEY_FILE} in the split's folder: medical-tasks build archehr_qa --source FOLDER"
        )

    gold, has_gold = _GOLD.get(
        _form(task), ("labels of its sentences", lambda row: bool(row["relevance"]))
    )
    for count, remark in (
        (len(rows) - len(kept), f"lack {needed} and are not asked"),
        (
            sum(not has_gold(row) for row in kept),
            f"lack {gold}: they are asked, and nothing is compared",
        ),
    ):
        if count and len(rows) > 1:  # a harness passes single rows
            print(
                f"note: {task.name}: {count:,} of the {len(rows):,} cases {remark}",
                file=sys.stderr,
            )

    return [
        Item(
            id=row["id"],
            fields=row,
            groups={"source": row["source"] or "unknown"},
            cluster=row["id"],
        )
        for row in kept
    ]


def _form(task: TaskSpec) -> str:
    return "" if "steps" in task.options else task.options["form"]


_Has = tuple[str, Callable[[Row], bool]]

_INPUTS: Final[Mapping[str, _Has]] = {
    "question": ("a message", bool),
    "alignment": (
        "a clinician's answer in sentences",
        lambda row: bool(row["sentences"] and row["answer_sentences"]),
    ),
}
"""The inputs of subtasks that ask about more than the note."""

_GOLD: Final[Mapping[str, _Has]] = {
    "question": ("a clinician's question", lambda row: bool(row["clinician_question"])),
    "answer": ("a clinician's answer", lambda row: bool(row["clinician_answer"])),
    "alignment": (
        "citations of the clinician's answer",
        lambda row: bool(row["answer_citations"]),
    ),
}
"""The gold of subtasks that are not scored by labels."""

SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary=(
            "ArchEHR-QA has questions that patients and relatives ask about a hospital stay, "
            "each with the question as a clinician "
            "would put it, an excerpt of a discharge summary of MIMIC-III or MIMIC-IV in "
            "numbered sentences, what each sentence is "
            "worth for an answer, and a clinician's answer with citations. A generated answer is "
            "scored by the sentences it cites "
            "and by its text."
        ),
        changes=(
            "A case, its key and its note are one row. Columns have names of their own: "
            "`case_id` is `id`, `answers` is "
            "`relevance`.",
            "White space at the ends of texts is removed. The phrases that ask are joined, a "
            "line each. The excerpt as a whole and "
            "the places of phrases and sentences in their texts are compared and then left out.",
            "`clinician_answer` is the answer without citations, which are taken out here where "
            "the release has no such field.",
            "`questions` is of the organizers' open files, which are under the MIT licence: "
            "columns of which they have nothing are "
            "empty.",
            "`demo` is not from the release: it was written for this package, describes nobody, "
            "and is under the package's "
            "licence, Apache-2.0.",
        ),
        licence_note=(
            "PhysioNet asks that credentialed data go to no service that keeps them. The "
            "excerpts are of MIMIC-III and MIMIC-IV, "
            "under the same licence."
        ),
        columns=COLUMNS,
        key="id",
        id_names=("case_id",),
        splits={_OFFICIAL: SPLITS, _QUESTIONS: tuple(QUESTION_SPLITS), "demo": SPLITS},
        published_rows={
            _OFFICIAL: _ROWS,
            _QUESTIONS: {split: _ROWS[split] for split in QUESTION_SPLITS},
            "demo": {"dev": 4, "test": 6, "test_2026": 2},
        },
        living=frozenset({_OFFICIAL}),
        quick=(_OFFICIAL, "questions"),
        files={
            _OFFICIAL: {
                split: OfficialFile(
                    places=(f"{folder}/{CASES_FILE}",), description=_ABOUT.format(split)
                )
                for split, folder in FOLDERS.items()
            },
            _QUESTIONS: {
                split: OfficialFile(
                    places=(path,), description=_ABOUT_QUESTIONS.format(split)
                )
                for split, path in QUESTION_SPLITS.items()
            },
            "demo": {},
        },
        read=read_rows,
        at=source_at,
        published="2025-02-28",
        creators=("Sarvesh Soni", "Dina Demner-Fushman"),
        task_categories=("question-answering", "text-generation"),
        tags=(
            "medical",
            "clinical notes",
            "discharge summaries",
            "citations",
            "benchmark",
        ),
        responsible_ai=packaged(__file__, "responsible_ai.json")["archehr_qa"],
    ),
)
