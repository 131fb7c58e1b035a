"""Exact match and runs of tokens."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings

from medical_tasks.scoring.text_pairs import clipped_matches, count_ngrams, exact_match, exact_match_corpus, shared
from tests.scoring.text_cases import ANY_TEXTS, triples
from tests.support import needs_shared

CASES = json.loads(Path(__file__).with_name("cases").joinpath("text_pairs.json").read_text(encoding="utf-8"))


@needs_shared
@pytest.mark.upstream
def test_recorded_triples() -> None:
    for row in triples():
        prediction, first = row["prediction"], row["references"][0]
        assert exact_match(prediction, first) == row["expected"]["exact_match_first_ref"], row["id"]
        loose = exact_match(prediction, first, ignore_case=True, ignore_punctuation=True)
        assert loose == row["expected"]["exact_match_ignore_case_punct"], row["id"]


@pytest.mark.parametrize(("prediction", "reference", "options", "expected"), CASES["options"])
def test_options(prediction: str, reference: str, options: dict[str, bool], expected: float) -> None:
    assert exact_match(prediction, reference, **options) == expected  # type: ignore[arg-type]


def test_matches_by_hand() -> None:
    assert exact_match_corpus(["a", "B", "c"], ["a", ["b", "x"], "d"]) == pytest.approx(1 / 3)
    assert exact_match_corpus(["a", "B", "c"], ["a", ["b", "x"], "d"], ignore_case=True) == pytest.approx(2 / 3)
    assert math.isnan(exact_match_corpus([], []))
    with pytest.raises(ValueError, match=r"ignore must hold regular expressions; got '\('"):
        exact_match("a", "a", ignore=["("])
    some, others = count_ngrams("aaab", 1), count_ngrams("aabbc", 1)
    assert shared(some, others) == shared(others, some) == 3
    assert shared(some, count_ngrams("", 1)) == 0
    assert clipped_matches("aaaab", ["aa", "aaa"], 1) == 3
    assert clipped_matches("aaaab", ["aab", "b"], 2) == 2
    assert clipped_matches("", ["a"], 1) == clipped_matches("a", [""], 1) == 0


@settings(deadline=None, max_examples=60)
@given(ANY_TEXTS, ANY_TEXTS)
def test_laws(some: str, other: str) -> None:
    assert exact_match(some, some) == 1.0
    assert exact_match(some, other) == exact_match(other, some) == float(some == other)
    loose = exact_match(some, other, ignore_case=True, ignore_punctuation=True, ignore_numbers=True)
    assert loose >= exact_match(some, other)
