"""BLEU as in `evaluate`, sacreBLEU, SARI and their tokenizer: recorded values, the library, by hand, laws."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.bleu_and_sari import (
    Sari,
    bleu,
    bleu_corpus,
    sacrebleu_corpus,
    sacrebleu_sentence,
    sari,
    sari_corpus,
    tokenize_13a,
)
from tests.case_tables import tables
from tests.scoring.text_cases import ANY_TEXTS, EMPTY, TEXTS, triples
from tests.support import needs_shared

CASES = tables(__file__, "bleu_and_sari")


@needs_shared
@pytest.mark.upstream
def test_recorded_scores_of_sacrebleu_and_sari() -> None:
    for row in triples():
        prediction, references = row["prediction"], row["references"]
        scores = {
            "sacrebleu_sentence": 100
            * sacrebleu_sentence(prediction, references).score,
            "sacrebleu_corpus_single": 100
            * sacrebleu_corpus([prediction], [references]).score,
            "sari": sari(row["source"], prediction, references).score,
        }
        expected = {name: row["expected"][name] for name in scores}
        assert scores == pytest.approx(expected, abs=1e-6), row["id"]


@needs_shared
@pytest.mark.upstream
def test_recorded_bleu_of_evaluate() -> None:
    counts = Counter[str]()
    for row in triples():
        prediction, references = row["prediction"], row["references"]
        plain = bleu(prediction, references)
        smooth = bleu(prediction, references, smooth=True)
        expected = row["expected"]["evaluate_bleu"]
        if "error" in expected:  # the reference divides by zero
            assert plain.score == smooth.score == 0.0, row["id"]
            counts["empty"] += 1
            continue
        figures = {
            "bleu": plain.score,
            "precisions": list(plain.precisions),
            "brevity_penalty": plain.brevity_penalty,
            "length_ratio": plain.length_ratio,
            "translation_length": plain.prediction_length,
            "reference_length": plain.reference_length,
        }
        assert set(figures) == set(expected)
        for name, figure in figures.items():
            assert figure == pytest.approx(expected[name], abs=1e-6), (row["id"], name)
        expected_smooth = row["expected"]["evaluate_bleu_smooth"]
        assert smooth.score == pytest.approx(expected_smooth, abs=1e-6), row["id"]
        counts["defined"] += 1
    assert counts["defined"] >= 23
    assert counts["empty"] >= 3


def test_bleu_of_a_corpus_by_hand() -> None:
    # a b c d e: 5 of 5, 4 of 4, 3 of 3, 2 of 2; x b c: 2 of 3, 1 of 2, 0 of 1. Lengths
    # 8 and 9.
    scores = bleu_corpus(["a b c d e", "x b c"], ["a b c d e", "a b c d"])
    assert scores.precisions == pytest.approx((7 / 8, 5 / 6, 3 / 4, 2 / 2))
    assert scores.brevity_penalty == pytest.approx(math.exp(1 - 9 / 8))
    assert scores.score == pytest.approx(
        math.exp(1 - 9 / 8) * (7 / 8 * 5 / 6 * 3 / 4) ** 0.25
    )
    empty = bleu_corpus([], [])
    assert math.isnan(empty.score)
    assert math.isnan(empty.length_ratio)


def test_bleu_by_hand() -> None:
    assert bleu("x b c", "a b c d").score == 0.0
    assert bleu("the the the the", ["the rash", "the the"]).precisions[0] == 2 / 4
    assert bleu("The rash is red", "the rash is red").precisions[0] == 3 / 4
    scores = bleu("a b c d e", ["a b c d e f", "a b", "a b c d e f g h"])
    assert (scores.reference_length, scores.brevity_penalty) == (2, 1.0)
    assert bleu("no fever today", "no fever today").score == 0.0
    assert bleu("no fever today", "no fever today", smooth=True).score == 1.0
    assert bleu("a rash that is red", ["", "a rash that is red"]).score == 1.0


def test_sacrebleu_cuts_off_a_line_break_at_the_end() -> None:
    assert sacrebleu_sentence("no rash pre-\n", "no rash pre-").score == 1.0
    # `evaluate` has the token "pre" there.
    assert bleu("no rash pre-\n", "no rash pre-").precisions[0] == 2 / 3
    assert math.isnan(sacrebleu_corpus([], []).score)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("empty", EMPTY)
def test_empty_texts_score_nothing(empty: str, smooth: bool) -> None:
    text = "a rash that is red"
    assert bleu(empty, text, smooth=smooth).score == 0.0
    assert bleu(text, empty, smooth=smooth).score == 0.0
    assert bleu(empty, empty, smooth=smooth).score == 0.0
    assert bleu(empty, text).brevity_penalty == 0.0
    assert math.isnan(bleu(text, empty).length_ratio)


@pytest.mark.parametrize("empty", EMPTY)
def test_sari_of_empty_texts(empty: str) -> None:
    source = "How was the incision?"
    assert sari(source, empty, empty).score == sari(empty, empty, empty).score == 100.0
    assert sari(
        source, empty, "The incision was clean and dry."
    ).score == pytest.approx(42.91666666666667, abs=1e-9)
    assert 0 <= sari(empty, source, "Clean.").score <= 100


@given(
    TEXTS | ANY_TEXTS,
    st.lists(TEXTS | ANY_TEXTS, min_size=1, max_size=3),
    st.booleans(),
)
def test_laws_of_bleu(prediction: str, references: list[str], smooth: bool) -> None:
    scores = bleu(prediction, references, smooth=smooth)
    most = min(scores.brevity_penalty, max(scores.precisions) + 1e-12) + 1e-12
    assert 0 <= scores.score <= most
    assert scores.score == bleu(prediction, references[::-1], smooth=smooth).score
    # A text without tokens is no reference, so that another one may lower the score.
    if all(map(tokenize_13a, references)):
        more = bleu(prediction, [*references, "the rash is red"], smooth=smooth)
        assert more.score >= scores.score - 1e-12
    n = len(tokenize_13a(prediction))
    assert bleu(prediction, prediction).score == (1.0 if n >= 4 else 0.0)
    assert bleu(prediction, prediction, smooth=True).score == (1.0 if n else 0.0)


@cache
def _library(**settings: Any) -> Any:
    return importlib.import_module("sacrebleu").BLEU(force=True, **settings)


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(
            st.tuples(
                TEXTS | ANY_TEXTS, st.lists(TEXTS | ANY_TEXTS, min_size=n, max_size=n)
            ),
            min_size=1,
            max_size=4,
        )
    ),
)
def test_scores_equal_those_of_the_library(
    segments: list[tuple[str, list[str]]],
) -> None:
    pytest.importorskip("sacrebleu")
    predictions, references = map(list, zip(*segments, strict=True))
    expected = _library().corpus_score(predictions, list(zip(*references, strict=True)))
    scores = sacrebleu_corpus(predictions, references)
    assert 100 * scores.score == pytest.approx(expected.score, abs=1e-9)
    precisions = [100 * share for share in scores.precisions]
    assert precisions == pytest.approx(expected.precisions, abs=1e-9)
    assert scores.brevity_penalty == pytest.approx(expected.bp, abs=1e-12)
    assert scores.prediction_length == expected.sys_len
    assert scores.reference_length == expected.ref_len
    pair = predictions[0], references[0]
    sentence = _library(effective_order=True).sentence_score(*pair)
    assert 100 * sacrebleu_sentence(*pair).score == pytest.approx(
        sentence.score, abs=1e-9
    )


@given(TEXTS | ANY_TEXTS, TEXTS | ANY_TEXTS)
def test_bleu_equals_that_of_the_library_without_smoothing(
    prediction: str, reference: str
) -> None:
    # With a single reference and texts that do not end in white space, which the
    # library cuts off.
    pytest.importorskip("sacrebleu")
    prediction, reference = prediction + " x", reference + " x"
    expected = _library(smooth_method="none").corpus_score([prediction], [[reference]])
    assert 100 * bleu(prediction, reference).score == pytest.approx(
        expected.score, abs=1e-9
    )


def test_sari_by_hand() -> None:
    # One word each. Order 1: kept nothing (precision 0/0 = 1, recall of 0 keepable =
    # 1); a deleted, rightly; x added, wrongly. Orders 2-4 are empty: 1 throughout.
    scores = sari("a", "x", "b")
    assert (scores.keep, scores.delete, scores.add) == (100.0, 100.0, 75.0)
    assert scores.score == pytest.approx(275 / 3)
    # One "a" of two goes, the reference has one as well, and 1 - 1 leaves nothing that
    # was well deleted (order 1: 0, else 1). As in the reference implementation.
    scores = sari("a a", "a", "a")
    assert (scores.keep, scores.delete, scores.add) == (100.0, 75.0, 100.0)
    assert sari("A rash", "RED rash", "Red RASH") == sari(
        "a rash", "red rash", "red rash"
    )


def test_sari_of_the_published_example() -> None:
    # The example of the metric's card in `evaluate`: 26.953601953601954.
    scores = sari(
        "About 95 species are currently accepted.",
        "About 95 you now get in.",
        [
            "About 95 species are currently known.",
            "About 95 species are now accepted.",
            "95 species are now accepted.",
        ],
    )
    assert scores.score == pytest.approx(26.953601953601954, abs=1e-9)


def test_sari_of_a_corpus_is_the_mean() -> None:
    first, second = sari("a b", "a", "a"), sari("a b", "b c", ["a", "c"])
    corpus = sari_corpus(["a b", "a b"], ["a", "b c"], ["a", ["a", "c"]])
    means = [
        sum(pair) / 2 for pair in zip(figures(first), figures(second), strict=True)
    ]
    assert figures(corpus) == pytest.approx(means)
    assert math.isnan(sari_corpus([], [], []).score)


def figures(scores: Sari) -> tuple[float, float, float, float]:
    return scores.score, scores.keep, scores.delete, scores.add


def test_wrong_input_of_sari_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"sources must hold one text a prediction \(1\); got 2"
    ):
        sari_corpus(["a", "b"], ["a"], ["a"])
    with pytest.raises(ValueError, match="source must be a text; got NoneType"):
        sari(None, "a", "a")  # type: ignore[arg-type]


@given(
    TEXTS | ANY_TEXTS,
    TEXTS | ANY_TEXTS,
    st.lists(TEXTS | ANY_TEXTS, min_size=1, max_size=3),
)
def test_laws_of_sari(source: str, prediction: str, references: list[str]) -> None:
    scores = sari(source, prediction, references)
    for value in figures(scores):
        assert 0 <= value <= 100 + 1e-9
    assert sari(source, prediction, references[::-1]) == scores
    first = references[0]
    repeated = sari(source, prediction, [first] * 3)
    assert sari(source, prediction, first).score == pytest.approx(repeated.score)


@pytest.mark.parametrize(("text", "tokens"), CASES["rules"])
def test_rules_of_the_tokenizer(text: str, tokens: str | list[str]) -> None:
    assert tokenize_13a(text) == (tokens.split() if isinstance(tokens, str) else tokens)


@given(TEXTS | ANY_TEXTS)
def test_tokens_equal_those_of_sacrebleu(text: str) -> None:
    pytest.importorskip("sacrebleu")
    tokenizer = importlib.import_module(
        "sacrebleu.tokenizers.tokenizer_13a"
    ).Tokenizer13a()
    assert tokenize_13a(text) == tokenizer(text).split()
