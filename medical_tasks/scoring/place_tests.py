"""An exact test whether answers prefer a place among choices, given what they take.

Were places nothing to a model, what it takes of a question in several orders would be
exchangeable between these orders. So the test keeps the contents that it took, deals
them out to the orders in every way, all equally likely, and asks how often the place is
taken so often, or so rarely, as it was (a permutation test: Fisher 1935, The Design of
Experiments). It needs no variance and no normal distribution, and holds its level with
any number of questions.

Of one question let r orders show content v in the place, and let m answers take v. Then
v can meet itself in r x m ways, and the number of ways to deal without meetings, with
one, and so on, follows from rook polynomials of such blocks (Riordan 1958, An
Introduction to Combinatorial Analysis, chapter 7).
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
"""Of an answer: the content that stood in the place, and the content that it takes."""
_Blocks: TypeAlias = tuple[tuple[int, int], ...]
"""For each content, in how many orders it stands in the place and how many answers take it."""


def place_p_value(questions: Sequence[Sequence[Seen]]) -> float:
    """The two-sided p-value of no preference for a place, and none against it.

    Twice the smaller tail, at most 1; 1 where the answers could not have fallen
    otherwise, as those of a model that takes one content of each question always.

    Args:
        questions: the answers to each, in its several orders.

    Example:
        Four questions with two choices, 0 and 1, were asked in both orders, and each
        time the choice in the place was taken. Dealt out again, a question's answers
        meet the place twice or never, with equal chances: p = 2 / 2 ** 4.

        >>> place_p_value([[(0, 0), (1, 1)]] * 4)
        0.125
    """
    taken = sum(standing == content for seen in questions for standing, content in seen)
    kinds = Counter(_blocks(tuple(seen)) for seen in questions if seen)
    chances = {kind: _chances(kind) for kind in kinds}
    # Every deal has the least number of meetings; what is beyond it is added up.
    least = sum(count * chances[kind][0] for kind, count in kinds.items())
    span = sum(count * (len(chances[kind][1]) - 1) for kind, count in kinds.items())
    if not span:
        return 1.0

    size = span + 1
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for kind, count in kinds.items():
        transform *= np.fft.rfft(chances[kind][1], size) ** count

    of_sum = np.maximum(np.fft.irfft(transform, size), 0.0)
    place = taken - least
    tails = float(of_sum[: place + 1].sum()), float(of_sum[place:].sum())

    return min(1.0, 2.0 * min(tails))


@lru_cache(maxsize=16_384)
def _blocks(seen: tuple[Seen, ...]) -> _Blocks:
    standing = Counter(content for content, _ in seen)
    taken = Counter(content for _, content in seen)
    blocks = ((standing[content], taken[content]) for content in {*standing, *taken})
    # What never stands in the place, or is never taken, meets nothing.
    return (len(seen), 0), *sorted(block for block in blocks if all(block))


@lru_cache(maxsize=1024)
def _chances(kind: _Blocks) -> tuple[int, Floats]:
    """The least number of meetings in a deal, and the chances of that many and of each more."""
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

    # In whole numbers, so that nothing cancels: of each number of meetings the deals
    # that have these and perhaps more, then (inclusion and exclusion, which takes x - 1
    # for x in a polynomial) those that have no more.
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
    made = [0] * (len(first) + len(second) - 1)
    for place, one in enumerate(first):
        for other_place, other in enumerate(second):
            made[place + other_place] += one * other
    return made
