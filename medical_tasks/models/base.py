"""What every model under test offers: answers to chat requests, one by one as they finish.

A result is an `Answer` or a `Failure`, never an empty text that stands for one. With
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
    # when there are any, nothing is generated: asked is how probable each of them is as
    # the answer
    continuations: tuple[str, ...] = ()
    # how often it was asked with this; those of one `generate` are of one repeat
    repeat: int = 1
    tools: tuple[Tool, ...] = ()  # what the model may call


def write_request(request: Request) -> str:
    """A question as text for other processes.

    As ASCII, since model text in it can hold lone surrogates.
    """
    # Not `asdict`, which would copy the tools of every question.
    tools = [
        {name: getattr(tool, name) for name in ("name", "description", "parameters")}
        for tool in request.tools
    ]
    return json.dumps({**vars(request), "tools": tools})


def read_request(text: str) -> Request:
    """Reads what `write_request` wrote."""
    parts: dict[str, Any] = json.loads(text)
    parts["tools"] = [Tool(**tool) for tool in parts["tools"]]
    return Request(
        **parts
        | {name: tuple(part) for name, part in parts.items() if isinstance(part, list)}
    )


@dataclass(frozen=True, kw_only=True)
class Length:
    """How much of a model's context a request takes."""

    tokens: int
    room: int  # tokens there are for it: the context, less the longest answer asked for


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A model's finished answer.

    Attributes:
        key: that of its request.
        text: the answer, without the prompt and without reasoning that was told apart
            from it; may truly be empty when the model said nothing. For a request with
            continuations `ChoiceScores.to_text()`.
        prompt_tokens: tokens read; None where nobody says.
        output_tokens: tokens written, those of reasoning included; likewise.
        finish: why it ended: `stop`, `length`, or "".
        reasoning: what the model thought before it answered, where that is told apart.
        reasoning_tokens: how many of the output tokens are reasoning; None where nobody
            says.
        cached_tokens: how many of the prompt tokens the provider's cache held;
            likewise.
        provider: who answered, where a router names the provider behind it.
        served_model: the model that the reply names, which may be dated.
        adapted: settings that the server refused, and what was sent instead.
        tool_calls: the tools that the model wants run, of those that were offered or
            not.
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
        """Whether reasoning used up the tokens allowed, so that no answer was left."""
        thought = self.reasoning or self.reasoning_tokens or self.output_tokens
        silent = not self.text.strip() and not self.tool_calls
        return silent and self.finish == "length" and bool(thought)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that finally got no answer."""

    key: str
    reason: str  # short class of the failure, counted in coverage (`http 500`, `timeout`, `prompt too long`, ...)
    detail: str


OnResult = Callable[[Answer | Failure], None]


def processes() -> int:
    """How many processes torchrun or accelerate started for this command."""
    given = os.environ.get("WORLD_SIZE", "1")
    if not (given.isascii() and given.isdigit()):
        raise UsageError(
            f"WORLD_SIZE must be a whole number, got {given!r}. Unset it: torchrun sets it by "
            "itself."
        )
    return int(given)


class Model(Protocol):
    """A model under test.

    By default one that runs in this process, the only one, and holds nothing.
    """

    name: str
    # everything that makes its answers what they are (weights fingerprint, dtype,
    # generation settings, served name); part of every request key and of the recipe.
    # Never a secret
    identity: Mapping[str, str]
    # base URL the text is sent to, of replicas all with a space between, or None when
    # the model runs in this process
    endpoint: str | None = None
    # what it may still spend, None for no limit: what is not admitted is a Failure
    # "budget spent"
    ceiling: Ceiling | None = None
    # whether `lengths` asks nobody, so that it may be called where nothing is to be
    # asked
    measures_alone: bool = False
    is_main: bool = True  # False in all but the first process of a distributed run; only the main one writes and prints

    def share(self, keys: list[str]) -> list[str]:
        """Returns the main process's list of texts in every process (the list itself when there is one process)."""
        return keys

    def start(self) -> None:
        """Starts what answers, if it does not run: the time is not the answers'."""
        return

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests.

        Calls `on_result` once for each, in the main process, as soon as it is known.
        """
        ...

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Says how probable the continuations of each request are; results as in `generate`."""
        ...

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests before they are asked, in every process alike.

        None for all when the model cannot tell.
        """
        ...

    def longest(self, request: Request) -> int:
        """Most tokens of an answer, those of reasoning included, as the model is asked."""
        return request.max_new_tokens

    def counted(self, requests: Sequence[Request]) -> list[int] | None:
        """Counts the tokens of requests with the model's own tokenizer; asks nobody.

        None where the tokenizer is not at hand.
        """
        return None

    def rendered(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The one text that it reads of a chat; "" where a server makes that."""
        return ""

    def no_tools(self) -> str:
        """Why it can be offered no tools, and what to do; "" where it can."""
        return (
            f"{self.name} takes no tools. Use openai-api/, vllm-server/, inspect/, or a local "
            "model (hf/, vllm/) whose chat template knows tools."
        )

    def ask_in_batches(self, journal: Path) -> None:
        """Has `generate` ask in batches from now on, noted in a journal (`models.batches`)."""
        raise UsageError(f"--batch: {self.name} is asked one by one. Leave it out.")

    def close(self) -> None:
        """Frees what the model holds (memory, connections, server processes)."""
        return


_SCORE_KEYS = {"logprobs", "tokens", "below"}
_LARGEST_NUMBER = 2**53  # whole numbers of JSON can be too large for a float


@dataclass(frozen=True, kw_only=True)
class ChoiceScores:
    """What a model says of the choices of one item."""

    # natural logarithm of the probability of each choice's tokens after the prompt,
    # summed; None where a server tells the most probable tokens only and the choice is
    # not among them
    logprobs: tuple[float | None, ...]
    tokens: tuple[int, ...]
    # no log-probability that is None is above this; None when all are known
    below: float | None = None

    def __post_init__(self) -> None:
        """Refuses scores that no model can give.

        Sums of probabilities may be above 1 by rounding, hence 1e-6 in place of 0.
        """
        known = [value for value in self.logprobs if value is not None]
        if not self.logprobs or len(self.logprobs) != len(self.tokens):
            raise ValueError(
                "needs one log-probability and one number of tokens for each choice"
            )

        if any(not value <= 1e-6 for value in known) or any(
            count < 1 for count in self.tokens
        ):
            raise ValueError(
                "a log-probability is at most 0 and a choice has at least one token"
            )

        if (len(known) < len(self.logprobs)) != (self.below is not None):
            raise ValueError(
                "`below` is given where a log-probability is not known, and only there"
            )

        if self.below is not None and not self.below <= 1e-6:
            raise ValueError("`below` is at most 0")

    def to_text(self) -> str:
        """Writes it as one line of JSON.

        An impossible choice (probability 0) as the string `-inf`.

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
        """Reads what `to_text` wrote."""
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
