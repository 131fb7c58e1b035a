"""Overlap in content.

MEDCON, F1-RadGraph and AlignScore, from what a model or an index found in both texts.

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
    """Scores of a pair of texts, 0-1.

    `precision` and `f1` may exceed 1, those of the sets of concepts may not.

    Attributes:
        precision: the reference's terms that the prediction has by any concept, over
            the prediction's terms.
        recall: the same terms, over the reference's terms.
        f1: their harmonic mean: the published number, MEDCON.
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
    """Scores concepts, given as term to ids.

    0 wherever there is nothing to divide by, as published.
    """
    said = frozenset[str]().union(*prediction.values())
    meant = frozenset[str]().union(*reference.values())
    shared = sum(not said.isdisjoint(concepts) for concepts in reference.values())
    both = len(said & meant)
    precision, recall = _share(shared, len(prediction)), _share(shared, len(reference))
    concept_precision, concept_recall = (
        _share(both, len(said)),
        _share(both, len(meant)),
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
        partial: of the same and whether the entity has a relation: the one that is
            commonly reported.
        complete: of each relation with the tokens it leads to, and of entities without
            one.
    """

    simple: float
    partial: float
    complete: float


class _Entity(NamedTuple):
    tokens: str
    label: str
    relations: tuple[tuple[str, str], ...]  # kind, tokens of the entity it leads to


def radgraph_reward(
    reference: Mapping[str, object],
    output: Mapping[str, object],
    *,
    exact_case: bool = False,
) -> RadGraphReward:
    """Compares the annotations of two reports.

    0 where either side has no entity, as in the package.

    `exact_case` is the released package, which folds the case of entities with
    relations in `complete` and nowhere else.
    """
    sides = (_entities(reference, "reference"), _entities(output, "output"))
    if not all(sides):
        return RadGraphReward(0.0, 0.0, 0.0)

    def written(tokens: str) -> str:
        return tokens if exact_case else tokens.lower()

    simple = [{(written(each.tokens), each.label) for each in side} for side in sides]
    partial = [
        {(written(each.tokens), each.label, bool(each.relations)) for each in side}
        for side in sides
    ]
    complete: list[set[tuple[str, ...]]] = []
    for side in sides:
        alone = {
            (written(each.tokens), each.label) for each in side if not each.relations
        }
        bound = {
            (each.tokens.lower(), each.label, kind, end.lower())
            for each in side
            for kind, end in each.relations
        }
        complete.append({*alone, *bound})

    return RadGraphReward(_f1(*simple), _f1(*partial), _f1(*complete))


def _f1(first: Set[object], second: Set[object]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


def _entities(annotation: Mapping[str, object], side: str) -> list[_Entity]:
    """Reads an annotation.

    What is wrong is told by the entity's id, since its tokens are text of the report.
    """
    entities = annotation.get("entities") if isinstance(annotation, Mapping) else None
    if not isinstance(entities, Mapping):
        raise ValueError(
            f'{side} must be an annotation of RadGraph, {{"entities": {{...}}}}; it has no entities'
        )

    found = []
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

        found.append(_Entity(entity["tokens"], entity["label"], tuple(relations)))

    return found


def _has_texts(entity: object, *names: str) -> bool:
    return isinstance(entity, Mapping) and all(
        isinstance(entity.get(name), str) for name in names
    )


CHUNK_WORDS: Final = 350
"""Words that decide how many chunks a context has."""


def chunk_context(context: str, sentences: Sequence[str]) -> list[str]:
    """Joins the sentences of a context to chunks, all of one number of sentences but the last.

    Of none it is one empty chunk.
    """
    known = list(sentences) or [""]
    step = max(1, len(known) // (len(context.split()) // CHUNK_WORDS + 1))
    return [
        " ".join(known[start : start + step]) for start in range(0, len(known), step)
    ]


def best_and_mean(scores: Sequence[Sequence[float]]) -> float:
    """The mean over a claim's sentences of its best chunk's score.

    0 without sentences, where the authors' code crashes.
    """
    return math.fsum(max(row) for row in scores) / len(scores) if scores else 0.0
