"""Each criterion, decided by a judge on the whole conversation; points with their sign."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.judges.base import (
    JudgePrompts,
    Judging,
    Pair,
    Question,
    Unscored,
    Verdict,
)
from medical_tasks.judges.reading import read_closing_claim
from medical_tasks.spec import Answer, Counts, Item, ItemScore, Message, Verdicts, texts_sha256

ASK = (
    "A conversation with a clinician:\n\n{conversation}\n\nDoes this hold of the clinician's part?\n"
    "{criterion}\n\nEnd with one word: true or false."
)
AGAIN = "That cannot be read ({problem}). End with one word: true or false."


def load_judge_prompts() -> JudgePrompts:
    """The one set there is, `own`."""
    return JudgePrompts(name="own", sha256=texts_sha256(ASK, AGAIN), texts={"ask": ASK})


def score_items(
    items: Sequence[Item], answers: Sequence[Answer], judging: Judging
) -> list[ItemScore]:
    """The points of each answer."""
    pairs = zip(items, answers, strict=True)
    questions = [question for pair in pairs for question in _questions(*pair, judging)]
    outcomes = iter(judging.judge.ask(questions))
    return [_score(item, [next(outcomes) for _ in item.fields["criteria"]]) for item in items]


def point_limits(item: Item) -> tuple[float, float]:
    """The least and the most that a reply can earn."""
    points = [criterion["points"] for criterion in item.fields["criteria"]]
    plus = sum(point for point in points if point > 0)
    return (sum(point for point in points if point < 0) / plus, 1.0)


def _conversation(item: Item, answer: Answer) -> str:
    """Who said what. The first message is the question; of a file of answers only the reply is known."""
    talk = answer.conversation[1:] or (Message(role="assistant", content=answer.text),)
    names = {"assistant": "Clinician", "user": "Patient"}
    lines = [f"{names[message['role']]}: {message['content']}" for message in talk]
    return "\n\n".join([f"Patient: {item.fields['message']}", *lines])


def _questions(item: Item, answer: Answer, judging: Judging) -> list[Question]:
    talk, ask, questions = _conversation(item, answer), judging.prompts.texts["ask"], []
    for place, criterion in enumerate(item.fields["criteria"]):
        text = ask.format(conversation=talk, criterion=criterion["text"])
        question = Question(
            id=f"{item.id}/{place}",
            messages=(Message(role="user", content=text),),
            template=judging.prompts.sha256,
            read=read_closing_claim,
            again=AGAIN,
            pair=Pair(premise=talk, hypothesis=criterion["text"]),
        )
        questions.append(question)
    return questions


def _score(item: Item, outcomes: Sequence[Verdict | Unscored]) -> ItemScore:
    verdicts = tuple(
        Verdicts(
            kind="plus" if criterion["points"] > 0 else "minus",
            hits=float(isinstance(outcome, Verdict) and outcome.value),
            known=int(isinstance(outcome, Verdict)),
            missing=int(isinstance(outcome, Unscored)),
            weight=criterion["points"],
        )
        for criterion, outcome in zip(item.fields["criteria"], outcomes, strict=True)
    )
    missing = [outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)]
    counts = {"points": Counts(how="points", verdicts=verdicts)}
    return ItemScore.counted(counts, id=item.id, unscored=missing[0] if missing else None)
