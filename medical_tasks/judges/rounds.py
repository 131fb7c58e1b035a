"""Lines of questions in which later ones depend on what was said, asked round by round.

And many things asked about in one call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from medical_tasks.judges.base import Judge, Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import FORM_REASONS

Outcome = Verdict | Unscored
_Found = TypeVar("_Found")
_Value = TypeVar("_Value")
Line = Generator[list[Question], list[Outcome], _Found]
"""Yields questions whose ids differ from all others', maybe none, and is sent an outcome each, in order."""


def ask_together(judge: Judge, lines: Sequence[Line[_Found]]) -> list[_Found]:
    """Asks round by round, until every line has come to its end."""
    line = side_by_side(lines)
    try:
        wanted = next(line)
        while True:
            wanted = line.send(judge.ask(wanted))
    except StopIteration as end:
        found: list[_Found] = end.value
        return found


def side_by_side(lines: Sequence[Line[_Found]]) -> Line[list[_Found]]:
    """Makes one line of several.

    Its rounds are theirs together, and it ends when the last one does.

    Example: one line asks a1 and, by what was said, a2; another asks b1. The rounds are
    [a1, b1] and [a2], so that a judge gets as many questions at once as can be.
    """
    found: dict[int, _Found] = {}
    waiting: dict[int, list[Question]] = {}

    def go_on(place: int, outcomes: list[Outcome] | None) -> None:
        line = lines[place]
        try:
            wanted = next(line) if outcomes is None else line.send(outcomes)
            while not wanted:
                wanted = line.send([])
        except StopIteration as end:
            found[place] = end.value
        else:
            waiting[place] = wanted

    for place in range(len(lines)):
        go_on(place, None)

    while waiting:
        asked = dict(waiting)
        waiting.clear()
        outcomes = iter(
            (yield [question for wanted in asked.values() for question in wanted])
        )
        for place, wanted in asked.items():
            go_on(place, list(itertools.islice(outcomes, len(wanted))))

    return [found[place] for place in range(len(lines))]


def answered(questions: Sequence[Question]) -> Line[dict[str, Outcome]]:
    """Asks in one round; the outcomes by question's id."""
    outcomes = yield list(questions)
    return {
        question.id: outcome
        for question, outcome in zip(questions, outcomes, strict=True)
    }


def in_batches(
    wanted: Sequence[str],
    judging: Judging,
    *,
    batch: Callable[[str, Sequence[str]], Question],
    single: Callable[[str], Question],
    read_batch: Callable[[Verdict, Sequence[str]], Mapping[str, _Value]],
    read_single: Callable[[Verdict], _Value],
) -> Line[dict[str, _Value | Unscored]]:
    """Asks about things that differ: all in one call where the judge takes batches, else one call each.

    What a batched reply leaves out is asked about again, together, and what is left out
    once more one by one. So is a whole batch whose form is the trouble: no readable
    reply, a prompt too long. A batch that failed for another reason (the server, the
    budget) leaves its things without a verdict: asking for each of them would only fail
    as many times.

    Example: of five statements in one call the reply names four; the fifth is asked
    about in a second batch, of itself. If that reply is not readable either, it is
    asked about alone, in the prompt for one statement.

    Args:
        wanted: names of the things.
        judging: the judge, and whether it is asked in batches.
        batch: makes the question of a round about several.
        single: makes the question about one.
        read_batch: the values that a verdict on several names; it may leave out some.
        read_single: the value of a verdict on one.
    """
    found: dict[str, _Value | Unscored] = {}
    batched = judging.mode == "batched" and judging.judge.reads == "prompt"
    for round_name in ("batch", "batch-again") if batched and wanted else ():
        (outcome,) = yield [batch(round_name, wanted)]
        if isinstance(outcome, Verdict):
            found |= read_batch(outcome, wanted)
            wanted = [each for each in wanted if each not in found]
        elif outcome.reason not in FORM_REASONS:
            return found | dict.fromkeys(wanted, outcome)

        if not wanted or isinstance(outcome, Unscored):
            break

    outcomes = yield [single(each) for each in wanted]
    for each, outcome in zip(wanted, outcomes, strict=True):
        found[each] = outcome if isinstance(outcome, Unscored) else read_single(outcome)

    return found
