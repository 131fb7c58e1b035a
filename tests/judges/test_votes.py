from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.votes import VOTES, draw_votes, expected_calls, paper_agreement, session_calls
from medical_tasks.judges.case import Decided, Undecided, decide


def mode(votes: list[Any]) -> Any:
    """The rule itself: most votes, ties to the value that was first voted for."""
    return max(dict.fromkeys(votes), key=lambda value: (votes.count(value), -votes.index(value)))


def completions(votes: list[Any], k: int, values: str) -> list[list[Any]]:
    """Every list of `k` known votes that agrees with the known ones."""
    unknown = [place for place in range(k) if place >= len(votes) or votes[place] is None]
    found = []
    for filling in product(values, repeat=len(unknown)):
        full = [*votes, *[None] * (k - len(votes))]
        for place, value in zip(unknown, filling, strict=True):
            full[place] = value
        found.append(full)
    return found


@pytest.mark.parametrize(("k", "first_batch"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (7, 4), (9, 5)])
def test_the_first_batch_is_the_fewest_votes_that_could_decide(k: int, first_batch: int) -> None:
    # With an even k half of the votes suffices: the value first voted for wins a tie.
    assert decide([], k) == Undecided(first_batch)


@pytest.mark.parametrize(
    ("votes", "k", "expected"),
    [
        (["a"], 1, Decided("a", 0)),
        (["a", "a", "a"], 5, Decided("a", 0)),
        (["b", "a", "a"], 5, Undecided(1)),
        (["b", "a", "a", "a"], 5, Decided("a", 1)),
        # a 2, b 2, c 1: the tie goes to the value named first
        (["b", "a", "a", "c", "b"], 5, Decided("b", 0)),
        (["a", "b", "a", "b"], 5, Undecided(1)),
        # a stays first with 2 of 4: the last vote can only draw level
        (["a", "a", "b"], 4, Decided("a", 0)),
        (["b", "a", "a"], 4, Undecided(1)),
        # three of five are known and agree: whatever the lost ones were
        (["a", None, "a", None, "a"], 5, Decided("a", 0)),
        (["a", None, "a", None, "b"], 5, Undecided(0)),
        (["a", None, "a", None], 5, Undecided(1)),
        # the lost vote came first and would win the tie
        ([None, "a", "b"], 3, Undecided(0)),
        ([None, "a"], 2, Undecided(0)),
        (["a", None], 2, Decided("a", 0)),
        ([None], 1, Undecided(0)),
        ([None], 3, Undecided(2)),
        # two lost of three can never be made up for
        ([None, None], 3, Undecided(0)),
    ],
)
def test_decisions_by_hand(votes: list[Any], k: int, expected: Decided | Undecided) -> None:
    assert decide(votes, k) == expected


@settings(deadline=None, max_examples=300)
@given(st.data(), st.integers(1, 9), st.integers(2, 4))
def test_stopping_early_decides_as_asking_all(data: st.DataObject, k: int, n_values: int) -> None:
    votes = data.draw(st.lists(st.sampled_from("abcd"[:n_values]), min_size=k, max_size=k))
    asked: list[Any] = []
    while isinstance(outcome := decide(asked, k), Undecided):
        assert 1 <= outcome.needed <= k - len(asked)
        asked = votes[: len(asked) + outcome.needed]
    assert outcome.value == mode(votes)
    assert votes.index(outcome.value) == outcome.vote


@settings(deadline=None, max_examples=300)
@given(st.data(), st.integers(1, 5))
def test_a_decision_holds_for_every_completion_and_only_then(data: st.DataObject, k: int) -> None:
    votes = data.draw(st.lists(st.sampled_from(["a", "b", None]), max_size=k))
    outcome = decide(votes, k)
    modes = {mode(full) for full in completions(votes, k, "abc")}
    if isinstance(outcome, Decided):
        assert modes == {outcome.value}
    else:
        assert len(modes) > 1  # exact: where it says "not certain", two completions differ
        hopeful = [
            more
            for more in range(1, k - len(votes) + 1)
            if any(isinstance(decide([*votes, *further], k), Decided) for further in product("abc", repeat=more))
        ]
        assert outcome.needed == (hopeful[0] if hopeful else 0)


def test_values_need_not_be_hashable() -> None:
    assert decide([{"s": 1}, {"s": 1}], 3) == Decided({"s": 1}, 0)


@pytest.mark.parametrize(
    ("votes", "k", "message"), [([], 0, "k must be at least 1, got 0"), ([1, 1], 1, "at most k = 1")]
)
def test_impossible_numbers_are_refused(votes: list[Any], k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decide(votes, k)


Votes = list[bool | None]


def mode_of_all(votes: Votes) -> bool | None:
    """The mode of five votes, from its definition: the value with most votes, if no reading of the lost ones changes it.

    With two values and five votes there is no tie unless some are lost. Of 2:2 with one lost, each side may be the mode, so
    there is none.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    lost = votes.count(None)
    ahead = [value for value in (True, False) if counts[value] > counts[not value] + lost]
    return ahead[0] if ahead else None


def early(votes: Votes) -> tuple[bool | None, int]:
    """What stopping early decides, and after how many votes."""
    asked: Votes = []
    while isinstance(outcome := decide([None if vote is None else (vote,) for vote in asked], VOTES), Undecided):
        if not outcome.needed:
            return None, len(asked)
        asked = votes[: len(asked) + outcome.needed]
    return outcome.value[0], len(asked)


def test_every_pattern_there_is() -> None:
    """Not only drawn ones: all 3**5 patterns of right, wrong and lost votes."""
    for votes in product((True, False, None), repeat=VOTES):
        value, asked = early(list(votes))
        assert value == mode_of_all(list(votes)), votes
        full = decide([None if vote is None else (vote,) for vote in votes], VOTES)
        assert (full.value[0] if isinstance(full, Decided) else None) == value
        assert 3 <= asked <= VOTES


def test_at_the_papers_level_a_third_of_the_calls_is_saved() -> None:
    level = paper_agreement()
    # kappa 0.757 at 74.34 % correct: 1 - 2 * 0.7434 * 0.2566 = 0.6185 by chance, 0.9073 equal, and 0.9513**2 + 0.0487**2.
    assert level == pytest.approx(0.9513, abs=5e-5)
    patterns = draw_votes(10_000, level, seed=7)
    asked = [asked for _, asked in map(early, patterns)]
    assert sum(asked) <= 0.70 * VOTES * len(patterns)
    spread = math.sqrt(sum((each - sum(asked) / len(asked)) ** 2 for each in asked)) / len(asked)
    assert sum(asked) / len(asked) == pytest.approx(expected_calls(level), abs=4 * spread)
    assert expected_calls(level) == pytest.approx(3.152, abs=5e-4)


def test_a_session_saves_what_is_expected() -> None:
    patterns = draw_votes(400, paper_agreement(), seed=11)
    assert session_calls(patterns) == sum(asked for _, asked in map(early, patterns)) <= 0.70 * VOTES * 400


@pytest.mark.parametrize("level", [0.5, 0.8, 0.8436, 0.8438, 0.95, 1.0])
def test_the_expectation_by_hand(level: float) -> None:
    """Sum over all 32 patterns, each with its chance."""
    total = 0.0
    for votes in product((True, False), repeat=VOTES):
        chance = math.prod(level if vote else 1 - level for vote in votes)
        total += chance * early(list(votes))[1]
    assert expected_calls(level) == pytest.approx(total, abs=1e-12)
    # 30 % and more is saved from 0.8437 on, where 3 x + 6 x**2 = 0.5 with x = level (1 - level).
    assert (expected_calls(level) <= 3.5) == (level > 0.8437)
