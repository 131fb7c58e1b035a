"""Preferences of metrics and people between two outputs of an item, and their agreement."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.agreement import majority
from medical_tasks.scoring.estimates import (
    Clusters,
    Estimate,
    Floats,
    as_column,
    check_same_length,
)
from medical_tasks.scoring.means import proportion_interval

EPSILON: Final = 1e-9
"""Values this close are equal up to rounding."""

Vote = Literal["first", "second", "tie"]
"""A person's answer about a pair."""

_SIGNS: Final = {"first": 1.0, "second": -1.0, "tie": 0.0}


@dataclass(frozen=True, eq=False)
class OutputPairs:
    """The rows of the first and second (later) output of all pairs within items, shape (pairs,)."""

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, kw_only=True)
class PreferenceAgreement:
    """Two metrics on the same pairs.

    Attributes:
        same: Pairs on which both prefer the same output.
        opposite: Pairs on which they prefer different ones.
        tied: Pairs on which at least one of them has a tie.
        missing: Pairs for which one of them has no value; not in any share.
        share_same: `same` over all pairs that are not missing, including ties.
        share_opposite: `opposite` over the same pairs (table 11).
        share_decided: `same` over those on which both prefer an output.
    """

    same: int
    opposite: int
    tied: int
    missing: int
    share_same: Estimate
    share_opposite: Estimate
    share_decided: Estimate


@dataclass(frozen=True, kw_only=True)
class HumanAgreement:
    """A metric and people on the same pairs. Every pair is in one of the six counts.

    Attributes:
        same: Pairs on which the metric prefers the majority's choice.
        opposite: Pairs on which it prefers the other output.
        metric_tied: Pairs that people decided and the metric did not: a tie, or no
            value.
        human_tied: Pairs for which the majority considers neither output better.
        no_majority: Pairs on which people are evenly divided.
        not_annotated: Pairs without an annotation.
        share: `same` over `same` and `opposite` (figure 7).
    """

    same: int
    opposite: int
    metric_tied: int
    human_tied: int
    no_majority: int
    not_annotated: int
    share: Estimate


def output_pairs(items: Sequence[Hashable]) -> OutputPairs:
    """Returns all pairs of outputs of the same item, in the order of items and rows.

    Example:
        >>> pairs = output_pairs(["q1", "q1", "q2", "q1"])
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([0, 0, 1], [1, 3, 3])
    """
    rows: dict[Hashable, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)

    pairs = [
        (a, b)
        for members in rows.values()
        for index, a in enumerate(members)
        for b in members[index + 1 :]
    ]
    table = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return OutputPairs(first=table[:, 0], second=table[:, 1])


def preference_signs(
    values: npt.ArrayLike, pairs: OutputPairs, *, epsilon: float = EPSILON
) -> Floats:
    """Returns for each pair the output with the larger value.

    It is 1 for the first, -1 for the second, 0 for a tie, `nan` if a value is missing.

    Example:
        >>> pairs = output_pairs(["q1", "q1", "q1"])
        >>> preference_signs([0.9, 0.4, 0.9], pairs).tolist()
        [1.0, 0.0, -1.0]
    """
    if not 0.0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be 0 or more and finite; got {epsilon!r}")
    column = as_column("values", values)
    apart = column[pairs.first] - column[pairs.second]
    return np.where(np.abs(apart) <= epsilon, 0.0, np.sign(apart))


def disagreeing(first: Floats, second: Floats) -> npt.NDArray[np.bool_]:
    """Marks the pairs on which two metrics prefer different outputs."""
    check_same_length(first=first, second=second)
    return np.asarray(first * second == -1.0)


def compare_preferences(
    first: Floats, second: Floats, *, clusters: Clusters
) -> PreferenceAgreement:
    """Counts the pairs on which two metrics prefer the same output.

    `clusters` are those of each pair.
    """
    check_same_length(first=first, second=second, clusters=clusters)
    product = first * second
    defined = ~np.isnan(product)
    same, opposite = product == 1.0, product == -1.0

    return PreferenceAgreement(
        same=int(same.sum()),
        opposite=int(opposite.sum()),
        tied=int((product == 0.0).sum()),
        missing=int((~defined).sum()),
        share_same=_share(same, defined, clusters),
        share_opposite=_share(opposite, defined, clusters),
        share_decided=_share(same, same | opposite, clusters),
    )


def human_agreement(
    signs: Floats, votes: Sequence[Sequence[Vote]], *, clusters: Clusters
) -> HumanAgreement:
    """Counts the pairs on which a metric prefers the majority's choice.

    A pair without annotation has no `votes`.

    Example:
        The metric prefers the first output of a pair. Two of three people agree: `same`.
        With one vote for each output it would be `no_majority`, and with most votes for
        "tie" `human_tied`; neither is in the share.
    """
    check_same_length(signs=signs, votes=votes, clusters=clusters)
    unknown = next(
        (vote for pair_votes in votes for vote in pair_votes if vote not in _SIGNS),
        None,
    )
    if unknown is not None:
        raise ValueError(f"votes must be {', '.join(_SIGNS)}; got {unknown!r}")

    majorities = [majority(pair_votes) for pair_votes in votes]
    annotated = np.array([bool(pair_votes) for pair_votes in votes], dtype=np.bool_)
    people = np.array(
        [math.nan if label is None else _SIGNS[label] for label in majorities],
        dtype=np.float64,
    )
    decided = np.abs(people) == 1.0
    product = np.where(decided, people, 0.0) * np.nan_to_num(signs)
    same, opposite = product == 1.0, product == -1.0

    return HumanAgreement(
        same=int(same.sum()),
        opposite=int(opposite.sum()),
        metric_tied=int((decided & ~same & ~opposite).sum()),
        human_tied=int((people == 0.0).sum()),
        no_majority=int((annotated & np.isnan(people)).sum()),
        not_annotated=int((~annotated).sum()),
        share=_share(same, same | opposite, clusters),
    )


def _share(
    marked: npt.NDArray[np.bool_], counted: npt.NDArray[np.bool_], clusters: Clusters
) -> Estimate:
    return proportion_interval(
        np.where(counted, marked.astype(np.float64), np.nan), clusters=clusters
    )
