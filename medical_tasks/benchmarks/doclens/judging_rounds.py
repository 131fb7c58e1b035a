"""Several lines of questions, asked together: each round holds what all of them want next, and a judge can work on much at once.

A line of questions is a generator. It yields questions, is sent their outcomes, and returns what it found out.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from medical_tasks.judges.base import Judge, Question, Unscored, Verdict

__all__ = ["Line", "Outcome", "ask_together", "side_by_side"]

Outcome = Verdict | Unscored
_Found = TypeVar("_Found")
Line = Generator[list[Question], list[Outcome], _Found]
"""Yields questions whose ids differ from all others', maybe none, and is sent an outcome each, in order."""


def ask_together(judge: Judge, lines: Sequence[Line[_Found]]) -> list[_Found]:
    """Asks round by round, until every line has come to its end.

    Args:
        judge: whom to ask; never with nothing.
        lines: any number.

    Returns:
        What each of them found, in order.
    """
    line = side_by_side(lines)
    try:
        wanted = next(line)
        while True:
            wanted = line.send(judge.ask(wanted))
    except StopIteration as end:
        found: list[_Found] = end.value
        return found


def side_by_side(lines: Sequence[Line[_Found]]) -> Line[list[_Found]]:
    """Makes one line of several: its rounds are theirs together, and it ends when the last one does.

    Args:
        lines: any number.

    Returns:
        A line that never yields nothing, and finds what each of them found, in order.
    """
    found: dict[int, Any] = {}
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
        outcomes = yield [question for wanted in asked.values() for question in wanted]
        start = 0
        for place, wanted in asked.items():
            go_on(place, outcomes[start : start + len(wanted)])
            start += len(wanted)
    return [found[place] for place in range(len(lines))]
