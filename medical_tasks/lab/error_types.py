"""Classifies wrong answers by the error types of the paper without a judge.

The types are those of Khandekar et al. 2024, section 4.1. A type requires evidence in
the reply; the earliest error counts (`docs/medcalc_errors.md`): knowledge, then
extraction, then computation. Arithmetic is the error only if correcting it gives the
right answer.

Equations and dates:

- D: no readable final answer
- A: a decisive constant, factor or exponent appears nowhere; all right values go into a
  calculation that gives something else; another weight than the rule takes
- B: another number is stated for a value, or used in its place; the other sex
- C: corrected, the arithmetic gives the right answer: a wrong step gets its true
  result, and later steps use it

Scores:

- D: no readable final answer
- A: points that the rule lacks, or not those for the patient's finding; an unnamed or
  invented criterion makes up the difference
- B: points for another finding or number, which the reply states
- C: a sum whose true total is right; or all points are right and the total is not

Wrong arithmetic alone is not C: formula and values must be right. Powers are read as
`**`, `^`, raised digits and LaTeX. In scores a difference counts only if all
differences together explain the answer, or if every criterion that counts has been
read; a recital of the rule before the patient's case is not read as points.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from medical_tasks.benchmarks.medcalc_bench.gold import (
    decimal_or_none,
    entities_of,
    label_agrees,
    limits,
    recompute_or_none,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.calculators import Result, find
from medical_tasks.calculators.drugs import EQUIVALENT_MG, FACTORS
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.io.files import packaged
from medical_tasks.lab.score_reading import (
    Criterion,
    Reading,
    ScoreReading,
    criteria_of,
    other_points,
    read_score,
    words_of,
)
from medical_tasks.lab.working import (
    NUMBER,
    Chain,
    Equation,
    Working,
    chains,
    close,
    read_working,
)
from medical_tasks.scoring.numbers.quantities import dates, plain
from medical_tasks.spec import Row

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
    """The error type of a wrong answer, with the evidence in one line.

    Attributes:
        error_type: a key of `TYPES`: A knowledge, B extraction, C computation, D other.
        reason: for example `70 / 1.75^2 is 22.8571, the reply says 20.9`.
    """

    error_type: ErrorType
    reason: str


@dataclass(frozen=True, slots=True)
class Value:
    """A number of the patient that the calculator uses.

    Attributes:
        parameter: The parameter of the calculator.
        name: The name in reasons.
        used: The number in the formula's unit.
        accepted: The forms in which a reply may state it.
        forms: Those of them in which a calculation may use it.
    """

    parameter: str
    name: str
    used: float
    accepted: tuple[float, ...]
    forms: tuple[float, ...]

    def is_among(self, numbers: Iterable[float], tolerance: float = 0.005) -> bool:
        """Whether one of some numbers is this one."""
        return among(self.accepted, numbers, tolerance)


@dataclass(frozen=True)
class Case:
    """A wrong answer with the data of its row and reply.

    Attributes:
        calculator_id: The calculator of the row.
        result: The result of the published rule.
        values: The row's values that the rule uses, with their accepted forms.
        working: The numbers and equations of the reply.
        final: The final answer of the reply; None if none was read.
        low: The smallest answer that is right.
        high: The largest answer that is right.
    """

    calculator_id: int
    result: Result
    values: tuple[Value, ...]
    working: Working
    final: float | None
    low: float
    high: float

    @property
    def gold(self) -> float:
        """The right answer."""
        return (self.low + self.high) / 2

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The constants in every form of the formula for this patient."""
        return constants_of(self.calculator_id, self.result.used)

    @cached_property
    def needed(self) -> list[Value]:
        """The values that a right calculation shows."""
        unused = _UNUSED.get(self.calculator_id, ())
        return [value for value in self.values if value.parameter not in unused]

    @cached_property
    def chains(self) -> list[Chain]:
        """The calculations of the reply, the last first."""
        all_chains = chains(self.working.equations)
        several = self.calculator_id == _OPIOIDS and len(self.result.used["doses"]) > 1
        return [
            chain
            for chain in all_chains
            if len(chain.last.numbers) > 1 and ("+" in chain.last.text or not several)
        ]

    def takes_all(self, chain: Chain) -> bool:
        """Whether a calculation uses every value of the patient."""
        return all(among(value.forms, chain.numbers, _NEARLY) for value in self.needed)

    def other_sex(self) -> str | None:
        """The patient's sex in the reply if it differs from the row's; None if it does not."""
        stated = _stated_sex(self.working.text)
        return stated if stated != self.result.used.get("sex") else None


_COCKCROFT_GAULT, _CKD_EPI, _STEROIDS, _OPIOIDS = 2, 3, 24, 49
_UNUSED: Final[Mapping[int, tuple[str, ...]]] = {
    _COCKCROFT_GAULT: ("height_cm", "weight_kg"),
    38: ("age_years",),
}
"""Values that a right calculation need not show: they only select a weight or a factor."""
_NEARLY: Final = 0.015
"""Relative difference of a value whose conversion was rounded."""
_RESULT: Final = 0.01
"""Relative difference of an answer from its unrounded result."""


def values_of(row: Row, result: Result) -> tuple[Value, ...]:
    """Returns the numbers of a row that its calculator uses, with the forms a reply may state.

    A weight of 154 lb may be stated as 154, as 69.9, or rounded as 70.
    """
    calculator = find(result.calculator_id)
    values = []
    for key, raw in entities_of(row).items():
        item = calculator.input_named(key)
        if not isinstance(item, Quantity):
            continue

        used = result.used.get(item.parameter)
        if isinstance(used, bool) or not isinstance(used, int | float):
            continue

        number = raw[0] if isinstance(raw, list) and raw else raw
        stated = float(used)
        if isinstance(number, int | float) and not isinstance(number, bool):
            stated = float(number)

        values.append(
            Value(
                parameter=item.parameter,
                name=item.name,
                used=float(used),
                accepted=accepted_values(item.parameter, stated, float(used)),
                forms=shifted_values(stated, float(used)),
            )
        )

    for number in _doses(result):
        values.append(
            Value("", "dose", number, accepted_values("", number, number), (number,))
        )

    return tuple(values)


def _doses(result: Result) -> list[float]:
    """Returns the numbers of the two calculators whose entities are doses of drugs.

    A calculation need not show the 1 of a dose once a day.
    """
    if result.calculator_id == _STEROIDS:
        return [float(result.used["source_dose_mg"])]

    if result.calculator_id == _OPIOIDS:
        numbers = [
            number
            for dose in result.used["doses"]
            for number in (dose.amount, dose.per_day)
        ]
        return [float(number) for number in numbers if number not in (None, 1)]

    return []


def among(
    accepted: Iterable[float], numbers: Iterable[float], tolerance: float = 0.005
) -> bool:
    """Whether one of some numbers is accepted, whatever its sign."""
    return any(
        close(expected, abs(number), tolerance)
        for expected, number in itertools.product(accepted, numbers)
    )


def short(text: str) -> str:
    """Shortens a text to one line of at most 80 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def sort_error(row: Row, response: str) -> Sorted | None:
    """Classifies one answer by its error type.

    The order is the paper's: a reply with the wrong formula (A, knowledge) may also use
    a wrong value (B, extraction) or miscalculate (C, computation), and the first of
    these decides.

    Args:
        row: A row of the built dataset.
        response: The reply.

    Returns:
        The type with its evidence. D (other) for a reply without a readable answer;
        `undetermined` if nothing in the reply distinguishes the types. None for a right
        answer, and for a row whose label the published rule does not confirm: the label
        may be wrong there.

    Example:
        For a body mass index of 70 kg and 1.75 m, "70 / 1.57^2 = 28.4" is B: 1.57 is not
        this patient's height. "70 / 1.75^2 = 20.9" is C: formula and values are right,
        but the result is 22.9. "70 / 1.75 = 40" is undetermined: it may be a wrong
        formula or a lost square.
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
        why = (
            f"no answer that can be read: {decision.why}"
            if response.strip()
            else "empty reply"
        )
        return Sorted("D", why)

    working = read_working(response)
    if isinstance(result.answer, str | tuple):
        return date_error(calculator_id, result, working)

    gold = decimal_or_none(row["ground_truth_answer"])
    if gold is None:  # label_agrees has read it
        raise ValueError(
            f"row {row.get('row_number')}: label {row['ground_truth_answer']!r} is no number"
        )

    # None if the reply leaves its answer open.
    answer = decimal_or_none(decision.parsed.removesuffix("%"))
    case = Case(
        calculator_id,
        result,
        values_of(row, result),
        working,
        None if answer is None else float(answer),
        *limits(gold, row["lower_limit"], row["upper_limit"]),
    )
    criteria = criteria_of(
        result, {value.parameter: value.accepted for value in case.values}
    )
    error = score_error(case, criteria) if criteria else equation_error(case)
    if error is not None:
        return error

    shown = working.equations or len(working.pieces) > 2 or len(working.numbers) > 2
    return Sorted(
        "undetermined", "no evidence for one type" if shown else "no working is shown"
    )


# ---- Scores ----


def score_error(case: Case, criteria: Sequence[Criterion]) -> Sorted | None:
    """Returns the earliest error in the points.

    The reply's points for the criteria are compared with those of the rule. A difference
    counts if all differences together explain the answer, or if every criterion could be
    read: otherwise the cause may be in an unread criterion.

    Args:
        case: The wrong answer.
        criteria: The score's criteria, with the patient's points.

    Returns:
        The error; None if no points can be read.
    """
    score = read_score(case.working, criteria)
    clear = score.clear()
    differing = [
        reading
        for reading in clear.values()
        if reading.awarded != reading.criterion.points
    ]
    invented = score.invented()
    if not differing:
        return (
            _unknown_criterion(case, score, clear)
            or _invented_criterion(case, score, clear)
            or _wrong_sum(case, score, clear)
        )

    away = sum(
        (reading.awarded or 0) - reading.criterion.points for reading in differing
    )
    added = sum(points for _, points in invented)
    explained = _explains(case, away)
    if invented and not explained and _explains(case, away + added):
        return _invented(*invented[0])

    return _earliest(differing if explained else _beyond_doubt(differing, score, clear))


def _beyond_doubt(
    differing: Sequence[Reading], score: ScoreReading, clear: Mapping[int, Reading]
) -> list[Reading]:
    """The differences that count although they do not explain the answer."""
    if not _is_complete(score, clear):
        return []
    return [reading for reading in differing if not reading.is_recital()]


def _earliest(differing: Sequence[Reading]) -> Sorted:
    if not differing:
        return Sorted(
            "undetermined",
            "the points that could be read do not account for the answer",
        )
    errors = map(_difference, differing)
    return min(errors, key=lambda error: _ORDER.index(error.error_type))


_ORDER: Final = ("A", "undetermined", "B")
"""The order in which differences count: an undetermined one may be one of knowledge."""


def _explains(case: Case, away: float) -> bool:
    return case.final is not None and close(case.gold + away, case.final)


def _is_complete(score: ScoreReading, clear: Mapping[int, Reading]) -> bool:
    """Whether each criterion with points has a reading, and none has different points."""
    return score.counted() <= clear.keys() and not any(
        len(reading.points) > 1 for reading in score.readings.values()
    )


def _difference(reading: Reading) -> Sorted:
    """Classifies a criterion whose points differ from ours.

    B (extraction) if the points fit the finding in the reply, or another finding if it
    states none. A (knowledge) if no finding has these points, or the finding is right
    and its points are not. Otherwise undetermined.
    """
    own, awarded = reading.criterion, reading.awarded
    same, open_points = other_points(reading)
    difference = f"{own.label}: gives {own.points:+g}, the reply gives {awarded:+g}"
    if same is False and awarded in open_points:
        return Sorted(
            "B",
            f"{difference} for another finding: {short('; '.join(reading.texts))!r}",
        )

    right_finding = same and own.present is not False
    if awarded not in own.possible or (right_finding and awarded not in open_points):
        return Sorted("A", difference)
    if same is None and own.present is not None and awarded in open_points:
        return Sorted("B", f"{difference}, as for another finding")

    return Sorted(
        "undetermined", f"{difference}; it does not say clearly what the patient has"
    )


def _unknown_criterion(
    case: Case, score: ScoreReading, clear: Mapping[int, Reading]
) -> Sorted | None:
    """A: the only criterion that the reply never names accounts for the difference.

    Example:
        A reply goes through all criteria of CHA₂DS₂-VASc except vascular disease, for which
        the patient has a point, and its answer is one less than the right one.
    """
    counted = score.counted()
    others = set(range(len(score.criteria))) - counted
    unnamed = set(range(len(score.criteria))) - score.named
    listed = len(others & score.named) >= MOST_CRITERIA * len(others)
    if score.extras or not listed or len(unnamed) != 1 or not unnamed <= counted:
        return None

    (index,) = unnamed
    own = score.criteria[index]
    if counted - unnamed <= clear.keys() and _explains(case, -own.points):
        return Sorted(
            "A",
            f"{own.label}: a criterion the reply does not know, worth {own.points:+g}",
        )

    return None


def _invented_criterion(
    case: Case, score: ScoreReading, clear: Mapping[int, Reading]
) -> Sorted | None:
    """A: a criterion that the rule does not have accounts for the difference."""
    invented = score.invented()
    counted = score.counted()
    all_named = len(score.named) == len(score.criteria)
    if len(invented) != 1 or not all_named or not counted <= clear.keys():
        return None
    return _invented(*invented[0]) if _explains(case, invented[0][1]) else None


def _invented(text: str, points: float) -> Sorted:
    return Sorted(
        "A", f"{short(text)!r} gives {points:+g}, which is no criterion of the rule"
    )


MOST_CRITERIA: Final = 0.6
"""A reply that names this share of the criteria without points does not know an unnamed one."""
_SUM: Final = re.compile(r"[-+(]?\s?\d+(?:\.5)?(?:\s?[-+]\s?\(?-?\d+(?:\.5)?\)?)+\)?")


def _wrong_sum(
    case: Case, score: ScoreReading, clear: Mapping[int, Reading]
) -> Sorted | None:
    """C: the stated total of a sum is wrong, and the true total is the right answer.

    Or all points are right, and only the total is wrong.

    Example:
        "1 + 2 + 1 = 5" where 4 is the right answer. A running sum on the way to it, such as
        "1 + 2 = 4", does not count.
    """
    gold = case.gold
    for equation in case.working.equations:
        stated = equation.stated
        if (
            stated is not None
            and _adds_up_to(gold, equation)
            and not close(stated, gold)
        ):
            return Sorted(
                "C",
                f"{short(equation.text)} is {gold:g}, the reply makes it {stated:g}",
            )

    if not _is_complete(score, clear) or _is_cut_off(score) or score.invented():
        return None
    if case.final is None or not score.totals:
        return None

    if close(score.totals[-1], gold):
        return Sorted(
            "undetermined",
            f"the working ends with {gold:g}, which is right; the answer given is not",
        )

    unclear = (score.readings[index] for index in score.readings.keys() - clear.keys())
    explained = any(_may_explain(reading, case) for reading in unclear)
    if explained or not close(score.totals[-1], case.final):
        return None

    return Sorted(
        "C",
        f"every criterion has the right points, {gold:g} in all; the reply makes it {case.final:g}",
    )


def _may_explain(reading: Reading, case: Case) -> bool:
    """Whether a criterion without clear points may explain the wrong answer."""
    own = reading.criterion
    could = any(_explains(case, points - own.points) for points in own.possible)
    return reading.has_numbers() or (could and other_points(reading)[0] is not True)


def _adds_up_to(gold: float, equation: Equation) -> bool:
    is_sum = _SUM.fullmatch(equation.text) is not None and len(equation.numbers) >= 2
    return is_sum and close(equation.value, gold)


def _is_cut_off(score: ScoreReading) -> bool:
    """Whether so few criteria were read that the reply may be cut off."""
    with_points = sum(bool(reading.awarded) for reading in score.readings.values())
    return len(score.readings) < MOST_CRITERIA * len(score.criteria) and with_points < 2


# ---- Equations: constants ----


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of a formula.

    Attributes:
        name: The name in reasons.
        values: Its values.
        words: A pattern of words with the same meaning.
        by_sex: Whether it depends on the patient's sex.
    """

    name: str
    values: tuple[float, ...]
    words: str = ""
    by_sex: bool = False


class _ConstantEntry(TypedDict):
    """A constant in `equation_constants.json`; `words` is a pattern of the text beside it."""

    values: list[float]
    words: NotRequired[str]


def _constant(entry: _ConstantEntry, *, by_sex: bool = False) -> Constant:
    return Constant(
        f"{entry['values'][0]:g}",
        tuple(entry["values"]),
        entry.get("words", ""),
        by_sex,
    )


_DATA: Final = packaged(__file__, "equation_constants.json")
CONSTANTS: Final[Mapping[int, tuple[Constant, ...]]] = {
    int(number): tuple(map(_constant, entries))
    for number, entries in _DATA["constants"].items()
}
"""Calculator id to the constants in every form of its formula; scores have none."""
_BY_SEX: Final[Mapping[int, Mapping[str, Constant]]] = {
    int(number): {sex: _constant(entry, by_sex=True) for sex, entry in entries.items()}
    for number, entries in _DATA["by_sex"].items()
}


def constants_of(calculator_id: int, used: Mapping[str, Any]) -> tuple[Constant, ...]:
    """Returns the constants in every form of a formula for a patient.

    A reply without any of them used another formula. For the opioid calculator they are
    the factors of the patient's own drugs; a factor of 1 is left out because no
    calculation shows it.
    """
    if calculator_id == _OPIOIDS:
        factors = {
            dose.drug: FACTORS[dose.drug][0]
            for dose in used["doses"]
            if dose.drug in FACTORS
        }
        return tuple(
            Constant(f"{factor:g} ({drug})", (factor,))
            for drug, factor in factors.items()
            if factor != 1
        )

    if calculator_id == _STEROIDS:
        source, target = used["source_steroid"], used["target_steroid"]
        from_mg, to_mg = EQUIVALENT_MG[source], EQUIVALENT_MG[target]
        ratios = (to_mg / from_mg, from_mg / to_mg)
        # Every table of equivalents has the same ratios, whichever drug is set to 1 or
        # to 5.
        return (
            (Constant(f"{to_mg:g} to {from_mg:g}", ratios),) if source != target else ()
        )

    constants = list(CONSTANTS.get(calculator_id, ()))
    if for_sex := _BY_SEX.get(calculator_id, {}).get(str(used.get("sex"))):
        constants.append(for_sex)

    if calculator_id == _CKD_EPI:
        female = used["sex"] == "female"
        divisor, exponent = (0.7, 0.241) if female else (0.9, 0.302)
        exponent = exponent if used["creatinine_mg_dl"] <= divisor else 1.2
        constants += [
            Constant(f"{n:g}", (n,), by_sex=True) for n in (divisor, exponent)
        ]

    return tuple(constants)


_CONVERSIONS: Final[Mapping[str, Sequence[float]]] = _DATA["conversions"]
"""Factors between the usual units of a value."""
_FACTORS: Final = tuple(
    factor for factors in _CONVERSIONS.values() for factor in factors
)
_POWERS = (1.0, 10.0, 100.0, 1e3, 1e6, 0.1, 0.01, 1e-3, 1e-6)


def accepted_values(parameter: str, raw: float, used: float) -> tuple[float, ...]:
    """Returns a value as in the note, as in the formula, and in other usual units."""
    bases, forms = {abs(used), abs(raw)}, {*shifted_values(raw, used)}
    for factor in _CONVERSIONS.get(parameter, ()):
        converted = {
            value for base in bases for value in (base * factor, base / factor)
        }
        forms |= converted | {value / 100 for value in converted}
    if parameter == "temperature_c":
        forms |= {base * 1.8 + 32 for base in bases} | {
            abs(base - 32) / 1.8 for base in bases
        }
    return tuple(sorted(forms))


def shifted_values(raw: float, used: float) -> tuple[float, ...]:
    """Returns a value as a calculation may use it: original or converted, at any power of ten."""
    return tuple(
        sorted(base * power for base in {abs(used), abs(raw)} for power in _POWERS)
    )


FEET = re.compile(r"(\d)\s?(?:'|ft\b|feet\b|foot\b)\s?(?:and )?(\d{1,2}(?:\.\d+)?)?")
"""A height in feet and inches."""


def _uses_constant(constant: Constant, case: Case) -> bool:
    """Whether the reply has a constant, or a number combined from it and a value.

    Example:
        The constant 72 of Cockcroft-Gault is used in a reply with "72", and in one with
        100.8, which is 72 times the patient's creatinine of 1.4.
    """
    numbers = case.working.numbers
    if _is_stated(constant, case):
        return True

    used = [value.used for value in case.values]
    for number, value in itertools.product(constant.values, used):
        joined = [number * value]
        if case.calculator_id not in (_STEROIDS, _OPIOIDS):
            joined += [
                value / number,
                number - value,
                number + value,
                number / value if value else number,
            ]

        # A sum close to the value is not distinguishable from the value.
        telling = [
            abs(combined)
            for combined in joined
            if abs(combined) >= 0.01 and not among(used, [combined])
        ]
        if among(telling, numbers, 0.002):
            return True

    # Steroid tables state two doses; their ratio counts.
    return case.calculator_id == _STEROIDS and any(
        b != 0 and close(a / b, number, 0.01)
        for a, b in itertools.permutations(numbers[:_MOST_DOSES], 2)
        for number in constant.values
    )


_MOST_DOSES: Final = 60


def _is_stated(constant: Constant, case: Case) -> bool:
    if constant.words and re.search(constant.words, case.working.text, re.IGNORECASE):
        return True
    for number, expected in itertools.product(case.working.numbers, constant.values):
        digits = len(repr(number).partition(".")[2])
        rounded = (
            abs(expected) >= 0.1 and digits >= 2 and number == round(expected, digits)
        )
        if rounded or close(number, expected, 1e-4):
            return True
    return False


# ---- Equations: the types in their order ----


def equation_error(case: Case) -> Sorted | None:
    """Returns the earliest error in the calculations."""
    return _only_computation(case) or _knowledge(case) or _extraction(case)


def _only_computation(case: Case) -> Sorted | None:
    """C: correcting the arithmetic gives the right answer: formula and values were right.

    A chain is a calculation together with those whose results it uses. It counts if it
    has all of the patient's values and every constant of the formula, and its own value is
    right although the reply states another.

    None if the arithmetic that leads to the answer is right: then the error is in the
    formula or the values.
    """
    for chain in case.chains:
        last = chain.last
        if (
            last.right
            and case.final is not None
            and close(chain.value, case.final, _RESULT)
        ):
            return None  # the answer is the result of this calculation

        right = case.low <= chain.value <= case.high
        by_chance = case.low <= last.value <= case.high and len(last.numbers) > 2
        if not case.values or not (right or by_chance) or not case.takes_all(chain):
            continue
        if not all(
            _uses_constant(constant, case) for constant in _constants_in_play(case)
        ):
            return None

        if not right:
            return Sorted(
                "undetermined", "a calculation gives the right answer after a wrong one"
            )

        if case.final is not None and _shifted(case.final, chain.value):
            return Sorted(
                "undetermined",
                "the right result in another unit, or with its decimal point moved",
            )

        return Sorted("C", _wrong_result(case) or _wrong_answer(chain))

    return None


def _wrong_result(case: Case) -> str:
    """Describes the first calculation whose stated result is wrong, not just in another unit."""
    for equation in case.working.equations:
        if (
            not equation.right
            and equation.stated is not None
            and not _shifted(equation.stated, equation.value)
        ):
            return f"{short(equation.text)} is {equation.value:.6g}, the reply says {equation.stated:.6g}"
    return ""


def _wrong_answer(chain: Chain) -> str:
    return f"{short(chain.last.text)} is {chain.value:.6g}, which is right; the answer given is not"


def _shifted(final: float, value: float) -> bool:
    """Whether two numbers differ by a power of ten alone, as by a unit or a decimal point.

    Example:
        >>> _shifted(0.0229, 22.9), _shifted(23.5, 22.9)
        (True, False)
    """
    return final != 0 and any(
        close(final * 10.0**power, value, _RESULT)
        for power in (-6, -3, -2, -1, 1, 2, 3, 6)
    )


def _constants_in_play(case: Case) -> list[Constant]:
    """The constants that the reply must have; those of a sex only if it states that sex."""
    own = case.result.used.get("sex")
    same_sex = own is not None and _stated_sex(case.working.text) == own
    return [constant for constant in case.constants if same_sex or not constant.by_sex]


_FORMULA: Final = re.compile(r"\d\s?(?:[*×]|x )\s?[(A-Za-z]")
"""A number times a name: "141 × (Scr / 0.9)"."""


def _knowledge(case: Case) -> Sorted | None:
    """A: a constant of the formula is missing, or the right values were used in another formula."""
    working = case.working
    with_values = any(value.is_among(working.numbers) for value in case.values)
    formula = working.equations or _FORMULA.search(working.text)
    if not formula or not with_values:
        return None

    for constant in _constants_in_play(case):
        if not _uses_constant(constant, case):
            return Sorted(
                "A",
                f"the formula's constant {constant.name} is not in the reply, "
                "nor a number it could be part of",
            )

    if case.other_sex():
        return None  # the factor of the other sex is not another formula

    return _other_weight(case) or _other_formula(case)


_ADJUSTED_WEIGHT: Final = re.compile(
    r"(?i)\badjusted (?:body )?weight(?![^.\n]{0,60}\bformula)[^.\n\d]{0,60}?"
    r"(?:\bis|\bas|\bof|=|:)\s{0,2}(?P<kg>\d+(?:\.\d+)?)(?= ?kg)"
)
"""A sentence with the weight that the reply uses from there on."""
_CLOSE_WEIGHT: Final = 0.02


def _other_weight(case: Case) -> Sorted | None:
    """A: the reply uses another of actual, ideal and adjusted weight than the rule.

    Cockcroft-Gault is solved for the weight: the right answer, age, sex and creatinine give
    the weight that the rule takes; it is compared with the one in the reply's clearance.
    """
    if case.calculator_id != _COCKCROFT_GAULT or not all(
        _states_value(v, case) for v in case.values
    ):
        return None

    used = case.result.used
    factor = 0.85 if used["sex"] == "female" else 1.0
    right = (
        case.gold * 72 * used["creatinine_mg_dl"] / (factor * (140 - used["age_years"]))
    )
    taken = _weight_taken(case, 140 - used["age_years"])
    if taken is None or close(taken, right, _CLOSE_WEIGHT):
        return None

    return Sorted(
        "A", f"the weight taken is {taken:.6g} kg, the rule takes {right:.6g} kg"
    )


def _weight_taken(case: Case, years: float) -> float | None:
    """Returns the weight in the last clearance besides age, creatinine and constants, or a named one."""
    actual = next(value for value in case.values if value.parameter == "weight_kg")
    for chain in case.chains:
        numbers = set(chain.last.numbers)
        unknown = {
            number
            for number in numbers
            if actual.is_among([number])
            or not _is_known_number(number, case, case.needed, [years])
        }
        if 72 in numbers and len(unknown) == 1:
            return unknown.pop()

    named = _ADJUSTED_WEIGHT.findall(case.working.text)
    return float(named[-1]) if named else None


_CHOOSES: Final = frozenset({9, 22, 24, 38, 46, 49})
"""Formulas with a factor by race, age, weight or drug.

Another value of it may as well be another reading of the note.
"""


def _other_formula(case: Case) -> Sorted | None:
    """A: the calculation of the answer uses every value but is far from the right answer."""
    if case.final is None or case.calculator_id in _CHOOSES or not _is_plain(case):
        return None

    for chain in case.chains:
        last = chain.last
        results = [last.value] if last.stated is None else [last.value, last.stated]
        takes_all = all(
            among([value.used], chain.numbers, 0.002) for value in case.values
        )
        far = not chain.put_right and _is_far(chain.value, case)
        if takes_all and far and among(results, [case.final], _RESULT):
            return Sorted(
                "A",
                f"{short(last.text)} takes the right values and is {chain.value:.6g}: "
                "another formula",
            )

    return None


def _is_plain(case: Case) -> bool:
    """Whether sex and values are stated correctly, and no constant looks like a value."""
    own = case.result.used.get("sex")
    if own is not None and _stated_sex(case.working.text) is None:
        return False

    constants = [
        0.0,
        1.0,
        *(number for constant in case.constants for number in constant.values),
    ]
    for value in case.values:
        instead = _stated_instead(value, case.working.text)
        other = instead is not None and not value.is_among([instead])
        if other or among(constants, [value.used]):
            return False

    return True


def _is_far(value: float, case: Case) -> bool:
    """Whether a result differs from the right answer by more than rounding and units."""
    margin = 0.75 * max(case.high - case.low, 0.05 * abs(case.gold))
    return abs(value - case.gold) > margin and not _shifted(value, case.gold)


_SEX_OF_A_RULE: Final = re.compile(
    r"(?i)\b(?:if|for|when|in)\b(?: (?:the|a|an|patient|is|are|was|being))*"
    r" (?:fe)?(?:males?|m[ae]n|wom[ae]n|girls?|boys?)\b(?: (?:and|or) (?:fe)?(?:males?|m[ae]n))?"
)
"""A sex in the text of a rule: "0.85 if the patient is female"."""


def _stated_sex(text: str) -> str | None:
    """Returns the patient's sex in the reply; None if it states none, or both.

    Example:
        >>> _stated_sex("The factor is 0.85 if female. The man is 60.")
        'male'
    """
    text = _SEX_OF_A_RULE.sub(" ", text)
    female = (
        re.search(r"\b(?:female|woman|girl|women|females)\b", text, re.IGNORECASE)
        is not None
    )
    male = re.search(r"\b(?:male|man|boy|men|males)\b", text, re.IGNORECASE) is not None
    if female == male:
        return None
    return "female" if female else "male"


def _extraction(case: Case) -> Sorted | None:
    """B: another sex, or another number instead of the patient's value."""
    text = case.working.text
    own, stated = case.result.used.get("sex"), case.other_sex()
    if stated is not None and own in ("female", "male"):
        return Sorted("B", f"the patient is {own}, the reply says {stated}")

    for value in case.values:
        other = None if _states_value(value, case) else _stated_instead(value, text)
        if other is not None:
            return Sorted(
                "B",
                f"{value.name}: {value.used:.6g} is nowhere in the reply, "
                f"which has {other:.6g} for it",
            )

    return _other_value(case)


def _other_value(case: Case) -> Sorted | None:
    """B: the last calculation with the patient's values has an unknown number instead of one.

    Example:
        "(140 - 61) * 82 / (72 * 2.4)" for a creatinine of 1.4: all values are there but
        this one, and 2.4 is neither a constant nor the result of an earlier line.
    """
    for chain in case.chains:
        missing = [
            value for value in case.needed if not value.is_among(chain.numbers, _NEARLY)
        ]
        if 2 * len(missing) > len(case.needed):
            continue

        strange = {
            number
            for number in chain.last.numbers
            if not _is_known_number(number, case, case.values)
            and not _is_result(number, case)
        }
        if len(missing) != 1 or len(strange) != 1:
            return None

        (value,), (other,) = missing, strange
        reason = f"{short(chain.last.text)} takes {other:.6g}, not {value.used:.6g}"
        return Sorted("B", f"{value.name}: {reason}")

    return None


def _is_known_number(
    number: float, case: Case, values: Iterable[Value], further: Iterable[float] = ()
) -> bool:
    """Whether a number is a value, a constant, a power of ten, a unit's factor or in `further`."""
    constants = (number for constant in case.constants for number in constant.values)
    known_numbers = (0.0, *_POWERS, *_FACTORS, *constants, *further)
    return among(known_numbers, [number], 0.002) or any(
        value.is_among([number], _NEARLY) for value in values
    )


def _is_result(number: float, case: Case) -> bool:
    written = re.escape(f"{number:g}")
    return (
        re.search(rf"[\d)]\s*[=≈]\s*-?\s?{written}(?!\d)", case.working.text)
        is not None
    )


def _states_value(value: Value, case: Case) -> bool:
    inches = [
        float(match[1]) * 12 + float(match[2] or 0)
        for match in FEET.finditer(case.working.text)
    ]
    heights = (length * unit for length in inches for unit in (1, 2.54, 0.0254))
    return value.is_among([*case.working.numbers, *heights])


_GROUP = re.compile(
    r"\s*(?:-\s?\d|to \d|or (?:older|more|less|above|below|higher|greater|over|under)|\+(?!\s*\d))",
    re.IGNORECASE,
)
"""After a number: a range or a bound of the rule."""
_OPERATOR = re.compile(r" *[-+*/^×÷−]")
_NOT_THE_PATIENTS: Final = frozenset(
    {"normal", "urine", "urinary", "ideal", "adjusted", "corrected", "reference"}
)
"""Words before the name of a value that denote another value."""


def _stated_instead(value: Value, text: str) -> float | None:
    """Returns the one number that the reply states for a value with "=", ":", "is" or "of".

    None if there is none, or several.
    """
    words = words_of(value.parameter)
    if not words:
        return None

    pattern = re.compile(
        rf"(?P<before>\w+\s)?(?<![\w/])(?:{words})\s{{0,2}}(?:\((?![^)]*\d)[^"
        rf")\n]{{0,24}}\)\s{{0,2}})?"
        r"(?:level |value |count )?(?:=|:|is|was|of)\s{0,2}",
        re.IGNORECASE,
    )
    candidates: set[float] = set()
    for match in pattern.finditer(text):
        number = NUMBER.match(text, match.end())
        before = (match["before"] or "").strip().lower()
        if number is None or before in _NOT_THE_PATIENTS:
            continue

        if not _GROUP.match(text, number.end()) and not _OPERATOR.match(
            text, number.end()
        ):
            candidates.add(float(number[0].replace(",", "")))

    return candidates.pop() if len(candidates) == 1 else None


# ---- Dates ----

_COUNTED = {
    13: r"\b(?:280|40|naegele|nine|9|7|seven)\b",
    68: r"\b(?:14|2|two|fourteen)\b",
    69: r"",
}
"""Numbers that the rule adds to the last menstrual date."""
_PERIOD: Final = re.compile(
    r"(?i)(?:last menstrual (?:period|date)|LMP)[^\n]{0,40}?(?:=|:|is|was|on)\s*"
)
_ADDED: Final = re.compile(
    r"(?i)(?:add(?:ing)?|\+|plus)\s*(?:about )?(\d+)\s*(days|weeks)\b"
)
_WRITTEN_DATE: Final = re.compile(
    r"\d{1,4}[/-]\d{1,2}[/-]\d{2,4}|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?,? \d{4}"
)


def date_error(calculator_id: int, result: Result, working: Working) -> Sorted:
    """Returns the earliest error of a date or a gestational age.

    Dates have no points and no equations, so the dates in the reply are compared.

    Example:
        A due date is 280 days after the last menstrual period. A reply with another period
        is B. One with the right period that adds 270 days is A. With the right period and
        280 days, a wrong date is C.
    """
    texts = [
        *(piece.text for piece in working.pieces),
        *_WRITTEN_DATE.findall(working.text),
    ]
    stated = {day for text in texts for day in _stated(text)}
    if not stated:
        return Sorted("undetermined", "no working is shown")

    needed = {
        value for value in result.used.values() if isinstance(value, datetime.date)
    }
    missing = needed - stated
    period = result.used["last_menstrual_date"]
    other = _other_period(working.text, period) if period in missing else None
    if other is not None:
        return Sorted(
            "B",
            f"last menstrual date: {period} is nowhere in the reply, which has {other} for it",
        )

    rule = _COUNTED.get(calculator_id, "")
    added = _ADDED.search(working.text)
    if missing or (rule and added is None):
        return Sorted("undetermined", "no evidence for one type")

    undated = _WRITTEN_DATE.sub(" ", working.text)
    if rule and added and not re.search(rule, undated, re.IGNORECASE):
        return Sorted(
            "A", f"{added[1]} {added[2].lower()} are added, which is not the rule"
        )

    return Sorted(
        "C", "the dates and the rule are right, the calendar arithmetic is not"
    )


def _other_period(text: str, period: object) -> datetime.date | None:
    """Returns another date after the name of the last menstrual period."""
    label = _PERIOD.search(text)
    if label is None:
        return None
    dates_after = _stated(text[label.end() : label.end() + 20])
    return dates_after[0] if dates_after and dates_after[0] != period else None


def _stated(text: str) -> list[datetime.date]:
    return [
        quantity.value
        for quantity in dates(plain(text))
        if isinstance(quantity.value, datetime.date)
    ]
