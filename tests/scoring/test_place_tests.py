"""The exact test of a preferred place: by all deals, and never too often significant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.place_tests import Seen, place_p_value

QUESTIONS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4),
    min_size=1,
    max_size=2,
)


def deals(questions: Sequence[Sequence[Seen]]) -> Iterator[list[list[Seen]]]:
    """What the questions' answers would be with their contents dealt out in every way."""
    every = [list(itertools.permutations(seen)) for seen in questions]
    for dealt in itertools.product(*every):
        yield [
            [
                (standing, given[1])
                for (standing, _), given in zip(seen, new, strict=True)
            ]
            for seen, new in zip(questions, dealt, strict=True)
        ]


def met(questions: Sequence[Sequence[Seen]]) -> int:
    return sum(standing == content for seen in questions for standing, content in seen)


@given(QUESTIONS)
@settings(deadline=None)
def test_the_p_value_counts_all_deals(questions: list[list[Seen]]) -> None:
    found, counts = met(questions), [met(deal) for deal in deals(questions)]
    tails = sum(count <= found for count in counts), sum(c >= found for c in counts)
    expected = min(1.0, 2 * min(tails) / len(counts))
    assert place_p_value(questions) == pytest.approx(expected, abs=1e-12)


@given(QUESTIONS, st.sampled_from([0.05, 0.1, 0.5]))
@settings(deadline=None, max_examples=30)
def test_it_is_significant_no_more_often_than_its_level(
    questions: list[list[Seen]], level: float
) -> None:
    found = [place_p_value(deal) <= level + 1e-12 for deal in deals(questions)]
    assert sum(found) / len(found) <= level + 1e-12


def test_by_hand() -> None:
    always = [(place, place) for place in range(5)]
    # Of the 120 deals of five contents one meets the place five times.
    assert place_p_value([always]) == pytest.approx(2 / 120)
    assert place_p_value([always] * 3) == pytest.approx(2 / 120**3)
    # A model that takes one content always has no preference, whatever stands where.
    assert place_p_value([[(place, 2) for place in range(5)]] * 50) == 1.0
    assert place_p_value([]) == place_p_value([[(0, 0)]]) == 1.0
    # 24 orders, 24 different contents, each met: 1 of 24! deals, below what sums resolve.
    assert place_p_value([[(n, n) for n in range(24)]]) < 1e-12
    assert math.isclose(place_p_value([[(0, 0), (1, 1)]] * 2), 0.5)
