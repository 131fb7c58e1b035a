"""Sorts wrong answers into the error types of the paper (Khandekar et al. 2024, section 4.1) without a judge.

A type is given only on evidence in the reply; the earliest counts (`docs/medcalc_errors.md`).
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import (
    decimal_or_none,
    entities_of,
    label_agrees,
    limits,
    recompute_or_none,
)
from medical_tasks.benchmarks.medcalc_bench.quantities import dates, plain
from medical_tasks.benchmarks.medcalc_bench.score_reading import (
    Criterion,
    Reading,
    ScoreReading,
    criteria_of,
    other_points,
    read_score,
    words_of,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.benchmarks.medcalc_bench.working import (
    NUMBER,
    Equation,
    Working,
    close,
    corrected_values,
    leading_to,
    read_working,
)
from medical_tasks.calculators import Result, find
from medical_tasks.calculators.drugs import EQUIVALENT_MG, FACTORS
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.io.files import packaged

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
    """What a wrong answer was sorted as, with the evidence in one line."""

    error_type: ErrorType
    reason: str


@dataclass(frozen=True, slots=True)
class Value:
    parameter: str
    name: str
    used: float  # in the formula's unit
    accepted: tuple[float, ...]  # the forms in which it may be stated at all
    forms: tuple[float, ...]  # the fewer ones in which a calculation takes it


@dataclass(frozen=True, slots=True)
class Case:
    calculator_id: int
    result: Result
    values: tuple[Value, ...]
    working: Working
    final: float | None
    low: float
    high: float

    def is_right(self, value: float) -> bool:
        """Whether a result is within the limits of the row."""
        return self.low <= value <= self.high


def values_of(row: Mapping[str, Any], result: Result) -> tuple[Value, ...]:
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
        stated = (
            float(number)
            if isinstance(number, int | float) and not isinstance(number, bool)
            else None
        )
        accepted, forms = (
            accepted_values(item.parameter, stated, float(used)),
            shifted_values(stated, float(used)),
        )
        found.append(Value(item.parameter, item.name, float(used), accepted, forms))
    for number in _doses(result):
        found.append(Value("", "dose", number, accepted_values("", None, number), (number,)))
    return tuple(found)


def _doses(result: Result) -> list[float]:
    """The numbers of the two calculators whose entities are doses of drugs; a dose once a day may not show its 1."""
    if result.calculator_id == 24:
        return [float(result.used["source_dose_mg"])]
    if result.calculator_id == 49:
        numbers = [
            number for dose in result.used["doses"] for number in (dose.amount, dose.per_day)
        ]
        return [float(number) for number in numbers if number not in (None, 1)]
    return []


def among(accepted: Sequence[float], numbers: Sequence[float]) -> bool:
    return any(close(one, abs(number)) for number in numbers for one in accepted)


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def sort_error(row: Mapping[str, Any], response: str) -> Sorted | None:
    """Sorts one answer; None for a right one, and for a row whose label cannot be relied on."""
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
        return Sorted(
            "D",
            "empty reply"
            if not response.strip()
            else f"no answer that can be read: {decision.why}",
        )
    working = read_working(response)
    if isinstance(result.answer, str | tuple):
        return date_error(calculator_id, result, working)
    gold = decimal_or_none(row["ground_truth_answer"])
    if gold is None:  # label_agrees has read it
        raise ValueError(
            f"row {row.get('row_number')}: label {row['ground_truth_answer']!r} is no number"
        )
    low, high = limits(gold, row["lower_limit"], row["upper_limit"])
    answer = decimal_or_none(
        decision.parsed.removesuffix("%")
    )  # None where the reply leaves open which
    final = None if answer is None else float(answer)
    case = Case(calculator_id, result, values_of(row, result), working, final, low, high)
    criteria = criteria_of(result, {each.parameter: each.accepted for each in case.values})
    found = (
        score_error(case, criteria)
        if criteria
        else _right_until_computed(case)
        or _knowledge(case)
        or _extraction(case)
        or _computation(case)
    )
    shown = working.equations or len(working.pieces) > 2 or len(working.numbers) > 2
    return found or Sorted(
        "undetermined", "no evidence for one type" if shown else "no working is shown"
    )


def score_error(case: Case, criteria: Sequence[Criterion]) -> Sorted | None:
    """The earliest error that points show: differences count that together explain the answer, or where every criterion is read."""
    found = read_score(case.working, criteria)
    gold = (case.low + case.high) / 2
    clear = {place: each for place, each in found.readings.items() if each.given is not None}
    muddled = any(len(each.points) > 1 for each in found.readings.values())
    differing = {
        place: each for place, each in clear.items() if each.given != each.criterion.points
    }
    complete = (
        all(place in clear for place, each in enumerate(criteria) if each.points) and not muddled
    )
    away = sum((each.given or 0) - each.criterion.points for each in differing.values())
    explained = case.final is not None and close(gold + away, case.final)
    if differing and (explained or complete):
        order = (
            "A",
            "undetermined",
            "B",
        )  # of knowledge, open and extraction the first that there is
        return min(
            map(_difference, differing.values()), key=lambda each: order.index(each.error_type)
        )
    if differing:
        return Sorted("undetermined", "the points that could be read do not account for the answer")
    wrong_rule = _other_rule(case, criteria, found, clear, gold)
    return wrong_rule or _wrong_sum(case, found, gold, count=len(criteria), complete=complete)


def _difference(reading: Reading) -> Sorted:
    own, given = reading.criterion, reading.given
    same, open_points = other_points(reading)
    said = f"{own.label}: gives {own.points:+g}, the reply gives {given:+g}"
    if same is False and given in open_points:
        return Sorted("B", f"{said} for another finding: {short('; '.join(reading.texts))!r}")
    if given not in own.possible or (
        same and own.present is not False and given not in open_points
    ):
        return Sorted("A", said)
    if same is None and own.present is not None and given in open_points:
        return Sorted("B", f"{said}, as for another finding")
    return Sorted("undetermined", f"{said}; it does not say clearly what the patient has")


def _other_rule(
    case: Case,
    criteria: Sequence[Criterion],
    found: ScoreReading,
    clear: Mapping[int, Reading],
    gold: float,
) -> Sorted | None:
    """A: a criterion the reply does not know, or one the rule does not have, is the whole difference."""
    if case.final is None:
        return None
    unnamed = [place for place in range(len(criteria)) if place not in found.named]
    zeros = [place for place, each in enumerate(criteria) if not each.points]
    listed = not zeros or sum(place in found.named for place in zeros) >= MOST_CRITERIA * len(zeros)
    counted = [place for place, each in enumerate(criteria) if each.points]
    if not found.extras and listed and len(unnamed) == 1 and unnamed[0] in counted:
        own = criteria[unnamed[0]]
        if all(place in clear for place in counted if place != unnamed[0]) and close(
            gold - own.points, case.final
        ):
            return Sorted(
                "A", f"{own.label}: a criterion the reply does not know, worth {own.points:+g}"
            )
    extra = [(text, points) for text, points in found.extras if points]
    if len(extra) == 1 and not unnamed and all(place in clear for place in counted):
        text, points = extra[0]
        if close(gold + points, case.final):
            return Sorted(
                "A", f"{short(text)!r} gives {points:+g}, which is no criterion of the rule"
            )
    return None


MOST_CRITERIA: Final = 0.6
"""Share of the criteria without points that a reply must name, before one that it never names counts as unknown to it."""
_SUM: Final = re.compile(r"[-+(]?\s?\d+(?:\.5)?(?:\s?[-+]\s?\(?-?\d+(?:\.5)?\)?)+\)?")


def _wrong_sum(
    case: Case, found: ScoreReading, gold: float, *, count: int, complete: bool
) -> Sorted | None:
    """C: a sum whose true total is the right score has another; or every criterion is right and the total is not."""
    for equation in case.working.equations:
        whole = (
            _SUM.fullmatch(equation.text)
            and len(equation.numbers) >= 2
            and close(equation.value, gold)
        )
        if whole and equation.stated is not None and not close(equation.stated, gold):
            return Sorted(
                "C", f"{short(equation.text)} is {gold:g}, the reply makes it {equation.stated:g}"
            )
    few = (
        len(found.readings) < MOST_CRITERIA * count
        and sum(bool(each.given) for each in found.readings.values()) < 2
    )
    if not complete or few or any(points for _, points in found.extras) or case.final is None:
        return None  # of few criteria, a reply that breaks off looks complete
    if not found.totals:
        return None
    if close(found.totals[-1], gold):
        return Sorted(
            "undetermined",
            f"the working ends with {gold:g}, which is right; the answer given is not",
        )
    if not close(found.totals[-1], case.final):
        return None
    for each in found.readings.values():
        own = each.criterion
        could = any(close(gold + points - own.points, case.final) for points in own.possible)
        muddled = each.points or each.perhaps or (could and other_points(each)[0] is not True)
        if each.given is None and muddled:
            return Sorted(
                "undetermined", f"{own.label}: what the reply gives for it cannot be told"
            )
    return Sorted(
        "C",
        f"every criterion has the right points, {gold:g} in all; the reply makes it {case.final:g}",
    )


@dataclass(frozen=True, slots=True)
class Constant:
    name: str  # in reasons
    values: tuple[float, ...]
    words: str = ""  # a pattern of words that say the same
    by_sex: bool = False  # whether it depends on the patient's sex


def _constant(entry: Mapping[str, Any], *, by_sex: bool = False) -> Constant:
    return Constant(
        f"{entry['values'][0]:g}", tuple(entry["values"]), entry.get("words", ""), by_sex
    )


_DATA: Final = packaged(__file__, "equation_constants.json")
CONSTANTS: Final[Mapping[int, tuple[Constant, ...]]] = {
    int(number): tuple(map(_constant, entries)) for number, entries in _DATA["constants"].items()
}
"""Calculator id to the constants that every form of its formula has. Not listed: formulas without any, scores."""
_BY_SEX: Final[Mapping[int, Mapping[str, Constant]]] = {
    int(number): {sex: _constant(entry, by_sex=True) for sex, entry in entries.items()}
    for number, entries in _DATA["by_sex"].items()
}


def constants_of(calculator_id: int, used: Mapping[str, Any]) -> tuple[Constant, ...]:
    for_sex = _BY_SEX.get(calculator_id, {}).get(str(used.get("sex")))
    found = (*CONSTANTS.get(calculator_id, ()), *([for_sex] if for_sex else []))
    if calculator_id == _OPIOIDS:
        factors: Mapping[str, tuple[float, str]] = {
            str(drug): factor for drug, factor in FACTORS.items()
        }
        doses = [
            dose for dose in used["doses"] if dose.drug in factors and factors[dose.drug][0] != 1
        ]
        found = tuple(
            Constant(f"{factors[d.drug][0]:g} ({d.drug})", (factors[d.drug][0],)) for d in doses
        )
    if calculator_id == 24:
        steroids: Mapping[str, float] = {str(name): dose for name, dose in EQUIVALENT_MG.items()}
        source, target = steroids[used["source_steroid"]], steroids[used["target_steroid"]]
        ratios = (target / source, source / target)
        # Every table of equivalents gives the same ratios, whichever drug it puts at 1 or at 5.
        found = (Constant(f"{target:g} to {source:g}", ratios),) if source != target else ()
    if calculator_id == _CKD_EPI:
        found = (*found, *_ckd_epi_constants(str(used["sex"]), float(used["creatinine_mg_dl"])))
    return found


_CKD_EPI: Final = 3
_OPIOIDS: Final = 49


def _ckd_epi_constants(sex: str, creatinine: float) -> Iterator[Constant]:
    """What CKD-EPI 2021 divides the creatinine by, and the power it raises the quotient to."""
    divisor, exponent = (0.7, 0.241) if sex == "female" else (0.9, 0.302)
    exponent = exponent if creatinine <= divisor else 1.2
    for number in (divisor, exponent):
        yield Constant(f"{number:g}", (number,), by_sex=True)


_CONVERSIONS: Final[Mapping[str, Sequence[float]]] = _DATA["conversions"]
"""Factors between the usual units of a value."""
_POWERS = (1.0, 10.0, 100.0, 1e3, 1e6, 0.1, 0.01, 1e-3, 1e-6)


def accepted_values(parameter: str, raw: float | None, used: float) -> tuple[float, ...]:
    """The forms in which a value may be stated: as the note has it, as the formula takes it, in the usual other units."""
    bases, found = {abs(used), abs(used if raw is None else raw)}, {*shifted_values(raw, used)}
    for factor in _CONVERSIONS.get(parameter, ()):
        converted = {each for base in bases for each in (base * factor, base / factor)}
        found |= converted | {each / 100 for each in converted}
    if parameter == "temperature_c":
        found |= {base * 1.8 + 32 for base in bases} | {abs(base - 32) / 1.8 for base in bases}
    return tuple(sorted(found))


def shifted_values(raw: float | None, used: float) -> tuple[float, ...]:
    """The forms in which a calculation takes a value: as given or as converted, its decimal point anywhere."""
    bases = {abs(used), abs(used if raw is None else raw)}
    return tuple(sorted(base * power for base in bases for power in _POWERS))


FEET = re.compile(r"(\d)\s?(?:'|ft\b|feet\b|foot\b)\s?(?:and )?(\d{1,2}(?:\.\d+)?)?")
"""A height in feet and inches."""


def _right_until_computed(case: Case) -> Sorted | None:
    """C: with its arithmetic put right the working gives the right answer, so formula and values were right."""
    if not case.values:
        return None
    equations = case.working.equations
    put_right = corrected_values(equations)
    known = all(_stands(constant, case) for constant in _constants_in_play(case))
    for place in reversed(range(len(equations))):
        equation, value = equations[place], put_right[place]
        if equation.right and case.final is not None and close(value, case.final, 0.01):
            return None  # the answer given is this one's result
        if _is_one_drug_of_several(case, equation):
            continue
        if len(equation.numbers) < 2 or not _uses_the_values(place, case):
            continue
        if not case.is_right(value):
            if case.is_right(equation.value) and known and len(equation.numbers) > 2:
                return Sorted("undetermined", _CONTRADICTING)  # right by chance
            continue
        if not known:
            return None
        if case.final is not None and _shifted(case.final, value):
            return Sorted(
                "undetermined", "the right result in another unit, or with its decimal point moved"
            )
        return Sorted("C", _computation_reason(equations[: place + 1], put_right, case))
    return None


def _computation_reason(
    equations: Sequence[Equation], put_right: Sequence[float], case: Case
) -> str:
    """The first wrong calculation of a working that is right otherwise, or the right one that the answer leaves out."""
    for equation in equations:
        if not equation.right and not _alike(equation):
            return (
                f"{short(equation.text)} is {equation.value:.6g}, "
                f"the reply says {equation.stated:.6g}"
            )
    shown = short(equations[-1].text)
    return f"{shown} is {put_right[-1]:.6g}, which is right; the answer given is not"


def _is_one_drug_of_several(case: Case, equation: Equation) -> bool:
    several = case.calculator_id == _OPIOIDS and len(case.result.used["doses"]) > 1
    return several and "+" not in equation.text


_CONTRADICTING: Final = "a calculation gives the right answer after one that is wrong"


def _uses_the_values(place: int, case: Case) -> bool:
    """Whether the patient's values stand in a calculation or in one before it."""
    before = (
        number for each in case.working.equations[:place] for number in (*each.numbers, each.value)
    )
    numbers = [*case.working.equations[place].numbers, *before]
    return all(among(value.forms, numbers) for value in _needed(case))


def _needed(case: Case) -> list[Value]:
    unused = _UNUSED.get(case.calculator_id, ())
    return [value for value in case.values if value.parameter not in unused]


_UNUSED: Final[Mapping[int, tuple[str, ...]]] = {2: ("height_cm", "weight_kg"), 38: ("age_years",)}
"""Values that a right calculation may not show: those that only make the weight, an age that chooses a factor."""


def _shifted(final: float, value: float) -> bool:
    return final != 0 and any(
        close(final * 10.0**power, value, 0.01) for power in (-6, -3, -2, -1, 1, 2, 3, 6)
    )


def _knowledge(case: Case) -> Sorted | None:
    """A: a constant of the formula is missing, or the right values went into another formula."""
    working = case.working
    with_values = any(among(value.accepted, working.numbers) for value in case.values)
    if not working.equations or not with_values:
        return None
    for constant in _constants_in_play(case):
        if not _stands(constant, case):
            reason = f"the formula's constant {constant.name} is not in the reply, nor a number it could be part of"
            return Sorted("A", reason)
    own, stated = case.result.used.get("sex"), _stated_sex(working.text)
    if stated not in (None, own):
        return None  # another factor may come from another sex, which is no other formula
    return _other_weight(case) or (_other_formula(case) if stated == own else None)


def _constants_in_play(case: Case) -> Iterator[Constant]:
    """The constants that the reply must have; those of the patient's sex only where it states that sex."""
    for constant in constants_of(case.calculator_id, case.result.used):
        if not constant.by_sex or not _other_sex(case):
            yield constant


def _other_sex(case: Case) -> bool:
    own = case.result.used.get("sex")
    return own is not None and _stated_sex(case.working.text) != own


_COCKCROFT_GAULT: Final = 2
_ADJUSTED_WEIGHT: Final = re.compile(
    r"(?i)\badjusted (?:body )?weight(?![^.\n]{0,60}\bformula)[^.\n\d]{0,60}?"
    r"(?:\bis|\bas|\bof|=|:)\s{0,2}(?P<kg>\d+(?:\.\d+)?)(?= ?kg)"
)
"""A sentence that names the weight which a reply goes on with."""
_CLOSE_WEIGHT: Final = 0.02


def _other_weight(case: Case) -> Sorted | None:
    """A: of actual, ideal and adjusted weight the reply takes one that the rule does not take for this patient."""
    if case.calculator_id != _COCKCROFT_GAULT or not all(_is_told(v, case) for v in case.values):
        return None
    used = case.result.used
    factor = 0.85 if used["sex"] == "female" else 1.0
    right = float(case.result.answer) * 72 * used["creatinine_mg_dl"]  # type: ignore[arg-type]
    right /= factor * (140 - used["age_years"])
    taken = _weight_taken(case)
    if taken is None or close(taken, right, _CLOSE_WEIGHT):
        return None
    return Sorted("A", f"the weight taken is {taken:.6g} kg, the rule takes {right:.6g} kg")


def _weight_taken(case: Case) -> float | None:
    """The number beside age, creatinine and constants in the last calculation of the clearance, or the one named so."""
    used = case.result.used
    others = [140.0, 72.0, 0.85, 1.0, used["age_years"], 140 - used["age_years"]]
    creatinine = next(v for v in case.values if v.parameter == "creatinine_mg_dl")
    for equation in reversed(case.working.equations):
        if 72.0 not in equation.numbers or len(equation.numbers) < 4:
            continue
        left = {
            number
            for number in equation.numbers
            if not among(others, [number]) and not among(creatinine.accepted, [number])
        }
        return left.pop() if len(left) == 1 else None
    named = [match["kg"] for match in _ADJUSTED_WEIGHT.finditer(case.working.text)]
    return float(named[-1]) if named else None


def _stands(constant: Constant, case: Case) -> bool:
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
    if constant.words and re.search(constant.words, case.working.text, re.IGNORECASE):
        return True
    for number, one in itertools.product(case.working.numbers, constant.values):
        digits = len(repr(number).partition(".")[2])
        if close(number, one, 1e-4) or (
            abs(one) >= 0.1 and digits >= 2 and number == round(one, digits)
        ):
            return True
    return False


_CHOOSES: Final = frozenset({9, 22, 24, 38, 46, 49})
"""Formulas that have a factor by race, age, weight or drug: another value of it is as likely another reading of the note."""


def _other_formula(case: Case) -> Sorted | None:
    """A: a calculation takes every value, and put right it is far from the right answer."""
    if not case.values or case.final is None or case.calculator_id in _CHOOSES:
        return None
    constants = [number for each in _all_constants(case) for number in each.values]
    if any(close(value.used, number) for value in case.values for number in (0, 1, *constants)):
        return None  # a constant could be taken for the value
    for value in case.values:
        instead = _stated_instead(value, case.working.text)
        if instead is not None and not among(value.accepted, [instead]):
            return None
    equations = case.working.equations
    put_right = corrected_values(equations)
    for place in reversed(range(len(equations))):
        last = equations[place]
        results = [last.value, last.value if last.stated is None else last.stated]
        if len(last.numbers) < 2 or not any(close(one, case.final, 0.01) for one in results):
            continue
        numbers = [number for each in leading_to(equations, place) for number in each.numbers]
        takes_all = all(
            any(close(value.used, number, 0.002) for number in numbers) for value in case.values
        )
        if takes_all and _is_far(put_right[place], case):
            return Sorted(
                "A",
                f"{short(last.text)} takes the right values and is {put_right[place]:.6g}: "
                "another formula",
            )
    return None


def _is_far(value: float, case: Case) -> bool:
    """Whether a result is away from the right answer by more than rounding and units make."""
    middle = (case.low + case.high) / 2
    margin = 0.75 * max(case.high - case.low, 0.05 * abs(middle))
    return abs(value - middle) > margin and not _shifted(value, middle)


_OF_A_RULE: Final = re.compile(
    r"(?i)\b(?:if|for|when|in)\b(?: (?:the|a|an|patient|is|are|was|being))*"
    r" (?:fe)?(?:males?|m[ae]n|wom[ae]n|girls?|boys?)\b(?: (?:and|or) (?:fe)?(?:males?|m[ae]n))?"
)
"""A sex that a rule speaks of: "0.85 if the patient is female"."""


def _stated_sex(text: str) -> str | None:
    """The sex that a reply gives the patient; None where it gives none, or both."""
    text = _OF_A_RULE.sub(" ", text)
    female = re.search(r"\b(?:female|woman|girl|women|females)\b", text, re.IGNORECASE) is not None
    male = re.search(r"\b(?:male|man|boy|men|males)\b", text, re.IGNORECASE) is not None
    if female == male:
        return None
    return "female" if female else "male"


def _extraction(case: Case) -> Sorted | None:
    """B: another sex, or another number where a value of the patient belongs."""
    text = case.working.text
    stated = _stated_sex(text)
    own = case.result.used.get("sex")
    if stated is not None and own in ("female", "male") and stated != own:
        return Sorted("B", f"the patient is {own}, the reply says {stated}")
    for value in case.values:
        if _is_told(value, case):
            continue
        other = _stated_instead(value, text)
        if other is not None:
            return Sorted(
                "B",
                f"{value.name}: {value.used:.6g} is nowhere in the reply, which has {other:.6g} for it",
            )
    return _other_value(case)


def _other_value(case: Case) -> Sorted | None:
    """B: the calculation of the answer has a strange number in it, and lacks one value of the patient."""
    plugged = _plugged(case)
    if plugged is None:
        return None
    numbers = [number for each in plugged for number in each.numbers]
    missing = [value for value in _needed(case) if not _nearly_among(value, numbers)]
    strange = {
        number
        for number in plugged[0].numbers
        if not _is_known(number, plugged, case) and not _is_result(number, case.working.text)
    }
    if len(missing) != 1 or len(strange) != 1:
        return None
    (value,), (other,) = missing, strange
    return Sorted(
        "B", f"{value.name}: {short(plugged[0].text)} takes {other:.6g}, not {value.used:.6g}"
    )


def _plugged(case: Case) -> list[Equation] | None:
    """The last calculation that takes at least half of the patient's values, with those that lead to it."""
    needed = _needed(case)
    equations = case.working.equations
    for place in reversed(range(len(equations))):
        chain = leading_to(equations, place)
        numbers = [number for each in chain for number in each.numbers]
        taken = sum(_nearly_among(value, numbers) for value in needed)
        if len(equations[place].numbers) > 1 and taken >= max(1, len(needed) / 2):
            return chain
    return None


_NEARLY: Final = 0.015
"""Relative difference of a value whose conversion was rounded on the way."""


def _nearly_among(value: Value, numbers: Sequence[float]) -> bool:
    forms = value.accepted
    return any(close(one, abs(number), _NEARLY) for number in numbers for one in forms)


def _is_known(number: float, chain: Sequence[Equation], case: Case) -> bool:
    """Whether a number of a calculation is a value, a constant, a power of ten, a unit's factor or an earlier result."""
    constants = [value for each in _all_constants(case) for value in each.values]
    factors = [factor for each in _CONVERSIONS.values() for factor in each]
    results = [one for each in chain[1:] for one in (each.value, each.stated or 0.0)]
    known = (0.0, *_POWERS, *constants, *factors, *results)
    if any(close(abs(number), abs(one), 0.002) for one in known):
        return True
    return any(_nearly_among(value, [number]) for value in case.values)


def _is_result(number: float, text: str) -> bool:
    return re.search(rf"[\d)]\s*[=≈]\s*{re.escape(f'{number:g}')}(?!\d)", text) is not None


def _all_constants(case: Case) -> tuple[Constant, ...]:
    return constants_of(case.calculator_id, case.result.used)


def _is_told(value: Value, case: Case) -> bool:
    inches = [
        float(match[1]) * 12 + float(match[2] or 0) for match in FEET.finditer(case.working.text)
    ]
    heights = (each * unit for each in inches for unit in (1, 2.54, 0.0254))
    return among(value.accepted, [*case.working.numbers, *heights])


_ADULT = re.compile(
    r"\s*(?:-\s?\d|to \d|or (?:older|more|less|above|below|higher|greater|over|under)|\+(?!\s*\d))",
    re.IGNORECASE,
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
        if number is None or before in (
            "normal",
            "urine",
            "urinary",
            "ideal",
            "adjusted",
            "corrected",
            "reference",
        ):
            continue
        if _ADULT.match(text, number.end()) or re.match(
            r" *[-+*/^×÷−]", text[number.end() : number.end() + 3]
        ):
            continue
        found.add(float(number[0].replace(",", "")))
    return next(iter(found)) if len(found) == 1 else None


def _computation(case: Case) -> Sorted | None:
    """C: every value and constant is literally there, and a calculation of known numbers has another result than stated."""
    if not case.values or not all(_is_told(value, case) for value in case.values):
        return None
    if not all(_is_stated(constant, case) for constant in _all_constants(case)):
        return None
    plugged = _plugged(case)
    if plugged is not None and _takes_all(plugged, case):
        return None  # put right it would have given the right answer, so something else is wrong
    for equation in case.working.equations:
        if equation.right or equation.stated is None or _alike(equation):
            continue
        chain = [equation, *case.working.equations]
        if all(_is_known(number, chain, case) for number in equation.numbers):
            return Sorted(
                "C",
                f"{short(equation.text)} is {equation.value:.6g}, the reply says {equation.stated:.6g}",
            )
    return None


def _takes_all(chain: Sequence[Equation], case: Case) -> bool:
    numbers = [number for each in chain for number in each.numbers]
    return all(_nearly_among(value, numbers) for value in _needed(case))


def _alike(equation: Equation) -> bool:
    """Whether the two sides differ by a unit alone (`1.5 / 100 = 1.5 %`), which is no wrong computation."""
    return equation.stated is not None and _shifted(equation.stated, equation.value)


_COUNTED = {13: r"\b(?:280|40|naegele|nine|9|7|seven)\b", 68: r"\b(?:14|2|two|fourteen)\b", 69: r""}


def date_error(calculator_id: int, result: Result, working: Working) -> Sorted:
    needed = [value for value in result.used.values() if isinstance(value, datetime.date)]
    stated = {day for piece in working.pieces for day in _stated(piece.text)}
    stated |= {day for part in _dates(working.text) for day in _stated(part)}
    missing = [day for day in needed if day not in stated]
    if not stated:
        return Sorted("undetermined", "no working is shown")
    label = re.search(
        r"(?:last menstrual (?:period|date)|LMP)[^\n]{0,40}?(?:=|:|is|was|on)\s*",
        working.text,
        re.IGNORECASE,
    )
    period = result.used["last_menstrual_date"]
    if label is not None and period in missing:
        found = _stated(working.text[label.end() : label.end() + 20])
        if found and found[0] != period:
            return Sorted(
                "B",
                f"last menstrual date: {period} is nowhere in the reply, which has {found[0]} for it",
            )
    rule = _COUNTED.get(calculator_id, "")
    added = re.search(
        r"(?:add(?:ing)?|\+|plus)\s*(?:about )?(\d+)\s*(days|weeks)\b", working.text, re.IGNORECASE
    )
    if missing or (rule and added is None):
        return Sorted("undetermined", "no evidence for one type")
    undated = working.text
    for part in _dates(undated):
        undated = undated.replace(part, " ")
    if rule and added and not re.search(rule, undated, re.IGNORECASE):
        return Sorted("A", f"{added[1]} {added[2].lower()} are added, which is not the rule")
    return Sorted("C", "the dates and the rule are right, the calendar arithmetic is not")


def _stated(text: str) -> list[datetime.date]:
    return [each.value for each in dates(plain(text)) if isinstance(each.value, datetime.date)]


def _dates(text: str) -> list[str]:
    return re.findall(
        r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?,? \d{4}", text
    )
