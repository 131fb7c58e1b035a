"""What follows from probabilities of choices, by hand, by law, and where some are not told."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.scoring import score_choices
from medical_tasks.models.base import ChoiceScores

METRICS = ("accuracy", "accuracy_per_token", "accuracy_per_character", "gold_probability")
TEXTS = ("abcd", "ab", "abcdefgh", "a", "abc")


def _scores(
    logprobs: Sequence[float | None], tokens: Sequence[int] = (1, 1, 1, 1, 1), below: float | None = None
) -> ChoiceScores:
    return ChoiceScores(logprobs=tuple(logprobs), tokens=tuple(tokens), below=below)


def _found(
    logprobs: Sequence[float | None], gold: int, tokens: Sequence[int] = (1, 1, 1, 1, 1), below: float | None = None
) -> dict[str, tuple[float, float]]:
    return score_choices(_scores(logprobs, tokens, below), TEXTS, gold).metrics


def test_by_hand() -> None:
    # Sums -4 -3 -8 -5 -6; a token: -2 -3 -1 -5 -2; a character: -1 -1.5 -1 -5 -2.
    logprobs, tokens = (-4.0, -3.0, -8.0, -5.0, -6.0), (2, 1, 8, 1, 3)
    by_gold = [_found(logprobs, gold, tokens) for gold in range(5)]
    assert [found["accuracy"][0] for found in by_gold] == [0, 1, 0, 0, 0]
    assert [found["accuracy_per_token"][0] for found in by_gold] == [0, 0, 1, 0, 0]
    assert [found["accuracy_per_character"][0] for found in by_gold] == [0, 0, 0, 0, 0]  # a tie of two
    total = math.exp(-4) + math.exp(-3) + math.exp(-8) + math.exp(-5) + math.exp(-6)
    assert by_gold[0]["gold_probability"] == pytest.approx((math.exp(-4) / total,) * 2, abs=1e-15)
    assert score_choices(_scores(logprobs, tokens), TEXTS, 0).chosen == 1


def test_characters_are_code_points_without_white_space_around() -> None:
    texts = ("é" * 4, " " * 3 + "ab ", "🩺", "b", "c")
    scores = _scores((-4, -2.4, -1.5, -9, -9))
    found = [score_choices(scores, texts, gold).metrics["accuracy_per_character"] for gold in range(5)]
    assert found == [(1.0, 1.0), *[(0.0, 0.0)] * 4]


def test_ties_are_wrong() -> None:
    for gold in range(5):
        found = _found((-2, -2, -2, -2, -2), gold)
        assert found["accuracy"] == found["accuracy_per_token"] == (0.0, 0.0)
        assert found["gold_probability"] == pytest.approx((0.2, 0.2))
    assert score_choices(_scores((-1, -1, -2, -2, -2)), TEXTS, 0).chosen is None


def test_what_is_impossible_and_what_is_far_away() -> None:
    sure = [-math.inf] * 4 + [0.0]
    assert _found(sure, 4)["accuracy"] == _found(sure, 4)["gold_probability"] == (1.0, 1.0)
    assert _found(sure, 0)["gold_probability"] == (0.0, 0.0)
    far = (-5000.0, -5001.0, -6000.0, -7000.0, -8000.0)
    assert _found(far, 0)["gold_probability"][0] == pytest.approx(1 / (1 + math.exp(-1)))
    nothing = [-math.inf] * 5
    assert _found(nothing, 2)["accuracy"] == (0.0, 0.0)
    assert _found(nothing, 2)["gold_probability"] == (0.2, 0.2)


@pytest.mark.parametrize(
    ("logprobs", "below", "expected"),
    [
        ((-1, -2, None, None, None), -3.0, (1.0, 1.0)),  # told, and above all that could be
        ((-2, -1, None, None, None), -3.0, (0.0, 0.0)),  # another one is told above
        ((-3, None, None, None, None), -3.0, (1.0, 1.0)),  # the last one told: the server ranks it above the others
        ((None, -3, None, None, None), -3.0, (0.0, 0.0)),
        ((None, -1, -2, None, None), -3.0, (0.0, 0.0)),  # not told, another one is
        ((None, -4, None, None, None), -3.0, (0.0, 1.0)),
        ((-4, None, -5, None, None), -3.0, (0.0, 1.0)),
        ((None, None, None, None, None), -3.0, (0.0, 1.0)),
    ],
)
def test_choices_that_are_not_told(
    logprobs: tuple[float | None, ...], below: float, expected: tuple[float, float]
) -> None:
    assert _found(logprobs, 0, below=below)["accuracy"] == expected


def test_limits_of_the_probability_by_hand() -> None:
    known, bound = math.exp(-1), math.exp(-3)
    low, high = _found((-1, None, None, -math.inf, -math.inf), 0, below=-3.0)["gold_probability"]
    assert [low, high] == pytest.approx([known / (known + 2 * bound), 1.0])
    low, high = _found((-1, None, None, -math.inf, -math.inf), 1, below=-3.0)["gold_probability"]
    assert [low, high] == pytest.approx([0.0, bound / (known + bound)])
    assert _found((None,) * 5, 0, below=-3.0)["gold_probability"] == (0.0, 1.0)


LOGPROBS = st.sampled_from((-0.25, -1.0, -2.0, -3.5, -6.0))


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5), st.lists(st.integers(1, 4), min_size=5, max_size=5), st.integers(0, 4)
)
@settings(deadline=None, max_examples=150)
def test_shares_add_up_and_one_choice_at_most_leads(logprobs: list[float], tokens: list[int], gold: int) -> None:
    all_of = [_found(logprobs, place, tokens) for place in range(5)]
    assert math.fsum(found["gold_probability"][0] for found in all_of) == pytest.approx(1)
    for name in METRICS[:3]:
        assert sum(found[name][0] for found in all_of) <= 1
        assert all(low == high for found in all_of for low, high in [found[name]])
    # Told less by the same number, all of it stays.
    moved = _found([value - 7 for value in logprobs], gold, tokens)
    assert moved["accuracy"] == all_of[gold]["accuracy"]
    assert moved["gold_probability"] == pytest.approx(all_of[gold]["gold_probability"])


@given(
    st.lists(LOGPROBS, min_size=5, max_size=5),
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
    st.sets(st.integers(0, 4), min_size=1),
    st.integers(0, 4),
)
@settings(deadline=None, max_examples=50)
def test_limits_hold_whatever_the_untold_ones_are(
    logprobs: list[float], tokens: list[int], untold: set[int], gold: int
) -> None:
    told: list[float | None] = [None if place in untold else value for place, value in enumerate(logprobs)]
    below = -2.0
    limits = _found(told, gold, tokens, below)
    for filled in itertools.product((-2.0 - 1e-9, -3.5, -math.inf), repeat=len(untold)):
        values = dict(zip(sorted(untold), filled, strict=True))
        # Below what is told, as a server ranks them.
        whole = [values.get(place, logprobs[place]) for place in range(5)]
        for name in METRICS:
            value = _found(whole, gold, tokens)[name][0]
            assert limits[name][0] - 1e-9 <= value <= limits[name][1] + 1e-9, (name, whole)


def test_another_number_of_choices_is_refused() -> None:
    with pytest.raises(ValueError, match="has 4 log-probabilities, the question 5 choices"):
        score_choices(ChoiceScores(logprobs=(-1, -2, -3, -4), tokens=(1, 1, 1, 1)), TEXTS, 0)


@pytest.mark.parametrize("field", ["logprobs", "tokens", "below"])
def test_numbers_that_no_float_holds_are_refused(field: str) -> None:
    record: dict[str, Any] = {"logprobs": [-1.0, None], "tokens": [1, 1], "below": -2.0}
    record[field] = {"logprobs": [-(10**400), None], "tokens": [10**400, 1], "below": -(10**400)}[field]
    with pytest.raises(ValueError, match=field):
        ChoiceScores.from_text(json.dumps(record))


def test_a_bound_of_no_probability_goes_through_text() -> None:
    scores = ChoiceScores(logprobs=(-1.0, None), tokens=(1, 1), below=-math.inf)
    assert ChoiceScores.from_text(scores.to_text()) == scores
