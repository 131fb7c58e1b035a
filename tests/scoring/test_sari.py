"""SARI: recorded values, a published one, values by hand, laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.bleu_and_sari import sari, sari_corpus
from tests.scoring.text_cases import ANY_TEXTS, EMPTY, TEXTS, triples
from tests.support import needs_shared


@needs_shared
@pytest.mark.upstream
def test_recorded_triples() -> None:
    for row in triples():
        found = sari(row["source"], row["prediction"], row["references"])
        assert found.score == pytest.approx(row["expected"]["sari"], abs=1e-6), row["id"]


def test_the_published_example_of_several_references() -> None:
    # The example of the metric's card in `evaluate`: 26.953601953601954.
    found = sari(
        "About 95 species are currently accepted.",
        "About 95 you now get in.",
        ["About 95 species are currently known.", "About 95 species are now accepted.", "95 species are now accepted."],
    )
    assert found.score == pytest.approx(26.953601953601954, abs=1e-9)


def test_by_hand() -> None:
    # One word each. Order 1: kept nothing (precision 0/0 = 1, recall of 0 keepable = 1); a deleted, rightly; x added, wrongly.
    # Orders 2-4 are empty: 1 throughout.
    found = sari("a", "x", "b")
    assert (found.keep, found.delete, found.add) == (100.0, 100.0, 75.0)
    assert found.score == pytest.approx(275 / 3)


def test_case_does_not_count() -> None:
    assert sari("A rash", "RED rash", "Red RASH") == sari("a rash", "red rash", "red rash")


@pytest.mark.parametrize("empty", EMPTY)
def test_empty_texts(empty: str) -> None:
    source = "How was the incision?"
    assert sari(source, empty, empty).score == 100.0
    assert sari(source, empty, "The incision was clean and dry.").score == pytest.approx(42.91666666666667, abs=1e-9)
    assert sari(empty, empty, empty).score == 100.0
    assert 0 <= sari(empty, source, "Clean.").score <= 100


def test_the_corpus_value_is_the_plain_mean() -> None:
    one, other = sari("a b", "a", "a"), sari("a b", "b c", ["a", "c"])
    found = sari_corpus(["a b", "a b"], ["a", "b c"], ["a", ["a", "c"]])
    for part in ("score", "keep", "delete", "add"):
        assert getattr(found, part) == pytest.approx((getattr(one, part) + getattr(other, part)) / 2), part
    assert math.isnan(sari_corpus([], [], []).score)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"sources must hold one text a prediction \(1\); got 2"):
        sari_corpus(["a", "b"], ["a"], ["a"])
    with pytest.raises(ValueError, match="source must be a text; got NoneType"):
        sari(None, "a", "a")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(TEXTS | ANY_TEXTS, TEXTS | ANY_TEXTS, st.lists(TEXTS | ANY_TEXTS, min_size=1, max_size=3))
def test_laws(source: str, prediction: str, references: list[str]) -> None:
    found = sari(source, prediction, references)
    for value in (found.score, found.keep, found.delete, found.add):
        assert 0 <= value <= 100 + 1e-9
    again = sari(source, prediction, references[::-1])
    assert found == again
    assert sari(source, prediction, references[0]).score == pytest.approx(
        sari(source, prediction, [references[0]] * 3).score
    )


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from("abcdefgh"), unique=True).map(" ".join), TEXTS | ANY_TEXTS)
def test_the_reference_as_prediction_has_the_maximum_where_the_source_repeats_nothing(
    source: str, reference: str
) -> None:
    assert sari(source, reference, reference).score == pytest.approx(100)


def test_where_the_source_repeats_a_word_the_reference_can_miss_the_maximum() -> None:
    # One "a" of two goes, the reference has one as well, and 1 - 1 leaves nothing that was well deleted (order 1: 0, else 1).
    # As in the reference implementation.
    found = sari("a a", "a", "a")
    assert (found.keep, found.delete, found.add) == (100.0, 75.0, 100.0)
