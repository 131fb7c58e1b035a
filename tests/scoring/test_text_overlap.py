"""What all text metrics share: what comes in, and what any text gives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from hypothesis import given, settings

from medical_tasks.scoring import text_overlap
from medical_tasks.scoring.text_overlap import (
    bleu,
    bleu_corpus,
    exact_match,
    exact_match_corpus,
    rouge,
    rouge_corpus,
    sacrebleu_corpus,
    sacrebleu_sentence,
    sari,
)
from tests.scoring.text_cases import ANY_TEXTS
from tests.support import ROOT

SINGLE: list[Callable[..., Any]] = [bleu, exact_match, rouge, sacrebleu_sentence, lambda p, r: sari("a", p, r)]
CORPUS: list[Callable[..., Any]] = [bleu_corpus, exact_match_corpus, rouge_corpus, sacrebleu_corpus]


@pytest.mark.parametrize("metric", SINGLE)
def test_what_is_no_text_is_named(metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="prediction must be a text; got NoneType"):
        metric(None, "a")
    with pytest.raises(ValueError, match="references must hold texts; got float"):
        metric("a", [1.5])
    with pytest.raises(ValueError, match="references must hold at least one text .*; got none"):
        metric("a", [])


@pytest.mark.parametrize("metric", CORPUS)
def test_lists_are_checked(metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="predictions and references must be of the same length; got 1 and 2"):
        metric(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="predictions must be a list with one entry a prediction; got one text"):
        metric("a", ["a"])
    with pytest.raises(ValueError, match="references must be a list with one entry a prediction; got one text"):
        metric(["a"], "a")


@settings(deadline=None, max_examples=60)
@given(ANY_TEXTS, ANY_TEXTS)
def test_one_reference_is_a_list_of_one(prediction: str, reference: str) -> None:
    for metric in SINGLE:
        assert repr(metric(prediction, reference)) == repr(metric(prediction, (reference,)))


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "İı", "ﬁ", "\u2028", "a" * 50_000, "a " * 5_000, "y" * 5_000 + "ing", ". , " * 3_000]
)
def test_no_text_is_too_odd(text: str) -> None:
    for metric in SINGLE:
        metric(text, "a rash")
        metric("a rash", text)
        metric(text, text)
    rouge(text, text, stem=True)


def test_the_front_lists_what_it_has() -> None:
    assert text_overlap.__all__ == sorted(text_overlap.__all__)
    assert [name for name in text_overlap.__all__ if not hasattr(text_overlap, name)] == []
    documented = (ROOT / "docs" / "text_metrics.md").read_text(encoding="utf-8")
    functions = [name for name in text_overlap.__all__ if name.islower()]
    assert len(functions) == 10
    assert [name for name in functions if f"`{name}`" not in documented] == []


def test_it_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; import medical_tasks.scoring.text_overlap; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    )
    done = run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=Path(ROOT), check=True)
    assert done.stdout.split() == ["__main__", "medical_tasks"]
