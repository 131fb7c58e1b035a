"""An exact test whether answers prefer a position among choices, given their selections.

If positions do not matter to a model, its selections for a question in several orders
are exchangeable between these orders. So the test assigns the selected contents to the
orders in every possible way, all equally likely, and computes how often the position is
selected at least as often, or at most as often, as observed (a permutation test: Fisher
1935, The Design of Experiments). It needs no variance and no normal distribution, and
is exact for any number of questions.

For one question, let r orders show content v in the position, and let m answers select
v. Then v can meet itself in r x m ways, and the number of assignments without a match,
with one match, and so on, follows from the rook polynomials of such blocks (Riordan
1958, An Introduction to Combinatorial Analysis, chapter 7).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from medical_tasks.scoring.estimates import Floats

__all__ = ["Seen", "place_p_value"]

Seen: TypeAlias = tuple[int, int]
"""The content in the position, and the content that the answer selects."""
_Blocks: TypeAlias = tuple[tuple[int, int], ...]
"""For each content, how many orders have it in the position and how many answers select it."""


def place_p_value(questions: Sequence[Sequence[Seen]]) -> float:
    """The two-sided p-value of no preference for or against a position.

    It is twice the smaller tail, at most 1; it is 1 if only one outcome is possible, as
    for a model that always selects the same content of a question.

    Args:
        questions: the answers to each question in its orders.

    Example:
        Four questions with two choices, 0 and 1, were asked in both orders, and the
        choice in the position was selected each time. In a random assignment a
        question's answers match the position twice or never, with equal probability: p
        = 2 / 2 ** 4.

        >>> round(place_p_value([[(0, 0), (1, 1)]] * 4), 3)
        0.125
    """
    taken = sum(standing == content for seen in questions for standing, content in seen)
    kinds = Counter(_blocks(tuple(seen)) for seen in questions if seen)
    chances = {kind: _chances(kind) for kind in kinds}
    # Every assignment has the minimum of matches; those beyond it are summed.
    minimum = sum(count * chances[kind][0] for kind, count in kinds.items())
    span = sum(count * (len(chances[kind][1]) - 1) for kind, count in kinds.items())
    if not span:
        return 1.0

    size = span + 1
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for kind, count in kinds.items():
        transform *= np.fft.rfft(chances[kind][1], size) ** count

    of_sum = np.maximum(np.fft.irfft(transform, size), 0.0)
    observed = taken - minimum
    tails = float(of_sum[: observed + 1].sum()), float(of_sum[observed:].sum())

    return min(1.0, 2.0 * min(tails))


@lru_cache(maxsize=16_384)
def _blocks(seen: tuple[Seen, ...]) -> _Blocks:
    standing = Counter(content for content, _ in seen)
    taken = Counter(content for _, content in seen)
    blocks = ((standing[content], taken[content]) for content in {*standing, *taken})
    # Contents that are never in the position, or never selected, cannot match.
    return (len(seen), 0), *sorted(block for block in blocks if all(block))


@lru_cache(maxsize=1024)
def _chances(kind: _Blocks) -> tuple[int, Floats]:
    """The least number of matches in an assignment, and the probability of it and each larger one."""
    (size, _), *blocks = kind
    rooks = [1]
    for standing, taken in blocks:
        of_block = [
            math.comb(standing, number)
            * math.comb(taken, number)
            * math.factorial(number)
            for number in range(min(standing, taken) + 1)
        ]
        rooks = _product(rooks, of_block)

    # In whole numbers, without cancellation: for each number of matches the assignments
    # with at least these, then (inclusion and exclusion, which replaces x by x - 1 in a
    # polynomial) those with no others.
    ways = [count * math.factorial(size - met) for met, count in enumerate(rooks)]
    for lowest in range(len(ways) - 1):
        for met in range(len(ways) - 2, lowest - 1, -1):
            ways[met] -= ways[met + 1]

    possible = [meetings for meetings, count in enumerate(ways) if count]
    low, high = possible[0], possible[-1]
    deals = math.factorial(size)

    return low, np.array([count / deals for count in ways[low : high + 1]])


def _product(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The coefficients of the product of two polynomials."""
    product = [0] * (len(first) + len(second) - 1)
    for power, coefficient in enumerate(first):
        for other_power, other_coefficient in enumerate(second):
            product[power + other_power] += coefficient * other_coefficient
    return product
