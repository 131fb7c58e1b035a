"""Factuality: the sentences an answer cites against those that its question needs (paper, section Evaluation).

Strict takes essential sentences for right, lenient supplementary ones too (2025; in 2026 lenient passes them over). Ids the note
does not have are wrong citations. Micro figures add up over cases before they divide, macro figures are means of the cases' own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.archehr_qa.spec import OFFICIAL, share_name

__all__ = ["ESSENTIAL", "SUPPLEMENTARY", "Counts", "count", "factuality_values", "positives"]

ESSENTIAL: Final = "essential"
SUPPLEMENTARY: Final = "supplementary"

_PARTS: Final = ("f1", "precision", "recall")


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
    kind: str, counted: Mapping[str, Counts | None], *, official: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Makes an item's metrics of its counts.

    Args:
        kind: of task, for the metrics' names (`spec.share_name`).
        counted: `strict` and `lenient`, or one of them, to the counts; None where there is nothing to be right.
        official: whether a share of nothing is the script's: 0, and 1 in the subtask of evidence where nothing is named and
            nothing right. Ours is nan.

    Returns:
        Metric to value, and pooled metric to its denominator.
    """
    values: dict[str, float] = {}
    weights: dict[str, float] = {}
    suffix = OFFICIAL if official else ""
    for which, counts in counted.items():
        ratios = {} if counts is None else counts.ratios()
        nothing = math.nan
        if official and counts is not None:
            nothing = float(kind == "evidence" and counts == Counts())
        for part in _PARTS:
            above, below = ratios.get(part, (0, 0))
            micro, macro = (f"{share_name(kind, which, how, part)}{suffix}" for how in ("micro", "macro"))
            values[micro] = values[macro] = above / below if below else nothing
            weights[micro] = float(below)
    if kind != "cited":
        headline = f"{share_name(kind, 'strict', 'micro', 'f1')}{suffix}"
        values[f"overall_score{suffix}"], weights[f"overall_score{suffix}"] = values[headline], weights[headline]
    return values, weights
