from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
