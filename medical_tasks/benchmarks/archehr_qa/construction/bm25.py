"""BM25 over notes that are read and not kept: two passes over a file of any size, in the memory of the queries.

Only words of the queries can count, so of each note nothing else is looked at: the first pass counts in how many notes each of
these words stands and how long notes are, the second scores every note for all queries and keeps the best few of each. The scores
are those of the library bm25s (method `lucene`), which would need an index of all notes in memory.

Source: Robertson and Zaragoza (2009), Foundations and Trends in Information Retrieval 3:333; idf and saturation as in Lucene.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["K1", "B", "Bag", "Hit", "Ranking", "Vocabulary"]

K1: Final = 1.5
B: Final = 0.75


@dataclass(frozen=True)
class Bag:
    """The words of a note that any query has.

    Attributes:
        words: their numbers, ascending.
        counts: how often each stands there.
        length: number of all words of the note, those of no query too.
    """

    words: npt.NDArray[np.intp]
    counts: npt.NDArray[np.float64]
    length: int


@dataclass(frozen=True, order=True)
class Hit:
    """A note that was found; ordered by rank.

    Attributes:
        negative: the score with a minus before it.
        key: the note's id; of equally good notes the one whose id is the smaller comes first.
        about: whatever belongs to the note.
    """

    negative: float
    key: str
    about: Any

    @property
    def score(self) -> float:
        """The score, more than 0."""
        return -self.negative


class Vocabulary:
    """The words of all queries, and which query has which.

    Args:
        queries: the words of each, repeats kept: what stands twice counts twice.
    """

    def __init__(self, queries: Sequence[Iterable[str]]) -> None:
        bags = [Counter(query) for query in queries]
        self.numbers = {word: number for number, word in enumerate(sorted(set().union(*bags)))}
        self.queries = len(bags)
        postings = sorted(
            (self.numbers[word], query, count) for query, bag in enumerate(bags) for word, count in bag.items()
        )
        table = np.array(postings, dtype=np.int64).reshape(-1, 3)
        self._starts = np.searchsorted(table[:, 0], np.arange(len(self.numbers) + 1))
        self._query = table[:, 1]
        self._count = table[:, 2].astype(np.float64)

    def bag(self, counts: Mapping[int, int], length: int) -> Bag:
        """Makes a bag of the counts of numbered words."""
        words = np.array(sorted(counts), dtype=np.intp)
        return Bag(words, np.array([counts[word] for word in words.tolist()], dtype=np.float64), length)

    def scores(self, words: npt.NDArray[np.intp], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums the weights of a note's words for each query.

        Returns:
            Shape (queries,).
        """
        starts = self._starts[words]
        lengths = self._starts[words + 1] - starts
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
        each = np.repeat(weights, lengths) * self._count[places]
        return np.bincount(self._query[places], weights=each, minlength=self.queries).astype(np.float64, copy=False)


class Ranking:
    """The best notes for each query.

    Every note is shown twice: to `count`, all of them, and then to `rank`.

    Args:
        vocabulary: of the queries.
        top: how many notes a query gets at most.
    """

    def __init__(self, vocabulary: Vocabulary, *, top: int) -> None:
        self._vocabulary = vocabulary
        self._top = top
        self._with_word = np.zeros(len(vocabulary.numbers), dtype=np.int64)
        self._notes = 0
        self._length = 0
        self._idf: npt.NDArray[np.float64] | None = None
        self._floor = np.zeros(vocabulary.queries)
        self._hits: list[list[Hit]] = [[] for _ in range(vocabulary.queries)]

    def count(self, bag: Bag) -> None:
        """Takes a note in, the first time."""
        self._notes += 1
        self._length += bag.length
        self._with_word[bag.words] += 1

    def rank(self, bag: Bag, key: str, about: Any) -> None:
        """Takes a note in, the second time.

        Args:
            bag: its words.
            key: its id.
            about: what is to be known of it if it is among the best.
        """
        if not len(bag.words):
            return
        if self._idf is None:
            self._idf = np.log1p((self._notes - self._with_word + 0.5) / (self._with_word + 0.5))
        norm = K1 * (1.0 - B + B * bag.length * self._notes / self._length)
        scores = self._vocabulary.scores(bag.words, self._idf[bag.words] * bag.counts / (bag.counts + norm))
        for query in np.flatnonzero((scores > 0.0) & (scores >= self._floor)).tolist():
            hits = self._hits[query]
            hits.append(Hit(-float(scores[query]), key, about))
            if len(hits) >= 4 * self._top:
                self._cut(query)

    def best(self) -> list[list[Hit]]:
        """The best notes of each query, the best first; fewer where fewer share a word with it."""
        for query in range(len(self._hits)):
            self._cut(query)
        return self._hits

    def _cut(self, query: int) -> None:
        hits = self._hits[query]
        hits.sort(key=lambda hit: (hit.negative, hit.key))
        del hits[self._top :]
        if len(hits) == self._top:
            self._floor[query] = hits[-1].score
