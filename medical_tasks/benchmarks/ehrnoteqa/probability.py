"""What follows from how probable a model finds each of the five choices (paper, section 4.3): pure.

The choice with the largest score is the model's; the score is the sum of its tokens' log-probabilities, or that sum divided by the
number of tokens, or of characters (Unicode code points of the choice's text), which takes from long texts their disadvantage. The
right choice has to be more probable than all others: a tie is wrong.

A server that tells only its most probable tokens leaves some choices untold. Such a choice stands below all that are told, as the
server ranks them, and its sum is at most `below`. What is certain all the same is decided; the rest is absent, with its limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.models.choice_scores import ChoiceScores

__all__ = ["NOT_TOLD", "ProbabilityScore", "score_choices"]

NOT_TOLD: Final = "choice not among the log-probabilities told"

Limits = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class ProbabilityScore:
    """What is known of one item.

    Attributes:
        metrics: `accuracy`, `accuracy_per_token`, `accuracy_per_character` and `gold_probability`, each as smallest and largest
            value; equal where it is decided.
        chosen: place of the choice with the largest sum; None in a tie, or where it is not certain.
    """

    metrics: dict[str, Limits]
    chosen: int | None


def score_choices(scores: ChoiceScores, choices: Sequence[str], gold: int) -> ProbabilityScore:
    """Computes every metric of one item.

    Args:
        scores: of the choices, in their order.
        choices: their texts.
        gold: place of the right one.

    Raises:
        ValueError: There are not as many scores as choices.
    """
    count = len(scores.logprobs)
    if count != len(choices):
        raise ValueError(f"has {count} log-probabilities, the question {len(choices)} choices")
    by_sum = _divided(scores, [1] * count)
    by_token = _divided(scores, scores.tokens)
    by_character = _divided(scores, [max(len(choice.strip()), 1) for choice in choices])
    return ProbabilityScore(
        metrics={
            "accuracy": by_sum.leads(gold),
            "accuracy_per_token": by_token.leads(gold),
            "accuracy_per_character": by_character.leads(gold),
            "gold_probability": _share(scores, gold),
        },
        chosen=next((place for place in range(count) if by_sum.leads(place) == (1.0, 1.0)), None),
    )


@dataclass(frozen=True, kw_only=True)
class _Ranking:
    """Scores of choices: a number where it is told, else None and the number it cannot exceed."""

    told: tuple[float | None, ...]
    most: tuple[float, ...]

    def leads(self, place: int) -> Limits:
        """Whether a choice has the largest score, as 0 or 1; (0, 1) where that is open."""
        others = [number for number in range(len(self.told)) if number != place]
        best = max((score for number in others if (score := self.told[number]) is not None), default=None)
        own = self.told[place]
        if best is not None and best >= (self.most[place] if own is None else own):
            return 0.0, 0.0
        if own is not None and all(self.told[number] is not None or own >= self.most[number] for number in others):
            return 1.0, 1.0
        return 0.0, 1.0


def _divided(scores: ChoiceScores, by: Sequence[int]) -> _Ranking:
    below = -math.inf if scores.below is None else scores.below
    return _Ranking(
        told=tuple(
            None if value is None else value / divisor for value, divisor in zip(scores.logprobs, by, strict=True)
        ),
        most=tuple(
            (below if value is None else value) / divisor for value, divisor in zip(scores.logprobs, by, strict=True)
        ),
    )


def _share(scores: ChoiceScores, gold: int) -> Limits:
    """Softmax of the sums at the right choice; smallest and largest as the untold ones may be anything up to their bound."""
    bound = -math.inf if scores.below is None else scores.below
    highest = [bound if value is None else value for value in scores.logprobs]
    lowest = [-math.inf if value is None else value for value in scores.logprobs]
    # It is least when it is low itself and the others are high.
    least = [*highest[:gold], lowest[gold], *highest[gold + 1 :]]
    most = [*lowest[:gold], highest[gold], *lowest[gold + 1 :]]
    return _softmax(least)[gold], _softmax(most)[gold]


def _softmax(sums: Sequence[float]) -> list[float]:
    """Shares of the exponentials; equal ones where all are 0."""
    top = max(sums)
    weights = [1.0 if value == top else math.exp(value - top) for value in sums]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
