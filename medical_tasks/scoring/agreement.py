"""Agreement of a judge with the truth, or between raters, over items that both labelled.

Sources: Cohen (1960), Educ Psychol Meas 20:37 (kappa of two raters); Fleiss (1971),
Psychol Bull 76:378 (kappa of many).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from medical_tasks.scoring.bootstrap import Drawing, bootstrap_statistic
from medical_tasks.scoring.estimates import (
    Clusters,
    Comparison,
    Estimate,
    Floats,
    check_same_length,
)
from medical_tasks.scoring.means import mean_interval, proportion_interval
from medical_tasks.scoring.paired import paired_bootstrap_statistic

Counts = npt.NDArray[np.int64]
Labels = Sequence[str | None]
KAPPA_LIMITS = (-1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """The agreement of each rater with the majority of the others.

    Attributes:
        references: by rater, the others' majority on each item; None for none.
        accuracy: by rater, the share of items with a reference on which it agrees;
            `nan` for none.
        counted: by rater, the number of items with a reference.
    """

    references: tuple[tuple[str | None, ...], ...]
    accuracy: tuple[float, ...]
    counted: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean accuracy of the raters, equally weighted."""
        return math.fsum(self.accuracy) / len(self.accuracy)


def majority(labels: Sequence[str]) -> str | None:
    """Returns the most frequent label; None, never a random choice, in case of a tie."""
    ranked = Counter(labels).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def confusion_matrix(
    gold: Sequence[str], labels: Sequence[str | None], *, classes: Sequence[str]
) -> Counts:
    """Counts items by class (rows) and by their label (columns, the last one for none)."""
    check_same_length(gold=gold, labels=labels)
    rows, columns = _codes("gold", gold, classes), _codes("labels", labels, classes)
    if (rows == len(classes)).any():
        raise ValueError("gold must hold a class for every item; got None")
    table = np.zeros((len(classes), len(classes) + 1), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def class_figures(table: Counts, classes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Recall, precision and F1 of each class, `nan` where the denominator is empty.

    `n_true` counts the items of the class, `n_given` those that were labelled with it.
    """
    square = table[:, : len(classes)]
    figures: dict[str, dict[str, float]] = {}
    for k, name in enumerate(classes):
        hits, true, labelled = (
            int(square[k, k]),
            int(square[k].sum()),
            int(square[:, k].sum()),
        )
        shares = {
            "recall": _share(hits, true),
            "precision": _share(hits, labelled),
            "f1": _share(2 * hits, true + labelled),
        }
        figures[name] = {**shares, "n_true": true, "n_given": labelled}

    return figures


def accuracy_interval(
    gold: Sequence[str],
    labels: Sequence[str | None],
    *,
    clusters: Clusters | None = None,
) -> Estimate:
    """The share of labelled items whose label is their class."""
    check_same_length(gold=gold, labels=labels)
    right = [
        math.nan if label is None else float(label == true)
        for true, label in zip(gold, labels, strict=True)
    ]
    return proportion_interval(np.array(right, dtype=np.float64), clusters=clusters)


def cohen_interval(
    gold: Sequence[str],
    labels: Sequence[str | None],
    *,
    classes: Sequence[str],
    clusters: Clusters | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Estimate:
    """Cohen's kappa, (observed - expected agreement) / (1 - expected), with a bootstrap interval.

    Clusters are drawn whole.

    Example:
        Of six statements four get their class. By chance three would, since both sides
        call half of them yes: kappa is (4 - 3) / (6 - 3).

        >>> gold = ["yes", "yes", "no", "no", "yes", "no"]
        >>> labels = ["yes", "no", "no", "no", "yes", "yes"]
        >>> estimate = cohen_interval(gold, labels, classes=["yes", "no"])
        >>> round(estimate.value, 3), estimate.n
        (0.333, 6)
    """
    drawing: Drawing = {"seed": seed, "resamples": resamples}
    columns = _kappa_columns(gold, labels, classes)

    return bootstrap_statistic(
        columns, _kappa_of_sums, clusters=clusters, limits=KAPPA_LIMITS, **drawing
    )


def cohen_difference(
    gold: Sequence[str],
    first: Sequence[str],
    second: Sequence[str],
    *,
    classes: Sequence[str],
    clusters: Clusters,
) -> Comparison:
    """The kappa of `second` minus that of `first`."""
    first_columns, second_columns = (
        _kappa_columns(gold, labels, classes) for labels in (first, second)
    )
    return paired_bootstrap_statistic(
        first_columns,
        second_columns,
        _kappa_of_sums,
        clusters=clusters,
        limits=KAPPA_LIMITS,
    )


def _kappa_columns(
    gold: Sequence[str], labels: Labels, classes: Sequence[str]
) -> list[Floats]:
    """The contribution of each item to the counts of `_kappa_of_sums`, in columns of 0 and 1.

    The first column is 1 where both labels agree. One column a class follows for the
    gold label, then one a class for the other label. An unlabelled item is 0 in all
    columns and does not count.

    Example: with the classes yes and no, an item whose gold class is yes and whose
        label is no has the row 0 | 1, 0 | 0, 1.
    """
    check_same_length(gold=gold, labels=labels)
    rows, columns = _codes("gold", gold, classes), _codes("labels", labels, classes)
    labelled = columns < len(classes)
    numbers = np.arange(len(classes))[:, np.newaxis]
    sums = [
        (rows == columns) & labelled,
        *((rows == numbers) & labelled),
        *((columns == numbers) & labelled),
    ]

    return [column.astype(np.float64) for column in sums]


def _kappa_of_sums(agreed: npt.ArrayLike, *margins: npt.ArrayLike) -> Floats:
    """Kappa from counts: items with agreement, then each rater's count of each class.

    All steps before the last division are in whole numbers.
    """
    half = len(margins) // 2
    first, second = (
        np.array(margins[:half], dtype=np.float64),
        np.array(margins[half:], dtype=np.float64),
    )
    n, chance = first.sum(axis=0), (first * second).sum(axis=0)

    return np.asarray((n * np.asarray(agreed) - chance) / (n * n - chance))


def rating_counts(
    ratings: Sequence[Sequence[str]], *, classes: Sequence[str]
) -> Counts:
    """Counts how many raters gave each item each class; shape (items, classes).

    Example:
        >>> ratings = [["yes", "yes", "yes"], ["yes", "no", "yes"]]
        >>> rating_counts(ratings, classes=["yes", "no"]).tolist()
        [[3, 0], [2, 1]]
    """
    raters = _rater_count(map(len, ratings), least=2)
    flat = _codes("ratings", [label for labels in ratings for label in labels], classes)
    table = np.zeros((len(ratings), len(classes)), dtype=np.int64)
    np.add.at(table, (np.repeat(np.arange(len(ratings)), raters), flat), 1)

    return table


def pairwise_interval(counts: Counts, *, clusters: Clusters | None = None) -> Estimate:
    """The share of agreeing pairs of raters, over all items, with its interval."""
    return mean_interval(_agreed_pairs(counts), clusters=clusters)


def fleiss_interval(counts: Counts, *, clusters: Clusters | None = None) -> Estimate:
    """Fleiss' kappa with a bootstrap interval; items may have different raters.

    Clusters are drawn whole.
    """
    return bootstrap_statistic(
        _fleiss_columns(counts), _fleiss_of_sums, clusters=clusters, limits=KAPPA_LIMITS
    )


def leave_one_out(ratings: Sequence[Sequence[str]]) -> LeaveOneOut:
    """Compares each rater with the majority of the others.

    Raters must be in the same order for every item. Items without a majority of the
    others are left out for that rater. Compare a judge with raters on the same items.

    Example:
        The second rater is compared on the first item alone: of the other two, one says
        yes and one no on the second.

        >>> ratings = [["yes", "yes", "yes"], ["yes", "no", "no"]]
        >>> compared = leave_one_out(ratings)
        >>> compared.counted, compared.references[1]
        ((2, 1, 1), ('yes', None))
    """
    raters = len(ratings[0]) if ratings else 0
    references, accuracy, counted = [], [], []
    for rater in range(raters):
        others = tuple(
            majority([*labels[:rater], *labels[rater + 1 :]]) for labels in ratings
        )
        decided = [
            (labels[rater], other)
            for labels, other in zip(ratings, others, strict=True)
            if other is not None
        ]
        references.append(others)
        accuracy.append(
            _share(sum(own == other for own, other in decided), len(decided))
        )
        counted.append(len(decided))

    return LeaveOneOut(
        references=tuple(references), accuracy=tuple(accuracy), counted=tuple(counted)
    )


def _agreed_pairs(counts: Counts) -> Floats:
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1)
    _rater_count(raters.astype(int).tolist(), least=2)
    return np.asarray(((table * (table - 1)).sum(axis=1)) / (raters * (raters - 1)))


def _fleiss_columns(counts: Counts) -> list[Floats]:
    """The columns that Fleiss' kappa sums: an item's agreement, and its share of each class."""
    table = np.asarray(counts, dtype=np.float64)
    return [
        _agreed_pairs(counts),
        *(table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)).T,
    ]


def _fleiss_of_sums(agreement: npt.ArrayLike, *shares: npt.ArrayLike) -> Floats:
    """Fleiss' kappa from sums over items: agreement, then the shares of each class.

    The shares add up to the number of items.
    """
    totals = np.array(shares, dtype=np.float64)
    n = totals.sum(axis=0)
    expected = ((totals / n) ** 2).sum(axis=0)
    return np.asarray((np.asarray(agreement) / n - expected) / (1.0 - expected))


def _codes(
    name: str, labels: Sequence[str | None], classes: Sequence[str]
) -> npt.NDArray[np.intp]:
    """The index of each label's class; None (no label) has the index after the last."""
    numbers: dict[str | None, int] = {
        label: number for number, label in enumerate(classes)
    }
    if len(numbers) < len(classes):
        raise ValueError(f"classes must differ; got {list(classes)}")

    numbers[None] = len(classes)
    unknown = [label for label in labels if label not in numbers]
    if unknown:
        raise ValueError(
            f"{name} must be of the classes {', '.join(classes)}; got {unknown[0]!r}"
        )

    return np.array([numbers[label] for label in labels], dtype=np.intp)


def _share(above: int, whole: int) -> float:
    return above / whole if whole else math.nan


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often two raters agree, and their kappa."""

    agreement: Estimate
    kappa: Estimate


def agreement_of(
    first: Labels,
    second: Labels,
    *,
    classes: Sequence[str],
    clusters: Clusters | None = None,
) -> Agreement:
    """Compares two sets of labels of the same items."""
    check_same_length(first=first, second=second)
    both = [
        number
        for number, label in enumerate(first)
        if label is not None and second[number] is not None
    ]
    left, right = (
        [str(first[number]) for number in both],
        [str(second[number]) for number in both],
    )
    kept = None if clusters is None else [clusters[number] for number in both]

    return Agreement(
        agreement=accuracy_interval(left, right, clusters=kept),
        kappa=cohen_interval(left, right, classes=classes, clusters=kept),
    )


def with_raters(
    labels: Labels,
    ratings: Sequence[Labels],
    *,
    classes: Sequence[str],
    clusters: Clusters | None = None,
) -> list[Agreement]:
    """Compares labels with those of each rater; None is no label.

    Raters must be in the same order for every item of `ratings`.
    """
    check_same_length(labels=labels, ratings=ratings)
    return [
        agreement_of(column, labels, classes=classes, clusters=clusters)
        for column in _columns(ratings)
    ]


def among_raters(
    ratings: Sequence[Labels],
    *,
    classes: Sequence[str],
    clusters: Clusters | None = None,
) -> dict[tuple[int, int], Agreement]:
    """Compares every pair of raters; the keys are their indices, the smaller first."""
    columns = _columns(ratings)
    return {
        (first, second): agreement_of(
            columns[first], columns[second], classes=classes, clusters=clusters
        )
        for first, second in combinations(range(len(columns)), 2)
    }


def _columns(ratings: Sequence[Labels]) -> list[list[str | None]]:
    raters = _rater_count(map(len, ratings))
    return [[labels[rater] for labels in ratings] for rater in range(raters)]


def _rater_count(raters: Iterable[int], *, least: int = 0) -> int:
    """The number of raters, which must be the same for every item; 0 without items."""
    counts = set(raters)
    if len(counts) > 1 or min(counts, default=least) < least:
        least_text = f", at least {least}" if least else ""
        raise ValueError(
            f"every item must have the same number of raters{least_text}; got {sorted(counts)}"
        )
    return max(counts, default=0)
