"""Longest common subsequences of two token lists, a row at a time in the bits of one integer.

A row of the usual table grows by 0 or 1 from each column to the next, so one bit a column holds it, and a whole row follows from
the last by an addition: Crochemore et al. (2001), Inf Process Lett 80:279; Hyyrö (2004), AWOCA 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Columns", "lcs_length"]


class Columns:
    """One token list, made ready to be compared with many others."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.width = len(tokens)
        self._places: dict[str, int] = {}
        for column, token in enumerate(tokens):
            self._places[token] = self._places.get(token, 0) | 1 << column

    def length_with(self, rows: Iterable[str]) -> int:
        """Length of a longest common subsequence with `rows`."""
        whole = flat = (1 << self.width) - 1
        for token in rows:
            if token in self._places:
                flat = _next_row(flat, self._places[token], whole)
        return self.width - flat.bit_count()

    def positions_in(self, rows: Sequence[str]) -> list[int]:
        """Places in `rows` of one longest common subsequence, the last first.

        There can be several; ROUGE-Lsum depends on which one is taken. It is the one found from the end of both lists: a match
        is always taken; otherwise the row is left, unless that loses length, and then the column is.
        """
        whole = (1 << self.width) - 1
        # Rows without any match equal the row before: the way back passes them without a choice.
        matching = [(row, self._places[token]) for row, token in enumerate(rows) if token in self._places]
        flats = [whole]
        for _, places in matching:
            flats.append(_next_row(flats[-1], places, whole))
        found = []
        k, column = len(matching), self.width
        while k and column:
            row, places = matching[k - 1]
            if places >> (column - 1) & 1:
                found.append(row)
                k, column = k - 1, column - 1
                continue
            left = (1 << column) - 1
            # A flat bit less is one more in length.
            if (flats[k] & left).bit_count() < (flats[k - 1] & left).bit_count():
                column -= 1
            else:
                k -= 1
        return found


def _next_row(flat: int, places: int, whole: int) -> int:
    """The next row of the table; a set bit is a column at which the length does not grow."""
    matched = flat & places
    return (flat + matched | flat - matched) & whole


def lcs_length(some: Sequence[str], others: Sequence[str]) -> int:
    """Length of a longest common subsequence."""
    if len(others) < len(some):
        some, others = others, some
    return Columns(some).length_with(others)
