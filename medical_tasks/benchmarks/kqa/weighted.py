"""The general score of the K-QA paper (appendix A): the sum of w(s) · f(label(s), relation) over an answer's statements.

Comprehensiveness is the case of weight 1 for must-have and 0 for nice-to-have statements, the relation "entails", divided by
the sum of weights (section 4, equation 1); hallucination rate the case of weight 1 for all and "contradicts" (equation 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.judges.base import LABELS, Label
from medical_tasks.spec import Counts, Verdicts

__all__ = [
    "MUST_HAVE",
    "NICE_TO_HAVE",
    "RELATIONS",
    "Relation",
    "WeightedScore",
    "statement_weights",
    "weighted_counts",
    "weighted_score",
]

MUST_HAVE: Final = "must_have"
NICE_TO_HAVE: Final = "nice_to_have"

Relation = Callable[[Label], bool | None]
"""Whether a label stands in a relation; None when the label does not tell (`not_entailment` leaves contradiction open)."""

RELATIONS: Final[Mapping[str, Relation]] = {
    "entails": lambda label: label == "entailment",
    "does not entail": lambda label: label != "entailment",
    "contradicts": lambda label: None if label == "not_entailment" else label == "contradiction",
    "does not contradict": lambda label: None if label == "not_entailment" else label != "contradiction",
    "is neutral": lambda label: None if label == "not_entailment" else label == "neutral",
    "is not neutral": lambda label: None if label == "not_entailment" else label != "neutral",
}
"""The relations by name, each with its negation."""


@dataclass(frozen=True, kw_only=True)
class WeightedScore:
    """One answer's score.

    Attributes:
        value: the score; nan when it is not decided (a statement that weighs has no label, or one that does not tell), or
            when it is normalised and nothing weighs.
        low: smallest value it can have, whatever the missing labels are.
        high: largest.
        missing: statements that weigh and are not decided.
    """

    value: float
    low: float
    high: float
    missing: int


def statement_weights(
    n_must_have: int, n_nice_to_have: int, weights: Mapping[str, float] | Sequence[float]
) -> tuple[float, ...]:
    """Lays out the weights of an answer's statements, must-have first.

    Args:
        n_must_have: number of must-have statements.
        n_nice_to_have: number of nice-to-have statements.
        weights: by importance (`{"must_have": 1, "nice_to_have": 0.5}`, both needed), or one a statement.

    Raises:
        ValueError: Other keys, another number of weights, or a weight that is not finite.
    """
    if isinstance(weights, Mapping):
        if set(weights) != {MUST_HAVE, NICE_TO_HAVE}:
            raise ValueError(f"weights by importance need the keys must_have and nice_to_have; got {sorted(weights)}")
        laid = (float(weights[MUST_HAVE]),) * n_must_have + (float(weights[NICE_TO_HAVE]),) * n_nice_to_have
    else:
        laid = tuple(float(weight) for weight in weights)
        if len(laid) != n_must_have + n_nice_to_have:
            raise ValueError(
                f"weights must be one for each of {n_must_have} must-have and {n_nice_to_have} nice-to-have statements; "
                f"got {len(laid)}"
            )
    if not all(map(math.isfinite, laid)):
        raise ValueError(f"weights must be finite numbers; got {list(laid)}")
    return laid


def weighted_score(
    labels: Sequence[Label | None],
    weights: Sequence[float],
    relation: str | Relation = "entails",
    *,
    normalised: bool = False,
) -> WeightedScore:
    """Scores one answer by the labels of its statements.

    Args:
        labels: a label a statement, None where there is no verdict.
        weights: a weight a statement, in the same order. Negative ones are allowed (a statement one had better not hear).
        relation: a name of `RELATIONS`, or a function of the label.
        normalised: divide by the sum of weights, so that the score lies in 0-1.

    Returns:
        The score, with its limits where labels are missing.

    Raises:
        ValueError: As `weighted_counts`.
    """
    counts = weighted_counts(labels, weights, relation, normalised=normalised)
    low, high = counts.limits
    missing = sum(one.missing for one in counts.verdicts if one.weight)
    return WeightedScore(value=math.nan if missing else low, low=low, high=high, missing=missing)


def weighted_counts(
    labels: Sequence[Label | None],
    weights: Sequence[float],
    relation: str | Relation = "entails",
    *,
    normalised: bool = False,
    kinds: Sequence[str] = (),
) -> Counts:
    """Counts one answer's labels, as `weighted_score` takes them.

    Args:
        labels: as there.
        weights: as there.
        relation: as there.
        normalised: as there.
        kinds: what is alike about each statement; of those of a kind known labels stand for missing ones.

    Raises:
        ValueError: Lengths differ, an unknown relation or label, a weight that is not finite, or normalised with a negative weight.
    """
    weights = [float(weight) for weight in weights]
    if len(labels) != len(weights):
        raise ValueError(f"labels and weights must be as many; got {len(labels)} and {len(weights)}")
    unknown = [label for label in labels if label is not None and label not in LABELS]
    if unknown:
        raise ValueError(f"labels must be one of {', '.join(LABELS)} or None; got {unknown[0]!r}")
    if not all(map(math.isfinite, weights)):
        raise ValueError(f"weights must be finite numbers; got {weights}")
    if normalised and min(weights, default=0.0) < 0:
        raise ValueError(f"a normalised score needs weights of at least 0; got {min(weights)}")
    if isinstance(relation, str):
        if relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(RELATIONS)}; got {relation!r}")
        relation = RELATIONS[relation]
    holds = [None if label is None else relation(label) for label in labels]
    return Counts(
        how="share" if normalised else "count",
        verdicts=tuple(
            Verdicts(
                kind=kind, hits=int(bool(one)), known=int(one is not None), missing=int(one is None), weight=weight
            )
            for kind, one, weight in zip(kinds or [""] * len(labels), holds, weights, strict=True)
        ),
        told=all(label is None or one is not None for label, one in zip(labels, holds, strict=True)),
    )
