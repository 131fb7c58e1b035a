"""F1-RadGraph: which entities of a radiology report another one has, from the annotations of both.

Delbrouck et al. (2022), Improving the factual correctness of radiology report generation with semantic rewards,
https://aclanthology.org/2022.findings-emnlp.319, section 3; reference implementation: the package radgraph (0.1.18). An
annotation is what RadGraph makes of a text: `{"entities": {"1": {"tokens": "effusion", "label": "Observation::definitely
absent", "relations": [["located_at", "2"]]}, ...}}`. `medical_tasks.models.radgraph` makes them.

Three rewards, each the F1 of two sets: `simple` of (tokens, label); `partial`, the one that is commonly reported, of the same
and whether the entity has a relation; `complete` of each relation with the tokens it leads to, and of entities without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

__all__ = ["REWARDS", "RadGraphReward", "Reward", "radgraph_reward"]

Reward = Literal["simple", "partial", "complete"]

REWARDS: Final[tuple[Reward, ...]] = get_args(Reward)


class RadGraphReward(NamedTuple):
    """The three numbers of a pair of reports, 0-1 each.

    Attributes:
        simple: of entities with their labels.
        partial: of these, and whether they have a relation.
        complete: of relations with both ends.
    """

    simple: float
    partial: float
    complete: float


class _Entity(NamedTuple):
    tokens: str
    label: str
    relations: tuple[tuple[str, str], ...]  # kind, tokens of the entity it leads to


def radgraph_reward(
    reference: Mapping[str, Any], output: Mapping[str, Any], *, exact_case: bool = False
) -> RadGraphReward:
    """Compares the annotations of two reports; the same when they are swapped.

    Args:
        reference: annotation of one.
        output: annotation of the other.
        exact_case: `Effusion` is not `effusion`, as in the released package, which folds the case of entities with relations in
            `complete` and nowhere else. RadGraph keeps a report's case, so that there the first word of a sentence is another
            entity than the same word inside one.

    Returns:
        The rewards; 0 where either side has no entity, also where neither has, as in the package.

    Raises:
        ValueError: Something is no annotation.
    """
    sides = (_entities(reference, "reference"), _entities(output, "output"))
    if not all(sides):
        return RadGraphReward(0.0, 0.0, 0.0)

    def written(tokens: str) -> str:
        return tokens if exact_case else tokens.lower()

    simple = [{(written(each.tokens), each.label) for each in side} for side in sides]
    partial = [{(written(each.tokens), each.label, bool(each.relations)) for each in side} for side in sides]
    complete: list[set[tuple[str, ...]]] = []
    for side in sides:
        alone = {(written(each.tokens), each.label) for each in side if not each.relations}
        bound = {(each.tokens.lower(), each.label, kind, end.lower()) for each in side for kind, end in each.relations}
        complete.append({*alone, *bound})
    return RadGraphReward(_f1(*simple), _f1(*partial), _f1(*complete))


def _f1(first: set[Any], second: set[Any]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


def _entities(annotation: Mapping[str, Any], side: str) -> list[_Entity]:
    """Reads an annotation; what is wrong is told by the entity's id, since its tokens are text of the report."""
    entities = annotation.get("entities") if isinstance(annotation, Mapping) else None
    if not isinstance(entities, Mapping):
        raise ValueError(f'{side} must be an annotation of RadGraph, {{"entities": {{...}}}}; it has no entities')
    found = []
    for key, entity in entities.items():
        if not isinstance(entity, Mapping) or not all(
            isinstance(entity.get(name), str) for name in ("tokens", "label")
        ):
            raise ValueError(f"{side}: entity {key} needs tokens and label, both texts")
        relations = []
        for relation in entity.get("relations", ()):
            kind, end = relation if isinstance(relation, list | tuple) and len(relation) == 2 else (None, None)
            target = entities.get(end)
            if (
                not isinstance(kind, str)
                or not isinstance(target, Mapping)
                or not isinstance(target.get("tokens"), str)
            ):
                raise ValueError(
                    f"{side}: a relation of entity {key} is not [kind, id of an entity of the same report]"
                )
            relations.append((kind, target["tokens"]))
        found.append(_Entity(entity["tokens"], entity["label"], tuple(relations)))
    return found
