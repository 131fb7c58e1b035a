"""Asks questions in rounds, where later questions depend on earlier outcomes, and in batches.

A `Line` is the questioning about one thing, as a generator; many lines run side by side
so that a judge gets as many questions at once as possible.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from medical_tasks.judges.base import Judge, Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import FORM_REASONS

Outcome = Verdict | Unscored
_Result = TypeVar("_Result")
_Value = TypeVar("_Value")
Line = Generator[list[Question], list[Outcome], _Result]
"""Yields the questions of a round, with ids of their own, and is sent their outcomes in order; a round may be empty."""


def ask_together(judge: Judge, lines: Sequence[Line[_Result]]) -> list[_Result]:
    """Asks round by round, until every line has ended; returns their results."""
    line = side_by_side(lines)
    try:
        questions = next(line)
        while True:
            questions = line.send(judge.ask(questions))
    except StopIteration as end:
        results: list[_Result] = end.value
        return results


def side_by_side(lines: Sequence[Line[_Result]]) -> Line[list[_Result]]:
    """Joins several lines into one, whose rounds are theirs together.

    Example: one line asks a1 and then, depending on the outcome, a2; another asks b1.
    The rounds are [a1, b1] and [a2].
    """
    results: dict[int, _Result] = {}
    waiting: dict[int, list[Question]] = {}

    def advance(number: int, outcomes: list[Outcome] | None) -> None:
        line = lines[number]
        try:
            questions = next(line) if outcomes is None else line.send(outcomes)
            while not questions:
                questions = line.send([])
        except StopIteration as end:
            results[number] = end.value
        else:
            waiting[number] = questions

    for number in range(len(lines)):
        advance(number, None)

    while waiting:
        batches = dict(waiting)
        waiting.clear()
        outcomes = iter((yield list(itertools.chain(*batches.values()))))
        for number, batch in batches.items():
            advance(number, list(itertools.islice(outcomes, len(batch))))

    return [results[number] for number in range(len(lines))]


def answered(questions: Sequence[Question]) -> Line[dict[str, Outcome]]:
    """Asks in one round; returns the outcomes by the questions' ids."""
    outcomes = yield list(questions)
    return {
        question.id: outcome
        for question, outcome in zip(questions, outcomes, strict=True)
    }


def in_batches(
    names: Sequence[str],
    judging: Judging,
    *,
    batch: Callable[[str, Sequence[str]], Question],
    single: Callable[[str], Question],
    read_batch: Callable[[Verdict, Sequence[str]], Mapping[str, _Value]],
    read_single: Callable[[Verdict], _Value],
) -> Line[dict[str, _Value | Unscored]]:
    """Asks about different things: all in one call if the judge takes batches, else one call each.

    A second batch asks about what the first reply left out; what that one leaves out is
    asked about singly. So is a whole batch that failed because of its form: an
    unreadable reply, a prompt too long. After a failure for another reason (the server,
    the budget) nothing more is asked, since single calls would only fail as well.

    Example: five statements are in one call, and the reply names four. A second batch
    asks about the fifth. If that reply is not readable either, the prompt for one
    statement asks about it alone.

    Args:
        names: the things' names.
        judging: the judge, and whether it takes batches.
        batch: makes a round's question about several things.
        single: makes the question about one thing.
        read_batch: reads the values from a verdict on several; it may leave out some.
        read_single: reads the value from a verdict on one.
    """
    values: dict[str, _Value | Unscored] = {}
    batched = judging.mode == "batched" and judging.judge.reads == "prompt"
    for round_name in ("batch", "batch-again") if batched and names else ():
        (outcome,) = yield [batch(round_name, names)]
        if isinstance(outcome, Verdict):
            values |= read_batch(outcome, names)
            names = [name for name in names if name not in values]
        elif outcome.reason not in FORM_REASONS:
            return values | dict.fromkeys(names, outcome)

        if not names or isinstance(outcome, Unscored):
            break

    outcomes = yield [single(name) for name in names]
    for name, outcome in zip(names, outcomes, strict=True):
        values[name] = (
            outcome if isinstance(outcome, Unscored) else read_single(outcome)
        )

    return values
