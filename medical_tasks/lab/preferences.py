"""Which of two outputs of an item a metric or a person prefers.

And how often two of them prefer the same one.
"""

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
"""Values this close are equal but for rounding."""

Vote = Literal["first", "second", "tie"]
"""What a person says of a pair."""

_SIGNS: Final = {"first": 1.0, "second": -1.0, "tie": 0.0}


@dataclass(frozen=True, eq=False)
class OutputPairs:
    """Rows of the first and second output (a later row) of all pairs of one item.

    Shape (pairs,).
    """

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
        tied: Pairs that at least one of them holds for a tie.
        missing: Pairs of which one of them has no value; in no share.
        share_same: `same` of all pairs that are not missing, ties among them.
        share_opposite: `opposite` of the same pairs (table 11).
        share_decided: `same` of those on which both prefer one.
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
        same: Pairs on which the metric prefers what most people prefer.
        opposite: Pairs on which it prefers the other output.
        metric_tied: Pairs that people decided and the metric did not: a tie, or no
            value.
        human_tied: Pairs of which most people say that neither output is better.
        no_majority: Pairs on which people are evenly divided.
        not_annotated: Pairs that nobody was asked about.
        share: `same` of `same` and `opposite` (figure 7).
    """

    same: int
    opposite: int
    metric_tied: int
    human_tied: int
    no_majority: int
    not_annotated: int
    share: Estimate


def output_pairs(items: Sequence[Hashable]) -> OutputPairs:
    """Finds all pairs of outputs of one item, in the order of items and rows."""
    rows: dict[Hashable, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)

    found = [
        (a, b)
        for members in rows.values()
        for place, a in enumerate(members)
        for b in members[place + 1 :]
    ]
    table = np.array(found, dtype=np.intp).reshape(-1, 2)
    return OutputPairs(first=table[:, 0], second=table[:, 1])


def preference_signs(
    values: npt.ArrayLike, pairs: OutputPairs, *, epsilon: float = EPSILON
) -> Floats:
    """Which output of each pair has the larger value.

    1 the first, -1 the second, 0 a tie, `nan` if one is missing.
    """
    if not 0.0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be 0 or more and finite; got {epsilon!r}")
    column = as_column("values", values)
    apart = column[pairs.first] - column[pairs.second]
    return np.where(np.abs(apart) <= epsilon, 0.0, np.sign(apart))


def disagreeing(one: Floats, other: Floats) -> npt.NDArray[np.bool_]:
    """Marks the pairs on which one metric prefers the one output and the other the other."""
    check_same_length(one=one, other=other)
    return np.asarray(one * other == -1.0)


def compare_preferences(
    one: Floats, other: Floats, *, clusters: Clusters
) -> PreferenceAgreement:
    """Counts on how many pairs two metrics prefer the same output.

    `clusters` are those of each pair.
    """
    check_same_length(one=one, other=other, clusters=clusters)
    product = one * other
    known = ~np.isnan(product)
    same, opposite = product == 1.0, product == -1.0

    return PreferenceAgreement(
        same=int(same.sum()),
        opposite=int(opposite.sum()),
        tied=int((product == 0.0).sum()),
        missing=int((~known).sum()),
        share_same=_share(same, known, clusters),
        share_opposite=_share(opposite, known, clusters),
        share_decided=_share(same, same | opposite, clusters),
    )


def human_agreement(
    signs: Floats, votes: Sequence[Sequence[Vote]], *, clusters: Clusters
) -> HumanAgreement:
    """Counts on how many pairs a metric prefers what most people prefer.

    No `votes` where nobody was asked.
    """
    check_same_length(signs=signs, votes=votes, clusters=clusters)
    unknown = next(
        (vote for said in votes for vote in said if vote not in _SIGNS), None
    )
    if unknown is not None:
        raise ValueError(f"votes must be {', '.join(_SIGNS)}; got {unknown!r}")

    chosen = [majority(said) for said in votes]
    asked = np.array([bool(said) for said in votes], dtype=np.bool_)
    people = np.array(
        [math.nan if label is None else _SIGNS[label] for label in chosen],
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
        no_majority=int((asked & np.isnan(people)).sum()),
        not_annotated=int((~asked).sum()),
        share=_share(same, same | opposite, clusters),
    )


def _share(
    part: npt.NDArray[np.bool_], whole: npt.NDArray[np.bool_], clusters: Clusters
) -> Estimate:
    return proportion_interval(
        np.where(whole, part.astype(np.float64), np.nan), clusters=clusters
    )
