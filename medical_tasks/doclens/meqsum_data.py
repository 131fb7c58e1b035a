"""MeQSum and task 1 of MEDIQA 2021 from their official XLSX files: patients' questions and their one-sentence summaries.

DocLens evaluates the 100 questions of MEDIQA's test set and takes its worked examples from the validation set (Xie et al. 2024,
appendices on the experiments and the models).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.columns import Column
from medical_tasks.dataset_source import DatasetSource, OfficialFile
from medical_tasks.doclens.datasets import MEQSUM
from medical_tasks.doclens.meqsum_demo import demo_questions
from medical_tasks.doclens.sentences import split_question
from medical_tasks.errors import UsageError
from medical_tasks.xlsx_table import XlsxRow, read_xlsx

__all__ = ["MEQSUM_COLUMNS", "MEQSUM_SOURCE", "OFFICIAL_COLUMNS", "question_row", "read_meqsum_rows"]

# Our names to those of the files, whose sheets differ.
OFFICIAL_COLUMNS: Mapping[str, Mapping[str, str]] = {
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
_REQUIRED = ("id", "question", "summary")

MEQSUM_COLUMNS = (
    Column(name="id", description="As released: the file a question is from in `train`, a number in the other splits"),
    Column(name="question", description="What somebody wrote to the National Library of Medicine, as released"),
    Column(
        name="sentences",
        repeated=True,
        description="Its sentences, without white space around them; a sentence's number is its place, from 0",
    ),
    Column(name="summary", description="The question in one sentence, by an expert, as released"),
    Column(name="focus", description="What it is about; only in `validation`, else empty"),
    Column(name="types", repeated=True, description="What is asked, such as `Treatment`; only in `validation`"),
)

_FILES = {
    "train": ("MeQSum/MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx", "MeQSum"),
    "validation": (
        "MEDIQA2021/Task1/MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx",
        "MEDIQA 2021 validation set",
    ),
    "test": ("MEDIQA2021/Task1/MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx", "MEDIQA 2021 test set"),
}


def read_meqsum_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split.

    Args:
        config: `full` or `demo`.
        split: `train`, `validation` or `test`.
        files: the file of each split; empty for `demo`.

    Yields:
        One mapping a question, with the names and types of `MEQSUM_COLUMNS`, in the file's order.

    Raises:
        UsageError: The file is not of the official form; the message names row, column and rule.
    """
    if config == "demo":
        for entry in demo_questions(split):
            yield question_row(
                id=entry.id, question=entry.question, summary=entry.summary, focus=entry.focus, types=entry.types
            )
        return
    path, names = files[split], OFFICIAL_COLUMNS[split]
    for row in read_xlsx(path, tuple(names.values()), release=_FILES[split][1]):
        values = {ours: row.cells[theirs] for ours, theirs in names.items()}
        _check(path, row, values, names)
        yield question_row(
            id=values["id"],
            question=values["question"],
            summary=values["summary"],
            focus=values.get("focus", ""),
            types=values.get("types", ""),
        )


def question_row(
    *,
    id: str,  # noqa: A002 - the column's name
    question: str,
    summary: str,
    focus: str = "",
    types: str = "",
) -> dict[str, Any]:
    """Puts a row together, with the columns in their order.

    Args:
        id: of the question.
        question: the whole question.
        summary: its summary.
        focus: what it is about.
        types: what is asked, one or several with semicolons between them.

    Returns:
        Column name to value.
    """
    return {
        "id": id,
        "question": question,
        "sentences": split_question(question),
        "summary": summary,
        "focus": focus.strip(),
        "types": [each for part in types.split(";") if (each := part.strip())],
    }


def _check(path: Path, row: XlsxRow, values: Mapping[str, str], names: Mapping[str, str]) -> None:
    def wrong(column: str, rule: str) -> UsageError:
        return UsageError(f"{path}: row {row.row}, column {names[column]!r}: {rule}. Download the file again.")

    for column in _REQUIRED:
        if not values[column].strip():
            raise wrong(column, "must be a text that is not empty")
    if names["id"] == "q_id" and not re.fullmatch(r"\d+", values["id"], re.ASCII):
        raise wrong("id", f"must be a whole number, got {values['id'][:60]!r}")


MEQSUM_SOURCE = DatasetSource(
    spec=MEQSUM,
    summary=(
        "MeQSum holds 1,000 questions that people wrote to the U.S. National Library of Medicine, each with a summary by an "
        "expert: the shortest question whose answers answer the whole. MEDIQA 2021 added a validation and a test set of the "
        "same kind; its 100 test questions are the ones that DocLens evaluates."
    ),
    changes=(
        "Three files are one dataset: MeQSum is `train`, MEDIQA 2021 task 1 has `validation` and `test`. Columns have the same "
        "names in all.",
        "`sentences` is new: a rule of this package splits the question. `types` is a list, one text in the release. Questions "
        "and summaries are as released.",
        "One question of `test` is word for word in `train` as well; it stays in both.",
        "`demo` is not from the release: it was written for this package and is under the package's licence, Apache-2.0.",
    ),
    licence_note=("That is MeQSum's; for validation and test see the terms at https://github.com/abachaa/MEDIQA2021."),
    columns=MEQSUM_COLUMNS,
    key="id",
    splits=dict.fromkeys(MEQSUM.configs, tuple(_FILES)),
    # Abstract of the MeQSum paper; section 3.1 of the MEDIQA 2021 overview.
    published_rows={
        "full": {"train": 1000, "validation": 50, "test": 100},
        "demo": {split: len(demo_questions(split)) for split in _FILES},
    },
    files={
        "full": {
            split: OfficialFile(places=(path,), description=f"{release}, an XLSX file")
            for split, (path, release) in _FILES.items()
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
)
