"""The decision of the authors' own scorer, bug for bug, without Python beyond the arithmetic of `expression`.

Reference: github.com/ncbi-nlp/MedCalc-Bench at 20b10f9, `evaluation/` run.py,
evaluate.py, generate_code_prompt.py.

`accuracy_official` repeats `run.py`, `llm_inference.py`, `evaluate.py` and
`table_stats.py` with their mistakes (for `medcalc_code`, `generate_code_prompt.py`): "1,500" is 2 for an integer
calculator, "24 weeks" is 2 weeks 4 days, "17.1%" is 0.171, and whatever raises an
exception is wrong. Their script runs `str(...)` answers as Python, this one evaluates
arithmetic alone. Only here very large expressions are wrong too, and answers before a
reply's last 16,384 characters, unless the answer key is there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime

from medical_tasks.benchmarks.medcalc_bench.gold import (
    AnswerKind,
    Decision,
    known_kind,
    within,
)
from medical_tasks.scoring.normal_form import MAX_REPLY
from medical_tasks.scoring.numbers.expression import (
    CHECK,
    EXTRACTION,
    ExpressionError,
    evaluate,
    inside_str,
)

__all__ = [
    "official_answer",
    "official_check",
    "official_code_decision",
    "official_decision",
    "tagged_answer",
]

NOT_FOUND = "N/A"
"""What the authors write for an answer in which they find nothing."""

_KEY = 'nswer":'
_SPACE = re.compile(r"\s*+")
_DATE = re.compile(r"(0?[1-9]|1[0-2])/(0?[1-9]|[12][0-9]|3[01])/(\d{4})")
_LIST_BEGIN = re.compile(r"\d, ?-?\d")
_LIST = re.compile(r"\d(?:, ?-?\d++)++")
_ML = re.compile(r"mL/min/1.73")
# Patterns that start with digits are tried at every digit of a text; looking for the
# last number, or for the one before a word, is a single step on the reversed text.
_LAST_NUMBER = re.compile(r"\D*+(\d++(?:\.\d++)*+)(-?)")
_LAST_PERCENTAGE = re.compile(r"%(\d++(?:\.\d++)*+)(-?)")
_NUMBER_AT_END = re.compile(r"(\d++(?:\.\d++)*+)(-?)")
_DIGITS_AT_END = re.compile(r"\d++")
# Two numbers that touch, or have units, one quote, one comma and spaces between them;
# else one number cut before its last digit.
_PAIR = re.compile(
    r"""(?<!\d)(\d++)\s*+(?:weeks?+)?+["']?+,?+\s*+["']?+(\d++)|(?<!\d)(\d+)(\d)(?!\d)"""
)
_PLAIN = re.compile(r"[ \t]*(-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?)[ \t\r\n]*")

_REPLACEMENTS = (
    ("^", "**"),
    ("is odd", "% 2 == 1"),
    ("is even", "% 2 == 0"),
    ("sqrt", "math.sqrt"),
    (".math", ""),
    ("weight", ""),
    ("height", ""),
    ("mg/dl", ""),
    ("g/dl", ""),
    ("mmol/L", ""),
    ("kg", ""),
    ("g", ""),
    ("mEq/L", ""),
)


def official_decision(
    response: str, *, calculator_id: int, gold: object, lower: object, upper: object
) -> Decision:
    """Decides about a model's reply as the authors' scorer does.

    No reply raises, and an unknown calculator is wrong.
    """
    kind = known_kind(calculator_id)
    if kind is None:
        return _wrong("", f"the authors' scorer knows no calculator {calculator_id}")

    try:
        answer = official_answer(_one_line(response), kind)
    except (ArithmeticError, ValueError) as error:
        return _wrong("", f"the authors' reader fails: {error}")

    if answer == NOT_FOUND:  # which their check goes on to fail on
        return _wrong(answer, "the authors' reader finds no answer")

    return official_check(
        answer, calculator_id=calculator_id, gold=gold, lower=lower, upper=upper
    )


def official_code_decision(
    response: str, *, calculator_id: int, gold: object, lower: object, upper: object
) -> Decision:
    """Decides about the end of a dialogue about code.

    A missing argument there makes it check the text itself.
    """
    answer = tagged_answer(response)
    if answer is None:
        try:
            kept = json.loads(response)
        except (ValueError, RecursionError):
            kept = None

        answer = (
            str(kept["answer"])
            if isinstance(kept, dict) and "answer" in kept
            else response.strip()
        )

    if not answer:
        return _wrong("", "there is no answer")

    return official_check(
        answer, calculator_id=calculator_id, gold=gold, lower=lower, upper=upper
    )


def tagged_answer(reply: str) -> str | None:
    """The first text between the two tags on one line, as the authors' code script reads it.

    None without any.
    """
    for line in reply.split("\n"):
        opened = line.find("<answer>")
        closed = line.find("<\\answer>", opened)
        if 0 <= opened < closed:
            return line[opened + len("<answer>") : closed].strip()
    return None


def _single_spaced(text: str) -> str:
    """The text with each run of white space as one space.

    Splitting is several times as fast as a pattern.
    """
    words = " ".join(text.split())
    return f"{' ' * text[:1].isspace()}{words}{' ' * (text[-1:].isspace() and bool(words))}"


def official_answer(response: str, kind: AnswerKind) -> str:
    """Reads the answer out of a reply, as the authors store it.

    A ValueError or ArithmeticError where their reader raises.
    """
    text = _captured(response)
    if kind == "date":
        match = _DATE.match(text)
        return (
            f"{int(match[1]):02}/{int(match[2]):02}/{match[3]}" if match else NOT_FOUND
        )

    if kind == "gestational_age":
        if _pair(text) is None:
            raise ValueError(
                "no two numbers that touch but for units, a quote, a comma or spaces"
            )

        pair = _pair(text.translate(str.maketrans("[]", "()", "'\"")))
        return f"({pair[0]}, {pair[1]})" if pair else NOT_FOUND

    if kind == "integer":
        return _integer(text)

    return _decimal(text)


def official_check(
    answer: object,
    *,
    calculator_id: int | str,
    gold: object,
    lower: object,
    upper: object,
) -> Decision:
    """Compares an answer, as `official_answer` or "LLM Answer" has it, with the gold.

    What makes their check raise is wrong.
    """
    parsed = answer if isinstance(answer, str) else ""
    try:
        kind = known_kind(int(calculator_id))
        if kind is None:
            raise ValueError(f"unknown calculator {calculator_id}")

        correct, why = _CHECKS[kind](_text(answer), gold, lower, upper)
    except (ArithmeticError, ValueError) as error:
        return _wrong(parsed, f"the authors' check fails: {error}")

    return Decision(correct=correct, parsed=parsed, why=why)


def _wrong(parsed: str, why: str) -> Decision:
    return Decision(correct=False, parsed=parsed, why=why)


def _one_line(response: str) -> str:
    text = response
    if len(text) > MAX_REPLY:
        start = len(text) - MAX_REPLY
        if _KEY not in text[start:]:
            start = max(0, text.rfind(_KEY) - 1)
        text = text[start : start + MAX_REPLY]
    # What stands before the first key is never looked at again.
    first = text.find(_KEY)
    return _single_spaced(text[max(0, first - 1) :]) if first >= 0 else ""


def _captured(text: str) -> str:
    """What stands after the last answer key, up to the closing brace on its line."""
    captured, position, brace, newline = "", 0, -1, -1
    while (key := text.find(_KEY, position)) >= 0:
        position = key + len(_KEY)
        if key == 0 or text[key - 1] not in "Aa":
            continue

        match = _SPACE.match(text, position)
        start = match.end() if match else position
        if brace < start:
            brace = text.find("}", start)
            if brace < 0:
                break

        if newline < start:
            newline = text.find("\n", start) % (len(text) + 1)  # none: after the end
        if brace < newline:
            captured, position = text[start:brace], brace + 1

    return captured.strip().strip('"')


def _pair(text: str) -> tuple[str, str] | None:
    match = _PAIR.search(text)
    if match is None:
        return None
    return (match[1], match[2]) if match[1] else (match[3], match[4])


def _integer(text: str) -> str:
    """Reads a score as the authors' script does.

    In its order: the number before ` out of`, the length of a list, the last number.

    Example: `4 out of 5` is 4, `[1, 2, 3]` is 3 (findings that count one point),
    `Score: 12 points` is 12.
    """
    position = text.find(" out of")
    while position >= 0:
        if (
            position
            and text[position - 1].isdecimal()
            and (match := _DIGITS_AT_END.match(text[:position][::-1]))
        ):
            return match[0][::-1]

        position = text.find(" out of", position + 1)

    if begin := _LIST_BEGIN.search(text):
        members = _LIST.match(text, begin.start())
        return str(members[0].count(",") + 1) if members else NOT_FOUND

    return _last_of_chain(_LAST_NUMBER.match(text[::-1])) or NOT_FOUND


def _decimal(text: str) -> str:
    """Reads a measurement as the authors' script does.

    In its order: an expression in `str(...)`, a number before a unit with mL, a
    percentage as its share, the last number.

    Example: `str(2*3)` is 6, `3.5%` is 0.035, `about 7.25 mg` is 7.25.
    """
    if (inside := inside_str(text)) is not None:
        try:
            return str(_expression(inside, EXTRACTION))
        except ValueError:
            return NOT_FOUND

    for unit in _ML.finditer(text):
        before = text[: unit.start()].rstrip()
        if (
            before
            and before[-1].isdecimal()
            and (
                number := _last_of_chain(_NUMBER_AT_END.match(before[::-1]), ends=True)
            )
        ):
            return str(_evaluated(number, {}))

    reversed_text = text[::-1]
    if percentage := _last_of_chain(_LAST_PERCENTAGE.search(reversed_text), ends=True):
        return str(_evaluated(percentage, {}) / 100)

    number = _last_of_chain(_LAST_NUMBER.match(reversed_text))
    return str(_evaluated(number, {})) if number else NOT_FOUND


def _last_of_chain(match: re.Match[str] | None, *, ends: bool = False) -> str:
    """Of "1.2.3", found in reversed text, the authors read 1.2 and 3 from the left.

    Where a unit follows, it `ends` with 2.3.
    """
    runs = match[1][::-1].split(".") if match else []
    taken = 2 if ends or len(runs) % 2 == 0 else 1
    number = ".".join(runs[-taken:])
    return "-" + number if match and match[2] and len(runs) <= taken else number


def _expression(text: str, names: Mapping[str, object]) -> object:
    for old, new in _REPLACEMENTS:
        text = text.replace(old, new)
    text = text.split("#")[0]
    missing = text.count("(") - text.count(")")
    return evaluate("(" * -missing + text + ")" * missing, names)


def _evaluated(text: str, names: Mapping[str, object]) -> float:
    """The number an arithmetic text stands for, as the authors' evaluation of it gives."""
    if match := _PLAIN.fullmatch(text):
        return float(match[1]) if "." in match[1] else int(match[1])
    value = evaluate(text, names)
    if not isinstance(value, int | float):
        raise ExpressionError(f"is no real number: {text[:40]!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def _check_date(
    answer: str, gold: object, lower: object, upper: object
) -> tuple[bool, str]:
    read, expected = (
        datetime.strptime(text, "%m/%d/%Y").date() for text in (answer, _text(gold))
    )
    return read == expected, f"{read} is {'' if read == expected else 'not '}{expected}"


def _check_gestational_age(
    answer: str, gold: object, lower: object, upper: object
) -> tuple[bool, str]:
    expected, read = _pair(_text(gold)), _pair(answer)
    if expected is None:
        raise ValueError(f"no two numbers in the gold {gold!r}")
    if read is None:
        return False, "no two numbers in the answer"
    right = [_whole(number) for number in read] == [
        _whole(number) for number in expected
    ]
    return (
        right,
        f"({', '.join(read)}) is {'' if right else 'not '}({', '.join(expected)})",
    )


def _whole(digits: str) -> int:
    value = evaluate(digits, {})
    if not isinstance(value, int):
        raise ExpressionError(f"{digits!r} is no whole number")
    return value


def _checked(answer: str, gold: object, lower: object, upper: object) -> float:
    """The authors' second evaluation, with the variables that stand around it."""
    if _PLAIN.fullmatch(answer):
        return _evaluated(answer, {})
    surroundings = {
        "answer": answer,
        "ground_truth": gold,
        "lower_limit": lower,
        "upper_limit": upper,
    }
    return _evaluated(answer, {**CHECK, **surroundings})


def _check_integer(
    answer: str, gold: object, lower: object, upper: object
) -> tuple[bool, str]:
    value = _checked(answer, gold, lower, upper)
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be rounded")
    right = round(value) == _evaluated(_text(gold), {})
    return right, f"{value:g} rounds to {round(value)}, {'' if right else 'not '}{gold}"


def _check_decimal(
    answer: str, gold: object, lower: object, upper: object
) -> tuple[bool, str]:
    value = _checked(answer, gold, lower, upper)
    low, high = _evaluated(_text(lower), {}), _evaluated(_text(upper), {})
    return low <= value <= high, within(value, low, high)


_CHECKS = {
    "date": _check_date,
    "gestational_age": _check_gestational_age,
    "integer": _check_integer,
    "decimal": _check_decimal,
}
