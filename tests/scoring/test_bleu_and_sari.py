"""BLEU as `evaluate` has it, sacreBLEU, SARI and their tokenizer: recorded values, the library, by hand, laws."""

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
def test_recorded_triples() -> None:
    counted = Counter[str]()
    for row in triples():
        prediction, references = row["prediction"], row["references"]
        sentence, corpus = (
            sacrebleu_sentence(prediction, references),
            sacrebleu_corpus([prediction], [references]),
        )
        assert 100 * sentence.score == pytest.approx(
            row["expected"]["sacrebleu_sentence"], abs=1e-6
        ), row["id"]
        assert 100 * corpus.score == pytest.approx(
            row["expected"]["sacrebleu_corpus_single"], abs=1e-6
        ), row["id"]
        simpler = sari(row["source"], prediction, references)
        assert simpler.score == pytest.approx(row["expected"]["sari"], abs=1e-6), row[
            "id"
        ]
        expected = row["expected"]["evaluate_bleu"]
        found, smooth = (
            bleu(prediction, references),
            bleu(prediction, references, smooth=True),
        )
        if "error" in expected:  # the reference divides by zero
            assert found.score == smooth.score == 0.0, row["id"]
            counted["empty"] += 1
            continue
        assert found.score == pytest.approx(expected["bleu"], abs=1e-6), row["id"]
        assert found.precisions == pytest.approx(expected["precisions"], abs=1e-6), row[
            "id"
        ]
        assert found.brevity_penalty == pytest.approx(
            expected["brevity_penalty"], abs=1e-6
        ), row["id"]
        assert found.length_ratio == pytest.approx(
            expected["length_ratio"], abs=1e-6
        ), row["id"]
        assert found.prediction_length == expected["translation_length"], row["id"]
        assert found.reference_length == expected["reference_length"], row["id"]
        assert smooth.score == pytest.approx(
            row["expected"]["evaluate_bleu_smooth"], abs=1e-6
        ), row["id"]
        counted["defined"] += 1
    assert counted["defined"] >= 23
    assert counted["empty"] >= 3


def test_bleu_by_hand() -> None:
    # a b c d e: 5 of 5, 4 of 4, 3 of 3, 2 of 2; x b c: 2 of 3, 1 of 2, 0 of 1. Lengths
    # 8 and 9.
    scores = bleu_corpus(["a b c d e", "x b c"], ["a b c d e", "a b c d"])
    assert scores.precisions == pytest.approx((7 / 8, 5 / 6, 3 / 4, 2 / 2))
    assert scores.brevity_penalty == pytest.approx(math.exp(1 - 9 / 8))
    assert scores.score == pytest.approx(
        math.exp(1 - 9 / 8) * (7 / 8 * 5 / 6 * 3 / 4) ** 0.25
    )
    assert bleu("x b c", "a b c d").score == 0.0
    assert bleu("the the the the", ["the rash", "the the"]).precisions[0] == 2 / 4
    assert bleu("The rash is red", "the rash is red").precisions[0] == 3 / 4
    found = bleu("a b c d e", ["a b c d e f", "a b", "a b c d e f g h"])
    assert (found.reference_length, found.brevity_penalty) == (2, 1.0)
    assert bleu("no fever today", "no fever today").score == 0.0
    assert bleu("no fever today", "no fever today", smooth=True).score == 1.0
    assert bleu("a rash that is red", ["", "a rash that is red"]).score == 1.0
    found = bleu_corpus([], [])
    assert math.isnan(found.score)
    assert math.isnan(found.length_ratio)
    assert sacrebleu_sentence("no rash pre-\n", "no rash pre-").score == 1.0
    # evaluate: "pre"
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
def test_laws(prediction: str, references: list[str], smooth: bool) -> None:
    found = bleu(prediction, references, smooth=smooth)
    assert (
        0
        <= found.score
        <= min(found.brevity_penalty, max(found.precisions) + 1e-12) + 1e-12
    )
    assert found.score == bleu(prediction, references[::-1], smooth=smooth).score
    if all(
        map(tokenize_13a, references)
    ):  # without tokens the one reference is no reference
        more = bleu(prediction, [*references, "the rash is red"], smooth=smooth)
        assert more.score >= found.score - 1e-12
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
def test_the_library_says_the_same(segments: list[tuple[str, list[str]]]) -> None:
    pytest.importorskip("sacrebleu")
    predictions, references = map(list, zip(*segments, strict=True))
    expected = _library().corpus_score(predictions, list(zip(*references, strict=True)))
    found = sacrebleu_corpus(predictions, references)
    assert 100 * found.score == pytest.approx(expected.score, abs=1e-9)
    assert [100 * share for share in found.precisions] == pytest.approx(
        expected.precisions, abs=1e-9
    )
    assert found.brevity_penalty == pytest.approx(expected.bp, abs=1e-12)
    assert (found.prediction_length, found.reference_length) == (
        expected.sys_len,
        expected.ref_len,
    )
    sentence = _library(effective_order=True).sentence_score(
        predictions[0], references[0]
    )
    assert 100 * sacrebleu_sentence(
        predictions[0], references[0]
    ).score == pytest.approx(sentence.score, abs=1e-9)


@given(TEXTS | ANY_TEXTS, TEXTS | ANY_TEXTS)
def test_without_smoothing_the_library_is_evaluates_bleu(
    prediction: str, reference: str
) -> None:
    # True of one reference and of texts that do not end in white space, which the
    # library cuts off.
    pytest.importorskip("sacrebleu")
    prediction, reference = prediction + " x", reference + " x"
    expected = _library(smooth_method="none").corpus_score([prediction], [[reference]])
    assert 100 * bleu(prediction, reference).score == pytest.approx(
        expected.score, abs=1e-9
    )


def test_sari_by_hand_and_bad_input() -> None:
    # One word each. Order 1: kept nothing (precision 0/0 = 1, recall of 0 keepable =
    # 1); a deleted, rightly; x added, wrongly. Orders 2-4 are empty: 1 throughout.
    found = sari("a", "x", "b")
    assert (found.keep, found.delete, found.add) == (100.0, 100.0, 75.0)
    assert found.score == pytest.approx(275 / 3)
    # The example of the metric's card in `evaluate`: 26.953601953601954.
    found = sari(
        "About 95 species are currently accepted.",
        "About 95 you now get in.",
        [
            "About 95 species are currently known.",
            "About 95 species are now accepted.",
            "95 species are now accepted.",
        ],
    )
    assert found.score == pytest.approx(26.953601953601954, abs=1e-9)
    assert sari("A rash", "RED rash", "Red RASH") == sari(
        "a rash", "red rash", "red rash"
    )
    one, other = sari("a b", "a", "a"), sari("a b", "b c", ["a", "c"])
    found = sari_corpus(["a b", "a b"], ["a", "b c"], ["a", ["a", "c"]])
    for part in ("score", "keep", "delete", "add"):
        assert getattr(found, part) == pytest.approx(
            (getattr(one, part) + getattr(other, part)) / 2
        ), part
    assert math.isnan(sari_corpus([], [], []).score)
    # One "a" of two goes, the reference has one as well, and 1 - 1 leaves nothing that
    # was well deleted (order 1: 0, else 1). As in the reference implementation.
    found = sari("a a", "a", "a")
    assert (found.keep, found.delete, found.add) == (100.0, 75.0, 100.0)
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
    found = sari(source, prediction, references)
    for value in (found.score, found.keep, found.delete, found.add):
        assert 0 <= value <= 100 + 1e-9
    again = sari(source, prediction, references[::-1])
    assert found == again
    assert sari(source, prediction, references[0]).score == pytest.approx(
        sari(source, prediction, [references[0]] * 3).score
    )


@pytest.mark.parametrize(("text", "tokens"), CASES["rules"])
def test_rules(text: str, tokens: str | list[str]) -> None:
    assert tokenize_13a(text) == (tokens.split() if isinstance(tokens, str) else tokens)


@given(TEXTS | ANY_TEXTS)
def test_sacrebleu_says_the_same(text: str) -> None:
    pytest.importorskip("sacrebleu")
    tokenizer = importlib.import_module(
        "sacrebleu.tokenizers.tokenizer_13a"
    ).Tokenizer13a()
    assert tokenize_13a(text) == tokenizer(text).split()
