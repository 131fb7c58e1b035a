"""Each criterion of a rubric, decided by a judge on the question and the reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medical_tasks.benchmarks.judged import count_verdicts, user_message
from medical_tasks.judges.base import (
    JudgePrompts,
    Judging,
    Pair,
    Question,
    Unscored,
    Verdict,
    verdict_bool,
)
from medical_tasks.judges.reading import read_closing_claim
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.spec import Answer, Counts, Item, ItemScore, texts_sha256

ASK: Final = (
    "A question was answered.\n\nThe question:\n{question}\n\nThe answer:\n{reply}\n\nDoes this hold "
    "of the answer?\n{criterion}\n\nEnd with one word: true or false."
)
AGAIN: Final = "That cannot be read ({problem}). End with one word: true or false."


def load_judge_prompts() -> JudgePrompts:
    """The one set there is, `own`."""
    return JudgePrompts(name="own", sha256=texts_sha256(ASK, AGAIN), texts={"ask": ASK})


def score_items(
    items: Sequence[Item], answers: Sequence[Answer], judging: Judging
) -> list[ItemScore]:
    """The points of each answer."""
    questions = [
        question
        for item, answer in zip(items, answers, strict=True)
        for question in _questions(item, as_written(answer.text), judging)
    ]
    outcomes = iter(judging.judge.ask(questions))
    return [
        _score(item, [next(outcomes) for _ in item.fields["criteria"]])
        for item in items
    ]


def point_limits(item: Item) -> tuple[float, float]:
    """The least and the most that a reply can earn."""
    points = [criterion["points"] for criterion in item.fields["criteria"]]
    return sum(min(each, 0) for each in points) / sum(
        max(each, 0) for each in points
    ), 1.0


def _questions(item: Item, reply: str, judging: Judging) -> list[Question]:
    questions = []
    for place, criterion in enumerate(item.fields["criteria"]):
        values = {
            "question": item.fields["question"],
            "reply": reply,
            "criterion": criterion["text"],
        }
        questions.append(
            Question(
                id=f"{item.id}/{place}",
                messages=user_message(judging.prompts.texts["ask"], values),
                template=judging.prompts.sha256,
                read=read_closing_claim,
                again=AGAIN,
                pair=Pair(premise=reply, hypothesis=criterion["text"]),
            )
        )
    return questions


def _score(item: Item, outcomes: Sequence[Verdict | Unscored]) -> ItemScore:
    verdicts = tuple(
        count_verdicts(
            [verdict_bool(outcome) if isinstance(outcome, Verdict) else None],
            "plus" if criterion["points"] > 0 else "minus",
            weight=criterion["points"],
        )
        for criterion, outcome in zip(item.fields["criteria"], outcomes, strict=True)
    )
    missing = [outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)]
    counts = {"points": Counts(how="points", verdicts=verdicts)}
    return ItemScore.counted(
        counts, id=item.id, unscored=missing[0] if missing else None
    )
