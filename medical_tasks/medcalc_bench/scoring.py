"""Scores answers of MedCalc-Bench: `accuracy` (sane), `accuracy_official` (the authors' decision), and two more views.

Khandekar et al. 2024, section 3.1: scores of points must equal the gold, measurements lie within 5 % of it (the row's own
limits), dates equal it. `accuracy` reads the final answer in whatever form a model writes it (`answers`, `numbers`, `dates`,
`gestational_age`); `accuracy_official` is the authors' script, bug for bug (`official`). No reply is evaluated as code, and
none raises.

Labels themselves can be wrong (`docs/medcalc_audit.md`). `accuracy_recomputed` is the same reading judged against the
published rule's answer for the row's entities, and `accuracy_agreed` is `accuracy` on the rows whose label that answer bears
out. They are nan, that is left out, on rows for which the rule has no answer, and the latter on wrong labels too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from medical_tasks.errors import UsageError
from medical_tasks.medcalc_bench.answers import Statement, final_statements
from medical_tasks.medcalc_bench.dates import stated_dates
from medical_tasks.medcalc_bench.decision import Decision, within
from medical_tasks.medcalc_bench.formulas import formula_value, inside_str
from medical_tasks.medcalc_bench.gestational_age import DAYS_A_WEEK, stated_ages
from medical_tasks.medcalc_bench.kinds import PERCENT_IDS, SCORE_IDS, AnswerKind, answer_kind
from medical_tasks.medcalc_bench.numbers import Number, stated_numbers
from medical_tasks.medcalc_bench.official import official_code_decision, official_decision
from medical_tasks.medcalc_bench.recomputed import answer_text, label_agrees, recompute_or_none
from medical_tasks.medcalc_bench.tolerance import decimal_or_none, limits
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["decide", "score_items"]

PLAIN_LINES = 5
"""How many lines of running text are searched for an answer after "is" or "=" before a number without one will do."""


def score_items(task: TaskSpec, items: Sequence[Item], responses: Sequence[str]) -> list[ItemScore]:
    """Scores the replies to a task's items.

    Args:
        task: any task of the benchmark; all are scored alike.
        items: the items, with the dataset's columns in `fields`.
        responses: the model's raw text for each item, in the same order.

    Returns:
        For each item `accuracy` and `accuracy_official`, 0 or 1, and `accuracy_recomputed` and `accuracy_agreed`, 0 or 1 or
        nan. No item is unscored: what cannot be read is wrong.

    Raises:
        UsageError: There are not as many responses as items, or a row's gold cannot be read.
    """
    if len(items) != len(responses):
        raise UsageError(
            f"{task.name}: {len(items)} items but {len(responses)} responses. Give one response for each item."
        )
    official = official_code_decision if task.options.get("style") == "code" else official_decision
    return [_score(item, response, official) for item, response in zip(items, responses, strict=True)]


def _score(item: Item, response: str, official_of: Callable[..., Decision]) -> ItemScore:
    row = item.fields
    answer = {"gold": row["ground_truth_answer"], "lower": row["lower_limit"], "upper": row["upper_limit"]}
    calculator_id = int(row["calculator_id"])
    sane = decide(response, calculator_id=calculator_id, output_type=row.get("output_type"), **answer)
    official = official_of(response, calculator_id=calculator_id, **answer)
    why = sane.why if sane.correct == official.correct else f"{sane.why}; official: {official.why}"
    values = {
        "accuracy": float(sane.correct),
        "accuracy_official": float(official.correct),
        "accuracy_recomputed": math.nan,
        "accuracy_agreed": math.nan,
    }
    result = recompute_or_none(row)
    if result is not None:
        agrees = label_agrees(row, result.answer)
        if agrees and not isinstance(result.answer, float):
            published = sane  # the same score or date is asked for
        else:
            # No limits: the tolerance is around the published rule's answer, not around the label.
            published = decide(response, calculator_id=calculator_id, gold=answer_text(result.answer))
        values["accuracy_recomputed"] = float(published.correct)
        if published.correct != sane.correct:
            why = f"{why}; by the published rule: {published.why}"
        if agrees:
            values["accuracy_agreed"] = values["accuracy"]
    return ItemScore(id=item.id, values=values, parsed=sane.parsed, why=why)


def decide(
    response: str,
    *,
    calculator_id: int,
    gold: str | float,
    lower: str | float | None = None,
    upper: str | float | None = None,
    output_type: str | None = None,
) -> Decision:
    """Decides whether a reply gives the right answer, in whatever form it is written.

    Args:
        response: the model's raw text.
        calculator_id: id in the dataset.
        gold: the row's ground truth answer.
        lower: the row's lower limit; used for decimals, in either order. Without limits 5 % of the gold to both sides.
        upper: the row's upper limit.
        output_type: the row's output type, asked only for an id that is not one of the 55.

    Returns:
        Right or wrong, the answer as read, and why. Where a reply leaves open which of several values it means, each
        has to be right.

    Raises:
        UsageError: The gold or the limits cannot be read, or the form of the answer is unknown.
    """
    kind = answer_kind(calculator_id, output_type)
    if kind == "date":
        return _decide_date(response, str(gold))
    if kind == "gestational_age":
        return _decide_age(response, str(gold))
    return _decide_number(response, kind, calculator_id, gold, (lower, upper))


def _decide_date(response: str, gold: str) -> Decision:
    wanted = stated_dates(gold)
    if len(wanted) != 1 or wanted[0] is None:
        raise UsageError(
            f"the gold answer {gold!r} is no date of the form M/D/YYYY. Check the row's Ground Truth Answer."
        )
    for statement in final_statements(response):
        dates = stated_dates(_unwrapped(statement), last=statement.reasoned)
        if dates:
            parsed = " or ".join("no date of the calendar" if day is None else day.isoformat() for day in dates)
            correct = set(dates) == set(wanted)
            return Decision(correct=correct, parsed=parsed, why=f"{parsed} is {'' if correct else 'not '}{wanted[0]}")
    return _NOTHING_DATE


def _decide_age(response: str, gold: str) -> Decision:
    wanted = stated_ages(gold)
    if len(wanted) != 1:
        raise UsageError(f"the gold answer {gold!r} gives no weeks and days. Check the row's Ground Truth Answer.")
    for statement in final_statements(response):
        ages = stated_ages(_unwrapped(statement), last=statement.reasoned)
        if ages:
            parsed = " or ".join(_weeks_and_days(age) for age in ages)
            correct = set(ages) == set(wanted)
            why = f"{parsed} is {'' if correct else 'not '}{_weeks_and_days(wanted[0])}"
            return Decision(correct=correct, parsed=parsed, why=why)
    return _NOTHING_AGE


def _weeks_and_days(age: int) -> str:
    return f"{age // DAYS_A_WEEK} weeks {age % DAYS_A_WEEK} days"


def _unwrapped(statement: Statement) -> str:
    inner = inside_str(statement.text)
    return statement.text if inner is None else inner


def _decide_number(
    response: str,
    kind: AnswerKind,
    calculator_id: int,
    gold: str | float,
    ends: tuple[str | float | None, str | float | None],
) -> Decision:
    wanted = decimal_or_none(gold)
    if wanted is None:
        raise UsageError(f"the gold answer {gold!r} is no number. Check the row's Ground Truth Answer.")
    score = calculator_id in SCORE_IDS or kind == "integer"
    numbers = _final_numbers(response, score=score)
    if not numbers:
        return _NOTHING_NUMBER
    parsed = " or ".join(f"{number.value:.10g}{'%' if number.percent else ''}" for number in numbers)
    if kind == "integer":
        correct = all(number.value == float(wanted) for number in numbers)
        return Decision(correct=correct, parsed=parsed, why=f"{parsed} is {'' if correct else 'not '}{wanted}")
    low, high = limits(wanted, *ends)
    fraction = abs(wanted) <= 1 and calculator_id not in PERCENT_IDS
    values = [_meant(number, low, high, fraction=fraction) for number in numbers]
    correct = all(low <= value <= high for value in values)
    return Decision(correct=correct, parsed=parsed, why=" or ".join(within(value, low, high) for value in values))


def _final_numbers(response: str, *, score: bool) -> list[Number]:
    """The number the reply ends up with; in running text one after "is" or "=" goes before any later one."""
    later: list[Number] = []
    seen: set[str] = set()  # a last line that begins with "Answer:" comes twice
    for place, statement in enumerate(final_statements(response)):
        if statement.text in seen:
            continue
        seen.add(statement.text)
        numbers, cued = _stated(statement, score=score)
        if numbers and (cued or not statement.reasoned):
            return numbers
        later = later or numbers
        if later and place >= PLAIN_LINES:
            break
    return later


def _stated(statement: Statement, *, score: bool) -> tuple[list[Number], bool]:
    inner = inside_str(statement.text)
    if inner is None:
        return stated_numbers(statement.text, score=score, last=statement.reasoned)
    value = formula_value(inner)
    if value is not None:
        return [Number(value, False, 0, len(inner))], True
    # No formula: a number with its unit, or words. A formula with a gap in it states nothing.
    return ([], True) if any(sign in inner for sign in "+-*/(") else stated_numbers(inner, score=score)


def _meant(number: Number, low: float, high: float, *, fraction: bool) -> float:
    """The value of "12 %": 12, or 0.12 where the gold is a fraction and that is right."""
    hundredth = number.value / 100
    return hundredth if number.percent and fraction and low <= hundredth <= high else number.value


_NOTHING_NUMBER = Decision(correct=False, parsed="", why="no final number found")
_NOTHING_DATE = Decision(correct=False, parsed="", why="no final date found")
_NOTHING_AGE = Decision(correct=False, parsed="", why="no final weeks and days found")
