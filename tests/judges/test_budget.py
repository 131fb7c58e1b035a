from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.judges.budget import RunBudget, estimate_chat, estimate_tokens


def test_tokens_are_reserved_before_and_settled_after() -> None:
    budget = RunBudget(max_tokens=100)
    assert budget.admit(prompt_tokens=40, output_tokens=20)
    assert not budget.admit(prompt_tokens=40, output_tokens=20)  # 60 are under way
    budget.settle(prompt_tokens=40, output_tokens=20, used=30)
    assert budget.admit(prompt_tokens=40, output_tokens=20)
    assert (budget.calls, budget.tokens) == (2, 30)
    budget.settle(prompt_tokens=40, output_tokens=20, used=None)
    assert budget.tokens == 90
    assert budget.admit(prompt_tokens=10, output_tokens=0)
    assert not budget.admit(prompt_tokens=1, output_tokens=0)
    assert not RunBudget(max_calls=0).admit(prompt_tokens=0, output_tokens=0)
    with pytest.raises(UsageError, match="--max-judge-calls must be 0 or more, got -1"):
        RunBudget(max_calls=-1)
    with pytest.raises(UsageError, match="--max-judge-tokens must be 0 or more, got -5"):
        RunBudget(max_tokens=-5)
    assert estimate_chat([{"role": "system", "content": "abc"}, {"role": "user", "content": "abcdef"}]) == 3 + 16


def test_threads_never_exceed_it_together() -> None:
    budget = RunBudget(max_calls=500, max_tokens=100_000)
    highest: list[int] = []

    def spend() -> None:
        while budget.admit(prompt_tokens=300, output_tokens=100):
            budget.settle(prompt_tokens=300, output_tokens=100, used=150)
            highest.append(budget.tokens)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.calls, budget.tokens) == (500, 75_000)
    assert max(highest) <= 100_000


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1), st.booleans())), st.integers(0, 200))
def test_used_tokens_stay_below_the_limit_while_estimates_hold(
    requests: list[tuple[int, int, float, bool]], limit: int
) -> None:
    budget = RunBudget(max_tokens=limit)
    under_way: list[tuple[int, int, int]] = []
    for prompt, output, share, wait in requests:
        if budget.admit(prompt_tokens=prompt, output_tokens=output):
            under_way.append((prompt, output, int((prompt + output) * share)))
        if not wait:
            for asked, longest, used in under_way:
                budget.settle(prompt_tokens=asked, output_tokens=longest, used=used)
            under_way = []
        assert budget.tokens <= limit


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abc", 1), ("abcd", 2), ("a b c", 2), ("12.5", 4), ("é", 2), ("µg", 3), ("\ud800", 3)],
)
def test_estimates_by_hand(text: str, tokens: int) -> None:
    # a third of the letters and blanks, rounded up, and each other byte
    assert estimate_tokens(text) == tokens


@settings(deadline=None, max_examples=100)
@given(st.text(), st.text())
def test_estimates_grow_with_the_text_and_hardly_depend_on_the_cut(a: str, b: str) -> None:
    whole = estimate_tokens(a + b)
    assert max(estimate_tokens(a), estimate_tokens(b)) <= whole <= estimate_tokens(a) + estimate_tokens(b)
