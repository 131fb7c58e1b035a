"""Factuality: the sentences an answer cites against those that its question needs (paper, section Evaluation).

Strict takes essential sentences for right, lenient supplementary ones too. Ids the note does not have are wrong citations. Micro
figures add up over cases before they divide, macro figures are means of the cases' own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["ESSENTIAL", "SUPPLEMENTARY", "Counts", "count", "factuality_values", "positives"]

ESSENTIAL: Final = "essential"
SUPPLEMENTARY: Final = "supplementary"

_PARTS: Final = {"": "f1", "_precision": "precision", "_recall": "recall"}


@dataclass(frozen=True, slots=True)
class Counts:
    """How citations and right sentences meet.

    Attributes:
        hits: cited and right.
        wrong: cited and not right.
        missed: right and not cited.
    """

    hits: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.hits + other.hits, self.wrong + other.wrong, self.missed + other.missed)

    def ratios(self) -> dict[str, tuple[int, int]]:
        """Numerator and denominator of `precision`, `recall` and `f1`."""
        cited, right = self.hits + self.wrong, self.hits + self.missed
        return {"precision": (self.hits, cited), "recall": (self.hits, right), "f1": (2 * self.hits, cited + right)}


def positives(labels: Mapping[str, str], *, lenient: bool) -> tuple[str, ...]:
    """The sentences that are right to cite, in the note's order.

    Args:
        labels: id of the sentence to its label.
        lenient: whether supplementary ones are.
    """
    right = (ESSENTIAL, SUPPLEMENTARY) if lenient else (ESSENTIAL,)
    return tuple(sentence for sentence, label in labels.items() if label in right)


def count(cited: Collection[Hashable], right: Collection[Hashable]) -> Counts:
    """Counts a case; what is cited twice counts once."""
    said, true = frozenset(cited), frozenset(right)
    return Counts(hits=len(said & true), wrong=len(said - true), missed=len(true - said))


def factuality_values(
    counted: Mapping[str, Counts | None], *, suffix: str = "", of_nothing: float = math.nan, macro: bool = True
) -> tuple[dict[str, float], dict[str, float]]:
    """Makes an item's metrics of its counts.

    Args:
        counted: `""` (strict) and `_lenient`, or one of them, to the counts; None where there is nothing to be right.
        suffix: of the metrics' names.
        of_nothing: value where there is no denominator: nan, or 0 as the official script has it.
        macro: whether the means over cases are metrics as well.

    Returns:
        Metric to value, and pooled metric to its denominator.
    """
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    for which, counts in counted.items():
        ratios = {} if counts is None else counts.ratios()
        nothing = math.nan if counts is None else of_nothing
        for part, name in _PARTS.items():
            above, below = ratios.get(name, (0, 0))
            value = above / below if below else nothing
            values[f"factuality{which}{part}{suffix}"] = value
            weights[f"factuality{which}{part}{suffix}"] = float(below)
            if macro:
                values[f"factuality{which}_macro{part}{suffix}"] = value
    return values, weights
