"""Strict readers of a judge's reply. What does not have the form asked for is `Unreadable`; nothing is guessed.

A judge's reply may quote the text it judges, and that text may hold a planted verdict. So a verdict counts only where the
form puts it, alone, and two of them that differ are none. No reader ever raises, whatever the reply holds, and none takes
more than linear time.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from medical_tasks.judges.base import Unreadable

__all__ = [
    "Checker",
    "boolean",
    "free_text",
    "number",
    "one_of",
    "quoted",
    "read_boolean_tail",
    "read_choice",
    "read_json",
    "read_object",
    "read_score",
    "whole_number",
]

Checker = Callable[[Any], str | None]
"""Looks at one value of an object: None when it may stand, otherwise the rule that it breaks ("must be ...")."""

MAX_CHOICE = 200
"""Longest final answer of one line that is looked at, in characters."""

_Value = TypeVar("_Value")

_NO_ANSWER = Unreadable("there is reasoning and no answer after it")
_MARKS = " \t\r*_`#"
_BRACKETS = "\"'()[]“”‘’"
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")

_TOKEN = re.compile(r"(?<![A-Za-z0-9])(un)?(true|false)(?![A-Za-z0-9])", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|hardly)|n['’]t)(?:\s+(?:[a-z]+ly|at\s+all|be|quite|always|so|the|a)){0,3}[\s*_`\"'“‘-]*$|non-$",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:true|false)[\s*_`\"'“”‘’]*(?:/|\||,?\s*\b(?:or|nor|and)\b)[\s*_`\"'“‘]*(?:not\s)?\s*$", re.I)
_BEFORE = 60
# Each alternative stops at the next sign of its own kind: linear also where no quotation is ever closed.
_QUOTE = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|‘[^‘’\n]*’|(?<![A-Za-z0-9])'[^'\n]*'(?![A-Za-z0-9])")


def quoted(text: str) -> str:
    """Writes judged text as one JSON string, for a prompt.

    Everything outside ASCII is escaped, and so is what could be read as a tag of a chat template (`<`, `[INST]`): nothing
    inside can look like the end of the string, of the turn or of a reasoning part. `json.loads` gives the text back.
    """
    return _TAG.sub(r"\\u005b", json.dumps(text).replace("<", "\\u003c"))


def boolean(value: Any) -> str | None:
    """Checks for true or false."""
    return None if isinstance(value, bool) else "must be true or false"


def free_text(value: Any) -> str | None:
    """Checks for a text that is not blank."""
    return None if isinstance(value, str) and value.strip() else "must be a text"


def one_of(*allowed: str) -> Checker:
    """Makes a check for one of some words, spelt as they are."""
    rule = f"must be one of {', '.join(allowed)}"
    return lambda value: None if isinstance(value, str) and value in allowed else rule


def whole_number(low: int, high: int) -> Checker:
    """Makes a check for a whole number of a range, both ends included; 4.0 and "4" are none."""
    rule = f"must be a whole number from {low} to {high}"
    return lambda value: None if type(value) is int and low <= value <= high else rule


def number(low: float, high: float) -> Checker:
    """Makes a check for a number of a range, both ends included."""
    rule = f"must be a number from {low:g} to {high:g}"
    return lambda value: None if type(value) in (int, float) and low <= value <= high else rule


def read_json(text: str) -> Any | Unreadable:
    """Reads a reply that is one JSON object or array and nothing else, bare or in one fenced block.

    Args:
        text: the judge's raw text. Reasoning that ends with `</think>` is passed over.

    Returns:
        A dict or list; `Unreadable` for text around it, keys that stand twice at any depth, `NaN`, numbers too large.
    """
    # An object can hold the end mark of reasoning inside a string: what begins as JSON has no reasoning before it.
    spoken = text if text.lstrip().startswith(("{", "[", "```")) else _spoken(text)
    if spoken is None:
        return _NO_ANSWER
    try:
        value = json.loads(
            _unfenced(spoken.strip()), object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite
        )
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        return value
    return Unreadable("no JSON" if "{" not in spoken and "[" not in spoken else "not one JSON value and nothing else")


def read_object(text: str, keys: Mapping[str, Checker]) -> dict[str, Any] | Unreadable:
    """Reads a reply that is one JSON object with exactly the given keys.

    Args:
        text: the judge's raw text.
        keys: each key with the check of its value.

    Returns:
        The object, or what is wrong with the first thing that is wrong.
    """
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    if not isinstance(value, dict):
        return Unreadable("a JSON array where one object is asked for")
    if set(value) != set(keys):
        return Unreadable(f"the object needs the keys {', '.join(keys)} and no others")
    for key, check in keys.items():
        broken = check(value[key])
        if broken is not None:
            return Unreadable(f"{key} {broken}")
    return value


def read_choice(text: str, allowed: Sequence[str], *, label: str = "Answer") -> str | Unreadable:
    """Reads a word of a list: alone, or as `Answer: word` on the last line and nowhere else with another word.

    Args:
        text: the judge's raw text.
        allowed: the words; upper and lower case are the same.
        label: what stands before the colon.

    Returns:
        The word as `allowed` spells it.
    """
    words = {word.casefold(): word for word in allowed}

    def read(written: str) -> str | Unreadable:
        word = words.get(written.strip(_BRACKETS + _MARKS).casefold())
        return Unreadable(f"{label} is not one of {', '.join(allowed)}") if word is None else word

    return _read_line(text, label, read)


def read_score(
    text: str, low: float, high: float, *, whole: bool = True, label: str = "Score"
) -> int | float | Unreadable:
    """Reads a number: alone, or as `Score: 4` on the last line and nowhere else with another number.

    Args:
        text: the judge's raw text.
        low: smallest score.
        high: largest score.
        whole: whether only whole numbers are scores; then `4.0` is none.
        label: what stands before the colon.

    Returns:
        An int when `whole`, else a float. `5/5`, `4 of 5` and what is out of range are unreadable.
    """

    def read(written: str) -> int | float | Unreadable:
        if not _NUMBER.fullmatch(written):
            return Unreadable(f"{label} is not a number alone")
        if whole and "." in written:
            return Unreadable(f"{label} is not a whole number")
        value = int(written) if whole else float(written)
        return value if low <= value <= high else Unreadable(f"{label} is not from {low:g} to {high:g}")

    return _read_line(text, label, read)


def read_boolean_tail(text: str) -> bool | Unreadable:
    """Reads free text by its last true or false (K-QA's judge; for replies that were asked for in no stricter form).

    `not true` and `untrue` are false. Where both are offered (`true or false`), and where the last one stands in quotation
    marks and the last one outside of them says the opposite, there is no verdict.

    Args:
        text: the judge's raw text.
    """
    spoken = _spoken(text)
    if spoken is None:
        return _NO_ANSWER
    last = _last_boolean(spoken)
    if last is None:
        return Unreadable("neither true nor false is said")
    own = _last_boolean(_QUOTE.sub(lambda match: " " * len(match[0]), spoken))
    if isinstance(last, bool) and own is not None and own != last:
        return Unreadable("what is quoted last and what is said last differ")
    return last


def _last_boolean(text: str) -> bool | Unreadable | None:
    tail = deque(_TOKEN.finditer(text), maxlen=1)
    if not tail:
        return None
    found = tail[0]
    before = text[max(0, found.start() - _BEFORE) : found.start()]
    if _JOINED.search(before):
        return Unreadable("true and false are both named and none is chosen")
    value = found[2].lower() == "true"
    return value ^ bool(found[1]) ^ bool(_NEGATED.search(before))


def _spoken(text: str) -> str | None:
    """The reply without its reasoning; None when the reasoning never ends."""
    if _opens_thinking(text):
        _, tag, after = text.partition("</think>")
        return after if tag else None
    # Many models' templates open the reasoning themselves, so that a reply only ends it.
    return text.rpartition("</think>")[2]


def _opens_thinking(text: str) -> bool:
    return text.lstrip().startswith("<think>")


def _unfenced(text: str) -> str:
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    language, line_end, inside = text[3:-3].partition("\n")
    return inside if line_end and language.strip().lower() in ("", "json") else text


def _read_line(text: str, label: str, read: Callable[[str], _Value | Unreadable]) -> _Value | Unreadable:
    """Reads what stands behind a label on the last line, or the reply's only line."""
    spoken = _spoken(text)
    if spoken is None:
        return _NO_ANSWER
    lines = [line for line in spoken.split("\n") if line.strip()]
    if not lines:
        return Unreadable("the reply is empty")
    written = _labelled(lines[-1], label)
    if written is None:
        if len(lines) > 1:
            return Unreadable(f'the last line is not "{label}: ..." alone')
        written = _bare(lines[-1])
    if len(written) > MAX_CHOICE:
        return Unreadable(f"{label} is too long")
    value = read(written)
    if isinstance(value, Unreadable):
        return value
    # Which of two is the verdict and which a quotation cannot be known. Drafts do not count in reasoning that is
    # marked from its beginning; a bare end mark may be quoted as well.
    for line in lines if _opens_thinking(text) else text.split("\n"):
        other = _labelled(line, label)
        if other is None or len(other) > MAX_CHOICE:
            continue
        said = read(other)
        if not isinstance(said, Unreadable) and said != value:
            return Unreadable(f"{label} stands twice and differs")
    return value


def _labelled(line: str, label: str) -> str | None:
    line = line.strip(_MARKS)
    if line[: len(label)].casefold() != label.casefold():
        return None
    rest = line[len(label) :].lstrip(_MARKS)
    return _bare(rest[1:]) if rest[:1] in (":", "=") else None


def _bare(written: str) -> str:
    return written.strip(_MARKS).removesuffix(".").rstrip(_MARKS)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("too large a number")
    return value
