"""Sorts wrong answers into the error types of the paper without a judge, from what the reply itself shows.

The types (Khandekar et al. 2024, section 4.1): A knowledge (formula, constants, points), B extraction (a value of the
note), C computation, D all others; the earliest error counts, in the order A, B, C. A reply is compared with our own steps
for the row (`calculators.Result`). A type is given only on evidence that stands in the reply; everything else, above all a
reply that shows no working, is `undetermined`, never guessed. The rules and their limits: `docs/medcalc_errors.md`.

Rows whose label the published rule does not bear out are refused: there a "wrong" answer may be right.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from medical_tasks.calculators import Result, find
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.medcalc_bench.dates import stated_dates
from medical_tasks.medcalc_bench.error_facts import FEET, Constant, accepted_values, constants_of, words_of
from medical_tasks.medcalc_bench.error_points import mentions, read_steps, same_value, steps_of
from medical_tasks.medcalc_bench.error_reading import NUMBER, Equation, Working, close, read_working
from medical_tasks.medcalc_bench.recomputed import entities_of, label_agrees, recompute_or_none
from medical_tasks.medcalc_bench.scoring import decide
from medical_tasks.medcalc_bench.tolerance import decimal_or_none, limits

__all__ = ["TYPES", "ErrorType", "Sorted", "sort_error"]

ErrorType: TypeAlias = Literal["A", "B", "C", "D", "undetermined"]

TYPES: Final[Mapping[str, str]] = {
    "A": "knowledge",
    "B": "extraction",
    "C": "computation",
    "D": "other",
    "undetermined": "no evidence in the reply",
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a wrong answer was sorted as.

    Attributes:
        error_type: its type.
        reason: the evidence in one line.
    """

    error_type: ErrorType
    reason: str


@dataclass(frozen=True, slots=True)
class _Value:
    """A number the calculation needs: its parameter, its name, the number as used, the forms it may be stated in."""

    parameter: str
    name: str
    used: float
    accepted: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """A row's own calculation beside the reply's working."""

    calculator_id: int
    result: Result
    values: tuple[_Value, ...]
    working: Working
    final: float | None
    low: float
    high: float


def sort_error(row: Mapping[str, Any], response: str) -> Sorted | None:
    """Sorts one answer.

    Args:
        row: as built (`data.COLUMNS`).
        response: the model's raw text.

    Returns:
        The type with its reason; None for a right answer, and for a row whose label cannot be relied on.
    """
    result = recompute_or_none(row)
    if result is None or not label_agrees(row, result.answer):
        return None
    calculator_id = int(row["calculator_id"])
    decision = decide(
        response,
        calculator_id=calculator_id,
        gold=row["ground_truth_answer"],
        lower=row["lower_limit"],
        upper=row["upper_limit"],
        output_type=row.get("output_type"),
    )
    if decision.correct:
        return None
    if not decision.parsed:
        return Sorted("D", "empty reply" if not response.strip() else f"no answer that can be read: {decision.why}")
    working = read_working(response)
    if isinstance(result.answer, str | tuple):
        return _date_error(calculator_id, result, working)
    gold = decimal_or_none(row["ground_truth_answer"])
    if gold is None:  # label_agrees has read it
        raise ValueError(f"row {row.get('row_number')}: label {row['ground_truth_answer']!r} is no number")
    low, high = limits(gold, row["lower_limit"], row["upper_limit"])
    case = _Case(
        calculator_id, result, _values(row, result), working, decimal_as_float(decision.parsed), min(low, high), max(low, high)
    )
    steps = steps_of(result.explanation)
    found = _score_error(case) if steps else _equation_error(case)
    return found or Sorted("undetermined", "no working is shown" if not _shown(working) else "no evidence for one type")


def decimal_as_float(text: str) -> float | None:
    """The number of `Decision.parsed`, None where the reply leaves open which."""
    number = decimal_or_none(text.removesuffix("%"))
    return None if number is None else float(number)


def _shown(working: Working) -> bool:
    return bool(working.equations) or len(working.lines) > 2 or len(working.numbers) > 2


def _values(row: Mapping[str, Any], result: Result) -> tuple[_Value, ...]:
    calculator = find(result.calculator_id)
    found = []
    for key, raw in entities_of(row).items():
        item = calculator.input_named(key)
        if not isinstance(item, Quantity):
            continue
        used = result.used.get(item.parameter)
        if isinstance(used, bool) or not isinstance(used, int | float):
            continue
        number = raw[0] if isinstance(raw, list) and raw else raw
        stated = float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None
        found.append(_Value(item.parameter, item.name, float(used), accepted_values(stated, float(used))))
    return tuple(found)


# --- equations ---------------------------------------------------------------------------------------------------------


def _equation_error(case: _Case) -> Sorted | None:
    return _right_until_computed(case) or _knowledge(case) or _extraction(case) or _computation(case)


def _right_until_computed(case: _Case) -> Sorted | None:
    """C: a calculation stands there whose true result is the right answer, so formula and values were right."""
    for equation in reversed(case.working.equations):
        inside = case.low <= equation.value <= case.high
        if not inside or len(equation.numbers) < 2 or not _uses_the_values(equation, case):
            continue
        if case.final is not None and _shifted(case.final, equation.value):
            return Sorted("undetermined", "the right result in another unit, or with its decimal point moved")
        return Sorted("C", f"{_short(equation.text)} is {equation.value:.6g}, which is right; the answer given is not")
    return None


def _uses_the_values(equation: Equation, case: _Case) -> bool:
    """Whether the values are in the calculation, or in those that lead to it."""
    before = itertools.takewhile(lambda each: each is not equation, case.working.equations)
    numbers = [*equation.numbers, *(number for each in before for number in (*each.numbers, each.value))]
    return all(_among(value.accepted, numbers) for value in case.values if value.parameter not in _UNUSED)


_UNUSED: Final = frozenset({"height_cm", "age_years"})
"""Values that a right calculation may not show: a height that only chooses a weight, an age that chooses a factor."""


def _shifted(final: float, value: float) -> bool:
    return final != 0 and any(close(final * 10.0**power, value, 0.01) for power in (-6, -3, -2, -1, 1, 2, 3, 6))


def _among(accepted: Sequence[float], numbers: Sequence[float]) -> bool:
    return any(close(one, abs(number)) for number in numbers for one in accepted)


def _knowledge(case: _Case) -> Sorted | None:
    working = case.working
    if not working.equations or not any(_among(value.accepted, working.numbers) for value in case.values):
        if case.calculator_id not in (24, 49) or not working.equations:
            return None
    for constant in constants_of(case.calculator_id, case.result.used):
        if constant.by_sex and not _sex_is_right(case):
            continue
        if not _stands(constant, case):
            return Sorted("A", f"the formula's constant {constant.name} is not in the reply, nor a number it could be part of")
    return _other_formula(case)


def _stands(constant: Constant, case: _Case) -> bool:
    """Whether a constant is stated, in words too, or could have gone into a number that is."""
    numbers = case.working.numbers
    if _among(constant.values, numbers):
        return True
    if constant.words and re.search(constant.words, case.working.text, re.IGNORECASE):
        return True
    used = [value.used for value in case.values]
    for one, value in itertools.product(constant.values, used):
        joined = (one * value, one - value, value - one, one + value, value / one, one / value if value else one)
        if any(abs(number) >= 0.01 and _among([abs(each)], [number]) for each in joined for number in numbers):
            return True
    # Steroid tables state two doses, whose ratio counts.
    return case.calculator_id == 24 and any(
        b != 0 and close(a / b, one, 0.01) for a, b in itertools.permutations(numbers[:60], 2) for one in constant.values
    )


def _other_formula(case: _Case) -> Sorted | None:
    """A: one calculation with every value gives the answer given, and its true result is far from the right one."""
    if not case.values or case.final is None or case.calculator_id in (24, 49):
        return None
    middle = (case.low + case.high) / 2
    for equation in case.working.equations:
        used = all(any(close(value.used, number) for number in equation.numbers) for value in case.values)
        gives = close(equation.value, case.final, 0.01)
        far = abs(equation.value - middle) > 2 * max(case.high - case.low, 0.05 * abs(middle))
        if used and gives and far and len(equation.numbers) >= 2 and not _shifted(equation.value, middle):
            return Sorted("A", f"{_short(equation.text)} takes the right values and is worked out rightly: another formula")
    return None


def _sex_is_right(case: _Case) -> bool:
    return _stated_sex(case.working.text) == case.result.used.get("sex")


def _stated_sex(text: str) -> str | None:
    female = re.search(r"\b(?:female|woman|girl|women|females)\b", text, re.IGNORECASE) is not None
    male = re.search(r"\b(?:male|man|boy|men|males)\b", text, re.IGNORECASE) is not None
    return None if female == male else ("female" if female else "male")


def _extraction(case: _Case) -> Sorted | None:
    text = case.working.text
    stated = _stated_sex(text)
    own = case.result.used.get("sex")
    if stated is not None and own in ("female", "male") and stated != own:
        return Sorted("B", f"the patient is {own}, the reply says {stated}")
    numbers = [*case.working.numbers, *_heights(text)]
    for value in case.values:
        if _among(value.accepted, numbers):
            continue
        other = _stated_instead(value, text)
        if other is not None:
            return Sorted("B", f"{value.name}: {value.used:.6g} is nowhere in the reply, which has {other:.6g} for it")
    return None


def _heights(text: str) -> list[float]:
    inches = [float(match[1]) * 12 + float(match[2] or 0) for match in FEET.finditer(text)]
    return [*inches, *(each * 2.54 for each in inches), *(each * 0.0254 for each in inches)]


_ADULT = re.compile(
    r"\s*(?:-\s?\d|to \d|or (?:older|more|less|above|below|higher|greater|over|under)|\+(?!\s*\d))", re.IGNORECASE
)


def _stated_instead(value: _Value, text: str) -> float | None:
    """The one number that the reply gives for a value by "=", ":", "is" or "of"; None when there is none, or several."""
    words = words_of(value.parameter)
    if not words:
        return None
    pattern = re.compile(
        rf"(?P<before>\w+\s)?(?<![\w/])(?:{words})\s{{0,2}}(?:\((?![^)]*\d)[^)\n]{{0,24}}\)\s{{0,2}})?"
        r"(?:level |value |count )?(?:=|:|is|was|of)\s{0,2}",
        re.IGNORECASE,
    )
    found: set[float] = set()
    for match in pattern.finditer(text):
        number = NUMBER.match(text, match.end())
        before = (match["before"] or "").strip().lower()
        if number is None or before in ("normal", "urine", "urinary", "ideal", "adjusted", "corrected", "reference"):
            continue
        if _ADULT.match(text, number.end()) or re.match(r"\s*[-+*/^×÷−]", text[number.end() : number.end() + 3]):
            continue
        found.add(float(number[0].replace(",", "")))
    return next(iter(found)) if len(found) == 1 else None


def _computation(case: _Case) -> Sorted | None:
    """C: every value and constant is literally there, and a calculation has another result than stated."""
    numbers = [*case.working.numbers, *_heights(case.working.text)]
    if not case.values or not all(_among(value.accepted, numbers) for value in case.values):
        return None
    for equation in case.working.equations:
        if not equation.right and equation.stated is not None and not _alike(equation):
            return Sorted("C", f"{_short(equation.text)} is {equation.value:.6g}, the reply says {equation.stated:.6g}")
    return None


def _alike(equation: Equation) -> bool:
    """Whether the two sides differ by a unit alone (`1.5 / 100 = 1.5 %`), which is no wrong computation."""
    return equation.stated is not None and _shifted(equation.stated, equation.value)


# --- scores ------------------------------------------------------------------------------------------------------------

MOST_CRITERIA = 0.6
"""Share of the criteria that a reply must give points for, before one that it never names counts as unknown to it."""


def _score_error(case: _Case) -> Sorted | None:
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
    if len(readings) >= MOST_CRITERIA * len(steps) and len(unnamed) == 1 and agreeing and case.final is not None:
        if close(goal - unnamed[0].points, case.final):
            return Sorted("A", f"{unnamed[0].label}: a criterion the reply does not know, worth {unnamed[0].points:+g}")
    for each in readings:
        step = each.step
        if step.present is not None and each.present is not None and each.present != step.present:
            if each.points != step.points:
                said, true = ("present", "absent") if each.present else ("absent", "present")
                return Sorted("B", f"{step.label}: {true} by the note, {said} in the reply")
        elif step.value is not None and each.points != step.points and not _among([abs(step.value)], case.working.numbers):
            if len(each.numbers) <= _FEW_NUMBERS:
                return Sorted("B", f"{step.label}: {step.value:g} is nowhere in the reply, whose line is {_short(each.line)!r}")
    return _wrong_sum(case, goal)


_FEW_NUMBERS = 3
"""More numbers in a line are the classes of the rule, of which the patient's cannot be told."""
_SUM = re.compile(r"[-+(]?\s?\d+(?:\.5)?(?:\s?\+\s?\(?-?\d+(?:\.5)?\)?)+")


def _wrong_sum(case: _Case, goal: float) -> Sorted | None:
    """C: a sum of points stands there whose true total is the right score."""
    for equation in case.working.equations:
        if _SUM.fullmatch(equation.text) and close(equation.value, goal) and len(equation.numbers) >= 2:
            if equation.stated is None or not close(equation.stated, goal):
                return Sorted("C", f"{_short(equation.text)} is {goal:g}, which is right; the reply makes it another number")
    return None


# --- dates -------------------------------------------------------------------------------------------------------------

_COUNTED = {13: r"\b(?:280|40|naegele|nine|9|7|seven)\b", 68: r"\b(?:14|2|two|fourteen)\b", 69: r""}


def _date_error(calculator_id: int, result: Result, working: Working) -> Sorted:
    needed = [value for value in result.used.values() if isinstance(value, datetime.date)]
    stated = {day for line in working.lines for day in stated_dates(line) if day is not None}
    stated |= {day for part in _dates(working.text) for day in stated_dates(part) if day is not None}
    missing = [day for day in needed if day not in stated]
    if not stated:
        return Sorted("undetermined", "no working is shown")
    label = re.search(r"(?:last menstrual (?:period|date)|LMP)[^\n]{0,40}?(?:=|:|is|was|on)\s*", working.text, re.IGNORECASE)
    period = result.used["last_menstrual_date"]
    if label is not None and period in missing:
        found = [day for day in stated_dates(working.text[label.end() : label.end() + 20]) if day is not None]
        if found and found[0] != period:
            return Sorted("B", f"last menstrual date: {period} is nowhere in the reply, which has {found[0]} for it")
    if missing:
        return Sorted("undetermined", "no evidence for one type")
    rule = _COUNTED.get(calculator_id, "")
    added = re.search(r"(?:add(?:ing)?|\+|plus)\s*(?:about )?(\d+)\s*(days|weeks)\b", working.text, re.IGNORECASE)
    if rule and not re.search(rule, _without_dates(working.text), re.IGNORECASE):
        if added is not None:
            return Sorted("A", f"{added[1]} {added[2].lower()} are added, which is not the rule")
        return Sorted("undetermined", "no evidence for one type")
    if rule and added is None:
        return Sorted("undetermined", "no evidence for one type")
    return Sorted("C", "the dates and the rule are right, the calendar arithmetic is not")


def _dates(text: str) -> list[str]:
    return re.findall(r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?,? \d{4}", text)


def _without_dates(text: str) -> str:
    for part in _dates(text):
        text = text.replace(part, " ")
    return text


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
