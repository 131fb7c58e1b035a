"""Asking a model how sure it is, and reading what it says at the end of its answer.

The line with the confidence is taken off before the task's own reader sees the answer:
95 of "Confidence: 95%" is never a result. What is no plain number is unread, never
guessed.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.reasoning import spoken

INSTRUCTION: Final = (
    "When you have given your answer, add one last line that says how probable you think it is "
    "that your final answer is right, as a whole number from 0 (certainly wrong) to 100 "
    "(certainly right), in exactly this form:\n"
    "Confidence: N%"
)
"""What `--confidence asked` adds to the end of a question."""
INSTRUCTION_SHA256: Final = hashlib.sha256(INSTRUCTION.encode()).hexdigest()

# Where it begins: with a line, whatever its marks; behind a sentence; or, where a
# number follows, anywhere with a capital letter.
_BEGINS: Final = (
    r"(?:^[ \t>*_#|\-\u2022]{0,12}`?"
    r"|(?<=[.!?;:,)\]}*\"'`%|])[ \t]{1,4}[*_`(\[]{0,4}"
    r"|[ \t]{1,4}[*_`(\[]{0,4}(?=(?-i:C)onfidence[*_`]{0,4}[ ]?[:=][*_` ]{0,6}[0-9.]))"
)
_NAMED: Final = (
    r"(?:(?:my|the|final|overall|stated)[ ]){0,2}confidence"
    r"(?:[ ](?:level|score|rating|estimate|percentage))?"
    r"(?:[ ]?\([^()\n]{0,40}\))?(?:[ ]in[ ][^\n:=]{1,60})?"
)
_SIGN: Final = r"[*_`\"]{0,4}[ \t]{0,4}(?:[:=|\uff1a\u2013\u2014-]|\bis\b)"
# What is said, on the same line, or a number alone on the next.
_VALUE: Final = r"(?P<value>[ \t*_`]{0,12}\n{1,2}[ \t>*_`]{0,8}[0-9.,]{1,6}[ ]?%?[ \t.*_`]{0,8}|[^\n]*)$"
_LINE: Final = Pattern(
    rf"{_BEGINS}{_NAMED}{_SIGN}{_VALUE}", re.IGNORECASE | re.MULTILINE
)
_FIELD: Final = Pattern(
    r"(?P<before>,\s{0,40})?[\"']confidence[\"']\s{0,4}:\s{0,4}"
    r"(?:\"(?P<text>[^\"\n]{0,40})\"|(?P<number>[-+]?[0-9.]{1,8}[ ]?%?))"
    r"(?(before)|(?:\s{0,40},)?)",
    re.IGNORECASE,
)
"""A field of an object, with the comma that goes with it."""
_NUMBER: Final = Pattern(
    r"[\s*_`\"'(\[]*(?:about|around|approximately|roughly|~|\u2248)?[ ]*"
    r"(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,4})?|\.[0-9]{1,4})"
    r"[ ]?(?P<of>%|percent\b|per cent\b|(?:/|out of)[ ]?100?\b)?"
    r"(?P<rest>[^0-9]*)",
    re.IGNORECASE,
)
_OPEN_END: Final = Pattern(
    r"\s*(?:[-\u2013\u2014+/<>\u00b1]|(?:to|or|and|at most|at least|plus|minus)\b)",
    re.IGNORECASE,
)
"""Behind a number: that it is an end of a range, or one of several."""


class Stated(NamedTuple):
    """An answer and what it said about itself.

    Attributes:
        answer: the text without its confidence.
        confidence: from 0 to 1; None where none can be read.
    """

    answer: str
    confidence: float | None


def split_confidence(text: str) -> Stated:
    r"""Takes the lines with a confidence out of a reply, and reads the last of them.

    One within the model's reasoning says nothing about its final answer.

    Example:
        >>> split_confidence("The BMI is 24.7.\n**Confidence:** 95 %")
        Stated(answer='The BMI is 24.7.', confidence=0.95)
        >>> split_confidence("The BMI is 24.7. Confidence: high")
        Stated(answer='The BMI is 24.7.', confidence=None)
    """
    if "confidence" not in text.lower():
        return Stated(text, None)

    said = spoken(text)
    values = [
        (match.start(), match["text"] or match["number"] or "")
        for match in _FIELD.finditer(said)
    ]
    values += [(match.start(), match["value"]) for match in _LINE.finditer(said)]
    confidence = read_confidence(max(values)[1]) if values else None
    if said == text:
        return Stated(_without(text), confidence)

    # Reasoning stays as it is, for readers that look at whole replies.
    reasoning = text[: -len(said)] if said and text.endswith(said) else ""
    return Stated(reasoning + _without(said), confidence)


def read_confidence(text: str) -> float | None:
    """Reads a confidence: a percentage, or a number with a decimal point of at most 1.

    Example:
        >>> [read_confidence(text) for text in ("95", "95 %", "0.95", "9/10", "95% (very sure)")]
        [0.95, 0.95, 0.95, 0.9, 0.95]
        >>> [read_confidence(text) for text in ("high", "> 90%", "90-95%", "120%", "1")]
        [None, None, None, None, None]
    """
    match = _NUMBER.fullmatch(text)
    if match is None or _OPEN_END.match(match["rest"]):
        return None

    written, of = match["number"], (match["of"] or "").lower()
    number = float(written.replace(",", "."))
    pointed = not written.isdigit()
    if not of and written == "1":
        return None  # 1 % or certain: nobody can tell

    if of.endswith("10"):
        share = number / 10.0
    elif not of and pointed and number <= 1.0:
        share = number
    else:
        share = number / 100.0

    return share if share <= 1.0 else None


def _without(text: str) -> str:
    """The text without what says its confidence; one without any is the same to the letter."""
    shorter = _LINE.compiled.sub("", _FIELD.compiled.sub("", text))
    return text if shorter == text else shorter.rstrip()
