"""Runs of words as numbers: what `leakcheck` compares.

A word is a row of letters and digits, without case. A run of words is one 64-bit number, a sum of its words' hashes, each
times a constant of its place; so a million runs are compared at once. Two different runs share a number once in 2^64 pairs.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Runs = NDArray[np.uint64]

__all__ = ["Batch", "RunIndex", "distinct", "runs_of", "words_of"]

_WORD = re.compile(r"[^\W_]+")
# The same for ASCII bytes, four times as fast: letters small, digits as they are, the rest blank.
_ASCII = bytes(ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else ord(" ") for byte in range(256))
# Signs inside words that nobody sees: soft hyphen, zero-width blanks and joiners, byte order mark.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_MARKS = re.compile("[\u0300-\u036f]")  # accents: some programs drop them
_TABLE_BITS = (16, 27)  # size of the table of a first look, least and most
_SEED = 20250924


def words_of(text: str) -> list[bytes]:
    """Splits a text into words (UTF-8), so that case, signs and ways of writing a letter do not matter."""
    if text.isascii():
        return text.encode().translate(_ASCII).split()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text.translate(_UNSEEN))).casefold()
    return [word.encode("utf-8", "surrogatepass") for word in _WORD.findall(plain)]


class Batch:
    """Texts whose words are hashed together.

    Attributes:
        hashes: the words' hashes, texts one after another.
        lengths: words of each text.
    """

    def __init__(self) -> None:
        self.hashes = array("q")
        self.lengths = array("q")

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

    words = np.array(batch.hashes, dtype=np.int64).view(np.uint64)
    lengths = np.array(batch.lengths, dtype=np.int64)
    ends = np.cumsum(lengths)
    constants = _constants(size)
    if whole_texts:
        owners = np.flatnonzero(lengths == size)
        starts = ends[owners] - size
        whole = np.zeros(len(starts), dtype=np.uint64)
        for place, constant in enumerate(constants):
            whole += words[starts + place] * constant
        return whole, owners
    # Those that reach from one text into the next are numbered as well and left out: slices are faster than picking.
    last = max(len(words) - size + 1, 0)
    of_text = np.repeat(np.arange(len(lengths)), lengths)[:last]
    starts = np.flatnonzero(ends[of_text] - np.arange(last) >= size)
    owners = of_text[starts]
    every = np.zeros(last, dtype=np.uint64)
    for place, constant in enumerate(constants):
        every += words[place : place + last] * constant
    runs = every[starts]
    return runs, owners


def distinct(parts: Sequence[Runs]) -> Runs:
    """Returns the different runs of several arrays, sorted.

    numpy's own `unique` hashes such numbers, which takes twenty times as long as sorting them.
    """
    import numpy as np

    runs = np.sort(np.concatenate([*parts, np.zeros(0, dtype=np.uint64)]))
    first = np.ones(len(runs), dtype=bool)
    first[1:] = runs[1:] != runs[:-1]
    return runs[first]


class RunIndex:
    """The runs of one size that a set of files holds, for looking up many at once.

    Args:
        parts: each file's runs.
    """

    def __init__(self, parts: Sequence[Runs]) -> None:
        import numpy as np

        self._runs = distinct(parts)
        least, most = _TABLE_BITS
        bits = min(max((8 * len(self._runs)).bit_length(), least), most)
        self._mask = np.uint64((1 << bits) - 1)
        # A first look in a small table spares most runs the search.
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[(self._runs & self._mask).astype(np.intp)] = True

    def __len__(self) -> int:
        return len(self._runs)

    def without(self, runs: Runs) -> RunIndex:
        """Returns the index of the other runs."""
        import numpy as np

        return RunIndex([np.setdiff1d(self._runs, runs[self.found(runs)])])

    def found(self, runs: Runs) -> NDArray[np.intp]:
        """Returns the positions of the runs that are in the index."""
        import numpy as np

        if not len(self._runs):
            return np.zeros(0, dtype=np.intp)
        likely = np.flatnonzero(self._table[(runs & self._mask).astype(np.intp)])
        places = np.minimum(np.searchsorted(self._runs, runs[likely]), len(self._runs) - 1)
        hits: NDArray[np.intp] = likely[self._runs[places] == runs[likely]]
        return hits
