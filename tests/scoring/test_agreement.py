"""Agreement of labels: published tables, cases by hand, laws."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

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
from medical_tasks.scoring.intervals import wilson_interval

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
    """Of counts, rows by one rater's class and columns by the other's."""
    items = [
        (a, b)
        for a, row in zip(ABC, table, strict=False)
        for b, n in zip(ABC, row, strict=False)
        for _ in range(n)
    ]
    return cohen_interval(
        [a for a, _ in items], [b for _, b in items], classes=ABC, resamples=100
    ).value


def fleiss_kappa(counts: Counts) -> float:
    return fleiss_interval(counts).value


def test_kappas_of_published_tables_and_of_nothing() -> None:
    # Kappa 0.430 and the kappas of each diagnosis against the rest, as the paper's
    # example is quoted with (R's irr, `kappam.fleiss(diagnoses, detail=TRUE)`).
    assert round(fleiss_kappa(DIAGNOSES), 3) == 0.430
    # the paper's mean P
    assert pairwise_interval(DIAGNOSES).value == pytest.approx(0.556, abs=5e-4)
    alone = [
        fleiss_kappa(np.stack([column, 6 - column], axis=1)) for column in DIAGNOSES.T
    ]
    assert [round(value, 3) for value in alone] == [0.245, 0.245, 0.520, 0.471, 0.566]
    # stated there as the unweighted kappa
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
    assert math.isnan(
        fleiss_kappa(rating_counts([["a", "a"], ["a", "a"]], classes=ABC))
    )
    assert math.isnan(fleiss_kappa(rating_counts([], classes=ABC)))
    assert math.isnan(pairwise_interval(rating_counts([], classes=ABC)).value)
    assert fleiss_kappa(rating_counts([["a", "b"], ["b", "a"]], classes=ABC)) == -1.0


def test_labels_by_hand() -> None:
    table = confusion_matrix(
        ["a", "a", "b", "c", "c"], ["a", None, "a", "c", None], classes=ABC
    )
    assert table.tolist() == [[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]
    # a: of 2 with a label 1 found, of 3 said 1 right; b: none said; c: 1 of 1; the item
    # without a label counts nowhere.
    gold, given = ["a", "a", "a", "b", "b", "c"], ["a", "c", None, "a", "a", "c"]
    figures = class_figures(confusion_matrix(gold, given, classes=ABC), ABC)
    a, b, c = (SimpleNamespace(**figures[name]) for name in ABC)
    assert (a.recall, a.precision, a.f1, a.n_true, a.n_given) == (
        1 / 2,
        1 / 3,
        2 / 5,
        2,
        3,
    )
    assert (b.recall, b.f1, b.n_true, b.n_given) == (0.0, 0.0, 2, 0)
    assert math.isnan(b.precision)
    assert (c.recall, c.precision, c.f1) == (1.0, 1 / 2, 2 / 3)
    empty = class_figures(confusion_matrix([], [], classes=ABC), ABC)["a"]
    assert [name for name, value in empty.items() if math.isnan(value)] == [
        "recall",
        "precision",
        "f1",
    ]
    assert majority(["a", "b", "a"]) == "a"
    assert majority(["a"]) == "a"
    assert majority(["a", "b"]) is None
    assert majority(["a", "b", "c"]) is None
    assert majority(["a", "a", "b", "b", "c"]) is None
    assert majority([]) is None
    found = leave_one_out([["a", "a", "b"], ["b", "b", "b"], ["a", "b", "c"]])
    # The first rater: the others say (a, b), (b, b), (b, c), so one item counts and it
    # agrees there. The third: (a, a) no, (b, b) yes.
    assert found.references == ((None, "b", None), (None, "b", None), ("a", "b", None))
    assert found.counted == (1, 1, 2)
    assert found.accuracy == (1.0, 1.0, 0.5)
    assert found.mean == pytest.approx(2.5 / 3)


def test_accuracy_counts_what_has_a_label_and_clusters_widen_it() -> None:
    found = accuracy_interval(["a", "b", "c", "a"], ["a", "b", "a", None])
    assert (found.value, found.n) == (2 / 3, 3)
    assert (found.ci_low, found.ci_high) == wilson_interval(2, 3)
    assert math.isnan(accuracy_interval(["a"], [None]).value)
    # 20 answers of 10 statements each, all right or all wrong: worth 20 items, not 200.
    gold = [name for i in range(20) for name in (["a"] * 5 + ["b"] * 5)]
    given = [
        name if i // 10 % 2 else ("b" if name == "a" else "a")
        for i, name in enumerate(gold)
    ]
    clusters = [i // 10 for i in range(200)]
    for function in (
        accuracy_interval,
        lambda *two, **more: cohen_interval(*two, classes=("a", "b"), **more),
    ):
        alone, together = (
            function(gold, given),
            function(gold, given, clusters=clusters),
        )
        assert alone.value == together.value
        assert together.ci_high - together.ci_low > 2 * (alone.ci_high - alone.ci_low)


def test_bad_input_is_named() -> None:
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
        agreement_of(raters_labels("11"), raters_labels("1"), classes=CLASSES)
    with pytest.raises(ValueError, match=r"same number of raters; got \[2, 3\]"):
        among_raters([raters_labels("11"), raters_labels("111")], classes=CLASSES)
    with pytest.raises(ValueError, match="must be of the classes"):
        agreement_of(["maybe"], ["correct"], classes=CLASSES)


@given(
    st.lists(st.tuples(labels, st.one_of(st.none(), labels)), min_size=1, max_size=30),
    st.permutations(ABC),
)
def test_names_and_order_of_classes_do_not_matter(
    pairs: list[tuple[str, str | None]], other: list[str]
) -> None:
    gold, said = [a for a, _ in pairs], [b for _, b in pairs]
    renamed = dict(zip(ABC, other, strict=True))
    plain = cohen_interval(gold, said, classes=ABC, resamples=100).value
    shuffled = cohen_interval(gold, said, classes=other, resamples=100).value
    moved = confusion_matrix(
        [renamed[a] for a in gold], [b and renamed[b] for b in said], classes=ABC
    )
    assert plain == pytest.approx(shuffled, nan_ok=True)
    assert plain == pytest.approx(cohen_kappa(moved[:, :3].tolist()), nan_ok=True)
    assert math.isnan(plain) or -1.0 <= plain <= 1.0
    assert moved.sum() == len(pairs)
    figures = class_figures(moved, ABC)
    assert sum(each["n_true"] for each in figures.values()) == sum(
        b is not None for b in said
    )
    assert all(
        math.isnan(each[name]) or 0 <= each[name] <= 1
        for each in figures.values()
        for name in ("recall", "f1")
    )


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_one_only_for_perfect_agreement(
    pairs: list[tuple[str, str]],
) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    estimate = cohen_interval(one, other, classes=ABC, resamples=100)
    kappa = estimate.value
    assert kappa == pytest.approx(
        cohen_interval(other, one, classes=ABC, resamples=100).value, nan_ok=True
    )
    if not math.isnan(kappa):
        assert (kappa == 1.0) == all(a == b for a, b in pairs)
    assert (
        math.isnan(kappa) or -1.0 <= estimate.ci_low <= kappa <= estimate.ci_high <= 1.0
    )


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
    # Neither the order of raters (for each item another one), of items nor of classes
    # shows.
    mixed = [chance.sample(row, raters) for row in chance.sample(ratings, len(ratings))]
    assert fleiss_kappa(rating_counts(mixed, classes=ABC[::-1])) == pytest.approx(
        kappa, nan_ok=True
    )
    if not math.isnan(kappa):
        assert -1.0 / (raters - 1) - 1e-9 <= kappa <= 1.0 + 1e-9
        assert (kappa > 1 - 1e-9) == (pairwise == 1.0)
    for row in ratings:
        found, tally = majority(row), Counter(row)
        assert found is None or all(
            tally[found] > n for name, n in tally.items() if name != found
        )


CLASSES = ("correct", "incorrect")
Labels = list[str | None]
LABELS = st.sampled_from(["correct", "incorrect", None])


def raters_labels(marks: str) -> Labels:
    """1, 0, and a blank for none."""
    return [{"1": "correct", "0": "incorrect", " ": None}[mark] for mark in marks]


def test_raters_by_hand() -> None:
    # Ten that both scored: 1-1 six times, 0-0 twice, 1-0 and 0-1 once each.
    found = agreement_of(
        raters_labels("111110010 1"), raters_labels("11111000111"), classes=CLASSES
    )
    assert found.agreement.value == pytest.approx(8 / 10)
    assert found.agreement.n == 10
    by_chance = 0.7 * 0.7 + 0.3 * 0.3
    assert found.kappa.value == pytest.approx((0.8 - by_chance) / (1 - by_chance))
    assert found.kappa.n == 10
    for one, other in (("1 0 ", " 1 0"), ("", ""), ("11", "  ")):
        found = agreement_of(raters_labels(one), raters_labels(other), classes=CLASSES)
        assert math.isnan(found.agreement.value)
        assert math.isnan(found.kappa.value)
        assert found.agreement.n == found.kappa.n == 0
    assert with_raters([], [], classes=CLASSES) == []
    assert among_raters([], classes=CLASSES) == {}
    ratings = [raters_labels(marks) for marks in ("111", "110", "000", "10 ", " 11")]
    given_labels = raters_labels("1101 ")
    beside = with_raters(given_labels, ratings, classes=CLASSES)
    # Rater 1 scored items 0 to 3 (1 1 0 1) and the judge said 1 1 0 1; rater 2 has 1 1
    # 0 0; rater 3 has 1 0 0.
    assert [found.agreement.value for found in beside] == pytest.approx(
        [1.0, 3 / 4, 2 / 3]
    )
    assert [found.agreement.n for found in beside] == [4, 4, 3]
    among = among_raters(ratings, classes=CLASSES)
    assert list(among) == [(0, 1), (0, 2), (1, 2)]
    assert [found.agreement.n for found in among.values()] == [4, 3, 4]
    assert [found.agreement.value for found in among.values()] == pytest.approx(
        [3 / 4, 2 / 3, 3 / 4]
    )


@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_neither_side_comes_first(drawn: list[tuple[str | None, str | None]]) -> None:
    one, other = [pair[0] for pair in drawn], [pair[1] for pair in drawn]
    there, back = (
        agreement_of(one, other, classes=CLASSES),
        agreement_of(other, one, classes=CLASSES),
    )
    assert same(there, back)
    both = [pair for pair in drawn if None not in pair]
    assert same(
        there, agreement_of([a for a, _ in both], [b for _, b in both], classes=CLASSES)
    )
    assert there.agreement.n == len(both)


def same(one: Agreement, other: Agreement) -> bool:
    values = [
        (found.agreement.value, found.agreement.n, found.kappa.value)
        for found in (one, other)
    ]
    return values[0] == pytest.approx(values[1], nan_ok=True)
