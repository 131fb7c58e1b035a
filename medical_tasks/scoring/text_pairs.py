"""What comes in to a text metric: a prediction and what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = ["References", "as_references", "as_segments", "mean"]

References: TypeAlias = str | Sequence[str]
"""One reference, or several of which any will do."""


def as_references(prediction: str, references: References) -> tuple[str, ...]:
    """The references as a tuple, once both sides are known to be texts.

    Raises:
        ValueError: there is no reference, or something is not a text.
    """
    if not isinstance(prediction, str):
        raise ValueError(f"prediction must be a text; got {type(prediction).__name__}")
    several = (references,) if isinstance(references, str) else tuple(references)
    if not several:
        raise ValueError('references must hold at least one text ("" for an empty one); got none')
    for text in several:
        if not isinstance(text, str):
            raise ValueError(f"references must hold texts; got {type(text).__name__}")
    return several


def as_segments(predictions: Sequence[str], references: Sequence[References]) -> list[tuple[str, tuple[str, ...]]]:
    """Each prediction with its references.

    Raises:
        ValueError: not as many predictions as entries of references, one text where a list is meant, or what
            `as_references` finds.
    """
    for name, value in (("predictions", predictions), ("references", references)):
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list with one entry a prediction; got one text")
    if len(predictions) != len(references):
        raise ValueError(
            f"predictions and references must be of the same length; got {len(predictions)} and {len(references)}"
        )
    return [(text, as_references(text, known)) for text, known in zip(predictions, references, strict=True)]


def mean(values: Iterable[float]) -> float:
    """Plain mean; `nan` of nothing."""
    column = list(values)
    return math.fsum(column) / len(column) if column else math.nan
