"""The authors' decisions about K-QA, bug for bug (their `evaluation/run_eval.py`), to set a number beside the paper's.

What they do (no text of theirs is here, only what it decides):

- a judge is asked in free text whether the answer entails a must-have statement, and whether it contradicts any statement
- entailed: "true" among the last 20 characters of the reply in lower case ("not true" and "untrue" are entailed too)
- contradicted: the capitalised "True" anywhere in the reply ("the answer is true." is none, "It is True that ... False." is one)
- results are joined to the gold by the exact question; questions nobody answered vanish, rows given twice count twice,
  unknown questions are dropped
- Comp = sum of the recalls / 201 and Hall = contradicted statements / 201, whatever was answered; the `_norm` forms divide by
  what was answered; a question without must-have statements has no recall and counts in neither Comp
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from medical_tasks.errors import UsageError

__all__ = [
    "CONTRADICT",
    "ENTAIL",
    "N_QUESTIONS",
    "GoldQuestion",
    "OfficialRow",
    "OfficialSummary",
    "counts_as_contradiction",
    "label_is_true",
    "official_summary",
]

N_QUESTIONS: Final = 201
"""The constant that Comp and Hall are divided by: the questions with an answer."""

ENTAIL: Final = "is_entails"
CONTRADICT: Final = "is_contradict"

TextKey = tuple[Literal["is_entails", "is_contradict"], str, str]
"""Which question to the judge, the patient's question, the statement."""

_TAIL = 20


def label_is_true(text: str) -> bool:
    """Their label of a reply: "true" among its last 20 characters once it is in lower case, which can be longer."""
    return "true" in text.lower()[-_TAIL:]


def counts_as_contradiction(text: str) -> bool:
    """Whether a reply to the question of contradiction is counted in Hall: the capitalised "True" anywhere in it."""
    return "True" in text


@dataclass(frozen=True, kw_only=True)
class GoldQuestion:
    """A question with its statements.

    Attributes:
        question: its exact text, which results are joined by.
        must_have: statements that have to be there.
        nice_to_have: statements that may be there.
    """

    question: str
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OfficialRow:
    """Their columns of one answered question.

    Attributes:
        question: its text.
        recall: share of the must-have statements labelled entailed; nan without any.
        precision: 1 - share of all statements labelled contradicted (by the 20 characters, unlike `n_contra`); nan without any.
        n_contra: statements whose reply has "True" in it.
        entail_labels: of the must-have statements.
        contradict_labels_must: of the must-have statements, by the 20 characters.
        contradict_labels_nice: of the others.
    """

    question: str
    recall: float
    precision: float
    n_contra: int
    entail_labels: tuple[bool, ...]
    contradict_labels_must: tuple[bool, ...]
    contradict_labels_nice: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class OfficialSummary:
    """Their figures.

    Attributes:
        comp: sum of recalls over `n_questions`, in 0-1.
        comp_norm: mean recall of the answered questions that have one; nan without any.
        hall: contradicted statements over `n_questions`; can exceed 1.
        hall_norm: contradicted statements over answered rows; nan without any.
        n_contra: contradicted statements.
        n_answered: rows that found their question.
        rows: a row an answered question, in the order given.
    """

    comp: float
    comp_norm: float
    hall: float
    hall_norm: float
    n_contra: int
    n_answered: int
    rows: tuple[OfficialRow, ...]


def official_summary(
    answered: Sequence[str],
    gold: Sequence[GoldQuestion],
    texts: Mapping[TextKey, str],
    *,
    n_questions: int = N_QUESTIONS,
) -> OfficialSummary:
    """Computes their figures from a judge's replies.

    Args:
        answered: the question of each result row, in order, repeated where rows are.
        gold: all questions with statements.
        texts: the judge's reply to each question put to it, by task (`is_entails`, `is_contradict`), question and statement.
        n_questions: what Comp and Hall are divided by.

    Raises:
        UsageError: A reply is missing. Their script loses such an error and ends with a TypeError, or counts the question with
            no value at all, depending on what failed; there is no figure to reproduce.
        ValueError: `n_questions` is not positive.
    """
    if n_questions < 1:
        raise ValueError(f"n_questions must be at least 1; got {n_questions}")
    rows = tuple(_row(question, texts) for wanted in answered for question in gold if question.question == wanted)
    recalls = [row.recall for row in rows if not math.isnan(row.recall)]
    n_contra = sum(row.n_contra for row in rows)
    return OfficialSummary(
        comp=sum(recalls) / n_questions,
        comp_norm=sum(recalls) / len(recalls) if recalls else math.nan,
        hall=n_contra / n_questions,
        hall_norm=n_contra / len(rows) if rows else math.nan,
        n_contra=n_contra,
        n_answered=len(rows),
        rows=rows,
    )


def _row(gold: GoldQuestion, texts: Mapping[TextKey, str]) -> OfficialRow:
    entail = [_text(ENTAIL, gold, statement, texts) for statement in gold.must_have]
    must = [_text(CONTRADICT, gold, statement, texts) for statement in gold.must_have]
    nice = [_text(CONTRADICT, gold, statement, texts) for statement in gold.nice_to_have]
    entailed = tuple(map(label_is_true, entail))
    contradicted = [label_is_true(text) for text in (*must, *nice)]
    return OfficialRow(
        question=gold.question,
        recall=sum(entailed) / len(entailed) if entailed else math.nan,
        precision=1 - sum(contradicted) / len(contradicted) if contradicted else math.nan,
        n_contra=sum(map(counts_as_contradiction, (*must, *nice))),
        entail_labels=entailed,
        contradict_labels_must=tuple(contradicted[: len(must)]),
        contradict_labels_nice=tuple(contradicted[len(must) :]),
    )


def _text(
    task: Literal["is_entails", "is_contradict"], gold: GoldQuestion, statement: str, texts: Mapping[TextKey, str]
) -> str:
    text = texts.get((task, gold.question, statement))
    if text is None:
        raise UsageError(
            f"{task}: no judge reply for the statement {statement!r} of the question {gold.question!r}. The authors' script "
            "fails on it too; ask the judge again, or leave the question out of the answered ones."
        )
    return text
