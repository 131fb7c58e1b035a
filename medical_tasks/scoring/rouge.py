"""ROUGE-1 to ROUGE-9, ROUGE-L and ROUGE-Lsum, number for number those of `rouge_score` 0.1.2 (docs/text_metrics.md).

Source: Lin (2004), sections 2 and 3. Longest common subsequences by bits: a row of the
table grows by 0 or 1 from each column to the next (Crochemore et al. 2001, Inf Process
Lett 80:279; Hyyrö 2004, AWOCA 16).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medical_tasks.scoring.porter import stem as porter_stem
from medical_tasks.scoring.text_pairs import (
    References,
    as_references,
    count_ngrams,
    harmonic,
    shared,
)

VARIANTS = ("rouge1", "rouge2", "rougeL", "rougeLsum")

_TOKEN = re.compile(r"[a-z0-9]+")
_VARIANT = re.compile(r"rouge(?:[1-9]|L|Lsum)")
_STEMMED_FROM = 4
"""Letters a word must have to be stemmed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlap:
    """How much two texts share, 0-1: `precision` of the prediction, `recall` of the reference."""

    precision: float
    recall: float
    f1: float


def rouge_tokens(text: str, *, stem: bool = False) -> list[str]:
    """Lower-cased runs of a-z and 0-9: "Sjögren" is sj and gren, Chinese has no tokens.

    `stem` from four letters on.
    """
    tokens = _TOKEN.findall(text.lower())
    return (
        [
            porter_stem(token) if len(token) >= _STEMMED_FROM else token
            for token in tokens
        ]
        if stem
        else tokens
    )


def rouge(
    prediction: str,
    references: References,
    *,
    variants: Sequence[str] = VARIANTS,
    stem: bool = False,
) -> dict[str, Overlap]:
    """ROUGE of one prediction.

    All figures are 0 where a text has no token, or is too short to have an n-gram.

    Case and punctuation do not count; line breaks count for rougeLsum. Of several
    references the one with the highest F1 counts (the first of equals), each variant
    for itself. `stem` compares Porter's stems with NLTK's additions.
    """
    known = as_references(prediction, references)
    for variant in variants:
        if not _VARIANT.fullmatch(variant):
            raise ValueError(
                f"variants must be out of rouge1 ... rouge9, rougeL, rougeLsum; got {variant!r}"
            )

    said = _Text(prediction, stem)
    true = [_Text(reference, stem) for reference in known]
    return {
        variant: max(
            (said.against(reference, variant) for reference in true),
            key=lambda figures: figures.f1,
        )
        for variant in variants
    }


class _Text:
    def __init__(self, text: str, stem: bool) -> None:
        # Line breaks separate tokens too, so the tokens of the lines are the tokens of
        # the text.
        self.lines = [rouge_tokens(line, stem=stem) for line in text.split("\n")]
        self.tokens = [token for line in self.lines for token in line]

    def against(self, reference: _Text, variant: str) -> Overlap:
        """How far the tokens match a reference's, by one variant.

        Matches are shared by the number of n-grams of either side, for both L variants
        by that of tokens. A text too short for one n-gram scores 0.
        """
        if variant == "rougeL":
            hits, n = lcs_length(self.tokens, reference.tokens), 1
        elif variant == "rougeLsum":
            hits, n = _summary_hits(self, reference), 1
        else:
            n = int(variant.removeprefix("rouge"))
            hits = shared(
                count_ngrams(self.tokens, n), count_ngrams(reference.tokens, n)
            )

        precision = hits / max(len(self.tokens) - n + 1, 1)
        recall = hits / max(len(reference.tokens) - n + 1, 1)
        return Overlap(
            precision=precision, recall=recall, f1=harmonic(precision, recall)
        )


def _summary_hits(prediction: _Text, reference: _Text) -> int:
    """Tokens of the reference that are in a line's longest common subsequence with any of the prediction's; as often as there."""
    lines = [Columns(line) for line in prediction.lines if line]
    found = Counter[str]()
    for line in reference.lines:
        found.update(
            line[place]
            for place in {
                place for columns in lines for place in columns.positions_in(line)
            }
        )

    return (found & Counter(prediction.tokens)).total()


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

        ROUGE-Lsum depends on which one is taken.
        """
        whole = (1 << self.width) - 1
        # Rows without any match equal the row before: the way back passes them without
        # a choice.
        matching = [
            (row, self._places[token])
            for row, token in enumerate(rows)
            if token in self._places
        ]
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
