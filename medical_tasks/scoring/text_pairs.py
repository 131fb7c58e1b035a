"""A prediction and its references: checks, exact match and n-grams.

Exact match is that of `evaluate`: nothing is stripped or normalised unless requested, and
two empty texts match.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

References: TypeAlias = str | Sequence[str]
"""One reference, or several alternatives."""


def as_references(prediction: str, references: References) -> tuple[str, ...]:
    """Checks that both sides are texts, and returns the references as a tuple."""
    if not isinstance(prediction, str):
        raise ValueError(f"prediction must be a text; got {type(prediction).__name__}")

    several = (references,) if isinstance(references, str) else tuple(references)
    if not several:
        raise ValueError(
            'references must hold at least one text ("" for an empty one); got none'
        )

    for text in several:
        if not isinstance(text, str):
            raise ValueError(f"references must hold texts; got {type(text).__name__}")

    return several


def as_segments(
    predictions: Sequence[str], references: Sequence[References]
) -> list[tuple[str, tuple[str, ...]]]:
    """Pairs each prediction with its references."""
    for name, value in (("predictions", predictions), ("references", references)):
        if isinstance(value, str):
            raise ValueError(
                f"{name} must be a list with one entry a prediction; got one text"
            )

    if len(predictions) != len(references):
        raise ValueError(
            f"predictions and references must be of the same length; got {len(predictions)} and "
            f"{len(references)}"
        )

    return [
        (text, as_references(text, item_references))
        for text, item_references in zip(predictions, references, strict=True)
    ]


def mean(values: Iterable[float]) -> float:
    """Returns the mean; `nan` without values."""
    column = list(values)
    return math.fsum(column) / len(column) if column else math.nan


def harmonic(precision: float, recall: float) -> float:
    """Returns the F1 of a precision and a recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


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
    """Returns 1.0 if the prediction equals a reference, else 0.0. Two empty texts match.

    Ignored text is deleted from both sides, in the order of the arguments; `ignore`
    holds regular expressions.
    """
    reference_texts = as_references(prediction, references)
    patterns = [_compiled(pattern) for pattern in ignore]

    def clean(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("", text)

        if ignore_case:
            text = text.lower()
        if ignore_punctuation:
            text = text.translate(_PUNCTUATION)

        return text.translate(_DIGITS) if ignore_numbers else text

    cleaned = clean(prediction)

    return float(any(cleaned == clean(reference) for reference in reference_texts))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"ignore must hold regular expressions; got {pattern!r}: {error}"
        ) from error


Ngrams: TypeAlias = Counter[tuple[str, ...]]


def count_ngrams(tokens: Sequence[str], n: int) -> Ngrams:
    """Counts each run of n consecutive tokens; none in a text of fewer than n tokens."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def shared(some: Ngrams, others: Ngrams) -> int:
    """Returns the size of the intersection of two multisets of n-grams."""
    if len(others) < len(some):
        some, others = others, some
    return sum(
        min(count, others[gram]) for gram, count in some.items() if gram in others
    )


def clipped_matches(
    prediction: Sequence[str], references: Sequence[Sequence[str]], n: int
) -> int:
    """Returns BLEU's numerator.

    Each n-gram of the prediction counts at most as often as in the reference with most
    of it.
    """
    most, *rest = (count_ngrams(reference, n) for reference in references)
    for counts in rest:
        most |= counts
    return shared(count_ngrams(prediction, n), most)
