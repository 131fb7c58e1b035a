from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.construction.align import K1, B, Bag, Hit, Ranking, Vocabulary

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


def bag(vocabulary: Vocabulary, words: Sequence[str]) -> Bag:
    counts = Counter(vocabulary.numbers[word] for word in words if word in vocabulary.numbers)
    return vocabulary.bag(counts, len(words))


def ranked(queries: Sequence[Sequence[str]], notes: Sequence[tuple[str, Sequence[str]]], top: int) -> list[list[Hit]]:
    vocabulary = Vocabulary(queries)
    ranking = Ranking(vocabulary, top=top)
    for _, words in notes:
        ranking.count(bag(vocabulary, words))
    for key, words in notes:
        ranking.rank(bag(vocabulary, words), key, None)
    return ranking.best()


def test_by_hand() -> None:
    # Two notes of 2 and 4 words, a in one of them: idf ln(1 + 1.5/1.5) = ln 2; its norm 1.5 (0.25 + 0.75 * 2/3).
    (hits,) = ranked([["a", "z"]], [("n1", ["a", "b"]), ("n2", ["c", "c", "d", "e"])], 5)
    assert [hit.key for hit in hits] == ["n1"]
    assert hits[0].score == pytest.approx(math.log(2) / (1 + 1.5 * 0.75), abs=1e-12)


@given(st.lists(WORDS.filter(bool), min_size=1, max_size=4), st.lists(WORDS.filter(bool), min_size=1, max_size=14))
@settings(deadline=None, max_examples=60)
def test_scores_are_those_of_bm25s(queries: list[list[str]], notes: list[list[str]]) -> None:
    bm25s = importlib.import_module("bm25s")
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in words] for words in notes]
    library = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
    library.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    keyed = [(f"{number:02}", words) for number, words in enumerate(notes)]
    for query, hits in zip(queries, ranked(queries, keyed, len(notes)), strict=True):
        known = [word for word in query if word in vocabulary]
        scores = library.get_scores(known) if known else np.zeros(len(notes))
        found = {int(hit.key): hit.score for hit in hits}
        assert set(found) == set(np.flatnonzero(scores > 0).tolist())
        # bm25s keeps single precision.
        assert all(score == pytest.approx(float(scores[number]), rel=1e-5, abs=1e-6) for number, score in found.items())


@given(
    st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, min_size=1, max_size=40), st.integers(1, 3), st.randoms()
)
@settings(deadline=None, max_examples=60)
def test_the_order_of_notes_plays_no_part(
    queries: list[list[str]], notes: list[list[str]], top: int, random: object
) -> None:
    keyed = [(f"{number:02}", words) for number, words in enumerate(notes)]
    everything = ranked(queries, keyed, 1000)
    shuffled = list(keyed)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    best = ranked(queries, shuffled, top)
    for few, every in zip(best, everything, strict=True):
        assert [(hit.key, hit.negative) for hit in few] == [(hit.key, hit.negative) for hit in every[:top]]
        assert [(hit.negative, hit.key) for hit in every] == sorted((hit.negative, hit.key) for hit in every)


def test_nothing_to_find() -> None:
    assert ranked([[], ["a"]], [("n1", []), ("n2", ["b"])], 3) == [[], []]
