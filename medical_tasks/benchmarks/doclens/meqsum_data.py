"""MeQSum and task 1 of MEDIQA 2021 from their official XLSX files: patients' questions and their one-sentence summaries.

DocLens evaluates the 100 questions of MEDIQA's test set and takes its worked examples from the validation set (Xie et al. 2024,
appendices on the experiments and the models).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.datasets import MEQSUM
from medical_tasks.benchmarks.doclens.sentences import split_question
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.xml_files import XlsxRow, read_xlsx

__all__ = ["MEQSUM_COLUMNS", "MEQSUM_SOURCE", "OFFICIAL_COLUMNS", "demo_questions", "question_row", "read_meqsum_rows"]

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


@dataclass(frozen=True, kw_only=True)
class DemoQuestion:
    """One synthetic question.

    Attributes:
        id: of the question.
        split: `train`, `validation` or `test`.
        question: as somebody would send it.
        summary: the same in one sentence.
        focus: what it is about; only in `validation`.
        types: what is asked, with semicolons between several; only there.
    """

    id: str
    split: str
    question: str
    summary: str
    focus: str = ""
    types: str = ""


_QUESTIONS = (
    DemoQuestion(
        id="demo-1.txt",
        split="train",
        question="SUBJECT: gout and diet\nMESSAGE: My husband (54) was told that he has gout. Nobody said a word about food. "
        "What should he eat, and what not? Thank you.",
        summary="What diet is recommended for gout?",
    ),
    DemoQuestion(
        id="demo-2.txt",
        split="train",
        question="who makes a thicker for drinks that has no starch in it\nmy aunt cannot swallow well since her stroke and "
        "starch makes her bloated.",
        summary="Which thickeners for drinks contain no starch?",
    ),
    DemoQuestion(
        id="1",
        split="validation",
        question="Hello, I have had ringing in my left ear for two months. My doctor says the hearing test is fine. I work in "
        "a print shop. Is there anything that makes it stop? Best regards",
        summary="What are the treatments for tinnitus?",
        focus="tinnitus",
        types="Treatment",
    ),
    DemoQuestion(
        id="2",
        split="validation",
        question="I take warfarin. Can I drink cranberry juice with it? And does it matter if I have green tea in the evening?",
        summary="Does warfarin interact with cranberry juice or green tea?",
        focus="warfarin",
        types="Interaction",
    ),
    DemoQuestion(
        id="3",
        split="validation",
        question="Our son is 9 and was just found to have celiac disease. How is it passed on? Should his two sisters be "
        "tested, too? They have no symptoms at all...",
        summary="Is celiac disease inherited, and should siblings be tested?",
        focus="celiac disease",
        types="Inheritance; Diagnosis",
    ),
    DemoQuestion(
        id="4",
        split="test",
        question="I fell off my bike 3 weeks ago and broke my collarbone. The sling is a pain. How long until it heals? I am "
        "61 and otherwise healthy.",
        summary="How long does a broken collarbone take to heal?",
    ),
    DemoQuestion(
        id="5",
        split="test",
        question="is it safe to get the shingles vaccine while taking 5 mg of prednisone a day",
        summary="Is the shingles vaccine safe while taking prednisone?",
    ),
    DemoQuestion(
        id="6",
        split="test",
        question="SUBJECT: Restless legs. MESSAGE: Every night the same!!! As soon as I lie down my legs want to walk. I "
        "have tried magnesium, stretching and cold showers. My sister has it as well. Dr. Moll has no time for me. Which "
        "medicines help? I would be so grateful for an answer.",
        summary="What medicines help with restless legs syndrome?",
    ),
    DemoQuestion(
        id="7",
        split="test",
        question="My baby is four weeks old and has yellow eyes. She drinks well. The nurse told us to put her at the window. "
        "Is jaundice at this age dangerous? When must we go to a hospital?",
        summary="Is jaundice dangerous in a four-week-old baby, and when does it need care in a hospital?",
    ),
    DemoQuestion(
        id="8",
        split="test",
        question="I had a kidney stone in 2019. it was calcium oxalate. Do I have to give up spinach and nuts for good? "
        "Some say yes, some say it is only about drinking water.",
        summary="Should people who had calcium oxalate kidney stones avoid spinach and nuts?",
    ),
    DemoQuestion(
        id="9",
        split="test",
        question="Dear all, my mother lives alone and forgets her pills. she takes donepezil since May and has bad dreams now. "
        "could the dreams be from the pill? can she take it in the morning? kind regards",
        summary="Can donepezil cause nightmares, and can it be taken in the morning?",
    ),
    DemoQuestion(
        id="10",
        split="test",
        question="Where can I find a center that does cochlear implants for adults? I live in a small town, and the next ENT "
        "doctor is two hours away.",
        summary="Where can I find a center for cochlear implants in adults?",
    ),
)


def demo_questions(split: str) -> list[DemoQuestion]:
    """Returns the questions of a split, in order.

    Args:
        split: `train`, `validation` or `test`.

    Returns:
        Its questions.
    """
    return [entry for entry in _QUESTIONS if entry.split == split]


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
