"""ArchEHR-QA from the user's own PhysioNet copy: cases with their note excerpts, keys where released, and as items of a task.

A release has a folder for each split, and not each release has all, so what is built depends on what lies there (`source_at`).
The configuration `questions` is of the organizers' open files, without note excerpts, likewise. The checks are those of the files'
own modules: `xml_cases`, `key_file`, `mapping_file`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.demo import DEMO_CASES
from medical_tasks.benchmarks.archehr_qa.key_file import KEY_FILE
from medical_tasks.benchmarks.archehr_qa.mapping_file import MAPPING_FILE
from medical_tasks.benchmarks.archehr_qa.release import (
    FOLDERS,
    QUESTION_SPLITS,
    SPLITS,
    find_questions,
    find_splits,
    question_files,
)
from medical_tasks.benchmarks.archehr_qa.rows import COLUMNS, case_row, read_case_rows
from medical_tasks.benchmarks.archehr_qa.spec import DATASET
from medical_tasks.benchmarks.archehr_qa.xml_cases import CASES_FILE
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec

__all__ = ["COLUMNS", "SOURCES", "load_items", "read_rows", "source_at"]

_OFFICIAL: Final = "official"
_QUESTIONS: Final = "questions"
_ROWS: Final = {"dev": 20, "test": 100, "test_2026": 47}
_BESIDE: Final = {
    KEY_FILE: "what their sentences are worth, a JSON file",
    MAPPING_FILE: "which notes they are from, a JSON file",
}


def read_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split.

    Args:
        config: `official`, `questions` or `demo`.
        split: `dev`, `test` or `test_2026`.
        files: the file of cases under the split's name; key and mapping are looked for beside it. Empty for `demo`.

    Yields:
        One mapping a case, with the names and types of `COLUMNS`, in the file's order.

    Raises:
        UsageError: A file is not of the official form, or they are not of the same cases; messages hold no text of theirs.
    """
    if config in (_OFFICIAL, _QUESTIONS):
        yield from read_case_rows(files[split], notes=config == _OFFICIAL)
    else:
        yield from (case_row(each.case, each.key, each.document) for each in DEMO_CASES[split])


def source_at(config: str, place: Path | None) -> DatasetSource:
    """Says how a configuration is built from what lies at a place: which splits there are, with which files.

    Args:
        config: one of the dataset's.
        place: the folder that the user gives; None when not given.

    Returns:
        The dataset with the splits and files that are there; with all it can have, where none is.

    Raises:
        UsageError: There are several releases at the place, it is not clear which file is meant, or the files are those of the
            other configuration.
    """
    (source,) = SOURCES
    if place is None or config not in (_OFFICIAL, _QUESTIONS):
        return source
    released = config == _OFFICIAL
    found = find_splits(place) if released else find_questions(place)
    if not found:
        _check_other(released, place)
        return source
    files = {}
    for split, cases in found.items():
        beside = {name: cases.with_name(name) for name in (_BESIDE if released else (MAPPING_FILE,))}
        files[split] = _file(cases, place, _about(split) if released else _about_questions(split))
        files |= {
            f"{split}/{name}": _file(path, place, _BESIDE[name]) for name, path in beside.items() if path.is_file()
        }
        if released and not beside[KEY_FILE].is_file():
            print(
                f"note: {cases.parent}: has no {KEY_FILE}, so that of answers to {split} only the form is scored",
                file=sys.stderr,
            )
    # The published numbers are those of a release's folders; a folder alone may be any part of one.
    published = {split: _ROWS[split] for split in found if not released or found[split].parent != place}
    return dataclasses.replace(
        source,
        at=None,
        splits={**source.splits, config: tuple(found)},
        files={**source.files, config: files},
        published_rows={**source.published_rows, config: published},
    )


def _check_other(released: bool, place: Path) -> None:
    """Refuses a place that has the other configuration's files."""
    if released and question_files(place):
        raise UsageError(
            f"{place}: has the organizers' open files, whose cases have no note excerpts, so that nothing can be cited. Build "
            "them as --config questions, or give the folder of PhysioNet's release."
        )
    if not released and find_splits(place):
        raise UsageError(
            f"{place}: is PhysioNet's release, and the configuration questions is made of the organizers' open files. Build it as "
            "--config official."
        )


def _about(split: str) -> str:
    return f"the cases of {split}, an XML file, with key and mapping beside it where released"


def _about_questions(split: str) -> str:
    return f"the open questions of {split}, an XML file"


def _file(path: Path, root: Path, description: str) -> OfficialFile:
    return OfficialFile(places=(path.relative_to(root).as_posix(),), description=description)


def load_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Makes the items of a task.

    Args:
        task: a task of this benchmark.
        rows: rows of the dataset, of any split.

    Returns:
        One item for each row that has what the task asks about, in order, with the row's columns as fields. Where gold is not
        released a case is asked all the same, so that its answer can be submitted, and nothing is compared.

    Raises:
        UsageError: No row has what the task asks about.
    """
    given, has_given = _GIVEN.get(_form(task), ("a note excerpt", lambda row: bool(row["sentences"])))
    kept = [row for row in rows if has_given(row)]
    if not kept:
        raise UsageError(
            f"{task.name}: none of the {len(rows):,} cases has {given}, which it asks about. The organizers' open files "
            "(--config questions) are for archehr_question alone. Choose another --split, or build PhysioNet's release with "
            f"{KEY_FILE} in the split's folder: medical-tasks build archehr_qa --source FOLDER"
        )
    gold, has_gold = _GOLD.get(_form(task), ("labels of its sentences", lambda row: bool(row["relevance"])))
    for count, said in (
        (len(rows) - len(kept), f"lack {given} and are not asked"),
        (sum(not has_gold(row) for row in kept), f"lack {gold}: they are asked, and nothing is compared"),
    ):
        if count and len(rows) > 1:  # a harness gives row by row
            print(f"note: {task.name}: {count:,} of the {len(rows):,} cases {said}", file=sys.stderr)
    return [
        Item(id=row["id"], fields=row, groups={"source": row["source"] or "unknown"}, cluster=row["id"]) for row in kept
    ]


def _form(task: TaskSpec) -> str:
    """The subtask; "" for the tasks that answer with citations, in one step or in several."""
    return "" if "steps" in task.options else task.options["form"]


_Has = tuple[str, Callable[[Mapping[str, Any]], bool]]

_GIVEN: Final[Mapping[str, _Has]] = {
    "question": ("a message", bool),
    "alignment": ("a clinician's answer in sentences", lambda row: bool(row["sentences"] and row["answer_sentences"])),
}
"""What a subtask asks about, where that is not the note alone."""

_GOLD: Final[Mapping[str, _Has]] = {
    "question": ("a clinician's question", lambda row: bool(row["clinician_question"])),
    "answer": ("a clinician's answer", lambda row: bool(row["clinician_answer"])),
    "alignment": ("citations of the clinician's answer", lambda row: bool(row["answer_citations"])),
}
"""What its score needs, where that is not labels."""

SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary=(
            "ArchEHR-QA has questions that patients and relatives ask about a hospital stay, each with the question as a clinician "
            "would put it, an excerpt of a discharge summary of MIMIC-III or MIMIC-IV in numbered sentences, what each sentence is "
            "worth for an answer, and a clinician's answer with citations. A generated answer is scored by the sentences it cites "
            "and by its text."
        ),
        changes=(
            "A case, its key and its note are one row. Columns have names of their own: `case_id` is `id`, `answers` is "
            "`relevance`.",
            "White space at the ends of texts is removed. The phrases that ask are joined, a line each. The excerpt as a whole and "
            "the places of phrases and sentences in their texts are compared and then left out.",
            "`clinician_answer` is the answer without citations, which are taken out here where the release has no such field.",
            "`questions` is of the organizers' open files, which are under the MIT licence: columns of which they have nothing are "
            "empty.",
            "`demo` is not from the release: it was written for this package, describes nobody, and is under the package's "
            "licence, Apache-2.0.",
        ),
        licence_note=(
            "PhysioNet asks that credentialed data go to no service that keeps them. The excerpts are of MIMIC-III and MIMIC-IV, "
            "under the same licence."
        ),
        columns=COLUMNS,
        key="id",
        splits={_OFFICIAL: SPLITS, _QUESTIONS: tuple(QUESTION_SPLITS), "demo": SPLITS},
        published_rows={
            _OFFICIAL: _ROWS,
            _QUESTIONS: {split: _ROWS[split] for split in QUESTION_SPLITS},
            "demo": {split: len(DEMO_CASES[split]) for split in SPLITS},
        },
        living=frozenset({_OFFICIAL}),
        quick=(_OFFICIAL, "questions"),
        files={
            _OFFICIAL: {
                split: OfficialFile(places=(f"{folder}/{CASES_FILE}",), description=_about(split))
                for split, folder in FOLDERS.items()
            },
            _QUESTIONS: {
                split: OfficialFile(places=(path,), description=_about_questions(split))
                for split, path in QUESTION_SPLITS.items()
            },
            "demo": {},
        },
        read=read_rows,
        at=source_at,
        published="2025-02-28",
        creators=("Sarvesh Soni", "Dina Demner-Fushman"),
        task_categories=("question-answering", "text-generation"),
        tags=("medical", "clinical notes", "discharge summaries", "citations", "benchmark"),
    ),
)
