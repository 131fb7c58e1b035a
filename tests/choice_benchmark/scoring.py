from __future__ import annotations

from collections.abc import Mapping, Sequence

from medical_tasks.models.base import ChoiceScores
from medical_tasks.spec import Item, ItemScore, TaskSpec


def score_items(
    task: TaskSpec,
    items: Sequence[Item],
    responses: Sequence[str],
    *,
    arguments: Mapping[str, str],
) -> list[ItemScore]:
    assert not arguments
    scores = []
    for item, response in zip(items, responses, strict=True):
        choices = ChoiceScores.from_text(response)
        logprobs = [value for value in choices.logprobs if value is not None]
        right = logprobs["ABC".index(item.fields["answer"])]
        values = {
            "accuracy": float(right == max(logprobs)),
            "logprob": right,
            "n_tokens": float(sum(choices.tokens)),
        }
        scores.append(ItemScore(id=item.id, values=values))
    return scores
