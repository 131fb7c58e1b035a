"""BLEU as `evaluate` has it: recorded values, values by hand, laws."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.bleu_and_sari import bleu, bleu_corpus, tokenize_13a
from tests.scoring.text_cases import ANY_TEXTS, EMPTY, TEXTS, triples
from tests.support import needs_shared


@needs_shared
@pytest.mark.upstream
def test_recorded_triples() -> None:
    counted = Counter[str]()
    for row in triples():
        expected = row["expected"]["evaluate_bleu"]
        found = bleu(row["prediction"], row["references"])
        smooth = bleu(row["prediction"], row["references"], smooth=True)
        if "error" in expected:  # the reference divides by zero
            assert found.score == smooth.score == 0.0, row["id"]
            counted["empty"] += 1
            continue
        assert found.score == pytest.approx(expected["bleu"], abs=1e-6), row["id"]
        assert found.precisions == pytest.approx(expected["precisions"], abs=1e-6), row["id"]
        assert found.brevity_penalty == pytest.approx(expected["brevity_penalty"], abs=1e-6), row["id"]
        assert found.length_ratio == pytest.approx(expected["length_ratio"], abs=1e-6), row["id"]
        assert found.prediction_length == expected["translation_length"], row["id"]
        assert found.reference_length == expected["reference_length"], row["id"]
        assert smooth.score == pytest.approx(row["expected"]["evaluate_bleu_smooth"], abs=1e-6), row["id"]
        counted["defined"] += 1
    assert counted["defined"] >= 23
    assert counted["empty"] >= 3


def test_pooled_by_hand() -> None:
    # a b c d e: 5 of 5, 4 of 4, 3 of 3, 2 of 2; x b c: 2 of 3, 1 of 2, 0 of 1. Lengths 8 and 9.
    scores = bleu_corpus(["a b c d e", "x b c"], ["a b c d e", "a b c d"])
    assert scores.precisions == pytest.approx((7 / 8, 5 / 6, 3 / 4, 2 / 2))
    assert scores.brevity_penalty == pytest.approx(math.exp(1 - 9 / 8))
    assert scores.score == pytest.approx(math.exp(1 - 9 / 8) * (7 / 8 * 5 / 6 * 3 / 4) ** 0.25)
    assert bleu("x b c", "a b c d").score == 0.0


def test_words_are_clipped_and_case_counts() -> None:
    assert bleu("the the the the", ["the rash", "the the"], max_order=1).precisions == (2 / 4,)
    assert bleu("The rash is red", "the rash is red").precisions[0] == 3 / 4


def test_the_shortest_reference_sets_the_length() -> None:
    found = bleu("a b c d e", ["a b c d e f", "a b", "a b c d e f g h"])
    assert (found.reference_length, found.brevity_penalty) == (2, 1.0)


def test_fewer_than_four_tokens_score_nothing_unless_smoothed() -> None:
    assert bleu("no fever today", "no fever today").score == 0.0
    assert bleu("no fever today", "no fever today", smooth=True).score == 1.0
    assert bleu("no fever today", "no fever today", max_order=3).score == 1.0


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("empty", EMPTY)
def test_empty_texts_score_nothing(empty: str, smooth: bool) -> None:
    text = "a rash that is red"
    assert bleu(empty, text, smooth=smooth).score == 0.0
    assert bleu(text, empty, smooth=smooth).score == 0.0
    assert bleu(empty, empty, smooth=smooth).score == 0.0
    assert bleu(empty, text).brevity_penalty == 0.0
    assert math.isnan(bleu(text, empty).length_ratio)


def test_an_empty_reference_beside_another_takes_nothing_away() -> None:
    assert bleu("a rash that is red", ["", "a rash that is red"]).score == 1.0


def test_nothing_to_score_has_no_value() -> None:
    found = bleu_corpus([], [])
    assert math.isnan(found.score)
    assert math.isnan(found.length_ratio)


def test_max_order_is_checked() -> None:
    with pytest.raises(ValueError, match="max_order must be at least 1; got 0"):
        bleu("a", "a", max_order=0)


@settings(deadline=None, max_examples=60)
@given(TEXTS | ANY_TEXTS, st.lists(TEXTS | ANY_TEXTS, min_size=1, max_size=3), st.booleans())
def test_laws(prediction: str, references: list[str], smooth: bool) -> None:
    found = bleu(prediction, references, smooth=smooth)
    assert 0 <= found.score <= min(found.brevity_penalty, max(found.precisions) + 1e-12) + 1e-12
    assert found.score == bleu(prediction, references[::-1], smooth=smooth).score
    if all(map(tokenize_13a, references)):  # without tokens the one reference is no reference
        more = bleu(prediction, [*references, "the rash is red"], smooth=smooth)
        assert more.score >= found.score - 1e-12


@settings(deadline=None, max_examples=40)
@given(TEXTS | ANY_TEXTS)
def test_a_text_is_most_like_itself(text: str) -> None:
    n = len(tokenize_13a(text))
    assert bleu(text, text).score == (1.0 if n >= 4 else 0.0)
    assert bleu(text, text, smooth=True).score == (1.0 if n else 0.0)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_a_corpus_twice_over_scores_the_same(pairs: list[tuple[str, str]]) -> None:
    predictions, references = map(list, zip(*pairs, strict=True))
    once, twice = bleu_corpus(predictions, references), bleu_corpus(predictions * 2, references * 2)
    assert twice.score == pytest.approx(once.score)
