"""Questions for local models, and the answers of transformers alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.models.base import Answer, Failure, Model, Request
from tests.models.toy_texts import TEXTS, ask

Opener = Callable[..., Any]

QUESTIONS = [
    ask(f"q{index}", text, system="Be brief." if index % 2 else "")
    for index, text in enumerate(TEXTS[::8])
]


def results(model: Model, requests: Sequence[Request]) -> dict[str, Answer | Failure]:
    outcomes: list[Answer | Failure] = []
    ask_all = (
        model.loglikelihood
        if any(request.continuations for request in requests)
        else model.generate
    )
    ask_all(requests, outcomes.append)
    assert sorted(result.key for result in outcomes) == sorted(
        request.key for request in requests
    )
    return {result.key: result for result in outcomes}


def answers(model: Model, requests: Sequence[Request]) -> dict[str, Answer]:
    by_key: dict[str, Answer] = {}
    for key, result in results(model, requests).items():
        assert isinstance(result, Answer), result
        by_key[key] = result
    return by_key


@functools.cache
def reference(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer of transformers, without lighteval and without the model's own generation settings."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.eos_token_id
    )
    return model, tokenizer


def alone(folder: Path, request: Request, **settings: Any) -> list[int]:
    """Answers one prompt by transformers alone; returns the ids before the end token."""
    import torch

    model, tokenizer = reference(folder)
    batch = tokenizer.apply_chat_template(
        [dict(message) for message in request.messages],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    ids = batch["input_ids"]
    with torch.no_grad():
        rows = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.max_new_tokens,
            do_sample=False,
            **settings,
        )
    answer: list[int] = rows[0, ids.shape[1] :].tolist()
    return (
        answer[: answer.index(tokenizer.eos_token_id)]
        if tokenizer.eos_token_id in answer
        else answer
    )


def decode(folder: Path, ids: list[int]) -> str:
    text: str = reference(folder)[1].decode(ids, skip_special_tokens=True)
    return text


def count_calls(model: Any, name: str = "greedy_until") -> list[int]:
    """Records how many questions each call of lighteval receives."""
    calls: list[int] = []
    inner = getattr(model.inner, name)

    def counted(docs: list[Any]) -> Any:
        calls.append(len(docs))
        return inner(docs)

    setattr(model.inner, name, counted)
    return calls
