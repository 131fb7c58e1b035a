"""The classes in which a judge is compared with people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["CORRECTNESS", "NLI", "THREE_WAY", "TWO_WAY", "VIEWS", "View"]


@dataclass(frozen=True, kw_only=True)
class View:
    """Classes, and how labels become them.

    Attributes:
        key: name in `check.json`.
        title: name in tables.
        classes: the labels, in the order of tables.
        rest: the class that every other label counts as; None where there are no others.
    """

    key: str
    title: str
    classes: tuple[str, ...]
    rest: str | None = None

    def of(self, label: str) -> str:
        """The class of a label."""
        return label if label in self.classes or self.rest is None else self.rest

    def holds(self, labels: Iterable[str | None]) -> bool:
        """Says whether every label (None: there is none) has a class here."""
        return self.rest is not None or all(label is None or label in self.classes for label in labels)


THREE_WAY: Final = View(key="three_way", title="three classes", classes=("entailment", "neutral", "contradiction"))
TWO_WAY: Final = View(
    key="two_way", title="entailed or not", classes=("entailment", "not_entailment"), rest="not_entailment"
)
CORRECTNESS: Final = View(key="correctness", title="correct or not", classes=("correct", "incorrect"))

NLI: Final = (THREE_WAY, TWO_WAY)
"""A pair of texts: entailed, neutral or contradicted; and entailed or not, which is all that some judges know."""

VIEWS: Final = (*NLI, CORRECTNESS)
"""All there are, finer ones first."""
