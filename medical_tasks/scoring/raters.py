"""Agreement of a judge with raters of whom each may have labelled only some items, and of the raters with one another.

Every figure is over the items that both sides have a label for; how many these are stands in its estimates (`n`).
Cohen's kappa is that of `agreement`; EHRNoteQA reports its judge and its three clinicians so (paper, section 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from medical_tasks.scoring.agreement import accuracy_interval, cohen_interval
from medical_tasks.scoring.columns import Clusters, check_same_length
from medical_tasks.scoring.estimates import Estimate

__all__ = ["Agreement", "agreement_of", "among_raters", "with_raters"]

Labels = Sequence[str | None]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often two say the same.

    Attributes:
        agreement: share of equal labels.
        kappa: Cohen's.
    """

    agreement: Estimate
    kappa: Estimate


def agreement_of(
    one: Labels, other: Labels, *, classes: Sequence[str], clusters: Clusters | None = None, seed: int = 0
) -> Agreement:
    """Compares two sets of labels of the same items.

    Args:
        one: label of each item, None where there is none.
        other: likewise.
        classes: all classes.
        clusters: cluster of each item, or None when each stands alone.
        seed: of the bootstrap's draws.

    Raises:
        ValueError: Lengths differ, or a label is not one of the classes.
    """
    check_same_length(one=one, other=other)
    both = [number for number, label in enumerate(one) if label is not None and other[number] is not None]
    left, right = [str(one[number]) for number in both], [str(other[number]) for number in both]
    kept = None if clusters is None else [clusters[number] for number in both]
    return Agreement(
        agreement=accuracy_interval(left, right, clusters=kept),
        kappa=cohen_interval(left, right, classes=classes, clusters=kept, seed=seed),
    )


def with_raters(
    given: Labels, ratings: Sequence[Labels], *, classes: Sequence[str], clusters: Clusters | None = None
) -> list[Agreement]:
    """Compares labels with those of each rater.

    Args:
        given: the judge's label of each item, None where it gave none.
        ratings: for each item the label of each rater, always in the same order; None where it gave none.
        classes: all classes.
        clusters: as in `agreement_of`.

    Returns:
        One a rater; none where there is no item.
    """
    check_same_length(given=given, ratings=ratings)
    return [agreement_of(column, given, classes=classes, clusters=clusters) for column in _columns(ratings)]


def among_raters(
    ratings: Sequence[Labels], *, classes: Sequence[str], clusters: Clusters | None = None
) -> dict[tuple[int, int], Agreement]:
    """Compares every two raters.

    Args:
        ratings: as in `with_raters`.
        classes: all classes.
        clusters: as in `agreement_of`.

    Returns:
        By the numbers of the two, the smaller first.
    """
    columns = _columns(ratings)
    return {
        (one, other): agreement_of(columns[one], columns[other], classes=classes, clusters=clusters)
        for one, other in combinations(range(len(columns)), 2)
    }


def _columns(ratings: Sequence[Labels]) -> list[list[str | None]]:
    """The labels of each rater.

    Raises:
        ValueError: Not the same number of raters for every item.
    """
    raters = {len(labels) for labels in ratings}
    if len(raters) > 1:
        raise ValueError(f"every item must have the same number of raters; got {sorted(raters)}")
    return [[labels[rater] for labels in ratings] for rater in range(max(raters, default=0))]
