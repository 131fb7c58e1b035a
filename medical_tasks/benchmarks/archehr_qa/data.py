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
"""Split to its folder in a release."""

SPLITS: Final = tuple(FOLDERS)

QUESTION_SPLITS: Final = {
    "dev": "archehr-qa/data/dev/archehr-qa.xml",
    "test_2026": "archehr-qa-2026/data/subtask_1/test/archehr-qa.xml",
}
"""Split of the open questions to its file, in the folder above the organizers' checkouts."""

_TEST: Final = re.compile(r"(?:^|[^a-z])test(?:$|[^a-z])")
_LATER_TEST: Final = re.compile(r"(?:^|[^a-z])test[^a-z0-9]*2026(?![0-9])")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PROJECT: Final = "archehr-qa"
_DEV_IDS: Final = frozenset(map(str, range(1, 21)))


def split_of(folder: Path) -> str:
    """Says which split a folder with a file of cases is, by its name.

    `test_2026`, `test` if it has that word, else `dev`.
    """
    name = folder.resolve().name.lower()
    if _LATER_TEST.search(name):
        return "test_2026"
    return "test" if _TEST.search(name) else "dev"


def find_splits(place: Path) -> dict[str, Path]:
    """Finds the files of cases of a release, in the order of `SPLITS`, at or below a folder."""
    _check_folder(place)
    found = _splits(place)
    if found:
        return found

    releases = {root: splits for root in _roots(place) if (splits := _splits(root))}
    if len(releases) > 1:
        names = ", ".join(root.relative_to(place).as_posix() for root in releases)
        raise UsageError(
            f"{place}: has several releases: {names}. Give --source the folder of one."
        )

    return next(iter(releases.values()), {})


def find_questions(place: Path) -> dict[str, Path]:
    """Finds the organizers' open files of questions.

    The ids of their cases say which split each is.
    """
    _check_folder(place)
    files: dict[str, Path] = {}
    for path in question_files(place):
        split = (
            "dev"
            if {case.id for case in read_cases(path, notes=False)} <= _DEV_IDS
            else "test_2026"
        )
        if split in files:
            raise UsageError(
                f"{place}: has two files of the split {split}: {files[split]} and {path}. Give "
                "one of them."
            )

        files[split] = path

    return {split: files[split] for split in QUESTION_SPLITS if split in files}


def question_files(place: Path) -> list[Path]:
    """Lists the files that lie where the organizers' checkouts have theirs.

    `find_questions` says what they are.
    """
    alone = place / CASES_FILE
    if alone.is_file():
        return [alone]

    above = [each for each in _folders(place) if each.name.startswith(_PROJECT)]
    inner = [path.split("/", 1)[1] for path in QUESTION_SPLITS.values()]
    ends = dict.fromkeys(
        path.split("/", start)[-1] for path in inner for start in range(path.count("/"))
    )
    paths = [
        *(place / end for end in ends),
        *(folder / path for folder in above for path in inner),
    ]

    return [path for path in paths if path.is_file()]


def _check_folder(place: Path) -> None:
    if place.is_file():
        raise UsageError(
            f"{place}: is a file. Give --source its folder, since it also needs the key and the mapping."
        )


def _splits(root: Path) -> dict[str, Path]:
    alone = root / CASES_FILE
    places = {split: root / folder / CASES_FILE for split, folder in FOLDERS.items()}
    files = {split: path for split, path in places.items() if path.is_file()}
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


def _roots(place: Path) -> Iterator[Path]:
    for folder in _folders(place):
        if _VERSION.fullmatch(folder.name):
            yield folder
        elif folder.name == "data":
            yield from [folder] if _splits(folder) else _folders(folder)
        elif folder.name.startswith(_PROJECT):
            yield from (
                folder,
                *(each for each in _folders(folder) if _VERSION.fullmatch(each.name)),
            )


def _folders(place: Path) -> list[Path]:
    return (
        sorted(each for each in place.iterdir() if each.is_dir())
        if place.is_dir()
        else []
    )


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
"""Of every configuration, in this order."""


class CaseRow(TypedDict):
    """A row of the dataset, and what an item's `fields` are; see `COLUMNS`."""

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
    """Puts a row together, with the columns in their order."""
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
    """Split to its cases, in order: synthetic, written for this package; they describe nobody.

    Not medical advice.

    In `demo_cases.json` a sentence begins with the first letter of its label.
    """
    splits = packaged(__file__, "demo_cases.json")
    return {split: tuple(map(_full, cases)) for split, cases in splits.items()}


def _full(record: Row) -> FullCase:
    """Rebuilds a case of the archive format from a row of the built dataset.

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
    """Reads the rows of a split.

    `files` has the file of cases under the split's name, nothing for `demo`.
    """
    if config in (_OFFICIAL, _QUESTIONS):
        yield from read_case_rows(files[split], notes=config == _OFFICIAL)
    else:
        yield from (
            case_row(demo_case.case, demo_case.key, demo_case.document)
            for demo_case in demo_cases()[split]
        )


def source_at(config: str, place: Path | None) -> DatasetSource:
    """Says how a configuration is built from what lies at a place.

    Without a place, or with nothing in it, all splits are named.
    """
    (source,) = SOURCES
    if place is None or config not in (_OFFICIAL, _QUESTIONS):
        return source

    released = config == _OFFICIAL
    splits = find_splits(place) if released else find_questions(place)
    if not splits:
        _check_other(released, place)
        return source

    files = {}
    for split, cases in splits.items():
        files[split] = _file(
            cases, place, (_ABOUT if released else _ABOUT_QUESTIONS).format(split)
        )
        for name, said in (
            _BESIDE.items() if released else [(MAPPING_FILE, _BESIDE[MAPPING_FILE])]
        ):
            if (path := cases.with_name(name)).is_file():
                files[f"{split}/{name}"] = _file(path, place, said)

        if released and f"{split}/{KEY_FILE}" not in files:
            print(
                f"note: {cases.parent}: has no {KEY_FILE}, so that of answers to {split} only "
                "the form is scored",
                file=sys.stderr,
            )

    # The published numbers are those of a release's folders; a folder alone may be any
    # part of one.
    published = {
        split: _ROWS[split]
        for split in splits
        if not released or splits[split].parent != place
    }
    return dataclasses.replace(
        source,
        at=None,
        splits={**source.splits, config: tuple(splits)},
        files={**source.files, config: files},
        published_rows={**source.published_rows, config: published},
    )


def _check_other(released: bool, place: Path) -> None:
    if released and question_files(place):
        raise UsageError(
            f"{place}: has the organizers' open files, whose cases have no note excerpts, so "
            "that nothing can be cited. Build "
            "them as --config questions, or give the folder of PhysioNet's release."
        )

    if not released and find_splits(place):
        raise UsageError(
            f"{place}: is PhysioNet's release, and the configuration questions is made of the "
            "organizers' open files. Build it as "
            "--config official."
        )


def _file(path: Path, root: Path, description: str) -> OfficialFile:
    return OfficialFile(
        places=(path.relative_to(root).as_posix(),), description=description
    )


def load_items(task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
    """Makes an item of each row that has what the task asks about, with gold or without.

    It is an error if none has.
    """
    given, has_given = _GIVEN.get(
        _form(task), ("a note excerpt", lambda row: bool(row["sentences"]))
    )
    kept = [row for row in rows if has_given(row)]
    if not kept:
        raise UsageError(
            f"{task.name}: none of the {len(rows):,} cases has {given}, which it asks about. The "
            "organizers' open files "
            "(--config questions) are for archehr_question alone. Choose another --split, or "
            "build PhysioNet's release with "
            f"{KEY_FILE} in the split's folder: medical-tasks build archehr_qa --source FOLDER"
        )

    gold, has_gold = _GOLD.get(
        _form(task), ("labels of its sentences", lambda row: bool(row["relevance"]))
    )
    for count, said in (
        (len(rows) - len(kept), f"lack {given} and are not asked"),
        (
            sum(not has_gold(row) for row in kept),
            f"lack {gold}: they are asked, and nothing is compared",
        ),
    ):
        if count and len(rows) > 1:  # a harness gives row by row
            print(
                f"note: {task.name}: {count:,} of the {len(rows):,} cases {said}",
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

_GIVEN: Final[Mapping[str, _Has]] = {
    "question": ("a message", bool),
    "alignment": (
        "a clinician's answer in sentences",
        lambda row: bool(row["sentences"] and row["answer_sentences"]),
    ),
}
"""What a subtask asks about, where that is not the note alone."""

_GOLD: Final[Mapping[str, _Has]] = {
    "question": ("a clinician's question", lambda row: bool(row["clinician_question"])),
    "answer": ("a clinician's answer", lambda row: bool(row["clinician_answer"])),
    "alignment": (
        "citations of the clinician's answer",
        lambda row: bool(row["answer_citations"]),
    ),
}
"""What its score needs, where that is not labels."""

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
