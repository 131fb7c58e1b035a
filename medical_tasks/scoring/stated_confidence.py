"""Asks a model for its confidence, and reads it from the end of the answer.

The line with the confidence is removed before the task's own parser sees the answer: 95
in "Confidence: 95%" is never a result. Anything but a plain number is not read, never
guessed.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.reasoning import without_reasoning

INSTRUCTION: Final = (
    "When you have given your answer, add one last line that says how probable you think it is "
    "that your final answer is right, as a whole number from 0 (certainly wrong) to 100 "
    "(certainly right), in exactly this form:\n"
    "Confidence: N%"
)
"""The text that `--confidence asked` appends to a question."""
INSTRUCTION_SHA256: Final = hashlib.sha256(INSTRUCTION.encode()).hexdigest()

# The beginning: at the start of a line, whatever its marks; after a sentence; or, if a
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
# The value: on the same line, or a number alone on the next.
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
"""A field of a JSON object, with its comma."""
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
"""After a number: it is an end of a range, or one of several."""


class Stated(NamedTuple):
    """An answer and its stated confidence.

    Attributes:
        answer: the text without its confidence.
        confidence: from 0 to 1; None if none can be read.
    """

    answer: str
    confidence: float | None


def split_confidence(text: str) -> Stated:
    r"""Removes the lines with a confidence from a reply, and reads the last of them.

    A confidence within the model's reasoning is ignored: it is not about the final answer.

    Example:
        >>> split_confidence("The BMI is 24.7.\n**Confidence:** 95 %")
        Stated(answer='The BMI is 24.7.', confidence=0.95)
        >>> split_confidence("The BMI is 24.7. Confidence: high")
        Stated(answer='The BMI is 24.7.', confidence=None)
    """
    if "confidence" not in text.lower():
        return Stated(text, None)

    answer = without_reasoning(text)
    values = [
        (match.start(), match["text"] or match["number"] or "")
        for match in _FIELD.finditer(answer)
    ]
    values += [(match.start(), match["value"]) for match in _LINE.finditer(answer)]
    confidence = read_confidence(max(values)[1]) if values else None
    if answer == text:
        return Stated(_without(text), confidence)

    # Reasoning is kept unchanged, for parsers of whole replies.
    reasoning = text[: -len(answer)] if answer and text.endswith(answer) else ""
    return Stated(reasoning + _without(answer), confidence)


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
        return None  # ambiguous: 1 % or certain

    if of.endswith("10"):
        share = number / 10.0
    elif not of and pointed and number <= 1.0:
        share = number
    else:
        share = number / 100.0

    return share if share <= 1.0 else None


def _without(text: str) -> str:
    """Returns the text without its confidence; a text without any is returned unchanged."""
    shortened = _LINE.compiled.sub("", _FIELD.compiled.sub("", text))
    return text if shortened == text else shortened.rstrip()
