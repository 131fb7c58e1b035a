"""Sorts wrong answers of equation-based calculators: numbers, constants and calculations that the reply states."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Final

from medical_tasks.medcalc_bench.error_case import Case, Sorted, Value, among, short
from medical_tasks.medcalc_bench.error_facts import FEET, Constant, constants_of, words_of
from medical_tasks.medcalc_bench.error_reading import NUMBER, Equation, close

__all__ = ["equation_error"]


def equation_error(case: Case) -> Sorted | None:
    """The earliest error that the reply's own numbers and calculations show; None without evidence."""
    return _right_until_computed(case) or _knowledge(case) or _extraction(case) or _computation(case)


def _right_until_computed(case: Case) -> Sorted | None:
    """C: a calculation stands there whose true result is the right answer, so formula and values were right."""
    constants = [each for each in constants_of(case.calculator_id, case.result.used) if not each.by_sex]
    known = all(_stands(constant, case) for constant in constants)
    equations = case.working.equations
    if not case.values:
        return None
    for place in reversed(range(len(equations))):
        equation = equations[place]
        if equation.right and case.final is not None and close(equation.value, case.final, 0.01):
            return None  # the answer given is this one's result
        inside = case.low <= equation.value <= case.high
        if not inside or len(equation.numbers) < 2 or not _uses_the_values(place, case):
            continue
        if not known or not all(each.right or _alike(each) for each in equations[:place]):
            # By chance, or by another way of writing the formula than those known here.
            return Sorted("undetermined", _CONTRADICTING) if len(equation.numbers) > 2 and known else None
        if case.final is not None and _shifted(case.final, equation.value):
            return Sorted("undetermined", "the right result in another unit, or with its decimal point moved")
        return Sorted("C", f"{short(equation.text)} is {equation.value:.6g}, which is right; the answer given is not")
    return None


_CONTRADICTING: Final = "a calculation gives the right answer after one that is wrong"


def _uses_the_values(place: int, case: Case) -> bool:
    """Whether the values are in a calculation, or in those that lead to it."""
    before = case.working.equations[:place]
    numbers = [
        *case.working.equations[place].numbers,
        *(number for each in before for number in (*each.numbers, each.value)),
    ]
    needed = [value for value in case.values if value.parameter not in _UNUSED.get(case.calculator_id, ())]
    return all(among(value.forms, numbers) for value in needed)


_UNUSED: Final[Mapping[int, tuple[str, ...]]] = {2: ("height_cm",), 38: ("age_years",)}
"""Values that a right calculation may not show: a height that only chooses a weight, an age that chooses a factor."""


def _shifted(final: float, value: float) -> bool:
    return final != 0 and any(close(final * 10.0**power, value, 0.01) for power in (-6, -3, -2, -1, 1, 2, 3, 6))


def _knowledge(case: Case) -> Sorted | None:
    working = case.working
    if not working.equations or not any(among(value.accepted, working.numbers) for value in case.values):
        return None
    for constant in constants_of(case.calculator_id, case.result.used):
        if constant.by_sex and not _sex_is_right(case):
            continue
        if not _stands(constant, case):
            return Sorted(
                "A", f"the formula's constant {constant.name} is not in the reply, nor a number it could be part of"
            )
    if "sex" in case.result.used and not _sex_is_right(case):
        return None  # another factor may come from another sex, which is no other formula
    return _other_formula(case)


def _stands(constant: Constant, case: Case) -> bool:
    """Whether a constant is stated, in words too, or could have gone into a number that is."""
    numbers = case.working.numbers
    if _is_stated(constant, case):
        return True
    used = [value.used for value in case.values]
    for one, value in itertools.product(constant.values, used):
        joined = [one * value]
        if case.calculator_id not in _DOSES:
            joined += [value / one, one - value, one + value, one / value if value else one]
        # A sum that hardly differs from the value is the value itself.
        telling = [abs(each) for each in joined if abs(each) >= 0.01 and not among(used, [each])]
        if any(close(each, abs(number), 0.002) for each in telling for number in numbers):
            return True
    # Steroid tables state two doses, whose ratio counts.
    return case.calculator_id == 24 and any(
        b != 0 and close(a / b, one, 0.01)
        for a, b in itertools.permutations(numbers[:_MOST_DOSES], 2)
        for one in constant.values
    )


_DOSES: Final = frozenset({24, 49})
_MOST_DOSES: Final = 60


def _is_stated(constant: Constant, case: Case) -> bool:
    """Whether a constant stands there, to as many digits as are written, or in words."""
    words = constant.words and re.search(constant.words, case.working.text, re.IGNORECASE)
    return bool(words) or any(_same_constant(number, one) for number in case.working.numbers for one in constant.values)


def _same_constant(number: float, constant: float) -> bool:
    digits = len(repr(number).partition(".")[2])
    return close(number, constant, 1e-4) or (abs(constant) >= 0.1 and digits >= 2 and number == round(constant, digits))


_CHOOSES: Final = frozenset({9, 22, 24, 38, 46, 49})
"""Formulas that have a factor by race, age, weight or drug: another value of it is as likely another reading of the note."""


def _other_formula(case: Case) -> Sorted | None:
    """A: one calculation with every value gives the answer given, and its true result is far from the right one."""
    if not case.values or case.final is None or case.calculator_id in _CHOOSES:
        return None
    constants = [number for each in constants_of(case.calculator_id, case.result.used) for number in each.values]
    if any(close(value.used, number) for value in case.values for number in constants):
        return None  # a constant could be taken for the value
    middle = (case.low + case.high) / 2
    for equation in case.working.equations:
        used = all(any(close(value.used, number) for number in equation.numbers) for value in case.values)
        gives = close(equation.value, case.final, 0.01)
        far = abs(equation.value - middle) > 2 * max(case.high - case.low, 0.05 * abs(middle))
        if used and gives and far and len(equation.numbers) >= 2 and not _shifted(equation.value, middle):
            return Sorted(
                "A", f"{short(equation.text)} takes the right values and is worked out rightly: another formula"
            )
    return None


def _sex_is_right(case: Case) -> bool:
    return _stated_sex(case.working.text) == case.result.used.get("sex")


def _stated_sex(text: str) -> str | None:
    female = re.search(r"\b(?:female|woman|girl|women|females)\b", text, re.IGNORECASE) is not None
    male = re.search(r"\b(?:male|man|boy|men|males)\b", text, re.IGNORECASE) is not None
    return None if female == male else ("female" if female else "male")


def _extraction(case: Case) -> Sorted | None:
    text = case.working.text
    stated = _stated_sex(text)
    own = case.result.used.get("sex")
    if stated is not None and own in ("female", "male") and stated != own:
        return Sorted("B", f"the patient is {own}, the reply says {stated}")
    numbers = [*case.working.numbers, *_heights(text)]
    for value in case.values:
        if among(value.accepted, numbers):
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


def _stated_instead(value: Value, text: str) -> float | None:
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


def _computation(case: Case) -> Sorted | None:
    """C: every value and constant is literally there, and a calculation has another result than stated."""
    numbers = [*case.working.numbers, *_heights(case.working.text)]
    if not case.values or not all(among(value.accepted, numbers) for value in case.values):
        return None
    for constant in constants_of(case.calculator_id, case.result.used):
        if not _is_stated(constant, case):
            return None
    for equation in case.working.equations:
        if not equation.right and equation.stated is not None and not _alike(equation):
            return Sorted("C", f"{short(equation.text)} is {equation.value:.6g}, the reply says {equation.stated:.6g}")
    return None


def _alike(equation: Equation) -> bool:
    """Whether the two sides differ by a unit alone (`1.5 / 100 = 1.5 %`), which is no wrong computation."""
    return equation.stated is not None and _shifted(equation.stated, equation.value)
