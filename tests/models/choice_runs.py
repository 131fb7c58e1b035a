"""Questions about the probability of choices, and what transformers alone says to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medical_tasks.models.base import ChoiceScores, Model, Request
from tests.models.local_runs import answers, reference
from tests.models.toy_texts import TEXTS

LETTERS = ("A", "B", "C", "D", "E")


def choose(key: str, text: str, continuations: Sequence[str] = LETTERS) -> Request:
    """A request of one user message for the probability of what may follow it."""
    message = {"role": "user", "content": text}
    return Request(
        key=key,
        messages=(message,),  # type: ignore[arg-type]
        max_new_tokens=0,
        continuations=tuple(continuations),
    )


# Letters, words and sentences, two to five of them, after prompts of one to three
# sentences.
CHOICES = [
    choose(
        f"c{index}",
        " ".join([text] * (1 + index % 3)),
        [LETTERS, ("creatinine of 1.4 mg/dL", "chest pain"), (*TEXTS[:3], "no")][
            index % 3
        ],
    )
    for index, text in enumerate(TEXTS[::12])
]


def scores(model: Model, requests: Sequence[Request]) -> dict[str, ChoiceScores]:
    return {
        key: ChoiceScores.from_text(answer.text)
        for key, answer in answers(model, requests).items()
    }


def summed(folder: Path, text: str, continuation: str) -> tuple[float, int]:
    """By transformers alone, one text without padding: sum of log-probabilities in float32, and number of tokens."""
    import torch

    model, tokenizer = reference(folder)
    asked, whole = (
        tokenizer(text)["input_ids"],
        tokenizer(text + continuation)["input_ids"],
    )
    assert whole[: len(asked)] == asked
    with torch.no_grad():
        logits = model(torch.tensor([whole])).logits.float()
    logprobs = torch.log_softmax(logits, dim=-1)[0]
    places = range(len(asked), len(whole))
    return sum(logprobs[place - 1, whole[place]].item() for place in places), len(
        places
    )
