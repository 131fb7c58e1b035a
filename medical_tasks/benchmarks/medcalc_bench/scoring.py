"""Scores answers of MedCalc-Bench: sane, as the authors do, by the published rule's answer, and where that bears the label out.

No reply is evaluated as code, and none raises. `accuracy_recomputed` and `accuracy_agreed` are nan without a rule's answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.gold import (
    PERCENT_IDS,
    SCORE_IDS,
    AnswerKind,
    Decision,
    answer_kind,
    answer_text,
    decimal_or_none,
    label_agrees,
    limits,
    recompute_or_none,
    within,
)
from medical_tasks.benchmarks.medcalc_bench.official import (
    official_code_decision,
    official_decision,
)
from medical_tasks.benchmarks.medcalc_bench.quantities import (
    DAYS_A_WEEK,
    Quantity,
    ages,
    dates,
    dimension,
    measurements,
    scores,
)
from medical_tasks.benchmarks.medcalc_bench.reading import read_answer
from medical_tasks.benchmarks.medcalc_bench.statements import (
    ASKED,
    BOUND,
    CONDITION,
    DENIED,
    OTHER_UNIT,
    Statement,
    Subject,
)
from medical_tasks.calculators import CalculatorInputError, find
from medical_tasks.data.task_data import check_lengths
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, ItemScore, TaskSpec, unclear_limits

__all__ = ["NOTE_WORDS", "decide", "decided", "score_items", "subject_of", "unclear_reason"]

SEVERAL: Final = "several answers"
_UNCLEAR: Final = (BOUND, CONDITION, ASKED, DENIED, SEVERAL)
NOTE_WORDS: Final = frozenset(" ".join(_UNCLEAR).split())
"""The words of the reasons why an answer is unclear, which quote no answer."""


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    readings: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the replies to a task's items; a row whose gold cannot be read is a `UsageError`.

    `readings`: item id to the final answer as a person or a judge read it, in place of our reader; "" where there is none.
    """
    check_lengths(task, items, responses)
    if task.options.get("style") == "twins":
        from medical_tasks.benchmarks.medcalc_bench.twins import (
            score_twins,
        )  # late: it is built on this module

        return score_twins(items, responses)
    official = official_code_decision if task.options.get("style") == "code" else official_decision
    known = readings or {}
    return [
        _score(task, item, response, official, known.get(item.id))
        for item, response in zip(items, responses, strict=True)
    ]


def _score(
    task: TaskSpec,
    item: Item,
    response: str,
    official_of: Callable[..., Decision],
    reading: str | None,
) -> ItemScore:
    row = item.fields
    answer = {
        "gold": row["ground_truth_answer"],
        "lower": row["lower_limit"],
        "upper": row["upper_limit"],
    }
    calculator_id = int(row["calculator_id"])
    kind = answer_kind(calculator_id, row.get("output_type"))
    read = response if reading is None else reading
    statement = read_answer(read, subject_of(calculator_id, kind))
    sane = decided(statement, kind, calculator_id, **answer)
    unclear = unclear_reason(statement, sane)
    official = official_of(response, calculator_id=calculator_id, **answer)
    why = sane.why if sane.correct == official.correct else f"{sane.why}; official: {official.why}"
    values = {"accuracy": float(sane.correct), "accuracy_official": float(official.correct)}
    values |= {"accuracy_recomputed": math.nan, "accuracy_agreed": math.nan}
    result = recompute_or_none(row)
    if result is not None:
        agrees = label_agrees(row, result.answer)
        published = sane  # where the same score or date is asked for
        if not agrees or isinstance(result.answer, float):
            # No limits: the tolerance is around the published rule's answer, not around the label.
            published = decided(statement, kind, calculator_id, gold=answer_text(result.answer))
        values["accuracy_recomputed"] = float(published.correct and not unclear)
        if published.correct != sane.correct:
            why = f"{why}; by the published rule: {published.why}"
        if agrees:
            values["accuracy_agreed"] = values["accuracy"]
    return ItemScore(
        id=item.id,
        values=values,
        parsed=sane.parsed,
        why=why if reading is None else f"read by adjudication: {why}",
        unclear=unclear,
        limits=unclear_limits(task.metrics, values) if unclear else {},
        notes=sane.notes,
    )


def unclear_reason(statement: Statement, decision: Decision) -> str:
    """Why a reply leaves open what its answer is; "" where it states one, or plainly none.

    Examples: "at least 12" is `a bound`; "12, or perhaps 14" is `several answers` where 12 is right, and wrong where neither is.
    """
    if statement.stated:
        return SEVERAL if decision.partly else ""
    return statement.why if statement.why in _UNCLEAR else ""


def decide(
    response: str,
    *,
    calculator_id: int,
    gold: str | float,
    lower: str | float | None = None,
    upper: str | float | None = None,
    output_type: str | None = None,
) -> Decision:
    """Decides whether a reply gives the right answer, in whatever form; a gold that cannot be read is a `UsageError`."""
    kind = answer_kind(calculator_id, output_type)
    statement = read_answer(response, subject_of(calculator_id, kind))
    return decided(statement, kind, calculator_id, gold=gold, lower=lower, upper=upper)


def decided(
    statement: Statement,
    kind: AnswerKind,
    calculator_id: int,
    *,
    gold: str | float,
    lower: str | float | None = None,
    upper: str | float | None = None,
) -> Decision:
    """Decides on what a reply states; see `decide`."""
    if kind == "date":
        days = [each.value for each in dates(str(gold))]
        if len(days) != 1 or days[0] is None:
            raise UsageError(
                f"the gold answer {gold!r} is no date (M/D/YYYY). Check the row's Ground Truth Answer."
            )
        return _same(
            statement,
            days[0],
            "date",
            lambda day: "no date of the calendar" if day is None else str(day),
        )
    if kind == "gestational_age":
        weeks = [each.value for each in ages(str(gold))]
        if len(weeks) != 1 or weeks[0] is None:
            raise UsageError(
                f"the gold answer {gold!r} gives no weeks and days. Check the row's Ground Truth Answer."
            )
        return _same(statement, weeks[0], "weeks and days", _weeks_and_days)
    wanted = decimal_or_none(gold)
    if wanted is None:
        raise UsageError(
            f"the gold answer {gold!r} is no number. Check the row's Ground Truth Answer."
        )
    if kind == "integer":
        return _same(statement, float(wanted), "number", lambda number: f"{number:.10g}")
    low, high = limits(wanted, lower, upper)
    if not statement.stated:
        return _nothing(statement, "number")
    parsed = " or ".join(
        f"{each.value:.10g}{'%' if each.unit == '%' else ''}" for each in statement.stated
    )
    fraction = abs(wanted) <= 1 and calculator_id not in PERCENT_IDS
    values = [_meant(each, low, high, fraction=fraction) for each in statement.stated]
    notes = _notes(statement.stated, subject_of(calculator_id, kind))
    why = "; ".join((" or ".join(within(value, low, high) for value in values), *notes))
    right = [low <= value <= high for value in values]
    return Decision(
        correct=all(right),
        parsed=parsed,
        why=why,
        notes=notes,
        partly=any(right) and not all(right),
    )


def _same(
    statement: Statement, wanted: object, what: str, written: Callable[[Any], str]
) -> Decision:
    if not statement.stated:
        return _nothing(statement, what)
    parsed = " or ".join(written(each.value) for each in statement.stated)
    right = [each.value == wanted for each in statement.stated]
    correct = all(right)
    return Decision(
        correct=correct,
        parsed=parsed,
        why=f"{parsed} is {'' if correct else 'not '}{written(wanted)}",
        partly=any(right) and not correct,
    )


def _weeks_and_days(age: int | None) -> str:
    return "no age" if age is None else f"{age // DAYS_A_WEEK} weeks {age % DAYS_A_WEEK} days"


def _nothing(statement: Statement, what: str) -> Decision:
    why = f"no final {what} found"
    # Of a score the number does not decide: a share or a duration is no number of points.
    notes = (f"unit_mismatch: {statement.why}",) if statement.why.startswith(OTHER_UNIT) else ()
    return Decision(
        correct=False,
        parsed="",
        why=f"{why}: {statement.why}" if statement.why else why,
        notes=notes,
    )


def _notes(stated: Sequence[Quantity], subject: Subject) -> tuple[str, ...]:
    """Says which units are of another dimension than the answer's; the number decides all the same."""
    wanted = dimension(subject.unit) if subject.unit else ""
    other = [each.unit for each in stated if each.unit and dimension(each.unit) not in ("", wanted)]
    if not other or (other == ["%"] and not subject.unit):
        return ()
    return (f"unit_mismatch: {other[0]} for {subject.unit or 'no unit'}",)


@cache
def subject_of(calculator_id: int, kind: AnswerKind) -> Subject:
    """What replies about a calculator are searched for."""
    if kind == "date":
        return Subject(scan=dates)
    if kind == "gestational_age":
        return Subject(scan=ages, own=frozenset({"age"}))
    points = calculator_id in SCORE_IDS or kind == "integer"
    scan = scores if points else measurements
    try:
        calculator = find(calculator_id)
    except CalculatorInputError:
        return Subject(scan=scan, numeric=True, points=points)
    own = frozenset(re.findall("[a-z]+", calculator.name.lower())) | _OWN.get(
        calculator_id, frozenset()
    )
    return Subject(scan=scan, numeric=True, points=points, unit=calculator.unit, own=own)


_OWN = {
    **dict.fromkeys((11, 56, 57, 58, 59), frozenset({"qt", "rr"})),
    5: frozenset({"blood"}),
    **dict.fromkeys((24, 49), frozenset({"dose", "dosage"})),
    44: frozenset({"cholesterol"}),
}
"""Words that name what a calculator gives, beside those of its name."""


def _meant(number: Quantity, low: float, high: float, *, fraction: bool) -> float:
    """The value of "12 %": 12, or 0.12 where the gold is a fraction and that is right."""
    value = float(number.value)  # type: ignore[arg-type]  # of a scanner of numbers
    return value / 100 if number.unit == "%" and fraction and low <= value / 100 <= high else value
