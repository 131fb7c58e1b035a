"""Requests for the probability of choices, and the probabilities of transformers alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medical_tasks.models.base import ChoiceScores, Model, Request
from tests.models.local_runs import answers, reference
from tests.models.toy_texts import TEXTS

LETTERS = ("A", "B", "C", "D", "E")


def choose(key: str, text: str, continuations: Sequence[str] = LETTERS) -> Request:
    """Makes a request of one user message for the probabilities of its continuations."""
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
    """Sum of a continuation's log-probabilities and number of its tokens, by transformers alone without padding."""
    import torch

    model, tokenizer = reference(folder)
    prompt, tokens = (
        tokenizer(text)["input_ids"],
        tokenizer(text + continuation)["input_ids"],
    )
    assert tokens[: len(prompt)] == prompt
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits.float()
    logprobs = torch.log_softmax(logits, dim=-1)[0]
    positions = range(len(prompt), len(tokens))
    return sum(
        logprobs[position - 1, tokens[position]].item() for position in positions
    ), len(positions)
