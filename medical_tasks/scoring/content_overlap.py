"""Overlap in content: MEDCON, F1-RadGraph and AlignScore.

They compare what a model or an index found in both texts.

MEDCON: Yim et al., ACI-BENCH (2023); its formula counts terms of the reference text on
both sides, so it can exceed 1. F1-RadGraph: Delbrouck et al. (2022), section 3, as in
radgraph 0.1.18. AlignScore: Zha et al. (2023), section 3.3: every sentence of the claim
against every chunk of the context, the best chunk of each, the mean over sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from medical_tasks.scoring.text_pairs import harmonic


@dataclass(frozen=True, kw_only=True)
class Medcon:
    """Scores of a pair of texts, 0-1; only `precision` and `f1` may exceed 1.

    Attributes:
        precision: the reference's terms that share a concept with the prediction, over
            the prediction's terms.
        recall: the same terms, over the reference's terms.
        f1: their harmonic mean, the published MEDCON.
    """

    precision: float
    recall: float
    f1: float
    concept_precision: float
    concept_recall: float
    concept_f1: float


def medcon(
    reference: Mapping[str, AbstractSet[str]],
    prediction: Mapping[str, AbstractSet[str]],
) -> Medcon:
    """Scores concepts, each side a mapping of terms to concept ids.

    A score without a denominator is 0, as published.
    """
    predicted = frozenset[str]().union(*prediction.values())
    expected = frozenset[str]().union(*reference.values())
    shared = sum(not predicted.isdisjoint(concepts) for concepts in reference.values())
    common = len(predicted & expected)
    precision, recall = _share(shared, len(prediction)), _share(shared, len(reference))
    concept_precision, concept_recall = (
        _share(common, len(predicted)),
        _share(common, len(expected)),
    )

    return Medcon(
        precision=precision,
        recall=recall,
        f1=harmonic(precision, recall),
        concept_precision=concept_precision,
        concept_recall=concept_recall,
        concept_f1=harmonic(concept_precision, concept_recall),
    )


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


Reward = Literal["simple", "partial", "complete"]

REWARDS: Final[tuple[Reward, ...]] = get_args(Reward)


class RadGraphReward(NamedTuple):
    """The three numbers of a pair of reports, 0-1 each.

    Attributes:
        simple: F1 of (tokens, label).
        partial: F1 of the same and whether the entity has a relation; the commonly
            reported one.
        complete: F1 of each relation with the tokens of its target, and of entities
            without relations.
    """

    simple: float
    partial: float
    complete: float


class _Entity(NamedTuple):
    tokens: str
    label: str
    relations: tuple[tuple[str, str], ...]  # kind, tokens of the target entity


def radgraph_reward(
    reference: Mapping[str, object],
    output: Mapping[str, object],
    *,
    exact_case: bool = False,
) -> RadGraphReward:
    """Compares the annotations of two reports; 0 if either has no entity, as in the package.

    `exact_case` follows the released package, which ignores case only for entities with
    relations in `complete`.
    """
    sides = (_entities(reference, "reference"), _entities(output, "output"))
    if not all(sides):
        return RadGraphReward(0.0, 0.0, 0.0)

    def cased(tokens: str) -> str:
        return tokens if exact_case else tokens.lower()

    simple = [
        {(cased(entity.tokens), entity.label) for entity in side} for side in sides
    ]
    partial = [
        {
            (cased(entity.tokens), entity.label, bool(entity.relations))
            for entity in side
        }
        for side in sides
    ]
    complete: list[set[tuple[str, ...]]] = []
    for side in sides:
        alone = {
            (cased(entity.tokens), entity.label)
            for entity in side
            if not entity.relations
        }
        bound = {
            (entity.tokens.lower(), entity.label, kind, end.lower())
            for entity in side
            for kind, end in entity.relations
        }
        complete.append({*alone, *bound})

    return RadGraphReward(_f1(*simple), _f1(*partial), _f1(*complete))


def _f1(first: Set[object], second: Set[object]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


def _entities(annotation: Mapping[str, object], side: str) -> list[_Entity]:
    """Reads an annotation.

    Errors name the entity's id, since its tokens are text of the report.
    """
    entities = annotation.get("entities") if isinstance(annotation, Mapping) else None
    if not isinstance(entities, Mapping):
        raise ValueError(
            f'{side} must be an annotation of RadGraph, {{"entities": {{...}}}}; it has no entities'
        )

    entity_list = []
    for key, entity in entities.items():
        if not _has_texts(entity, "tokens", "label"):
            raise ValueError(f"{side}: entity {key} needs tokens and label, both texts")

        relations = []
        for relation in entity.get("relations", ()):
            kind, end = (
                relation
                if isinstance(relation, list | tuple) and len(relation) == 2
                else (None, None)
            )
            if not isinstance(kind, str) or not _has_texts(entities.get(end), "tokens"):
                raise ValueError(
                    f"{side}: a relation of entity {key} is not [kind, id of an entity of the same "
                    "report]"
                )

            relations.append((kind, entities[end]["tokens"]))

        entity_list.append(_Entity(entity["tokens"], entity["label"], tuple(relations)))

    return entity_list


def _has_texts(entity: object, *names: str) -> bool:
    return isinstance(entity, Mapping) and all(
        isinstance(entity.get(name), str) for name in names
    )


CHUNK_WORDS: Final = 350
"""Words for each chunk of a context."""


def chunk_context(context: str, sentences: Sequence[str]) -> list[str]:
    """Joins the sentences of a context into chunks of equally many sentences, except the last.

    Without sentences there is one empty chunk.
    """
    parts = list(sentences) or [""]
    step = max(1, len(parts) // (len(context.split()) // CHUNK_WORDS + 1))
    return [
        " ".join(parts[start : start + step]) for start in range(0, len(parts), step)
    ]


def best_and_mean(scores: Sequence[Sequence[float]]) -> float:
    """The mean over a claim's sentences of the best chunk's score.

    It is 0 without sentences, where the authors' code crashes.
    """
    return math.fsum(max(row) for row in scores) / len(scores) if scores else 0.0
