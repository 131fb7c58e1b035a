"""Questions about given answers, for models behind HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.models.base import Answer, ChoiceScores, Failure, Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel
from medical_tasks.models.endpoint_choices import ChoiceSettings
from medical_tasks.spec import Message
from tests.models.local_runs import reference
from tests.models.toy_server import ToyServer
from tests.models.toy_texts import TEXTS

__all__ = ["CHAT", "CHOICES", "LETTERS", "ids_of", "model_at", "open_text", "question", "results_of", "scores_of"]

LETTERS = ("A", "B", "C", "D", "E")
CHOICES = ("chest pain on exertion", "a creatinine of 1.4 mg/dL", "fever, cough or weight loss", "37.5 °C", "The")
CHAT = "/v1/chat/completions"


def question(index: int, continuations: tuple[str, ...] = CHOICES) -> Request:
    return Request(
        key=f"q{index}",
        messages=(Message(role="user", content=TEXTS[index]),),
        max_new_tokens=0,
        continuations=continuations,
    )


def model_at(server: ToyServer, *, max_retries: int = 3, concurrency: int = 4, **choices: Any) -> EndpointModel:
    chat = ChatSettings(
        base_url=server.base_url, model=server.model, concurrency=concurrency, max_retries=max_retries, timeout=30.0,
        first_wait=0.001, longest_wait=0.01,
    )  # fmt: skip
    return EndpointModel("openai-api/x/toy", chat, sampling={"temperature": 0.0}, choices=ChoiceSettings(**choices))


def results_of(model: EndpointModel, asked: Sequence[Request]) -> dict[str, Answer | Failure]:
    found: list[Answer | Failure] = []
    model.loglikelihood(asked, found.append)
    assert len(found) == len(asked)
    return {result.key: result for result in found}


def scores_of(model: EndpointModel, asked: Sequence[Request]) -> dict[str, ChoiceScores]:
    found: dict[str, ChoiceScores] = {}
    for key, result in results_of(model, asked).items():
        assert isinstance(result, Answer), result
        found[key] = ChoiceScores.from_text(result.text)
    assert set(found) == {request.key for request in asked}
    return found


def ids_of(folder: Path, text: str) -> list[int]:
    _, tokenizer = reference(folder)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def open_text(request: Request) -> str:
    """The toy's chat template, written out."""
    return f"<s><|user|>{request.messages[0]['content']}</s><|assistant|>"
