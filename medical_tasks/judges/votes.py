"""The mode of several votes, and when it can no longer change.

A tie goes to the value that was first voted for, by number of the vote. What is not known, because it was not asked yet or
could not be had, may turn out to be anything; a decision is certain when none of that could change it. So stopping early
decides exactly as asking on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Decided", "Undecided", "decide"]


@dataclass(frozen=True, slots=True)
class Decided:
    """The mode of all votes, however the unknown ones would turn out.

    Attributes:
        value: what was decided.
        vote: number of the first vote for it.
    """

    value: Any
    vote: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """Not certain yet.

    Attributes:
        needed: fewest further votes with which it could become certain; 0 when no further votes could make it so.
    """

    needed: int


def decide(votes: Sequence[Any | None], k: int) -> Decided | Undecided:
    """Decides by the mode of `k` votes of which some may be known.

    Args:
        votes: those asked for so far, by number; None for one that could not be had. Values are compared with `==`.
        k: how many votes there are in all.

    Returns:
        The mode, or how many more votes it takes at least.

    Raises:
        ValueError: `k` is below 1, or there are more than `k` votes.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if len(votes) > k:
        raise ValueError(f"votes must be at most k = {k}, got {len(votes)}")
    values: list[Any] = []
    counts: list[int] = []
    firsts: list[int] = []
    for number, vote in enumerate(votes):
        if vote is None:
            continue
        if vote in values:
            counts[values.index(vote)] += 1
        else:
            values.append(vote)
            counts.append(1)
            firsts.append(number)
    unread = [number for number, vote in enumerate(votes) if vote is None]
    for place, value in enumerate(values):
        if _certain(place, counts, firsts, unread, asked=len(votes), k=k):
            return Decided(value, firsts[place])
    # More votes for one value, with none against it, are the shortest way; that value may be one not yet seen.
    counts.append(0)
    firsts.append(len(votes))
    for more in range(1, k - len(votes) + 1):
        for place in range(len(counts)):
            ahead = [count + more * (other == place) for other, count in enumerate(counts)]
            if _certain(place, ahead, firsts, unread, asked=len(votes) + more, k=k):
                return Undecided(more)
    return Undecided(0)


def _certain(
    leader: int, counts: Sequence[int], firsts: Sequence[int], unread: Sequence[int], *, asked: int, k: int
) -> bool:
    """Whether a value stays the mode however the unread votes and those not yet asked turn out.

    The worst that can happen to it is that all of them name the same other value.
    """
    unknown = len(unread) + k - asked
    earliest = min([*unread, asked]) if unknown else k
    for other in range(len(counts) + 1):  # the last one stands for a value nobody has named yet
        if other == leader:
            continue
        count, first = (counts[other], firsts[other]) if other < len(counts) else (0, k)
        if not count and not unknown:
            continue
        most = count + unknown
        if most > counts[leader] or (most == counts[leader] and min(first, earliest) < firsts[leader]):
            return False
    return True
