"""Runs of n tokens, counted, and how many of them two texts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Ngrams", "clipped_matches", "count_ngrams", "shared"]

Ngrams: TypeAlias = Counter[tuple[str, ...]]


def count_ngrams(tokens: Sequence[str], n: int) -> Ngrams:
    """How often each run of n neighbouring tokens occurs; none in a text of fewer than n tokens."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def shared(some: Ngrams, others: Ngrams) -> int:
    """Size of the intersection of two multisets: each n-gram counts as often as it is in both."""
    if len(others) < len(some):
        some, others = others, some
    return sum(min(count, others[gram]) for gram, count in some.items() if gram in others)


def clipped_matches(prediction: Sequence[str], references: Sequence[Sequence[str]], n: int) -> int:
    """BLEU's numerator: n-grams of the prediction, each at most as often as the reference that has it most often.

    Args:
        prediction: tokens.
        references: tokens of each reference.
        n: length of the n-grams.

    Source: Papineni et al. (2002), ACL, section 2.1.1.
    """
    most, *rest = (count_ngrams(reference, n) for reference in references)
    for counts in rest:
        most |= counts
    return shared(count_ngrams(prediction, n), most)
