"""Agreement of labels: published tables, cases by hand, laws."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.agreement import (
    Agreement,
    Counts,
    accuracy_interval,
    agreement_of,
    among_raters,
    class_figures,
    cohen_interval,
    confusion_matrix,
    fleiss_interval,
    leave_one_out,
    majority,
    pairwise_interval,
    rating_counts,
    with_raters,
)
from medical_tasks.scoring.estimates import Estimate
from medical_tasks.scoring.intervals import wilson_interval
from tests.scoring.count_tables import cells_of
from tests.scoring.interval_ends import ends, width

# Fleiss (1971), Psychol Bull 76:378, table 1: 30 patients, each put by 6 psychiatrists
# into one of 5 diagnoses (depression, personality disorder, schizophrenia, neurosis,
# other).
FLEISS_1971 = """
0 0 0 6 0   0 3 0 0 3   0 1 4 0 1   0 0 0 0 6   0 3 0 3 0   2 0 4 0 0   0 0 4 0 2   2 0 3 1 0   2 0 0 4 0   0 0 0 0 6
1 0 0 5 0   1 1 0 4 0   0 3 3 0 0   1 0 0 5 0   0 2 0 3 1   0 0 5 0 1   3 0 0 1 2   5 1 0 0 0   0 2 0 4 0   1 0 2 0 3
0 0 0 0 6   0 1 0 5 0   0 2 0 1 3   2 0 0 4 0   1 0 0 4 1   0 5 0 1 0   4 0 0 0 2   0 2 0 4 0   1 0 5 0 0   0 0 0 0 6
"""
DIAGNOSES = np.array(FLEISS_1971.split(), dtype=np.int64).reshape(30, 5)

# Cohen (1968), Psychol Bull 70:213, table 1: 200 cases, two judges, personality
# disorder, neurosis, psychosis.
COHEN_1968 = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]

ABC = ("a", "b", "c")
labels = st.sampled_from(ABC)


def cohen_kappa(table: Sequence[Sequence[int]]) -> float:
    """Returns the kappa of counts, rows by one rater's class and columns by the other's."""
    cells = cells_of(table)
    first, second = [ABC[row] for row, _ in cells], [ABC[column] for _, column in cells]
    return cohen_interval(first, second, classes=ABC, resamples=100).value


def fleiss_kappa(counts: Counts) -> float:
    return fleiss_interval(counts).value


def test_fleiss_kappa_of_the_published_table() -> None:
    # Kappa 0.430 and the kappas of each diagnosis against the rest, as R's irr gives
    # them for this example (`kappam.fleiss(diagnoses, detail=TRUE)`).
    assert round(fleiss_kappa(DIAGNOSES), 3) == 0.430
    # The paper's mean P.
    assert pairwise_interval(DIAGNOSES).value == pytest.approx(0.556, abs=5e-4)
    kappas = [
        fleiss_kappa(np.stack([column, 6 - column], axis=1)) for column in DIAGNOSES.T
    ]
    assert [round(kappa, 3) for kappa in kappas] == [0.245, 0.245, 0.520, 0.471, 0.566]


def test_fleiss_kappa_without_disagreement_and_without_agreement() -> None:
    alike = rating_counts([["a", "a"], ["a", "a"]], classes=ABC)
    opposite = rating_counts([["a", "b"], ["b", "a"]], classes=ABC)
    empty = rating_counts([], classes=ABC)
    assert math.isnan(fleiss_kappa(alike))
    assert fleiss_kappa(opposite) == -1.0
    assert math.isnan(fleiss_kappa(empty))
    assert math.isnan(pairwise_interval(empty).value)


def test_cohen_kappa_of_published_tables_and_by_hand() -> None:
    # Stated in the paper as the unweighted kappa.
    assert round(cohen_kappa(COHEN_1968), 3) == 0.492
    # Fleiss, Statistical Methods for Rates and Proportions (2nd ed. 1981), table 13.1,
    # in hundredths: 0.68.
    assert round(cohen_kappa([[75, 1, 4], [5, 4, 1], [0, 0, 10]]), 2) == 0.68
    # By hand: 50 items, observed 35/50, expected (25*30 + 25*20)/2500 = 0.5, so (0.7 -
    # 0.5) / 0.5.
    assert cohen_kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)
    assert math.isnan(cohen_kappa([[7, 0], [0, 0]]))  # expected agreement is 1
    assert math.isnan(cohen_kappa([[0, 0], [0, 0]]))
    assert cohen_kappa([[0, 7], [0, 0]]) == 0.0  # each in one class, but not the same
    assert cohen_kappa([[0, 5], [5, 0]]) == -1.0


def test_confusion_matrix_by_hand() -> None:
    table = confusion_matrix(
        ["a", "a", "b", "c", "c"], ["a", None, "a", "c", None], classes=ABC
    )
    assert table.tolist() == [[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]


def test_recall_precision_and_f1_by_hand() -> None:
    # a: 1 of 2 items with a label is labelled a, 1 of 3 labels a is right; b is never a
    # label; c: 1 of 1 and 1 of 2. The item without a label does not count.
    gold, labelled = ["a", "a", "a", "b", "b", "c"], ["a", "c", None, "a", "a", "c"]
    figures = class_figures(confusion_matrix(gold, labelled, classes=ABC), ABC)
    names = ("recall", "precision", "f1", "n_true", "n_given")
    a, b, c = ([figures[label][name] for name in names] for label in ABC)
    assert a == [1 / 2, 1 / 3, 2 / 5, 2, 3]
    assert b == pytest.approx([0.0, math.nan, 0.0, 2, 0], nan_ok=True)
    assert c == [1.0, 1 / 2, 2 / 3, 1, 2]
    empty = class_figures(confusion_matrix([], [], classes=ABC), ABC)["a"]
    undefined = [name for name, value in empty.items() if math.isnan(value)]
    assert undefined == ["recall", "precision", "f1"]


@pytest.mark.parametrize(
    ("ratings", "label"),
    [("aba", "a"), ("ab", None), ("aabbc", None), ("", None)],
)
def test_majority(ratings: str, label: str | None) -> None:
    assert majority(list(ratings)) == label


def test_leave_one_out_by_hand() -> None:
    result = leave_one_out([["a", "a", "b"], ["b", "b", "b"], ["a", "b", "c"]])
    # The first rater: the others say (a, b), (b, b), (b, c), so one item counts and it
    # agrees there. The third: (a, a) no, (b, b) yes.
    assert result.references == ((None, "b", None), (None, "b", None), ("a", "b", None))
    assert result.counted == (1, 1, 2)
    assert result.accuracy == (1.0, 1.0, 0.5)
    assert result.mean == pytest.approx(2.5 / 3)


def test_accuracy_is_of_items_with_a_label() -> None:
    accuracy = accuracy_interval(["a", "b", "c", "a"], ["a", "b", "a", None])
    assert (accuracy.value, accuracy.n) == (2 / 3, 3)
    assert ends(accuracy) == wilson_interval(2, 3)
    assert math.isnan(accuracy_interval(["a"], [None]).value)


def cohen_of_two_classes(
    gold: Sequence[str], labelled: Sequence[str], **options: Any
) -> Estimate:
    return cohen_interval(gold, labelled, classes=("a", "b"), **options)


@pytest.mark.parametrize("interval", [accuracy_interval, cohen_of_two_classes])
def test_clusters_widen_an_interval(interval: Callable[..., Estimate]) -> None:
    # 20 answers of 10 statements each, all right or all wrong: worth 20 items, not 200.
    gold = (["a"] * 5 + ["b"] * 5) * 20
    other = {"a": "b", "b": "a"}
    labelled = [label if i // 10 % 2 else other[label] for i, label in enumerate(gold)]
    alone = interval(gold, labelled)
    together = interval(gold, labelled, clusters=[i // 10 for i in range(200)])
    assert alone.value == together.value
    assert width(together) > 2 * width(alone)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        confusion_matrix(["a"], [], classes=ABC)
    with pytest.raises(
        ValueError, match="gold must be of the classes a, b, c; got 'd'"
    ):
        confusion_matrix(["d"], ["a"], classes=ABC)
    with pytest.raises(
        ValueError, match="labels must be of the classes a, b, c; got 'd'"
    ):
        cohen_interval(["a"], ["d"], classes=ABC)
    with pytest.raises(ValueError, match="gold must hold a class for every item"):
        confusion_matrix([None], ["a"], classes=ABC)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="classes must differ"):
        confusion_matrix(["a"], ["a"], classes=("a", "a"))
    with pytest.raises(
        ValueError, match=r"same number of raters, at least 2; got \[1\]"
    ):
        rating_counts([["a"]], classes=ABC)
    with pytest.raises(
        ValueError, match=r"same number of raters, at least 2; got \[2, 3\]"
    ):
        rating_counts([["a", "b"], ["a", "b", "c"]], classes=ABC)
    with pytest.raises(ValueError, match="same number of raters"):
        pairwise_interval(np.array([[1, 1], [2, 1]]))
    with pytest.raises(ValueError, match="length"):
        agreement_of_marks("11", "1")
    with pytest.raises(ValueError, match=r"same number of raters; got \[2, 3\]"):
        among_raters([labels_of("11"), labels_of("111")], classes=CLASSES)


@given(
    st.lists(st.tuples(labels, st.one_of(st.none(), labels)), min_size=1, max_size=30),
    st.permutations(ABC),
)
def test_names_and_order_of_classes_do_not_matter(
    pairs: list[tuple[str, str | None]], classes: list[str]
) -> None:
    gold, labelled = [a for a, _ in pairs], [b for _, b in pairs]
    kappa = cohen_interval(gold, labelled, classes=ABC, resamples=100).value
    shuffled = cohen_interval(gold, labelled, classes=classes, resamples=100).value
    new_names = dict(zip(ABC, classes, strict=True))
    renamed = confusion_matrix(
        [new_names[a] for a in gold],
        [b and new_names[b] for b in labelled],
        classes=ABC,
    )
    assert kappa == pytest.approx(shuffled, nan_ok=True)
    assert kappa == pytest.approx(cohen_kappa(renamed[:, :3].tolist()), nan_ok=True)
    assert math.isnan(kappa) or -1.0 <= kappa <= 1.0
    assert renamed.sum() == len(pairs)
    figures = class_figures(renamed, ABC).values()
    n_labelled = sum(label is not None for label in labelled)
    assert sum(of_class["n_true"] for of_class in figures) == n_labelled
    for of_class in figures:
        for name in ("recall", "f1"):
            assert math.isnan(of_class[name]) or 0 <= of_class[name] <= 1


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_one_only_for_perfect_agreement(
    pairs: list[tuple[str, str]],
) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    estimate = cohen_interval(first, second, classes=ABC, resamples=100)
    swapped = cohen_interval(second, first, classes=ABC, resamples=100)
    kappa = estimate.value
    assert kappa == pytest.approx(swapped.value, nan_ok=True)
    if not math.isnan(kappa):
        assert (kappa == 1.0) == all(a == b for a, b in pairs)
        assert -1.0 <= estimate.ci_low <= kappa <= estimate.ci_high <= 1.0


@given(
    st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(labels, min_size=raters, max_size=raters), min_size=1, max_size=15
        )
    ),
    st.randoms(use_true_random=False),
)
def test_laws_of_many_raters(ratings: list[list[str]], chance: random.Random) -> None:
    raters = len(ratings[0])
    counts = rating_counts(ratings, classes=ABC)
    kappa, pairwise = fleiss_kappa(counts), pairwise_interval(counts).value
    # Pairwise agreement is what comparing every pair of raters gives.
    equal = [a == b for row in ratings for i, a in enumerate(row) for b in row[i + 1 :]]
    assert pairwise == pytest.approx(sum(equal) / len(equal))
    # The order of raters (another one for each item), items and classes does not matter.
    mixed = [chance.sample(row, raters) for row in chance.sample(ratings, len(ratings))]
    mixed_kappa = fleiss_kappa(rating_counts(mixed, classes=ABC[::-1]))
    assert mixed_kappa == pytest.approx(kappa, nan_ok=True)
    if not math.isnan(kappa):
        assert -1.0 / (raters - 1) - 1e-9 <= kappa <= 1.0 + 1e-9
        assert (kappa > 1 - 1e-9) == (pairwise == 1.0)
    for row in ratings:
        label, counter = majority(row), Counter(row)
        assert label is None or all(
            counter[label] > n for name, n in counter.items() if name != label
        )


CLASSES = ("correct", "incorrect")
Labels = list[str | None]
LABELS = st.sampled_from(["correct", "incorrect", None])


def labels_of(marks: str) -> Labels:
    """Returns the labels of marks: 1 is correct, 0 incorrect, and a blank is no label."""
    return [{"1": "correct", "0": "incorrect", " ": None}[mark] for mark in marks]


def agreement_of_marks(first: str, second: str) -> Agreement:
    return agreement_of(labels_of(first), labels_of(second), classes=CLASSES)


def test_agreement_by_hand() -> None:
    # Both labelled ten items: 1-1 six times, 0-0 twice, 1-0 and 0-1 once each.
    result = agreement_of_marks("111110010 1", "11111000111")
    assert result.agreement.value == pytest.approx(8 / 10)
    by_chance = 0.7 * 0.7 + 0.3 * 0.3
    assert result.kappa.value == pytest.approx((0.8 - by_chance) / (1 - by_chance))
    assert result.agreement.n == result.kappa.n == 10


@pytest.mark.parametrize(("first", "second"), [("1 0 ", " 1 0"), ("", "")])
def test_agreement_on_no_item(first: str, second: str) -> None:
    result = agreement_of_marks(first, second)
    assert math.isnan(result.agreement.value)
    assert math.isnan(result.kappa.value)
    assert result.agreement.n == result.kappa.n == 0


RATINGS = [labels_of(marks) for marks in ("111", "110", "000", "10 ", " 11")]
"""Five items by three raters."""


def test_agreement_with_raters_by_hand() -> None:
    # The judge has 1 1 0 1 for items 0 to 3, rater 1 has 1 1 0 1, rater 2 has 1 1 0 0;
    # rater 3 has 1 0 0 for items 0 to 2.
    results = with_raters(labels_of("1101 "), RATINGS, classes=CLASSES)
    values = [result.agreement.value for result in results]
    assert values == pytest.approx([1.0, 3 / 4, 2 / 3])
    assert [result.agreement.n for result in results] == [4, 4, 3]
    assert with_raters([], [], classes=CLASSES) == []


def test_agreement_among_raters_by_hand() -> None:
    results = among_raters(RATINGS, classes=CLASSES)
    assert list(results) == [(0, 1), (0, 2), (1, 2)]
    values = [result.agreement.value for result in results.values()]
    assert values == pytest.approx([3 / 4, 2 / 3, 3 / 4])
    assert [result.agreement.n for result in results.values()] == [4, 3, 4]
    assert among_raters([], classes=CLASSES) == {}


@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_agreement_is_symmetric_and_of_items_that_both_labelled(
    pairs: list[tuple[str | None, str | None]],
) -> None:
    figures = figures_of_pairs(pairs)
    swapped = [(b, a) for a, b in pairs]
    both = [pair for pair in pairs if None not in pair]
    assert figures_of_pairs(swapped) == pytest.approx(figures, nan_ok=True)
    assert figures_of_pairs(both) == pytest.approx(figures, nan_ok=True)
    assert figures[1] == len(both)


def figures_of_pairs(
    pairs: list[tuple[str | None, str | None]],
) -> tuple[float, int, float]:
    """Returns the agreement of two raters, the number of items, and kappa."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    result = agreement_of(first, second, classes=CLASSES)
    return result.agreement.value, result.agreement.n, result.kappa.value
