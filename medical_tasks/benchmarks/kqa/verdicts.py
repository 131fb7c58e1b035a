"""An answer with its statements, and what is known of them. What is not known stays None, never False."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from medical_tasks.judges.base import Label

__all__ = ["CANNOT_TELL", "AnswerVerdict", "Case", "StatementVerdict", "statement_verdict"]

CANNOT_TELL: Final = "judge: cannot tell contradiction"
"""Reason of what a two-way judge leaves open."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer and what it is judged by.

    Attributes:
        id: the item's id.
        question: the patient's question.
        answer: the answer as the patient would read it, with the white space around it that the authors' script sends too.
        must_have: statements that have to be there.
        nice_to_have: statements that may be there.
    """

    id: str
    question: str
    answer: str
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...]

    @property
    def statements(self) -> dict[str, str]:
        """Name (`must/0`, `nice/2`) to text, must-have first."""
        must = {f"must/{number}": text for number, text in enumerate(self.must_have)}
        return must | {f"nice/{number}": text for number, text in enumerate(self.nice_to_have)}


@dataclass(frozen=True, kw_only=True)
class StatementVerdict:
    """What is known of one statement.

    Attributes:
        name: `must/0`, `nice/2`.
        stated: whether it says anything; False for a blank one.
        entailed: whether the answer entails it. The authors' prompts do not ask this of nice-to-have statements.
        contradicted: whether the answer contradicts it.
        entailed_official: as the authors' script decides.
        contradicted_official: likewise.
        reasons: why something is not known.
        official_reasons: why the authors' script makes no decision.
    """

    name: str
    stated: bool = True
    entailed: bool | None = False
    contradicted: bool | None = False
    entailed_official: bool | None = False
    contradicted_official: bool | None = False
    reasons: tuple[str, ...] = ()
    official_reasons: tuple[str, ...] = ()

    @property
    def must(self) -> bool:
        """Whether it is a must-have statement."""
        return self.name.startswith("must/")


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """What is known of one answer.

    Attributes:
        statements: a verdict a statement, must-have first.
        answered: whether it is an answer at all; None when that is not decided.
        how: how an empty answer or an abstention was found; "" for an answer.
        reasons: why `answered` is not decided.
        judged: whether its statements were asked about; those of an empty answer are not.
        asked: whether a judge was asked if it is an answer.
    """

    statements: tuple[StatementVerdict, ...]
    answered: bool | None = True
    how: str = ""
    reasons: tuple[str, ...] = ()
    judged: bool = True
    asked: bool = False

    @property
    def reason(self) -> str | None:
        """The most frequent reason for what is not known, the first of several; None when all is known."""
        counts = Counter((*self.reasons, *(reason for one in self.statements for reason in one.reasons)))
        counts = counts or Counter(reason for one in self.statements for reason in one.official_reasons)
        return counts.most_common(1)[0][0] if counts else None


def statement_verdict(name: str, label: Label | None, *, reason: str = "") -> StatementVerdict:
    """Makes the verdict on a statement of a label; the official decisions go by the label too.

    Args:
        name: the statement's.
        label: None where there is no verdict.
        reason: why there is none.
    """
    if label is None:
        return StatementVerdict(
            name=name,
            entailed=None,
            contradicted=None,
            entailed_official=None,
            contradicted_official=None,
            reasons=(reason,),
        )
    entailed = label == "entailment"
    contradicted = None if label == "not_entailment" else label == "contradiction"
    return StatementVerdict(
        name=name,
        entailed=entailed,
        contradicted=contradicted,
        entailed_official=entailed,
        contradicted_official=contradicted,
        reasons=() if contradicted is not None else (CANNOT_TELL,),
    )
