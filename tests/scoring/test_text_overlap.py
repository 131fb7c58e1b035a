"""What all text metrics share: checks of their input, and odd texts; exact match and n-grams."""

from __future__ import annotations

import sys
from collections.abc import Callable
from subprocess import run
from typing import Any

import pytest
from hypothesis import given

from medical_tasks.scoring.bleu_and_sari import (
    bleu,
    bleu_corpus,
    sacrebleu_corpus,
    sacrebleu_sentence,
    sari,
)
from medical_tasks.scoring.rouge import rouge
from medical_tasks.scoring.text_pairs import (
    clipped_matches,
    count_ngrams,
    exact_match,
    shared,
)
from tests.case_tables import tables
from tests.scoring.text_cases import ANY_TEXTS
from tests.support import ROOT

SINGLE: list[Callable[..., Any]] = [
    bleu,
    exact_match,
    rouge,
    sacrebleu_sentence,
    lambda p, r: sari("a", p, r),
]
CORPUS: list[Callable[..., Any]] = [bleu_corpus, sacrebleu_corpus]


@pytest.mark.parametrize("metric", SINGLE)
def test_values_that_are_no_texts_are_refused(metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="prediction must be a text; got NoneType"):
        metric(None, "a")
    with pytest.raises(ValueError, match="references must hold texts; got float"):
        metric("a", [1.5])
    with pytest.raises(
        ValueError, match="references must hold at least one text .*; got none"
    ):
        metric("a", [])


@pytest.mark.parametrize("metric", CORPUS)
def test_lists_of_other_lengths_and_single_texts_are_refused(
    metric: Callable[..., Any],
) -> None:
    with pytest.raises(
        ValueError,
        match="predictions and references must be of the same length; got 1 and 2",
    ):
        metric(["a"], ["a", "b"])
    with pytest.raises(
        ValueError,
        match="predictions must be a list with one entry a prediction; got one text",
    ):
        metric("a", ["a"])
    with pytest.raises(
        ValueError,
        match="references must be a list with one entry a prediction; got one text",
    ):
        metric(["a"], "a")


@given(ANY_TEXTS, ANY_TEXTS)
def test_a_reference_may_be_a_text_or_a_list(prediction: str, reference: str) -> None:
    for metric in SINGLE:
        scores = metric(prediction, reference)
        assert repr(metric(prediction, (reference,))) == repr(scores)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        "\x00",
        "İı",
        "ﬁ",
        "\u2028",
        "a" * 50_000,
        "a " * 5_000,
        "y" * 5_000 + "ing",
        ". , " * 3_000,
    ],
)
def test_odd_and_long_texts_have_scores(text: str) -> None:
    for metric in SINGLE:
        metric(text, "a rash")
        metric("a rash", text)
        metric(text, text)
    rouge(text, text, stem=True)


@pytest.mark.parametrize(
    ("modules", "libraries"),
    [
        (
            "scoring import bleu_and_sari, rouge, text_pairs",
            {"numpy", "nltk", "sacrebleu", "evaluate"},
        ),
        (
            "lab import correlation, preferences",
            {"scipy", "pandas", "sklearn", "torch", "datasets"},
        ),
    ],
)
def test_modules_import_no_large_library(modules: str, libraries: set[str]) -> None:
    code = f"import sys; from medical_tasks.{modules}; print(*sys.modules)"
    process = run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    imported = set(process.stdout.split())
    assert "medical_tasks" in imported
    assert not libraries & imported


CASES = tables(__file__, "text_pairs")


@pytest.mark.parametrize(
    ("prediction", "reference", "options", "expected"), CASES["options"]
)
def test_options_of_exact_match(
    prediction: str, reference: str, options: dict[str, bool], expected: float
) -> None:
    assert exact_match(prediction, reference, **options) == expected  # type: ignore[arg-type]


def test_wrong_patterns_of_exact_match_are_refused() -> None:
    message = r"ignore must hold regular expressions; got '\('"
    with pytest.raises(ValueError, match=message):
        exact_match("a", "a", ignore=["("])


def test_shared_ngrams_by_hand() -> None:
    first, second = count_ngrams("aaab", 1), count_ngrams("aabbc", 1)
    assert shared(first, second) == shared(second, first) == 3
    assert shared(first, count_ngrams("", 1)) == 0


def test_clipped_matches_by_hand() -> None:
    assert clipped_matches("aaaab", ["aa", "aaa"], 1) == 3
    assert clipped_matches("aaaab", ["aab", "b"], 2) == 2
    assert clipped_matches("", ["a"], 1) == clipped_matches("a", [""], 1) == 0
