"""Selects the figures of small groups to suppress, so that nobody can derive them.

A count of patients or items under five is a small cell. Leaving it out is not enough: if
a breakdown has one hidden group, its count is the total less the others. So further
groups are hidden in each breakdown, the smallest first, until the published figures leave
at least five possible counts for every hidden cell (complementary suppression; Hundepool
et al. 2012, Statistical Disclosure Control, 4.2).

Example:
    Of 60 patients 3 are in ward C. Ward B, the smaller of the others, is hidden too, so
    that C may have any number from 0 to 23:

    >>> sorted(hidden_groups({"A": 37, "B": 20, "C": 3}))
    ['B', 'C']
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

LEAST: Final = 5
"""The smallest published count, and the least number of possible counts of a hidden cell."""

Outcomes = tuple[int, int]
"""The numbers of a group that are right and that are not."""


def hidden_groups(sizes: Mapping[str, int]) -> set[str]:
    """The groups of a breakdown whose sizes may not be published.

    Args:
        sizes: the size of each group, in items or patients, whichever are fewer.
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
    """The groups whose outcomes may not be published.

    Args:
        outcomes: the outcomes of each group.
        without: the groups that are hidden already.
        whole: whether the outcomes of all groups together are published.
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
    """Whether every hidden cell has five or more possible counts if all sizes are known."""
    sizes = {name: sum(outcomes[name]) for name in hidden}
    missed = sum(outcomes[name][1] for name in hidden)
    for name in hidden:
        others = sum(size for other, size in sizes.items() if other != name)
        least, most = max(0, missed - others), min(sizes[name], missed)
        if most - least < LEAST - 1:
            return False
    return True


def is_small(*cells: int) -> bool:
    """Whether any of the cells is too small to be published."""
    return min(cells) < LEAST
