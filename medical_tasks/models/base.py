"""The interface of every model under test: answers to chat requests, one by one as they finish.

A result is an `Answer` or a `Failure`; an empty text never stands for a failure. With
`continuations` the answer's text is a `ChoiceScores`: `{"logprobs": [-1.25, -0.5,
null], "tokens": [1, 1, 1], "below": -9.5}`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from medical_tasks.errors import UsageError
from medical_tasks.models.budget import Ceiling
from medical_tasks.spec import Message, Tool, ToolCall


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to a model."""

    key: str  # content address of the question for this model (`store.request_key`); unique in a run
    messages: tuple[Message, ...]
    max_new_tokens: int
    stop: tuple[str, ...] = ()
    # with any, nothing is generated: the model scores how probable each is as the answer
    continuations: tuple[str, ...] = ()
    repeat: int = (
        1  # counts from 1 when a question is asked several times; one per `generate`
    )
    tools: tuple[Tool, ...] = ()  # what the model may call


def write_request(request: Request) -> str:
    """Serializes a question for other processes.

    As ASCII, since it may hold lone surrogates from model text.
    """
    # Not `asdict`, which would deep-copy the tools of every question.
    tools = [
        {name: getattr(tool, name) for name in ("name", "description", "parameters")}
        for tool in request.tools
    ]
    return json.dumps({**vars(request), "tools": tools})


def read_request(text: str) -> Request:
    """Parses what `write_request` wrote."""
    fields: dict[str, Any] = json.loads(text)
    fields["tools"] = [Tool(**tool) for tool in fields["tools"]]
    return Request(
        **fields
        | {
            name: tuple(value)
            for name, value in fields.items()
            if isinstance(value, list)
        }
    )


@dataclass(frozen=True, kw_only=True)
class Length:
    """How much of a model's context a request takes."""

    tokens: int
    room: int  # tokens available: the context, less the longest answer


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A model's finished answer.

    Attributes:
        key: that of its request.
        text: the answer, without the prompt and without reasoning that is reported
            apart; empty when the model wrote nothing. For a request with continuations
            `ChoiceScores.to_text()`.
        prompt_tokens: tokens read; None where not reported.
        output_tokens: tokens written, those of reasoning included; None where not
            reported.
        finish: why it ended: `stop`, `length`, or "".
        reasoning: the model's reasoning, where it is reported apart.
        reasoning_tokens: how many of the output tokens are reasoning; None where not
            reported.
        cached_tokens: how many of the prompt tokens came from the provider's cache; None
            where not reported.
        provider: the provider that a router names.
        served_model: the model that the reply names, which may be dated.
        adapted: settings that the server refused, and what was sent instead.
        tool_calls: the tools that the model calls, whether they were offered or not.
    """

    key: str
    text: str
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    finish: str = ""
    reasoning: str = ""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    provider: str = ""
    served_model: str = ""
    adapted: Mapping[str, str] = field(default_factory=dict)
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def thought_only(self) -> bool:
        """Whether reasoning used up all tokens, so that no answer was left."""
        thought = self.reasoning or self.reasoning_tokens or self.output_tokens
        silent = not self.text.strip() and not self.tool_calls
        return silent and self.finish == "length" and bool(thought)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that got no answer in the end."""

    key: str
    reason: str  # class of the failure, counted in coverage (`http 500`, `timeout`, `prompt too long`, ...)
    detail: str


OnResult = Callable[[Answer | Failure], None]


def processes() -> int:
    """Returns how many processes torchrun or accelerate started for this command."""
    world_size = os.environ.get("WORLD_SIZE", "1")
    if not (world_size.isascii() and world_size.isdigit()):
        raise UsageError(
            f"WORLD_SIZE must be a whole number, got {world_size!r}. Unset it: torchrun sets it by "
            "itself."
        )
    return int(world_size)


class Model(Protocol):
    """A model under test.

    The defaults are those of a model that runs in this one process and needs no cleanup.

    Attributes:
        name: its name in results.
        identity: everything that decides its answers (weights fingerprint, dtype,
            generation settings, served name); part of every request key and of the
            recipe, and never a secret.
        endpoint: the base URL that text is sent to, all of them for replicas, separated
            by spaces; None when the model runs in this process.
        ceiling: what it may still spend, None for no limit. A request that is not
            admitted becomes a Failure "budget spent".
        measures_alone: whether `lengths` sends nothing.
        is_main: False in all but the first process of a distributed run; only the main
            process writes and prints.
    """

    name: str
    identity: Mapping[str, str]
    endpoint: str | None = None
    ceiling: Ceiling | None = None
    measures_alone: bool = False
    is_main: bool = True

    def share(self, keys: list[str]) -> list[str]:
        """Returns the main process's list of texts in every process."""
        return keys

    def start(self) -> None:
        """Starts the server of the model, if it does not run: that time is not the answers'."""
        return

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests.

        Calls `on_result` once for each, in the main process, as soon as it is finished.
        """
        ...

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Scores how probable the continuations of each request are; results as in `generate`."""
        ...

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests before they are asked, with the same result in every process.

        None for all when the model cannot tell.
        """
        ...

    def longest(self, request: Request) -> int:
        """Returns the most tokens of an answer, those of reasoning included."""
        return request.max_new_tokens

    def counted(self, requests: Sequence[Request]) -> list[int] | None:
        """Counts the tokens of requests with the model's own tokenizer; sends nothing.

        None without such a tokenizer.
        """
        return None

    def rendered(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """Returns the text that the model reads for a chat; "" where a server renders it."""
        return ""

    def no_tools(self) -> str:
        """Says why the model can be offered no tools, and what to do; "" where it can."""
        return (
            f"{self.name} does not support tools. Use openai-api/, vllm-server/, inspect/, or a local "
            "model (hf/, vllm/) whose chat template knows tools."
        )

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `generate` ask in batches from now on, recorded in a journal (`models.batches`)."""
        raise UsageError(f"--batch: {self.name} is asked one by one. Leave it out.")

    def close(self) -> None:
        """Releases memory, connections and server processes."""
        return


_SCORE_KEYS = {"logprobs", "tokens", "below"}
_LARGEST_NUMBER = 2**53  # whole numbers of JSON can be too large for a float


@dataclass(frozen=True, kw_only=True)
class ChoiceScores:
    """A model's log-probabilities for the choices of one item.

    Attributes:
        logprobs: the natural logarithm of the probability of each choice's tokens after
            the prompt, summed; None where a server lists only the most probable tokens
            and the choice is not among them.
        tokens: the number of tokens of each choice.
        below: an upper bound for the log-probabilities that are None; None when there
            are none.
    """

    logprobs: tuple[float | None, ...]
    tokens: tuple[int, ...]
    below: float | None = None

    def __post_init__(self) -> None:
        """Rejects scores that no model can give.

        Sums of probabilities may exceed 1 by rounding, hence 1e-6 instead of 0.
        """
        finite = [value for value in self.logprobs if value is not None]
        if not self.logprobs or len(self.logprobs) != len(self.tokens):
            raise ValueError(
                "needs one log-probability and one number of tokens for each choice"
            )

        if any(not value <= 1e-6 for value in finite) or any(
            count < 1 for count in self.tokens
        ):
            raise ValueError(
                "a log-probability is at most 0 and a choice has at least one token"
            )

        if (len(finite) < len(self.logprobs)) != (self.below is not None):
            raise ValueError(
                "`below` is given where a log-probability is not known, and only there"
            )

        if self.below is not None and not self.below <= 1e-6:
            raise ValueError("`below` is at most 0")

    def to_text(self) -> str:
        """Writes the scores as one line of JSON.

        An impossible choice (probability 0) becomes the string `-inf`.

        Example:
            >>> ChoiceScores(logprobs=(-0.5, None), tokens=(1, 1), below=-2.0).to_text()
            '{"logprobs": [-0.5, null], "tokens": [1, 1], "below": -2.0}'
        """
        logprobs = [
            None if value is None else _written(value) for value in self.logprobs
        ]
        record: dict[str, object] = {"logprobs": logprobs, "tokens": list(self.tokens)}
        if self.below is not None:
            record["below"] = _written(self.below)

        return json.dumps(record, allow_nan=False)

    @classmethod
    def from_text(cls, text: str) -> ChoiceScores:
        """Parses what `to_text` wrote."""
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("not JSON") from None

        if (
            not isinstance(record, dict)
            or not {"logprobs", "tokens"} <= set(record) <= _SCORE_KEYS
        ):
            raise ValueError("must be an object with logprobs and tokens (and below)")

        logprobs, tokens = record["logprobs"], record["tokens"]
        if not isinstance(logprobs, list) or not all(
            value is None or _is_logprob(value) for value in logprobs
        ):
            raise ValueError('logprobs must be a list of numbers, null or "-inf"')

        if not isinstance(tokens, list) or not all(
            type(count) is int and count < _LARGEST_NUMBER for count in tokens
        ):
            raise ValueError(
                "tokens must be a list of whole numbers that a model could have"
            )

        below = record.get("below")
        if below is not None and not _is_logprob(below):
            raise ValueError("below must be a number")

        return cls(
            logprobs=tuple(
                None if value is None else float(value) for value in logprobs
            ),
            tokens=tuple(tokens),
            below=None if below is None else float(below),
        )


def _is_logprob(value: object) -> bool:
    if type(value) is int:
        return abs(value) < _LARGEST_NUMBER
    return value == "-inf" or (type(value) is float and not math.isnan(value))


def _written(value: float) -> float | str:
    return value if math.isfinite(value) else "-inf"
