from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurements.votes import (
    VOTES,
    draw_votes,
    expected_calls,
    paper_agreement,
    session_calls,
)
from medical_tasks.judges.case import Decided, decide


def mode(votes: list[Any]) -> Any:
    """The rule: most votes, a tie to the value that had the first vote."""
    return max(
        dict.fromkeys(votes),
        key=lambda value: (votes.count(value), -votes.index(value)),
    )


def completions(votes: list[Any], k: int, values: str) -> list[list[Any]]:
    """Every list of `k` votes that keeps the known ones."""
    unknown = [
        index for index in range(k) if index >= len(votes) or votes[index] is None
    ]
    complete = []
    for filling in product(values, repeat=len(unknown)):
        full = [*votes, *[None] * (k - len(votes))]
        for index, value in zip(unknown, filling, strict=True):
            full[index] = value
        complete.append(full)
    return complete


def test_decisions_by_hand() -> None:
    # a 2, b 2, c 1: the tie goes to the value named first
    assert decide(["b", "a", "a", "c", "b"], 5) == Decided("b", 0)
    # the missing vote is the first and would win the tie
    assert decide([None, "a", "b"], 3) == 0
    assert decide([{"s": 1}, {"s": 1}], 3) == Decided({"s": 1}, 0)


@given(st.data(), st.integers(1, 9), st.integers(2, 4))
def test_stopping_early_decides_as_asking_all(
    data: st.DataObject, k: int, n_values: int
) -> None:
    votes = data.draw(
        st.lists(st.sampled_from("abcd"[:n_values]), min_size=k, max_size=k)
    )
    cast: list[Any] = []
    while not isinstance(outcome := decide(cast, k), Decided):
        assert 1 <= outcome <= k - len(cast)
        cast = votes[: len(cast) + outcome]
    assert outcome.value == mode(votes)
    assert votes.index(outcome.value) == outcome.vote


@given(st.data(), st.integers(1, 5))
def test_a_decision_holds_for_every_completion_and_only_then(
    data: st.DataObject, k: int
) -> None:
    votes = data.draw(st.lists(st.sampled_from(["a", "b", None]), max_size=k))
    outcome = decide(votes, k)
    modes = {mode(full) for full in completions(votes, k, "abc")}
    if isinstance(outcome, Decided):
        assert modes == {outcome.value}
    else:
        # exact: where it decides nothing, two completions differ
        assert len(modes) > 1
        hopeful = [
            more
            for more in range(1, k - len(votes) + 1)
            if any(
                isinstance(decide([*votes, *further], k), Decided)
                for further in product("abc", repeat=more)
            )
        ]
        assert outcome == (hopeful[0] if hopeful else 0)


Votes = list[bool | None]


def early(votes: Votes) -> tuple[bool | None, int]:
    """The decision with early stopping, and after how many votes it is made."""
    cast: Votes = []
    while not isinstance(
        outcome := decide([None if vote is None else (vote,) for vote in cast], VOTES),
        Decided,
    ):
        if not outcome:
            return None, len(cast)
        cast = votes[: len(cast) + outcome]
    return outcome.value[0], len(cast)


def test_calls_of_a_session_are_those_of_stopping_early() -> None:
    patterns = draw_votes(400, paper_agreement(), seed=11)
    assert (
        session_calls(patterns)
        == sum(cast for _, cast in map(early, patterns))
        <= 0.70 * VOTES * 400
    )


@pytest.mark.parametrize("level", [0.5, 0.8, 0.8436, 0.8438, 0.95, 1.0])
def test_the_expectation_by_hand(level: float) -> None:
    """Sum over all 32 patterns, each with its chance."""
    total = 0.0
    for votes in product((True, False), repeat=VOTES):
        chance = math.prod(level if vote else 1 - level for vote in votes)
        total += chance * early(list(votes))[1]
    assert expected_calls(level) == pytest.approx(total, abs=1e-12)
    # 30 % or more is saved above 0.8437, where 3 x + 6 x**2 = 0.5 for
    # x = level (1 - level).
    assert (expected_calls(level) <= 3.5) == (level > 0.8437)
