"""What every model under test offers: answers to chat requests, one by one as they finish.

Backends differ in where the model runs; the runner sees only this. A result is an `Answer` or a `Failure`, never an empty
text that stands for a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from medical_tasks.spec import Message

__all__ = ["Answer", "Failure", "Length", "Model", "OnResult", "Request"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to a model.

    Attributes:
        key: content address of the question for this model (`store.request_key`); unique in a run.
        messages: the chat, ending with a user turn.
        max_new_tokens: longest answer asked for, in tokens.
        stop: sequences that end the answer.
        continuations: when there are any, nothing is generated: asked is how probable each of them is as the answer.
    """

    key: str
    messages: tuple[Message, ...]
    max_new_tokens: int
    stop: tuple[str, ...] = ()
    continuations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Length:
    """How much of a model's context a request takes.

    Attributes:
        tokens: the prompt and, with continuations, the longest of them.
        room: tokens there are for it: the context, less the longest answer asked for.
    """

    tokens: int
    room: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A model's finished answer.

    Attributes:
        key: the request's key.
        text: the answer, without the prompt; may truly be empty when the model said nothing. For a request with
            continuations `choice_scores.ChoiceScores.to_text()`.
        prompt_tokens: tokens read, None when the backend does not say.
        output_tokens: tokens generated, likewise.
        finish: `stop`, `length` (cut at `max_new_tokens`) or "" when unknown.
    """

    key: str
    text: str
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    finish: str = ""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that finally got no answer.

    Attributes:
        key: the request's key.
        reason: short class of the failure, counted in coverage (`http 500`, `timeout`, `prompt too long`, ...).
        detail: one line for a person.
    """

    key: str
    reason: str
    detail: str


OnResult = Callable[[Answer | Failure], None]


class Model(Protocol):
    """A model under test.

    Attributes:
        name: the name the user gave (`hf/...`, `openai-api/...`, `baseline/...`).
        identity: everything that makes its answers what they are (weights fingerprint, dtype, generation settings, served
            name); part of every request key and of the recipe. Never a secret.
        endpoint: base URL the text is sent to, or None when the model runs in this process.
        is_main: False in all but the first process of a distributed run; only the main one writes and prints.
    """

    name: str
    identity: Mapping[str, str]
    endpoint: str | None
    is_main: bool

    def share(self, keys: list[str]) -> list[str]:
        """Returns the main process's list of texts in every process (the list itself when there is one process)."""
        ...

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests; calls `on_result` once for each, in the main process, as soon as it is known."""
        ...

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Says how probable the continuations of each request are; results as in `generate`.

        Raises:
            UsageError: The model cannot say such a thing (a server without log-probabilities).
        """
        ...

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests before they are asked, in every process alike; None for all when the model cannot tell."""
        ...

    def close(self) -> None:
        """Frees what the model holds (memory, connections, server processes)."""
        ...
