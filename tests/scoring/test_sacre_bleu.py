"""sacreBLEU: recorded values, and the library itself on random texts."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.bleu_and_sari import bleu, sacrebleu_corpus, sacrebleu_sentence, tokenize_13a
from tests.scoring.text_cases import ANY_TEXTS, EMPTY, TEXTS, triples
from tests.support import needs_shared


@needs_shared
@pytest.mark.upstream
def test_recorded_triples() -> None:
    for row in triples():
        prediction, references = row["prediction"], row["references"]
        sentence, corpus = sacrebleu_sentence(prediction, references), sacrebleu_corpus([prediction], [references])
        assert 100 * sentence.score == pytest.approx(row["expected"]["sacrebleu_sentence"], abs=1e-6), row["id"]
        assert 100 * corpus.score == pytest.approx(row["expected"]["sacrebleu_corpus_single"], abs=1e-6), row["id"]


@cache
def _library(**settings: Any) -> Any:
    return importlib.import_module("sacrebleu").BLEU(force=True, **settings)


@settings(deadline=None, max_examples=70)
@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(
            st.tuples(TEXTS | ANY_TEXTS, st.lists(TEXTS | ANY_TEXTS, min_size=n, max_size=n)), min_size=1, max_size=4
        )
    ),
    st.booleans(),
)
def test_the_library_says_the_same(segments: list[tuple[str, list[str]]], lowercase: bool) -> None:
    pytest.importorskip("sacrebleu")
    predictions, references = map(list, zip(*segments, strict=True))
    expected = _library(lowercase=lowercase).corpus_score(predictions, list(zip(*references, strict=True)))
    found = sacrebleu_corpus(predictions, references, lowercase=lowercase)
    assert 100 * found.score == pytest.approx(expected.score, abs=1e-9)
    assert [100 * share for share in found.precisions] == pytest.approx(expected.precisions, abs=1e-9)
    assert found.brevity_penalty == pytest.approx(expected.bp, abs=1e-12)
    assert (found.prediction_length, found.reference_length) == (expected.sys_len, expected.ref_len)
    sentence = _library(lowercase=lowercase, effective_order=True).sentence_score(predictions[0], references[0])
    assert 100 * sacrebleu_sentence(predictions[0], references[0], lowercase=lowercase).score == pytest.approx(
        sentence.score, abs=1e-9
    )


@settings(deadline=None, max_examples=100)
@given(TEXTS | ANY_TEXTS, TEXTS | ANY_TEXTS)
def test_without_smoothing_the_library_is_evaluates_bleu(prediction: str, reference: str) -> None:
    # True of one reference and of texts that do not end in white space, which the library cuts off.
    pytest.importorskip("sacrebleu")
    prediction, reference = prediction + " x", reference + " x"
    expected = _library(smooth_method="none").corpus_score([prediction], [[reference]])
    assert 100 * bleu(prediction, reference).score == pytest.approx(expected.score, abs=1e-9)


def test_a_sentence_counts_the_orders_it_has() -> None:
    assert sacrebleu_sentence("Sepsis", "Sepsis").score == 1.0
    assert sacrebleu_corpus(["Sepsis"], ["Sepsis"]).score == 0.0


def test_smoothing_by_hand() -> None:
    # a b x d against a b c d: 3 of 4, 1 of 3, then no match of 2 and of 1: 1/2 and 1/4 of one.
    found = sacrebleu_sentence("a b x d", "a b c d")
    assert found.precisions == pytest.approx((3 / 4, 1 / 3, 1 / 4, 1 / 4))
    assert found.score == pytest.approx((3 / 4 / 3 / 4 / 4) ** 0.25)


def test_the_closest_reference_sets_the_length() -> None:
    assert sacrebleu_sentence("a b c d e", ["a b", "a b c d e f g"]).reference_length == 7
    assert (
        sacrebleu_sentence("a b c d e", ["a b c d e f g", "a b c"]).reference_length == 3
    )  # of equally close the shorter


def test_white_space_at_the_end_goes_before_a_hyphen_could() -> None:
    assert sacrebleu_sentence("no rash pre-\n", "no rash pre-").score == 1.0
    assert bleu("no rash pre-\n", "no rash pre-").precisions[0] == 2 / 3  # evaluate: "pre"


def test_case_counts_unless_told() -> None:
    assert sacrebleu_sentence("NO FEVER NOW", "no fever now").score == 0.0
    assert sacrebleu_sentence("NO FEVER NOW", "no fever now", lowercase=True).score == 1.0


@pytest.mark.parametrize("empty", EMPTY)
def test_empty_texts_score_nothing(empty: str) -> None:
    for prediction, reference in ((empty, "a rash"), ("a rash", empty), (empty, empty)):
        assert sacrebleu_sentence(prediction, reference).score == 0.0
        assert sacrebleu_corpus([prediction], [reference]).score == 0.0


def test_nothing_to_score_has_no_value() -> None:
    assert math.isnan(sacrebleu_corpus([], []).score)


@settings(deadline=None, max_examples=40)
@given(TEXTS | ANY_TEXTS, TEXTS | ANY_TEXTS)
def test_laws(prediction: str, reference: str) -> None:
    assert 0 <= sacrebleu_sentence(prediction, reference).score <= 1
    assert sacrebleu_sentence(prediction, prediction).score == (1.0 if tokenize_13a(prediction.rstrip()) else 0.0)
