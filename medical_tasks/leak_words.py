"""Runs of words as numbers: what `leakcheck` compares.

A word is a row of letters and digits, without case. A run of words is one 64-bit number, a sum of its words' hashes, each
times a constant of its place; so a million runs are compared at once. Two different runs share a number once in 2^64 pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Runs = NDArray[np.uint64]

__all__ = ["Batch", "RunIndex", "runs_of", "words_of"]

_WORD = re.compile(r"[^\W_]+")
# Signs inside words that nobody sees: soft hyphen, zero-width blanks and joiners, byte order mark.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_TABLE_BITS = (16, 27)  # size of the table of a first look, least and most
_SEED = 20250924


def words_of(text: str) -> list[str]:
    """Splits a text into words, so that case, signs and ways of writing a letter do not matter."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text.translate(_UNSEEN)).casefold())


class Batch:
    """Texts whose words are hashed together.

    Attributes:
        hashes: the words' hashes, texts one after another.
        lengths: words of each text.
    """

    def __init__(self) -> None:
        self.hashes: list[int] = []
        self.lengths: list[int] = []

    def add(self, text: str) -> int:
        """Adds a text; returns its number of words."""
        words = words_of(text)
        self.hashes.extend(map(hash, words))
        self.lengths.append(len(words))
        return len(words)


def _constants(size: int) -> Any:
    import numpy as np

    drawn = np.random.default_rng(_SEED).integers(0, 2**63, size=size, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def runs_of(batch: Batch, size: int, *, whole_texts: bool = False) -> tuple[Runs, NDArray[np.intp]]:
    """Numbers the runs of words in a batch; none reaches from one text into the next.

    Args:
        batch: the texts.
        size: words of a run.
        whole_texts: only texts that are exactly one run.

    Returns:
        The runs' numbers, and the position of each one's text in the batch; both of shape (runs,).
    """
    import numpy as np

    words = np.fromiter(batch.hashes, dtype=np.int64, count=len(batch.hashes)).view(np.uint64)
    lengths = np.fromiter(batch.lengths, dtype=np.intp, count=len(batch.lengths))
    ends = np.cumsum(lengths)
    if whole_texts:
        owners = np.flatnonzero(lengths == size)
        starts = ends[owners] - size
    else:
        of_text = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.flatnonzero(ends[of_text] - np.arange(len(words)) >= size)
        owners = of_text[starts]
    runs = np.zeros(len(starts), dtype=np.uint64)
    for place, constant in enumerate(_constants(size)):
        runs += words[starts + place] * constant
    return runs, owners


class RunIndex:
    """The runs of one size that a set of files holds, for looking up many at once.

    Args:
        parts: each file's runs.
    """

    def __init__(self, parts: Sequence[Runs]) -> None:
        import numpy as np

        self._runs = np.unique(np.concatenate([*parts, np.zeros(0, dtype=np.uint64)]))
        least, most = _TABLE_BITS
        bits = min(max((8 * len(self._runs)).bit_length(), least), most)
        self._mask = np.uint64((1 << bits) - 1)
        # A first look in a small table spares most runs the search.
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[(self._runs & self._mask).astype(np.intp)] = True

    def __len__(self) -> int:
        return len(self._runs)

    def found(self, runs: Runs) -> NDArray[np.intp]:
        """Returns the positions of the runs that are in the index."""
        import numpy as np

        if not len(self._runs):
            return np.zeros(0, dtype=np.intp)
        likely = np.flatnonzero(self._table[(runs & self._mask).astype(np.intp)])
        places = np.minimum(np.searchsorted(self._runs, runs[likely]), len(self._runs) - 1)
        hits: NDArray[np.intp] = likely[self._runs[places] == runs[likely]]
        return hits
