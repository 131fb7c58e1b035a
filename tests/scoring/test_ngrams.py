"""Runs of tokens, counted by hand."""

from __future__ import annotations

import pytest

from medical_tasks.scoring.text_pairs import clipped_matches, count_ngrams, shared


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [("", 1, {}), ("a", 2, {}), ("aab", 1, {("a",): 2, ("b",): 1}), ("aaa", 2, {("a", "a"): 2})],
)
def test_counts(text: str, n: int, expected: dict[tuple[str, ...], int]) -> None:
    assert count_ngrams(list(text), n) == expected


def test_shared_is_the_smaller_count_of_each() -> None:
    some, others = count_ngrams("aaab", 1), count_ngrams("aabbc", 1)
    assert shared(some, others) == shared(others, some) == 3
    assert shared(some, count_ngrams("", 1)) == 0


def test_matches_are_clipped_at_the_reference_that_has_most() -> None:
    assert clipped_matches("aaaab", ["aa", "aaa"], 1) == 3
    assert clipped_matches("aaaab", ["aab", "b"], 2) == 2
    assert clipped_matches("", ["a"], 1) == clipped_matches("a", [""], 1) == 0
