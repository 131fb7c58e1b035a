"""Exact match as `evaluate` has it: the same characters or not.

Nothing is cut off the ends and nothing is normalised unless asked for.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from medical_tasks.scoring.text_pairs import References, as_references, as_segments, mean

__all__ = ["exact_match", "exact_match_corpus"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DIGITS = str.maketrans("", "", string.digits)


def exact_match(
    prediction: str,
    references: References,
    *,
    ignore: Sequence[str] = (),
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> float:
    """1.0 when the prediction is a reference, else 0.0. Two empty texts match.

    What is to be ignored is deleted from both sides, in the order of the arguments.

    Args:
        prediction: any text.
        references: one text, or several of which any will do (`evaluate` takes one).
        ignore: regular expressions.
        ignore_case: compare in lower case.
        ignore_punctuation: ASCII punctuation.
        ignore_numbers: ASCII digits.

    Raises:
        ValueError: no reference, or not a regular expression.
    """
    known = as_references(prediction, references)
    patterns = [_compiled(pattern) for pattern in ignore]

    def left(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("", text)
        if ignore_case:
            text = text.lower()
        if ignore_punctuation:
            text = text.translate(_PUNCTUATION)
        return text.translate(_DIGITS) if ignore_numbers else text

    said = left(prediction)
    return float(any(said == left(reference) for reference in known))


def exact_match_corpus(
    predictions: Sequence[str],
    references: Sequence[References],
    *,
    ignore: Sequence[str] = (),
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> float:
    """Share of the predictions that match, 0-1; `nan` for no predictions. Arguments as of `exact_match`, one entry an item.

    Raises:
        ValueError: lengths differ, or as `exact_match`.
    """
    return mean(
        exact_match(
            text,
            known,
            ignore=ignore,
            ignore_case=ignore_case,
            ignore_punctuation=ignore_punctuation,
            ignore_numbers=ignore_numbers,
        )
        for text, known in as_segments(predictions, references)
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"ignore must hold regular expressions; got {pattern!r}: {error}") from error
