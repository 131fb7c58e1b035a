from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.content_overlap import best_and_mean, chunk_context
from tests.support import SHARED, needs_shared


def test_a_short_context_is_one_chunk() -> None:
    assert chunk_context("One. Two.", ["One.", "Two."]) == ["One. Two."]
    assert chunk_context("", []) == [""]
    long = "word " * 400
    assert chunk_context(long, [long]) == [long]  # one sentence, whatever its length


def test_there_can_be_more_chunks_than_asked_for() -> None:
    # 59 sentences of 15 words: 885 words ask for 3 chunks of 59 // 3 = 19 sentences, and two are left.
    sentences = [f"{'word ' * 14}{number}." for number in range(59)]
    found = chunk_context(" ".join(sentences), sentences)
    assert [chunk.count(".") for chunk in found] == [19, 19, 19, 2]


@settings(deadline=None, max_examples=60)
@given(lengths=st.lists(st.integers(1, 200), max_size=30))
def test_chunks_hold_all_sentences_once_and_in_order(lengths: list[int]) -> None:
    sentences = ["w " * (length - 1) + "end." for length in lengths]
    context = " ".join(sentences)
    found = chunk_context(context, sentences)
    assert " ".join(found) == context
    assert len(found) >= min(max(1, len(sentences)), len(context.split()) // 350 + 1)


def test_best_chunk_and_mean_of_sentences() -> None:
    assert best_and_mean([[0.1, 0.9], [0.3, 0.2]]) == pytest.approx(0.6)
    assert best_and_mean([[-2.0, -1.0]]) == -1.0
    assert best_and_mean([]) == 0.0


@pytest.mark.upstream
@needs_shared
def test_the_recorded_chunks() -> None:
    file = SHARED / "fixtures" / "alignscore" / "expected.json"
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert max(case["n_chunks"] for case in cases) == 7
    for case in cases:
        chunks = chunk_context(case["context"], case["context_sentences"])
        assert [len(chunk.split()) for chunk in chunks] == case["chunk_sizes_words"]
