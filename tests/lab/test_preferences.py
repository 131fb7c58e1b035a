from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.lab.preferences import (
    OutputPairs,
    Vote,
    compare_preferences,
    disagreeing,
    human_agreement,
    output_pairs,
    preference_signs,
)
from medical_tasks.scoring.intervals import wilson_interval

NAN = math.nan
# Few different values, so that ties are frequent, and some missing ones.
values = st.one_of(st.integers(0, 4).map(float), st.just(NAN))
WORDS: list[Vote] = ["first", "second", "tie"]
votes = st.lists(st.sampled_from(WORDS), max_size=3)
tables = st.lists(st.tuples(st.sampled_from("abc"), values, values), max_size=12)


def signs_of(
    table: list[tuple[str, float, float]],
) -> tuple[OutputPairs, Any, Any, list[str]]:
    items = [row[0] for row in table]
    pairs = output_pairs(items)
    first, second = (
        preference_signs(np.array([row[k] for row in table], dtype=float), pairs)
        for k in (1, 2)
    )
    return pairs, first, second, [items[row] for row in pairs.first]


def test_preferred_outputs() -> None:
    pairs = output_pairs(["x", "y", "x", "y", "x", "z"])
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [
        (0, 2),
        (0, 4),
        (2, 4),
        (1, 3),
    ]
    assert len(output_pairs([])) == len(output_pairs(["a", "b"])) == 0
    pairs = output_pairs(["x"] * 4)
    signs = preference_signs([1.0, 2.0, 2.0, NAN], pairs)
    assert np.array_equal(signs, [-1, -1, NAN, 0, NAN, NAN], equal_nan=True)
    # Values no further apart than epsilon are a tie; rounding alone makes no preference.
    two = output_pairs(["x", "x"])
    assert preference_signs([0.1 + 0.2, 0.3], two).tolist() == [0.0]
    assert preference_signs([0.1 + 0.2, 0.3], two, epsilon=0.0).tolist() == [1.0]
    assert preference_signs([0.50, 0.55], two, epsilon=0.1).tolist() == [0.0]
    assert preference_signs([0.25, 0.75], two, epsilon=0.5).tolist() == [0.0]


def test_human_agreement_by_hand_and_without_votes() -> None:
    chosen_votes: list[list[Vote]] = [
        ["first", "first", "second"],  # first: the metric agrees
        ["second", "second", "second"],  # second: it does not
        ["first"],  # first: the metric has no value
        ["second", "second", "tie"],  # second: the metric is tied
        ["tie", "tie", "first"],  # no preference
        ["first", "second", "tie"],  # no majority
        ["first", "second"],  # no majority
        [],  # no annotator
    ]
    agreement = human_agreement(
        np.array([1, 1, NAN, 0, 1, 1, 1, 1.0]), chosen_votes, clusters=list("abcdefgh")
    )
    assert (agreement.same, agreement.opposite, agreement.metric_tied) == (1, 1, 2)
    assert (agreement.human_tied, agreement.no_majority, agreement.not_annotated) == (
        1,
        2,
        1,
    )
    assert (agreement.share.value, agreement.share.n) == (0.5, 2)
    assert (agreement.share.ci_low, agreement.share.ci_high) == wilson_interval(1, 2)
    agreed = compare_preferences(
        np.array([1.0, -1.0]), np.array([1.0, -1.0]), clusters="ab"
    )
    assert (agreed.opposite, agreed.share_opposite.value, agreed.share_opposite.n) == (
        0,
        0.0,
        2,
    )
    tied = compare_preferences(np.zeros(2), np.zeros(2), clusters="ab")
    assert (tied.tied, tied.share_same.value, tied.share_decided.n) == (2, 0.0, 0)
    assert math.isnan(tied.share_decided.value)
    for signs, chosen in (
        (np.zeros(1), [["first"]]),
        (np.ones(1), [["tie"]]),
        (np.ones(1), [[]]),
        (np.empty(0), []),
    ):
        agreement = human_agreement(signs, chosen, clusters="a" * len(chosen))  # type: ignore[arg-type]
        assert agreement.share.n == 0
        assert [
            math.isnan(end)
            for end in (
                agreement.share.value,
                agreement.share.ci_low,
                agreement.share.ci_high,
            )
        ] == [True] * 3
    nothing = compare_preferences(np.empty(0), np.empty(0), clusters=[])
    assert (nothing.share_same.n, math.isnan(nothing.share_same.value)) == (0, True)


def test_wrong_input() -> None:
    for epsilon in (-0.1, math.inf, NAN):
        with pytest.raises(
            ValueError, match="epsilon must be 0 or more and finite; got"
        ):
            preference_signs([1.0], output_pairs(["x"]), epsilon=epsilon)
    with pytest.raises(ValueError, match="votes must be first, second, tie; got 'a'"):
        human_agreement(np.ones(1), [["a"]], clusters="x")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="must have the same length"):
        compare_preferences(np.ones(2), np.ones(1), clusters="ab")
    with pytest.raises(ValueError, match="values must be finite"):
        preference_signs([math.inf, 1.0], output_pairs("aa"))


@given(table=tables, data=st.data())
def test_laws(table: list[tuple[str, float, float]], data: st.DataObject) -> None:
    pairs, first, second, clusters = signs_of(table)
    all_votes = [data.draw(votes) for _ in range(len(pairs))]
    both = compare_preferences(first, second, clusters=clusters)
    assert both.same + both.opposite + both.tied + both.missing == len(pairs)
    assert repr(compare_preferences(second, first, clusters=clusters)) == repr(both)
    # Adding a constant changes nothing.
    more = preference_signs(
        np.array([row[1] + 0.1 for row in table], dtype=float), pairs
    )
    assert np.array_equal(more, first, equal_nan=True)
    # The pairs' outputs the other way round, and people's choices with them.
    swapped: dict[Vote, Vote] = {"first": "second", "second": "first", "tie": "tie"}
    turned = [[swapped[vote] for vote in pair_votes] for pair_votes in all_votes]
    assert repr(compare_preferences(-first, -second, clusters=clusters)) == repr(both)
    people = human_agreement(first, all_votes, clusters=clusters)
    assert repr(human_agreement(-first, turned, clusters=clusters)) == repr(people)
    counted = people.same + people.opposite + people.metric_tied
    assert (
        counted + people.human_tied + people.no_majority + people.not_annotated
        == len(pairs)
    )
    # The opposite metric is right where this one is wrong.
    against = human_agreement(-first, all_votes, clusters=clusters)
    assert (against.same, against.opposite) == (people.opposite, people.same)
    # Where two metrics disagree, people side with one or the other (figure 7).
    differ = np.flatnonzero(disagreeing(first, second))
    sides = [
        human_agreement(
            signs[differ],
            [all_votes[k] for k in differ],
            clusters=[clusters[k] for k in differ],
        )
        for signs in (first, second)
    ]
    assert (sides[0].same, sides[0].opposite, sides[0].metric_tied) == (
        sides[1].opposite,
        sides[1].same,
        0,
    )
    if sides[0].share.n:
        assert sides[0].share.value + sides[1].share.value == pytest.approx(1.0)


@given(table=tables, shuffle=st.randoms(use_true_random=False))
def test_the_order_of_outputs_does_not_matter(
    table: list[tuple[str, float, float]], shuffle: random.Random
) -> None:
    _, first, second, clusters = signs_of(table)
    _, one_too, other_too, clusters_too = signs_of(shuffle.sample(table, len(table)))
    comparison = compare_preferences(first, second, clusters=clusters)
    assert repr(compare_preferences(one_too, other_too, clusters=clusters_too)) == repr(
        comparison
    )
