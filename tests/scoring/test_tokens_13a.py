"""The 13a tokenizer: its rules one by one, and sacrebleu's on random texts."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given, settings

from medical_tasks.scoring.bleu_and_sari import tokenize_13a
from tests.scoring.text_cases import ANY_TEXTS, TEXTS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\n", []),
        ("Hb 8.2, WBC 12,500.", "Hb 8.2 , WBC 12,500 ."),
        ("He didn't: it's (stable)/fine", "He didn't : it's ( stable ) / fine"),
        ("pre-op 2-3 days", "pre-op 2 - 3 days"),
        ("chest-\nx-ray\nclear", "chestx-ray clear"),
        ("<skipped>BP &lt; 90 &amp;&quot;low&quot; &amp;lt;", 'BP < 90 & " low " <'),
        ("Sjögren’s 发烧。", "Sjögren’s 发烧。"),
        ("&amp;quot;", "& quot ;"),
        (".5 5.", ". 5 5 ."),
    ],
)
def test_rules(text: str, tokens: str | list[str]) -> None:
    assert tokenize_13a(text) == (tokens.split() if isinstance(tokens, str) else tokens)


@settings(deadline=None, max_examples=200)
@given(TEXTS | ANY_TEXTS)
def test_sacrebleu_says_the_same(text: str) -> None:
    pytest.importorskip("sacrebleu")
    tokenizer = importlib.import_module("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a()
    assert tokenize_13a(text) == tokenizer(text).split()
