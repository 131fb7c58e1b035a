from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.agreement import Agreement, agreement_of, among_raters, with_raters

CLASSES = ("correct", "incorrect")
Labels = list[str | None]
LABELS = st.sampled_from(["correct", "incorrect", None])


def labels(marks: str) -> Labels:
    """1, 0, and a blank for none."""
    return [{"1": "correct", "0": "incorrect", " ": None}[mark] for mark in marks]


def test_by_hand_with_blanks() -> None:
    # Ten that both scored: 1-1 six times, 0-0 twice, 1-0 and 0-1 once each.
    found = agreement_of(labels("111110010 1"), labels("11111000111"), classes=CLASSES)
    assert found.agreement.value == pytest.approx(8 / 10)
    assert found.agreement.n == 10
    one, other = 7 / 10, 7 / 10
    by_chance = one * other + (1 - one) * (1 - other)
    assert found.kappa.value == pytest.approx((0.8 - by_chance) / (1 - by_chance))
    assert found.kappa.n == 10


def test_nothing_in_common_and_nothing_at_all() -> None:
    for one, other in (("1 0 ", " 1 0"), ("", ""), ("11", "  ")):
        found = agreement_of(labels(one), labels(other), classes=CLASSES)
        assert math.isnan(found.agreement.value)
        assert math.isnan(found.kappa.value)
        assert found.agreement.n == found.kappa.n == 0
    assert with_raters([], [], classes=CLASSES) == []
    assert among_raters([], classes=CLASSES) == {}


def test_all_of_one_class_has_no_kappa() -> None:
    found = agreement_of(labels("111"), labels("111"), classes=CLASSES)
    assert found.agreement.value == 1.0
    assert math.isnan(found.kappa.value)


def test_three_raters() -> None:
    ratings = [labels(marks) for marks in ("111", "110", "000", "10 ", " 11")]
    given_labels = labels("1101 ")
    beside = with_raters(given_labels, ratings, classes=CLASSES)
    # Rater 1 scored items 0 to 3 (1 1 0 1) and the judge said 1 1 0 1; rater 2 has 1 1 0 0; rater 3 has 1 0 0.
    assert [found.agreement.value for found in beside] == pytest.approx([1.0, 3 / 4, 2 / 3])
    assert [found.agreement.n for found in beside] == [4, 4, 3]
    among = among_raters(ratings, classes=CLASSES)
    assert list(among) == [(0, 1), (0, 2), (1, 2)]
    assert [found.agreement.n for found in among.values()] == [4, 3, 4]
    assert [found.agreement.value for found in among.values()] == pytest.approx([3 / 4, 2 / 3, 3 / 4])


def test_items_of_one_cluster_widen_the_interval() -> None:
    one, other = labels("1100" * 10), labels("1010" * 10)
    alone = agreement_of(one, other, classes=CLASSES)
    together = agreement_of(one, other, classes=CLASSES, clusters=[number % 4 for number in range(40)])
    assert together.agreement.value == alone.agreement.value == 0.5
    assert together.agreement.ci_high - together.agreement.ci_low > alone.agreement.ci_high - alone.agreement.ci_low


def test_impossible_input_is_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        agreement_of(labels("11"), labels("1"), classes=CLASSES)
    with pytest.raises(ValueError, match=r"same number of raters; got \[2, 3\]"):
        among_raters([labels("11"), labels("111")], classes=CLASSES)
    with pytest.raises(ValueError, match="must be of the classes"):
        agreement_of(["maybe"], ["correct"], classes=CLASSES)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_neither_side_comes_first(drawn: list[tuple[str | None, str | None]]) -> None:
    one, other = [pair[0] for pair in drawn], [pair[1] for pair in drawn]
    there, back = agreement_of(one, other, classes=CLASSES), agreement_of(other, one, classes=CLASSES)
    assert same(there, back)
    both = [pair for pair in drawn if None not in pair]
    assert same(there, agreement_of([a for a, _ in both], [b for _, b in both], classes=CLASSES))
    assert there.agreement.n == len(both)


def same(one: Agreement, other: Agreement) -> bool:
    values = [(found.agreement.value, found.agreement.n, found.kappa.value) for found in (one, other)]
    return values[0] == pytest.approx(values[1], nan_ok=True)
