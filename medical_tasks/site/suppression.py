"""Which figures of small groups stay at home, so that nobody can work them out.

A count of patients or items under five is a small cell. It is not enough to leave it
out: where a breakdown has one hidden group, its count is the total less the others. So
in each breakdown more groups are hidden, the smallest first, until what the published
figures leave possible for every hidden cell is at least five counts wide
(complementary suppression; Hundepool et al. 2012, Statistical Disclosure Control, 4.2).

Example:
    Of 60 patients 3 are of ward C. Hidden is also ward B, the smaller of the others, so
    that C may be anything from 0 to 23:

    >>> sorted(hidden_groups({"A": 37, "B": 20, "C": 3}))
    ['B', 'C']
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

LEAST: Final = 5
"""The smallest count that leaves; also how many counts a hidden cell may be."""

Outcomes = tuple[int, int]
"""How many of a group are right and how many are not."""


def hidden_groups(sizes: Mapping[str, int]) -> set[str]:
    """The groups of a breakdown whose sizes may not be told.

    Args:
        sizes: of each group, in items or patients, whichever are fewer.
    """
    hidden = {name for name, size in sizes.items() if size < LEAST}
    others = sorted(sizes.keys() - hidden, key=lambda name: (sizes[name], name))
    while hidden and others:
        together = sum(sizes[name] for name in hidden)
        if len(hidden) > 1 and together >= 2 * LEAST:
            break

        hidden.add(others.pop(0))

    return hidden


def hidden_outcomes(
    outcomes: Mapping[str, Outcomes], without: Set[str], *, whole: bool
) -> set[str]:
    """The groups whose outcomes may not be told.

    Args:
        outcomes: of each group.
        without: the groups that are hidden already.
        whole: whether the outcomes of all groups together are told.
    """
    small = {name for name, cells in outcomes.items() if min(cells) < LEAST}
    hidden = (small | without) & outcomes.keys()
    if not whole:
        # A total that is hidden is small, and so is every part of it.
        return hidden

    others = sorted(
        outcomes.keys() - hidden, key=lambda name: (min(outcomes[name]), name)
    )
    while hidden and others and not _are_hidden(outcomes, hidden):
        hidden.add(others.pop(0))

    return hidden


def _are_hidden(outcomes: Mapping[str, Outcomes], hidden: Set[str]) -> bool:
    """Whether every hidden cell may be five counts or more, all sizes being known."""
    sizes = {name: sum(outcomes[name]) for name in hidden}
    missed = sum(outcomes[name][1] for name in hidden)
    for name in hidden:
        others = sum(size for other, size in sizes.items() if other != name)
        least, most = max(0, missed - others), min(sizes[name], missed)
        if most - least < LEAST - 1:
            return False
    return True


def is_small(*cells: int) -> bool:
    """Whether any of the cells may not be told."""
    return min(cells) < LEAST
