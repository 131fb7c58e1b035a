"""ROUGE-1 to ROUGE-9, ROUGE-L and ROUGE-Lsum, identical to `rouge_score` 0.1.2.

Lower-case runs of a-z and 0-9 are compared: texts in other scripts score 0 against
themselves, and so do texts without words. ROUGE-Lsum treats lines as sentences: of texts
of one line it is ROUGE-L. Of several references the one with the highest F1 counts. Of a
corpus the mean is reported, where `evaluate` reports the middle of 1,000 unseeded
bootstrap means.

Source: Lin (2004), sections 2 and 3. Longest common subsequences are computed with bit
vectors: a row of the table grows by 0 or 1 from each column to the next (Crochemore et
al. 2001, Inf Process Lett 80:279; Hyyrö 2004, AWOCA 16).
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
"""The fewest letters of a word that is stemmed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlap:
    """How much two texts share, 0-1: `precision` of the prediction, `recall` of the reference."""

    precision: float
    recall: float
    f1: float


def rouge_tokens(text: str, *, stem: bool = False) -> list[str]:
    """Returns lower-cased runs of a-z and 0-9: "Sjögren" is sj and gren, Chinese has no tokens.

    `stem` applies to tokens of at least four letters.
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
    """Computes ROUGE of one prediction.

    All figures are 0 if a text has no token, or is too short for an n-gram. Case and
    punctuation do not count; line breaks count for rougeLsum. For each variant, the
    reference with the highest F1 counts (the first of equals). `stem` compares Porter's
    stems with NLTK's additions.
    """
    reference_texts = as_references(prediction, references)
    for variant in variants:
        if not _VARIANT.fullmatch(variant):
            raise ValueError(
                f"variants must be out of rouge1 ... rouge9, rougeL, rougeLsum; got {variant!r}"
            )

    predicted = _Text(prediction, stem)
    targets = [_Text(reference, stem) for reference in reference_texts]
    return {
        variant: max(
            (predicted.against(reference, variant) for reference in targets),
            key=lambda figures: figures.f1,
        )
        for variant in variants
    }


class _Text:
    def __init__(self, text: str, stem: bool) -> None:
        # Line breaks also separate tokens, so the tokens of the lines are those of the
        # text.
        self.lines = [rouge_tokens(line, stem=stem) for line in text.split("\n")]
        self.tokens = [token for line in self.lines for token in line]

    def against(self, reference: _Text, variant: str) -> Overlap:
        """Compares the tokens with a reference's, by one variant.

        Matches are divided by the number of n-grams of either side, or of tokens for the
        L variants. A text too short for one n-gram scores 0.
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
    """Counts the reference's tokens in the union of each line's longest common subsequences.

    A token counts at most as often as the prediction has it.
    """
    line_columns = [Columns(line) for line in prediction.lines if line]
    hits = Counter[str]()
    for line in reference.lines:
        hits.update(
            line[position]
            for position in {
                position
                for columns in line_columns
                for position in columns.positions_in(line)
            }
        )

    return (hits & Counter(prediction.tokens)).total()


class Columns:
    """A token list prepared for comparison with many others."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.width = len(tokens)
        self._token_columns: dict[str, int] = {}
        for column, token in enumerate(tokens):
            self._token_columns[token] = self._token_columns.get(token, 0) | 1 << column

    def length_with(self, tokens: Iterable[str]) -> int:
        """Returns the length of a longest common subsequence with `tokens`."""
        whole = flat = (1 << self.width) - 1
        for token in tokens:
            if token in self._token_columns:
                flat = _next_row(flat, self._token_columns[token], whole)
        return self.width - flat.bit_count()

    def positions_in(self, rows: Sequence[str]) -> list[int]:
        """Returns the positions in `rows` of one longest common subsequence, the last first.

        ROUGE-Lsum depends on which of several subsequences is used.
        """
        whole = (1 << self.width) - 1
        # Rows without any match equal the row before, so backtracking skips them.
        matching = [
            (row, self._token_columns[token])
            for row, token in enumerate(rows)
            if token in self._token_columns
        ]
        flats = [whole]
        for _, columns in matching:
            flats.append(_next_row(flats[-1], columns, whole))

        positions = []
        k, column = len(matching), self.width
        while k and column:
            row, columns = matching[k - 1]
            if columns >> (column - 1) & 1:
                positions.append(row)
                k, column = k - 1, column - 1
                continue

            left = (1 << column) - 1
            # One flat bit fewer means a length greater by one.
            if (flats[k] & left).bit_count() < (flats[k - 1] & left).bit_count():
                column -= 1
            else:
                k -= 1

        return positions


def _next_row(flat: int, columns: int, whole: int) -> int:
    """Returns the next row of the table; a set bit is a column where the length does not grow."""
    matched = flat & columns
    return (flat + matched | flat - matched) & whole


def lcs_length(some: Sequence[str], others: Sequence[str]) -> int:
    """Returns the length of a longest common subsequence."""
    if len(others) < len(some):
        some, others = others, some
    return Columns(some).length_with(others)
