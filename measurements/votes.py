"""Calls that stopping early saves of five votes a verdict, by how often a vote agrees with the judge's own opinion.

    python measurements/votes.py [questions per row]

A judge has an opinion of an answer, and each vote by itself is that opinion with a
given chance. `exact` is the expectation, `simulated` what a session over a scripted
judge asks (`judges.session`, `judges.case`).

EHRNoteQA's paper states that votes differ in some cases (appendix E.1), but not how often.
What it gives is the kappa of the judge with three clinicians, 0.757 the lowest (section
4.1). The level called the paper's supposes that two votes of the judge agree no better
than it does with that clinician: with the 74.34 % of answers that are correct (mean of
the 27 models of table 4, open-ended, level 1) kappa gives the share of equal votes, and
that the chance of a vote to be the opinion. A real judge agrees with itself better than
with others, so that more is saved.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from medical_tasks.io.store import Store
from medical_tasks.judges.base import (
    Call,
    JudgeOptions,
    OnReply,
    Question,
    Reply,
    Unreadable,
)
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.budget import RunBudget

VOTES = 5
CORRECT = 0.7434
KAPPA = 0.757
LEVELS = (0.80, 0.85, 0.90, 0.925, 0.95, 0.975, 0.99, 1.00)


def main(questions: int) -> None:
    print(f"the paper's level: {paper_agreement():.4f}\n")
    print(
        f"{'agreement':>9} {'two votes equal':>15} {'calls a question':>16} {'saved, exact':>12} {'saved, simulated':>16}"
    )
    for level in sorted({*LEVELS, round(paper_agreement(), 4)}):
        calls = expected_calls(level)
        simulated_calls = session_calls(draw_votes(questions, level, seed=1))
        print(
            f"{level:9.4f} {level**2 + (1 - level) ** 2:15.4f} {calls:16.3f} {1 - calls / VOTES:12.1%} "
            f"{1 - simulated_calls / (VOTES * questions):16.1%}"
        )


def paper_agreement(kappa: float = KAPPA, correct: float = CORRECT) -> float:
    """Computes the chance that a vote is the judge's opinion, from the kappa of two votes and the share of correct answers."""
    by_chance = correct**2 + (1 - correct) ** 2
    equal = kappa * (1 - by_chance) + by_chance
    return (1 + math.sqrt(2 * equal - 1)) / 2  # a**2 + (1 - a)**2 = equal


def expected_calls(agreement: float) -> float:
    """Computes the calls for a question: three votes, a fourth unless they agree, a fifth at 2:2."""
    differs = agreement * (1 - agreement)
    return 3 + 3 * differs + 6 * differs**2


def draw_votes(
    questions: int,
    agreement: float,
    *,
    seed: int,
    unreadable: float = 0.0,
    correct: float = CORRECT,
) -> list[list[bool | None]]:
    """Draws five votes on each question; None for an unreadable reply."""
    chance = random.Random(seed)
    drawn: list[list[bool | None]] = []
    for _ in range(questions):
        opinion = chance.random() < correct
        votes = [
            opinion if chance.random() < agreement else not opinion
            for _ in range(VOTES)
        ]
        drawn.append([None if chance.random() < unreadable else vote for vote in votes])
    return drawn


def session_calls(patterns: Sequence[Sequence[bool | None]]) -> int:
    """Counts the calls of a session that asks all questions at once."""
    backend = Scripted(patterns)
    questions = [
        Question(
            id=str(number),
            messages=({"role": "user", "content": str(number)},),
            template="",
            read=read,
            again="{problem}",
        )
        for number in range(len(patterns))
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "store.sqlite") as store,
    ):
        JudgeSession(
            backend, JudgeOptions(votes=VOTES, reasks=0), store, quiet=True
        ).ask(questions)
    return backend.calls


def read(text: str) -> bool | Unreadable:
    return Unreadable("no verdict") if text == "None" else text == "True"


class Scripted:
    """A judge with scripted votes. Implements `judges.base.Backend`."""

    name = "scripted"
    endpoint: str | None = None
    comparable = True
    samples = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, patterns: Sequence[Sequence[bool | None]]) -> None:
        self.calls = 0
        self.identity: Mapping[str, str] = {"kind": "scripted"}
        self._patterns = patterns

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Returns the votes."""
        for call in calls:
            self.calls += 1
            text = str(self._patterns[int(call.question.id)][call.vote])
            on_reply(Reply(key=call.key, text=text, prompt_tokens=1, output_tokens=1))

    def close(self) -> None:
        """Does nothing: the judge holds no resource."""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
