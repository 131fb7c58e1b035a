"""Random and hostile replies: every one is decided, none raises, none runs code (a long run: measurements/medcalc_fuzz.py)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurements.medcalc_fuzz import (
    PIECES,
    ROWS,
    Guard,
    decisions,
    hostile_replies,
    random_replies,
)

GUARD = Guard()


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    # The standard library imports its date parser on first use, which the guard forbids.
    for row in ROWS:
        assert len(list(decisions('{"answer": "03/07/2021"}', row))) == 2


def _decide(reply: str, row: tuple[int, str, str, str]) -> None:
    GUARD.armed = True
    try:
        results = list(decisions(reply, row))
    finally:
        GUARD.armed = False
    assert [name for name, _, _ in results] == ["accuracy", "accuracy_official"]
    for _, decision, _ in results:
        assert isinstance(decision.correct, bool)
        assert len(decision.why.splitlines()) == 1


def test_the_guard_refuses_compiled_code_and_open_files() -> None:
    for source in ("1 + 1", "import os"):
        GUARD.armed = True
        with pytest.raises(AssertionError, match="scoring caused compile"):
            compile(source, "reply", "exec")
    GUARD.armed = True
    with pytest.raises(AssertionError, match="scoring caused open"):
        open(__file__)  # noqa: SIM115, PTH123  (the guard is what is tested; it ends the call before a file is open)
    GUARD.armed = False


def test_random_and_hostile_replies() -> None:
    rows = itertools.cycle(ROWS)
    replies = list(random_replies(20240610, 800))
    assert len(set(replies)) > 600
    for reply in replies:
        _decide(reply, next(rows))
    count = 0
    for _, reply in hostile_replies(100_000):
        _decide(reply, next(rows))
        count += 1
    assert count > 1_500


@given(st.text(max_size=200), st.sampled_from(ROWS))
def test_any_text_is_decided(reply: str, row: tuple[int, str, str, str]) -> None:
    _decide(reply, row)


@given(
    st.recursive(
        st.sampled_from(PIECES),
        lambda text: st.builds("({})".format, text) | st.builds("[{}]".format, text),
        max_leaves=40,
    )
)
def test_any_nesting_is_decided(text: str) -> None:
    _decide(f'{{"answer": str({text})}}', ROWS[0])
