"""The exact test of a preferred position: against all permutations, and its level."""

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


def permutations_of(questions: Sequence[Sequence[Seen]]) -> Iterator[list[list[Seen]]]:
    """Yields the questions with the contents of their answers permuted in every way."""
    by_question = [
        [
            [
                (at_position, content)
                for (at_position, _), content in zip(seen, order, strict=True)
            ]
            for order in itertools.permutations([content for _, content in seen])
        ]
        for seen in questions
    ]
    for permuted in itertools.product(*by_question):
        yield list(permuted)


def times_chosen(questions: Sequence[Sequence[Seen]]) -> int:
    """Counts the answers whose content is the one at the position."""
    return sum(
        at_position == content for seen in questions for at_position, content in seen
    )


@given(QUESTIONS)
@settings(deadline=None)
def test_the_p_value_is_the_share_of_permutations(questions: list[list[Seen]]) -> None:
    observed = times_chosen(questions)
    counts = [times_chosen(permuted) for permuted in permutations_of(questions)]
    at_most = sum(count <= observed for count in counts)
    at_least = sum(count >= observed for count in counts)
    expected = min(1.0, 2 * min(at_most, at_least) / len(counts))
    assert place_p_value(questions) == pytest.approx(expected, abs=1e-12)


@given(QUESTIONS, st.sampled_from([0.05, 0.1, 0.5]))
@settings(deadline=None, max_examples=30)
def test_it_is_significant_no_more_often_than_its_level(
    questions: list[list[Seen]], level: float
) -> None:
    significant = [
        place_p_value(permuted) <= level + 1e-12
        for permuted in permutations_of(questions)
    ]
    assert sum(significant) / len(significant) <= level + 1e-12


def test_p_values_by_hand() -> None:
    always = [(content, content) for content in range(5)]
    # Of the 120 permutations of five contents one has the position each time.
    assert place_p_value([always]) == pytest.approx(2 / 120)
    assert place_p_value([always] * 3) == pytest.approx(2 / 120**3)
    # A model that always takes the same content prefers no position.
    assert place_p_value([[(content, 2) for content in range(5)]] * 50) == 1.0
    assert place_p_value([]) == place_p_value([[(0, 0)]]) == 1.0
    # 24 orders, 24 different contents: 1 of 24! permutations, below what sums resolve.
    assert place_p_value([[(n, n) for n in range(24)]]) < 1e-12
    assert math.isclose(place_p_value([[(0, 0), (1, 1)]] * 2), 0.5)
