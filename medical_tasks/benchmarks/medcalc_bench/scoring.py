"""Scores answers of MedCalc-Bench: sane, as the authors do, by the published rule's answer, and where that bears the label out.

No reply is evaluated as code, and none raises. `accuracy_recomputed` and `accuracy_agreed` are nan without a rule's answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CORRECTED,
    CorrectedLabel,
    CorrectedLabels,
    built_labels,
)
from medical_tasks.benchmarks.medcalc_bench.gold import (
    NOT_COMPUTABLE,
    PERCENT_IDS,
    SCORE_IDS,
    AnswerKind,
    Decision,
    answer_text,
    decimal_or_none,
    is_not_computable,
    label_agrees,
    limits,
    recompute_or_none,
    row_kind,
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
from medical_tasks.benchmarks.medcalc_bench.spec import CORRECTED_LABELS
from medical_tasks.benchmarks.medcalc_bench.statements import (
    OTHER_UNIT,
    REFUSED,
    Statement,
    Subject,
)
from medical_tasks.calculators import CalculatorInputError, find
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["decide", "decided", "score_items", "scoring_identity", "subject_of"]


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    arguments: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the replies to a task's items; a row whose gold cannot be read is a `UsageError`.

    `arguments` may name where the corrected labels are, which add `accuracy_corrected` to rows of v1.0.
    """
    check_scoring_args(task, arguments or {})
    check_lengths(task, items, responses)
    if task.options.get("style") == "twins":
        from medical_tasks.benchmarks.medcalc_bench.twins import (
            score_twins,
        )  # late: it is built on this module

        return score_twins(items, responses)
    official = official_code_decision if task.options.get("style") == "code" else official_decision
    corrected = corrected_labels(task, arguments or {})
    return [
        _score(item, response, official, corrected)
        for item, response in zip(items, responses, strict=True)
    ]


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Names the second set of labels for the recipe, by the hash of its file."""
    check_scoring_args(task, arguments)
    labels = corrected_labels(task, arguments)
    return {} if labels is None else {CORRECTED_LABELS: {"sha256": labels.sha256}}


def corrected_labels(task: TaskSpec, arguments: Mapping[str, str]) -> CorrectedLabels | None:
    """Reads the corrected labels, where `arguments` say in which built dataset they are."""
    place = arguments.get(CORRECTED_LABELS)
    if place is None:
        return None
    labels = built_labels(Path(place).expanduser(), task.benchmark.source(task.dataset).spec)
    if labels is None:
        raise UsageError(
            f"--task-args {CORRECTED_LABELS}={place}: the configuration {CORRECTED} of {task.dataset} is not built there. "
            f"Build it: medical-tasks build {task.dataset} --config {CORRECTED} --fetch"
        )
    return labels


def _score(
    item: Item,
    response: str,
    official_of: Callable[..., Decision],
    corrected: CorrectedLabels | None,
) -> ItemScore:
    row = item.fields
    answer = {
        "gold": row["ground_truth_answer"],
        "lower": row["lower_limit"],
        "upper": row["upper_limit"],
    }
    calculator_id = int(row["calculator_id"])
    kind = row_kind(row)
    statement = read_answer(response, subject_of(calculator_id, kind))
    sane = decided(statement, kind, calculator_id, **answer)
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
        values["accuracy_recomputed"] = float(published.correct)
        if published.correct != sane.correct:
            why = f"{why}; by the published rule: {published.why}"
        if agrees:
            values["accuracy_agreed"] = values["accuracy"]
    if corrected is not None:
        # Not told in `why`, which must be the same for whoever scores again without these labels.
        label = corrected.of(row)
        values["accuracy_corrected"] = _by_corrected(label, statement, kind, calculator_id)
    return ItemScore(id=item.id, values=values, parsed=sane.parsed, why=why, notes=sane.notes)


def _by_corrected(
    label: CorrectedLabel | None, statement: Statement, kind: AnswerKind, calculator_id: int
) -> float:
    """Decides by the corrected label of a row; nan where it has none."""
    if label is None:
        return math.nan
    ends = {"lower": label.lower, "upper": label.upper}
    return float(decided(statement, kind, calculator_id, gold=label.answer, **ends).correct)


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
    kind = row_kind(
        {
            "calculator_id": calculator_id,
            "output_type": output_type,
            "ground_truth_answer": gold,
        }
    )
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
    if is_not_computable(gold):
        return _without_gold(statement)
    if kind == "days":
        return _same(statement, int(gold), "number of days", _in_days)
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
    return Decision(
        correct=all(low <= value <= high for value in values), parsed=parsed, why=why, notes=notes
    )


def not_computable(statement: Statement) -> bool:
    """Whether a reply says that the note allows no answer ("N/A"), and gives none all the same."""
    return not statement.stated and statement.why == REFUSED


def _without_gold(statement: Statement) -> Decision:
    """Decides where the gold is "N/A": right is only a reply that says so."""
    if not_computable(statement):
        return Decision(correct=True, parsed=NOT_COMPUTABLE, why="rightly not computable")
    stated = " or ".join(str(each.value) for each in statement.stated)
    why = f"{stated} is given" if stated else statement.why or "no final answer found"
    return Decision(correct=False, parsed=stated, why=f"{why}; the note does not allow an answer")


def _in_days(age: int | float | None) -> str:
    return "no age" if age is None else f"{age:g} days"


def _age_in_days(text: str) -> list[Quantity]:
    """The ages that a reply to a question for days gives; a bare number is one of days.

    Example:
        "99", "99 days" and "14 weeks 1 day" are 99.
    """
    return ages(text) or [each for each in measurements(text) if not each.unit]


def _same(
    statement: Statement, wanted: object, what: str, written: Callable[[Any], str]
) -> Decision:
    if not statement.stated:
        return _nothing(statement, what)
    parsed = " or ".join(written(each.value) for each in statement.stated)
    correct = all(each.value == wanted for each in statement.stated)
    return Decision(
        correct=correct,
        parsed=parsed,
        why=f"{parsed} is {'' if correct else 'not '}{written(wanted)}",
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
    if kind == "days":
        return Subject(scan=_age_in_days, own=frozenset({"age"}))
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
