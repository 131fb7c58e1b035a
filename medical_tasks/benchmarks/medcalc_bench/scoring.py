"""Scores answers of MedCalc-Bench: sane, as the authors do, by the published rule's answer, and where that bears the label out.

No reply is evaluated as code, and none raises. `accuracy_recomputed` and
`accuracy_agreed` are nan without a rule's answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.corrected import (
    CORRECTED,
    CorrectedLabel,
    CorrectedLabels,
    built_labels,
)
from medical_tasks.benchmarks.medcalc_bench.declarations import CORRECTED_LABELS
from medical_tasks.benchmarks.medcalc_bench.gold import (
    NOT_COMPUTABLE,
    PERCENT_IDS,
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
from medical_tasks.benchmarks.medcalc_bench.subjects import subject_of
from medical_tasks.data.task_data import check_lengths, check_scoring_args
from medical_tasks.errors import UsageError
from medical_tasks.scoring.numbers.quantities import (
    DAYS_A_WEEK,
    NO_UNIT,
    Quantity,
    ages,
    dates,
    unit_of,
)
from medical_tasks.scoring.numbers.reading import CUT_OFF, read_answer
from medical_tasks.scoring.numbers.rules import DOUBTFUL, OTHER, OTHER_UNIT
from medical_tasks.scoring.numbers.statements import Statement
from medical_tasks.scoring.numbers.subject import Subject
from medical_tasks.spec import Item, ItemScore, TaskSpec, unclear_limits

__all__ = [
    "NOTE_WORDS",
    "READ_BY_ADJUDICATION",
    "decide",
    "decided",
    "score_items",
    "scoring_identity",
    "subject_of",
]


SEVERAL: Final = "several answers"
NOTE_WORDS: Final = frozenset(
    " ".join((*DOUBTFUL, OTHER, SEVERAL, CUT_OFF.why)).split()
)
"""The words of the reasons why an answer is unclear, which quote no answer."""
READ_BY_ADJUDICATION: Final = "read by adjudication: "
"""What the reason of such a decision begins with."""


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    readings: Mapping[str, str] | None = None,
    *,
    arguments: Mapping[str, str] | None = None,
) -> list[ItemScore]:
    """Scores the replies to a task's items; a row whose gold cannot be read is a `UsageError`.

    Args:
        task: one of the benchmark's tasks.
        items: its questions.
        responses: the model's replies, one for each item.
        readings: item id to the final answer as a person or a judge read it, in place
            of our reader; "" where there is none.
        arguments: may name where the corrected labels are, which add
            `accuracy_corrected` to rows of v1.0.
    """
    check_scoring_args(task, arguments or {})
    check_lengths(task, items, responses)
    official = (
        official_code_decision
        if task.options.get("style") == "code"
        else official_decision
    )
    readings_by_item = readings or {}
    corrected = corrected_labels(task, arguments or {})

    return [
        _score(task, item, response, official, corrected, readings_by_item.get(item.id))
        for item, response in zip(items, responses, strict=True)
    ]


def scoring_identity(task: TaskSpec, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Names the second set of labels for the recipe, by the hash of its file."""
    check_scoring_args(task, arguments)
    labels = corrected_labels(task, arguments)
    return {} if labels is None else {CORRECTED_LABELS: {"sha256": labels.sha256}}


def corrected_labels(
    task: TaskSpec, arguments: Mapping[str, str]
) -> CorrectedLabels | None:
    """Reads the corrected labels, where `arguments` say in which built dataset they are."""
    folder = arguments.get(CORRECTED_LABELS)
    if folder is None:
        return None

    labels = built_labels(
        Path(folder).expanduser(), task.benchmark.source(task.dataset).spec
    )
    if labels is None:
        raise UsageError(
            f"--task-args {CORRECTED_LABELS}={folder}: the configuration {CORRECTED} of "
            f"{task.dataset} is not built there. Build it: medical-tasks build {task.dataset} "
            f"--config {CORRECTED} --fetch"
        )

    return labels


def _score(
    task: TaskSpec,
    item: Item,
    response: str,
    official_of: Callable[..., Decision],
    corrected: CorrectedLabels | None,
    reading: str | None,
) -> ItemScore:
    """Scores one answer by several golds, all of one reading.

    Args:
        task: of the item.
        item: the row.
        response: the model's reply.
        official_of: the authors' decision on it.
        corrected: the corrected labels, if they are compared.
        reading: the answer as somebody read it in the reply; None if nobody did.

    Returns:
        `accuracy` by the label, `accuracy_official` as the authors decide,
        `accuracy_recomputed` by the published rule's answer, `accuracy_agreed` by the
        label where that rule bears it out. Metrics without a gold in this row are nan,
        and count nowhere.
    """
    row = item.fields
    answer = {
        "gold": row["ground_truth_answer"],
        "lower": row["lower_limit"],
        "upper": row["upper_limit"],
    }
    calculator_id = int(row["calculator_id"])
    kind = row_kind(row)
    read = response if reading is None else reading
    statement = read_answer(read, subject_of(calculator_id, kind))
    sane = decided(statement, kind, calculator_id, **answer)
    official = official_of(response, calculator_id=calculator_id, **answer)
    why = (
        sane.why
        if sane.correct == official.correct
        else f"{sane.why}; official: {official.why}"
    )
    values = {
        "accuracy": float(sane.correct),
        "accuracy_official": float(official.correct),
    }
    values["right_number_wrong_unit"] = (
        float(bool(sane.notes)) if sane.correct else math.nan
    )
    values |= {"accuracy_recomputed": math.nan, "accuracy_agreed": math.nan}
    result = recompute_or_none(row)
    if result is not None:
        agrees = label_agrees(row, result.answer)
        published = sane  # where the same score or date is asked for
        if not agrees or isinstance(result.answer, float):
            # No limits: the tolerance is around the published rule's answer, not around
            # the label.
            published = decided(
                statement, kind, calculator_id, gold=answer_text(result.answer)
            )

        values["accuracy_recomputed"] = float(published.correct and not sane.unclear)
        if published.correct != sane.correct:
            why = f"{why}; by the published rule: {published.why}"
        if agrees:
            values["accuracy_agreed"] = values["accuracy"]

    if corrected is not None:
        # Not reported in `why`, which must be the same for whoever scores again without
        # these labels.
        label = corrected.of(row)
        values["accuracy_corrected"] = _by_corrected(
            label, statement, kind, calculator_id
        )

    return ItemScore(
        id=item.id,
        values=values,
        parsed=sane.parsed,
        why=why if reading is None else f"{READ_BY_ADJUDICATION}{why}",
        unclear=sane.unclear,
        limits=unclear_limits(task.metrics, values) if sane.unclear else {},
        notes=sane.notes,
    )


def _by_corrected(
    label: CorrectedLabel | None,
    statement: Statement,
    kind: AnswerKind,
    calculator_id: int,
) -> float:
    """Decides by the corrected label of a row; nan where it has none."""
    if label is None:
        return math.nan
    ends = {"lower": label.lower, "upper": label.upper}
    return float(
        decided(statement, kind, calculator_id, gold=label.answer, **ends).correct
    )


def decide(
    response: str,
    *,
    calculator_id: int,
    gold: str | float,
    lower: str | float | None = None,
    upper: str | float | None = None,
    output_type: str | None = None,
) -> Decision:
    """Decides whether a reply gives the right answer, in whatever form.

    A gold that cannot be read is a `UsageError`.
    """
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
        days = [quantity.value for quantity in dates(str(gold))]
        if len(days) != 1 or days[0] is None:
            raise UsageError(
                f"the gold answer {gold!r} is no date (M/D/YYYY). Check the row's Ground Truth "
                "Answer."
            )

        return _same(
            statement,
            days[0],
            "date",
            lambda day: "no date of the calendar" if day is None else str(day),
        )

    if kind == "gestational_age":
        weeks = [quantity.value for quantity in ages(str(gold))]
        if len(weeks) != 1 or weeks[0] is None:
            raise UsageError(
                f"the gold answer {gold!r} gives no weeks and days. Check the row's Ground Truth "
                "Answer."
            )

        return _same(statement, weeks[0], "weeks and days", _weeks_and_days)

    return _decided_number(
        statement, kind, calculator_id, gold=gold, lower=lower, upper=upper
    )


def _decided_number(
    statement: Statement,
    kind: AnswerKind,
    calculator_id: int,
    *,
    gold: str | float,
    lower: str | float | None,
    upper: str | float | None,
) -> Decision:
    """Decides on a score, which must be the gold, or a measurement, which must be within limits."""
    expected = decimal_or_none(gold)
    if expected is None:
        raise UsageError(
            f"the gold answer {gold!r} is no number. Check the row's Ground Truth Answer."
        )

    if kind == "integer":
        return _same(
            statement, float(expected), "number", lambda number: f"{number:.10g}"
        )

    low, high = limits(expected, lower, upper)
    if not statement.stated:
        return _nothing(statement, "number")

    fraction = abs(expected) <= 1 and calculator_id not in PERCENT_IDS
    values = [
        _meant(quantity, low, high, fraction=fraction) for quantity in statement.stated
    ]
    right = [low <= value <= high for value in values]
    notes = _notes(statement.stated, subject_of(calculator_id, kind))

    return Decision(
        correct=all(right),
        parsed=" or ".join(_written(quantity) for quantity in statement.stated),
        why="; ".join(
            (" or ".join(within(value, low, high) for value in values), *notes)
        ),
        notes=notes,
        unclear=_open_choice(right),
    )


def _without_gold(statement: Statement) -> Decision:
    """Decides where the gold is "N/A": right is only a reply that says so."""
    if statement.not_computable:
        return Decision(
            correct=True, parsed=NOT_COMPUTABLE, why="rightly not computable"
        )
    stated = " or ".join(str(quantity.value) for quantity in statement.stated)
    why = f"{stated} is given" if stated else statement.why or "no final answer found"
    return Decision(
        correct=False, parsed=stated, why=f"{why}; the note does not allow an answer"
    )


def _in_days(age: int | float | None) -> str:
    return "no age" if age is None else f"{age:g} days"


def _same(
    statement: Statement, expected: object, what: str, written: Callable[[Any], str]
) -> Decision:
    if not statement.stated:
        return _nothing(statement, what)
    parsed = " or ".join(written(quantity.value) for quantity in statement.stated)
    right = [quantity.value == expected for quantity in statement.stated]
    return Decision(
        correct=all(right),
        parsed=parsed,
        why=f"{parsed} is {'' if all(right) else 'not '}{written(expected)}",
        unclear=_open_choice(right),
    )


def _open_choice(right: Sequence[bool]) -> str:
    """Why a reply that leaves several values open cannot be decided; "" where all agree."""
    return SEVERAL if any(right) and not all(right) else ""


def _written(number: Quantity) -> str:
    return f"{number.value:.10g}{'%' if number.unit == '%' else ''}"


def _weeks_and_days(age: int | None) -> str:
    if age is None:
        return "no age"
    return f"{age // DAYS_A_WEEK} weeks {age % DAYS_A_WEEK} days"


def _nothing(statement: Statement, what: str) -> Decision:
    why = f"no final {what} found"
    # Of a score the number does not decide: a share or a duration is no number of
    # points.
    other = statement.why.startswith(OTHER_UNIT)
    return Decision(
        correct=False,
        parsed="",
        why=f"{why}: {statement.why}" if statement.why else why,
        notes=(f"unit_mismatch: {statement.why}",) if other else (),
        unclear=statement.why if statement.unclear else "",
    )


def _notes(stated: Sequence[Quantity], subject: Subject) -> tuple[str, ...]:
    """Says which unit is not the one asked for; the number decides nevertheless."""
    asked_unit = subject.unit
    for quantity in stated:
        unit = unit_of(quantity.unit)
        # A ratio may be given in per cent.
        if (
            not unit.dimension
            or unit == asked_unit
            or (unit.name == "%" and asked_unit == NO_UNIT)
        ):
            continue

        kind = (
            "unit_mismatch" if unit.dimension != asked_unit.dimension else "other_unit"
        )
        return (f"{kind}: {quantity.unit} for {subject.unit_text or 'no unit'}",)

    return ()


def _meant(number: Quantity, low: float, high: float, *, fraction: bool) -> float:
    """The value of "12 %": 12, or 0.12 where the gold is a fraction and that is right."""
    value = float(number.value)  # type: ignore[arg-type]  # of a scanner of numbers
    return (
        value / 100
        if number.unit == "%" and fraction and low <= value / 100 <= high
        else value
    )
