"""Sorts wrong scores: the points that the reply gives, criterion by criterion, and their sum."""

from __future__ import annotations

import re

from medical_tasks.medcalc_bench.error_case import Case, Sorted, among, short
from medical_tasks.medcalc_bench.error_points import mentions, read_steps, same_value, steps_of
from medical_tasks.medcalc_bench.error_reading import close

__all__ = ["score_error"]

MOST_CRITERIA = 0.6
"""Share of the criteria that a reply must give points for, before one that it never names counts as unknown to it."""


def score_error(case: Case) -> Sorted | None:
    """The earliest error that the reply's own points and findings show; None without evidence."""
    steps = steps_of(case.result.explanation)
    readings = read_steps(case.working, steps)
    goal = (case.low + case.high) / 2
    for each in readings:
        ours, theirs, step = each.step.points, each.points, each.step
        if theirs == ours:
            continue
        if step.present and each.present is not False and theirs != 0:
            return Sorted("A", f"{step.label}: present gives {ours:+g}, the reply gives {theirs:+g}")
        if step.value is not None and same_value(each) and len(each.numbers) <= _FEW_NUMBERS:
            return Sorted("A", f"{step.label}: gives {ours:+g}, the reply gives {theirs:+g} for the same value")
    unnamed = [step for step in steps if step.points and not mentions(case.working, step)]
    agreeing = all(each.points == each.step.points for each in readings)
    if (
        len(readings) >= MOST_CRITERIA * len(steps)
        and len(unnamed) == 1
        and agreeing
        and case.final is not None
        and close(goal - unnamed[0].points, case.final)
    ):
        return Sorted("A", f"{unnamed[0].label}: a criterion the reply does not know, worth {unnamed[0].points:+g}")
    for each in readings:
        step = each.step
        if step.present is not None and each.present is not None and each.present != step.present:
            if each.points != step.points:
                said, true = ("present", "absent") if each.present else ("absent", "present")
                return Sorted("B", f"{step.label}: {true} by the note, {said} in the reply")
            continue
        away = step.value is not None and not among([abs(step.value)], case.working.numbers)
        if away and each.points != step.points and len(each.numbers) <= _FEW_NUMBERS:
            return Sorted(
                "B", f"{step.label}: {step.value:g} is nowhere in the reply, whose line is {short(each.line)!r}"
            )
    return _wrong_sum(case, goal)


_FEW_NUMBERS = 3
"""More numbers in a line are the classes of the rule, of which the patient's cannot be told."""
_SUM = re.compile(r"[-+(]?\s?\d+(?:\.5)?(?:\s?\+\s?\(?-?\d+(?:\.5)?\)?)+")


def _wrong_sum(case: Case, goal: float) -> Sorted | None:
    """C: a sum of points stands there whose true total is the right score."""
    for equation in case.working.equations:
        whole = _SUM.fullmatch(equation.text) and len(equation.numbers) >= 2 and close(equation.value, goal)
        if whole and (equation.stated is None or not close(equation.stated, goal)):
            return Sorted("C", f"{short(equation.text)} is {goal:g}, which is right; the reply makes it another number")
    return None
