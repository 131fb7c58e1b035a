"""MEDCON: how many medical concepts a text shares with a reference, from the concepts found in both.

Yim et al., ACI-BENCH (2023), https://www.nature.com/articles/s41597-023-02487-3; the reference's formula counts terms of the
reference text on both sides, so that several synonyms of one concept there can bring precision and F1 above 1, and swapping
the texts changes the number. Beside it stands the F1 of the two sets of concepts, which is bounded and symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

__all__ = ["Medcon", "medcon"]


@dataclass(frozen=True, kw_only=True)
class Medcon:
    """Scores of a pair of texts, 0-1; `precision` and `f1` may exceed 1.

    Attributes:
        precision: the reference's terms that the prediction has by any concept, over the prediction's terms.
        recall: the same terms, over the reference's terms.
        f1: their harmonic mean: the published number, MEDCON.
        concept_precision, concept_recall, concept_f1: of the sets of concepts.
    """

    precision: float
    recall: float
    f1: float
    concept_precision: float
    concept_recall: float
    concept_f1: float


def medcon(reference: Mapping[str, AbstractSet[str]], prediction: Mapping[str, AbstractSet[str]]) -> Medcon:
    """Scores the concepts of a prediction against those of a reference.

    Args:
        reference: term to ids of its concepts.
        prediction: the same of the other text.

    Returns:
        The scores; 0 wherever there is nothing to divide by, also for two texts without concepts, as published.
    """
    said = frozenset[str]().union(*prediction.values())
    meant = frozenset[str]().union(*reference.values())
    shared = sum(not said.isdisjoint(concepts) for concepts in reference.values())
    both = len(said & meant)
    precision, recall = _share(shared, len(prediction)), _share(shared, len(reference))
    concept_precision, concept_recall = _share(both, len(said)), _share(both, len(meant))
    return Medcon(
        precision=precision,
        recall=recall,
        f1=_harmonic(precision, recall),
        concept_precision=concept_precision,
        concept_recall=concept_recall,
        concept_f1=_harmonic(concept_precision, concept_recall),
    )


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
