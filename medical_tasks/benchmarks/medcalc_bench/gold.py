"""What is right for a row: the form and limits of its answer, its entities, and what the published rule gives for them.

The form follows the calculator: the `Output Type` column calls gestational age an
integer (Khandekar et al. 2024, section 3.1).
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, Literal

from medical_tasks.calculators import (
    CALCULATORS,
    Answer,
    AnyCalculator,
    CalculatorInputError,
    Result,
    find,
)
from medical_tasks.errors import UsageError
from medical_tasks.spec import Row

__all__ = [
    "DAYS", "NOT_COMPUTABLE", "PERCENT_IDS", "SCORE_IDS", "AnswerKind", "Decision", "answer_kind",
    "answer_text", "calculated", "canonical_entities", "decimal_or_none", "entities_of", "is_not_computable",
    "known_kind", "label_agrees", "limits", "recompute", "recompute_or_none", "row_kind", "score_steps", "within",
]  # fmt: skip


NOT_COMPUTABLE: Final = "N/A"
"""The gold of a row whose note lacks what the calculator needs; only `corrected` has such rows."""

AnswerKind = Literal["integer", "decimal", "date", "gestational_age", "days"]
DAYS: Final = re.compile(r"[0-9]{1,3}")
"""A gestational age in days, as `corrected` asks for it; the others ask for weeks and days."""
_OUTPUT_TYPES: tuple[AnswerKind, ...] = ("integer", "decimal", "date")

GESTATIONAL_AGE_ID = 69
_KINDS: Mapping[int, AnswerKind] = {
    entry.id: "gestational_age" if entry.id == GESTATIONAL_AGE_ID else entry.output
    for entry in CALCULATORS
}
SCORE_IDS = frozenset(
    number for number, kind in _KINDS.items() if kind == "integer"
) | {8, 23}
"""Calculators whose result is a number of points, so that "3/9" means 3 of 9 and no quotient."""

PERCENT_IDS = frozenset({40, 46})
"""Calculators whose result is a percentage (fractional excretion of sodium, Framingham risk): "0.8" and "0.8 %" are the same."""

RELATIVE = Decimal("0.05")
"""Relative tolerance of measurements (paper, section 3.1), used where a row brings no limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Right or wrong, and why.

    Attributes:
        correct: whether the reply gives the right answer; False where that is unclear.
        parsed: the answer as it was read, "" where none was found.
        why: one line for a person.
        notes: what a reader of the score should know of this answer, such as
            `unit_mismatch`.
        unclear: why a person could not tell either what the answer is; "" where one
            can.
    """

    correct: bool
    parsed: str
    why: str
    notes: tuple[str, ...] = ()
    unclear: str = ""


def known_kind(calculator_id: int) -> AnswerKind | None:
    """The answer's form for one of the 55 calculators, None for any other id."""
    return _KINDS.get(calculator_id)


def answer_kind(calculator_id: int, output_type: str | None = None) -> AnswerKind:
    """The form in which a calculator's answer is given.

    A `UsageError` where neither id nor output type says.
    """
    kind = known_kind(calculator_id)
    if kind is not None:
        return kind

    for form in _OUTPUT_TYPES:
        if form == output_type:
            return form

    raise UsageError(
        f"calculator {calculator_id} is not one of the 55 of MedCalc-Bench, and its output type is "
        f"{output_type!r}: expected 'integer', 'decimal' or 'date'. Check the row's Calculator ID "
        "and Output Type columns."
    )


def row_kind(row: Row) -> AnswerKind:
    """The form of a row's answer: its calculator's, but for a gestational age in days.

    Example:
        `('14 weeks', '1 days')` is a `gestational_age`, `99` are `days`.
    """
    kind = answer_kind(int(row["calculator_id"]), row.get("output_type"))
    in_days = DAYS.fullmatch(str(row["ground_truth_answer"])) is not None
    return "days" if kind == "gestational_age" and in_days else kind


def is_not_computable(gold: object) -> bool:
    """Whether a gold says that the note does not allow an answer."""
    return gold == NOT_COMPUTABLE


def limits(
    gold: Decimal, lower: str | float | None = None, upper: str | float | None = None
) -> tuple[float, float]:
    """The interval of right values, 5 % where a limit is missing.

    Limits that coincide ask for the gold to its last digit, or 0.
    """
    ends: list[Decimal] = []
    for limit in (lower, upper):
        if limit is not None and limit != "":
            end = decimal_or_none(limit)
            if end is None:
                raise UsageError(
                    f"the limit {limit!r} is no number. Check the row's Lower Limit and Upper "
                    "Limit."
                )

            ends.append(end)

    if len(ends) < 2:
        ends = [gold * (1 - RELATIVE), gold * (1 + RELATIVE)]

    if ends[0] == ends[1] and gold != 0:
        exponent = gold.as_tuple().exponent
        half = (
            Decimal(5).scaleb(exponent - 1) if isinstance(exponent, int) else Decimal(0)
        )
        ends = [gold - half, gold + half]

    return float(min(ends)), float(max(ends))


@lru_cache(maxsize=4096, typed=True)
def decimal_or_none(value: str | float) -> Decimal | None:
    """The number as it is written, or None where it is none or not finite."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if math.isfinite(number) else None


def within(value: float, lower: float, upper: float) -> str:
    """Says where a number lies: `25.2 is within 23.98 to 26.5`."""
    relation = "within" if lower <= value <= upper else "outside"
    return f"{value:.6g} is {relation} {lower:.6g} to {upper:.6g}"


def entities_of(row: Row) -> dict[str, object]:
    """The row's entities; a `CalculatorInputError` where it has none, or a text in another form."""
    text = row.get("relevant_entities")
    try:
        entities = json.loads(text or "")
    except (TypeError, ValueError, RecursionError):
        entities = None

    if not isinstance(entities, dict):
        raise CalculatorInputError(
            f"relevant_entities: expected a JSON object, got {str(text)[:60]!r}"
        )

    return entities


def recompute(row: Row, conventions: frozenset[str] = frozenset()) -> Result:
    """Applies the published rule.

    A `CalculatorInputError` where there is none, no answer, or a unit that cannot be
    meant.
    """
    return calculated(find(int(row["calculator_id"])), entities_of(row), conventions)


def calculated(
    calculator: AnyCalculator,
    entities: Mapping[str, object],
    conventions: frozenset[str] = frozenset(),
) -> Result:
    """Applies a calculator's rule; a `CalculatorInputError` as of `recompute`."""
    result = calculator.calculate(entities, conventions)
    if result.unit_doubts:
        raise CalculatorInputError(" ".join(result.unit_doubts).removesuffix("."))
    return result


_STEP = re.compile(r"^(.+): ([+-][\d.]+), total -?[\d.]+\.$", re.MULTILINE)


def score_steps(explanation: str) -> list[tuple[str, float]]:
    """The steps of a score, in the rule's order: the finding or class in words, and its points."""
    return [(what, float(points)) for what, points in _STEP.findall(explanation)]


def recompute_or_none(row: Row) -> Result | None:
    """As `recompute`, and None where the rule has no answer."""
    try:
        return recompute(row)
    except CalculatorInputError:
        return None


def label_agrees(row: Row, answer: Answer) -> bool:
    """Whether a calculator's answer is right by the row's label and limits; by "N/A" none is."""
    label = str(row["ground_truth_answer"])
    if is_not_computable(label):
        return False

    if isinstance(answer, str | tuple):
        # Month, day and year, or weeks and days: zeros before a number do not matter.
        ours, theirs = (re.findall("[0-9]+", text) for text in (label, "".join(answer)))
        return [*map(int, ours)] == [*map(int, theirs)]

    number = decimal_or_none(label)
    if number is None:
        raise UsageError(
            f"the gold answer {label!r} is no number. Check the row's Ground Truth Answer."
        )

    if isinstance(answer, int):
        return Decimal(answer) == number

    low, high = limits(number, row.get("lower_limit"), row.get("upper_limit"))
    return low <= answer <= high


def answer_text(answer: Answer) -> str:
    """An answer as the dataset writes one.

    `25.28`, `4`, `05/30/2024` or `('15 weeks', '1 days')`.
    """
    return f"{answer:.10g}" if isinstance(answer, float) else str(answer)


MAX_ENTITIES_CHARS = 64 * 1024  # the longest of v1.0 has 1,292
MAX_ENTITIES_DEPTH = 16


def parse_entities(text: str) -> dict[str, Any]:
    if len(text) > MAX_ENTITIES_CHARS:
        raise ValueError(
            f"{len(text)} characters, at most {MAX_ENTITIES_CHARS} are read"
        )

    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError:
        value = _python_literal(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error

    if not isinstance(value, dict):
        raise ValueError(
            f"a mapping of entity names is expected, got {type(value).__name__}"
        )

    return dict(_checked(value, 0))


def canonical_entities(text: str) -> str:
    """Rewrites the entities of one row as canonical JSON.

    Sorted names, no spaces, text as it is.
    """
    text = json.dumps(
        parse_entities(text),
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:  # an escape of half a character pair
        raise ValueError("holds a lone surrogate, which no UTF-8 file can") from error

    return text


def _python_literal(text: str) -> object:
    try:
        with warnings.catch_warnings():
            # an odd backslash in a string is no concern of the user
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")

        value = ast.literal_eval(tree)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        # A hostile text exhausts the parser's own bounds; that is as unreadable as a
        # misspelt one.
        raise ValueError("neither a JSON object nor a Python dict literal") from error

    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            _unique(
                [(ast.literal_eval(key), None) for key in node.keys if key is not None]
            )

    return value


def _unique(pairs: list[tuple[object, object]]) -> dict[object, object]:
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the name {key!r} appears twice")
        result[key] = value
    return result


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _checked(value: Any, depth: int) -> Any:
    """A value of entities as JSON has it: tuples as lists, no NaN, keys of text."""
    if depth > MAX_ENTITIES_DEPTH:
        raise ValueError("nested too deeply")
    if value is None or isinstance(value, bool | int | str):
        return value

    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number")

        return value

    if isinstance(value, list | tuple):
        return [_checked(item, depth + 1) for item in value]

    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"names are text, got {key!r}")

        return {key: _checked(item, depth + 1) for key, item in value.items()}

    raise ValueError(f"a value of type {type(value).__name__}")
