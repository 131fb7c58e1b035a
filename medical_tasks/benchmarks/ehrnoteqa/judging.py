"""Gets verdicts on answers: whether each is right (paper, appendix E.1: five votes, the mode counts).

All questions about all answers go to the judge in one call, so that it can work on many at once. What got no verdict stays without
one.

- An empty answer is wrong; nobody is asked. So is one that is all reasoning.
- Where there is no gold, nobody can be asked: DiSCQ's answers are for people to score.
- A judge of entailment decides whether the right answer follows from the model's. Of several passages of evidence each may be the
  one that is meant; it is asked about each, and one that follows is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import CHOICE, EVIDENCE, OPEN
from medical_tasks.benchmarks.ehrnoteqa.judge_reading import choice_question, evidence_question, open_question
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.spec import Item

__all__ = ["NO_GOLD", "AnswerVerdict", "Case", "gold_texts", "judge_answers", "questions"]

NO_GOLD: Final = "no gold: for people to score"


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer to be judged.

    Attributes:
        item: what was asked, with its gold.
        answer: the model's answer, without its reasoning.
        form: `open`, or `choice` when choices were given.
        letter: the choice whose letter it names, "" for none; for judges that do not know what letters stand for.
    """

    item: Item
    answer: str
    form: Literal["open", "choice"]
    letter: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices' texts, A first; none in sets without choices."""
        return tuple(self.item.fields["choices"])


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """What is known of an answer.

    Attributes:
        right: None when it is not decided.
        votes: the votes that were read, in order.
        how: how it was decided without a vote; "" with one.
        reason: why it is not decided.
    """

    right: bool | None
    votes: tuple[bool, ...] = ()
    how: str = ""
    reason: str | None = None


def gold_texts(item: Item) -> tuple[str, ...]:
    """What an open answer is compared with: the right choice's text, else the passages of evidence; nothing without gold."""
    choices = item.fields["choices"]
    if choices:
        return (str(choices[LETTERS.index(item.fields["answer"])]).strip(),)
    return tuple(passage for passage in item.fields["evidence"] if passage.strip())


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers.

    Args:
        cases: the answers.
        judging: whom to ask, and with which texts.

    Returns:
        A verdict an answer, in order.

    Raises:
        UsageError: Batched, two cases of the same id, or recorded verdicts that are neither true nor false.
    """
    if judging.mode != "single":
        raise UsageError(
            "answers to EHRNoteQA are judged one at a time, so that --judging must be single. Leave it out."
        )
    if len({case.item.id for case in cases}) != len(cases):
        raise UsageError("two items to judge have the same id. Give each item one response.")
    asked = [questions(case, judging) for case in cases]
    outcomes = iter(judging.judge.ask([question for each in asked for question in each]))
    return [_verdict(case, [next(outcomes) for _ in each]) for case, each in zip(cases, asked, strict=True)]


def questions(case: Case, judging: Judging) -> list[Question]:
    """What a judge is asked about an answer: one question; nothing of an empty answer or without gold.

    A judge of entailment is asked one a passage of evidence.

    Args:
        case: the answer.
        judging: whom to ask, and with which texts.
    """
    gold = gold_texts(case.item)
    if not case.answer.strip() or not gold:
        return []
    fields, name = case.item.fields, case.item.id
    if case.form == "choice":
        return [
            choice_question(
                judging.prompts,
                f"{name}/{CHOICE}",
                choices=case.choices,
                letter=fields["answer"],
                output=case.answer,
                chosen=case.choices[LETTERS.index(case.letter)] if case.letter else "",
            )
        ]
    if case.choices:
        return [
            open_question(
                judging.prompts,
                f"{name}/{OPEN}",
                notes=fields["notes"],
                question=fields["question"],
                right=gold[0],
                output=case.answer,
            )
        ]
    apart = judging.judge.reads == "pair"
    asked = {f"{name}/{EVIDENCE}": gold}
    if apart:
        asked = {f"{name}/{EVIDENCE}/{place}": (passage,) for place, passage in enumerate(gold)}
    return [
        evidence_question(
            judging.prompts,
            question_id,
            notes=fields["notes"],
            question=fields["question"],
            evidence=evidence,
            output=case.answer,
        )
        for question_id, evidence in asked.items()
    ]


def _verdict(case: Case, outcomes: Sequence[Verdict | Unscored]) -> AnswerVerdict:
    if not gold_texts(case.item):
        return AnswerVerdict(right=None, reason=NO_GOLD)
    if not outcomes:
        return AnswerVerdict(right=False, how="empty answer")
    decided = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    for outcome in decided:
        if not isinstance(outcome.value, bool):  # it may come from a file
            raise UsageError(
                f"the verdict {outcome.value!r} of the question {outcome.id} is neither true nor false. Correct the recorded "
                "verdicts."
            )
    # One that is right decides; where none is, one that is missing might be.
    for outcome in sorted(decided, key=lambda outcome: not outcome.value):
        if outcome.value or len(decided) == len(outcomes):
            return AnswerVerdict(right=outcome.value, votes=tuple(map(bool, outcome.votes)))
    reason = next(outcome.reason for outcome in outcomes if isinstance(outcome, Unscored))
    return AnswerVerdict(right=None, reason=reason)
