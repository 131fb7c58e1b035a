"""The common part of models in this process: rendering, chunks, length checks, and reading answers.

For probabilities, question and choice form one text, and the score is the sum of the
log-probabilities of the tokens that it has beyond the question's. lighteval gets one
document per continuation, and our token ids: its own tokenization differs between
backends, encodes prompt and continuation separately, and moves white space from the end
of the prompt to the continuation.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from unittest import mock

from medical_tasks.errors import UsageError
from medical_tasks.models.base import (
    Answer,
    ChoiceScores,
    Failure,
    Length,
    Model,
    OnResult,
    Request,
)
from medical_tasks.models.budget import Amount
from medical_tasks.models.chat_template import ChatLayout
from medical_tasks.models.checkpoint import (
    Checkpoint,
    fingerprint,
    quiet_libraries,
    without_cache_and_bars,
)
from medical_tasks.models.encoder import open_tokenizer
from medical_tasks.models.opener import LOG_LEVELS, decoding
from medical_tasks.models.spending import in_groups
from medical_tasks.models.tool_calls import written_calls
from medical_tasks.spec import Message, Tool, ToolCall

if TYPE_CHECKING:
    from lighteval.models.abstract_model import LightevalModel
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc
    from torch import Tensor

Ask: TypeAlias = "Callable[[list[Doc]], Sequence[ModelResponse]]"
"""A method of lighteval's model that answers documents, in their order."""


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A request in the form that the model reads."""

    request: Request
    text: str
    tokens: tuple[int, ...]
    stop: tuple[str, ...]


def plan_chunks(prompts: Sequence[Prompt], size: int | None) -> Iterator[list[Prompt]]:
    """Splits prompts, longest first, into chunks, in the same way in every process.

    A chunk has one answer length and one set of stop sequences. lighteval silently cuts
    prompts at the token count of the prompt with the most *characters*, plus the answer
    length, so longer prompts go to another chunk.
    """
    groups: dict[tuple[int, tuple[str, ...]], list[Prompt]] = {}
    for prompt in prompts:
        groups.setdefault((prompt.request.max_new_tokens, prompt.stop), []).append(
            prompt
        )

    for (room, _), group in groups.items():
        ordered = sorted(
            group, key=lambda prompt: (-len(prompt.tokens), prompt.request.key)
        )
        chunk: list[Prompt] = []
        # the first with the most characters, as lighteval's stable sort finds it
        widest: Prompt | None = None
        for prompt in ordered:
            next_widest = (
                prompt
                if widest is None or len(prompt.text) > len(widest.text)
                else widest
            )
            longest = len(chunk[0].tokens) if chunk else len(prompt.tokens)
            if chunk and (
                len(chunk) == size or longest > len(next_widest.tokens) + room
            ):
                yield chunk
                chunk, next_widest = [], prompt

            chunk.append(prompt)
            widest = next_widest

        yield chunk


@dataclass(frozen=True, kw_only=True)
class ChoicePrompt:
    """A request with continuations in the form that the model reads."""

    request: Request
    tokens: tuple[int, ...]
    continuations: tuple[tuple[int, ...], ...]

    @property
    def longest(self) -> int:
        """The tokens of the prompt and its longest continuation."""
        return len(self.tokens) + max(map(len, self.continuations))


ChoiceText = tuple[ChoicePrompt, int]
"""One text to score: a prompt and the index of one of its continuations."""


def plan_texts(
    prompts: Sequence[ChoicePrompt], size: int | None
) -> Iterator[list[ChoiceText]]:
    """Splits texts into chunks, longest first, those of a prompt together, alike in every process."""
    ordered = sorted(prompts, key=lambda prompt: (-prompt.longest, prompt.request.key))
    texts = [
        (prompt, index)
        for prompt in ordered
        for index in range(len(prompt.continuations))
    ]
    step = size or len(texts)
    for start in range(0, len(texts), step or 1):
        yield texts[start : start + step]


def choice_docs(texts: Sequence[ChoiceText]) -> list[Doc]:
    """Makes lighteval's documents.

    They hold labels instead of the texts, all of one length, so that it keeps their
    order.
    """
    from lighteval.tasks.requests import Doc

    return [
        Doc(query=label, choices=[label], gold_index=0, id=label, task_name="medical")
        for label in _labels(len(texts))
    ]


def our_tokens(
    inner: LightevalModel, texts: Sequence[ChoiceText]
) -> contextlib.AbstractContextManager[object]:
    """Lets lighteval's model score our token ids for the documents of `choice_docs`."""
    by_label = dict(zip(_labels(len(texts)), texts, strict=True))

    def encode(
        context: str, continuations: list[str], pairwise: bool = False
    ) -> tuple[list[list[int]], ...]:
        prompt, index = by_label[context]
        return [list(prompt.tokens)], [list(prompt.continuations[index])]

    return mock.patch.object(inner, "tok_encode_pair", encode)


def read_logprobs(
    texts: Sequence[ChoiceText], responses: Sequence[ModelResponse]
) -> list[float]:
    """Returns the summed log-probability of each continuation, nan where the model computed nan.

    Raises:
        RuntimeError: lighteval scored other tokens.
    """
    sums: list[float] = []
    for (prompt, index), response in zip(texts, responses, strict=True):
        expected = (prompt.tokens, prompt.continuations[index])
        if (_ids(response.input_tokens), _ids(response.output_tokens)) != expected:
            raise RuntimeError(
                f"lighteval changed the tokens of request {prompt.request.key} before scoring them"
            )

        (logprob,) = response.logprobs
        sums.append(min(float(logprob), 0.0) if not math.isnan(logprob) else math.nan)

    return sums


def scored_answer(prompt: ChoicePrompt, logprobs: Sequence[float]) -> Answer | Failure:
    """Makes the answer of a prompt from the scores of all its continuations."""
    key = prompt.request.key
    if any(math.isnan(logprob) for logprob in logprobs):
        detail = "the model computed nan; float16 is too narrow for some models: give dtype=bfloat16 or float32"
        return Failure(key=key, reason="no number", detail=detail)
    counts = tuple(map(len, prompt.continuations))
    return Answer(
        key=key, text=ChoiceScores(logprobs=tuple(logprobs), tokens=counts).to_text()
    )


def _labels(count: int) -> list[str]:
    return [f"{index:09}" for index in range(count)]


def _ids(tokens: Tensor | Sequence[int] | Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Returns the token ids that lighteval reports.

    They are a row or a list of one row, a tensor or a list, padded with -1.
    """
    rows = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    if rows and not isinstance(rows[0], int):
        (rows,) = rows
    return tuple(int(token) for token in rows if token >= 0)


_GROUP = 256  # prompts between two checks of the time limit

TOO_LONG = "prompt too long"
"""The failure reason of a request that exceeds the model's context."""

_AnyPrompt = TypeVar("_AnyPrompt", Prompt, ChoicePrompt)


class LocalSetup:
    """What a local model's files determine before its weights are loaded."""

    def __init__(
        self, name: str, checkpoint: Checkpoint, values: Mapping[str, Any]
    ) -> None:
        hint = "\nA tokenizer saved by transformers 5 does not load in 4: then save it again with the version in use."
        self.name, self.checkpoint, self.values = name, checkpoint, values
        self.log_level: int = values.get("log_level", LOG_LEVELS["error"])
        self.tokenizer = open_tokenizer(name, checkpoint.folder, hint)
        if self.tokenizer.eos_token is None:
            raise UsageError(
                f"{name}: its tokenizer names no end token (eos_token), which lighteval needs to "
                "end and pad answers."
            )

        self.layout = ChatLayout(
            self.tokenizer, model=name, enable_thinking=values.get("enable_thinking")
        )
        self.ends = frozenset(checkpoint.end_tokens() | {self.tokenizer.eos_token_id})

    def identity(
        self, *, backend: str, dtype: str, engines: Mapping[str, int], **more: str
    ) -> dict[str, str]:
        """Returns what decides the model's answers.

        Args:
            backend: `hf` or `vllm`.
            dtype: of the weights.
            engines: packages, with the number of components of their version that count.
            **more: further entries.
        """
        versions = {
            package: importlib.metadata.version(package).split(".")
            for package in engines
        }
        identity = {
            "backend": backend,
            "model": self.checkpoint.label,
            "weights": fingerprint(self.checkpoint.folder),
            "dtype": dtype,
            "decoding": decoding(self.values),
            "layout": self.layout.name,
            "engine": ", ".join(
                f"{name} {'.'.join(versions[name][:parts])}"
                for name, parts in engines.items()
            ),
            **more,
        }
        if self.checkpoint.revision:
            identity["revision"] = self.checkpoint.revision
        if "enable_thinking" in self.values:
            identity["enable_thinking"] = str(self.values["enable_thinking"]).lower()

        return identity


def read_answer(
    prompt: Prompt,
    tokens: Sequence[int],
    ends: frozenset[int],
    decode: Callable[[list[int]], str],
) -> Answer:
    """Reads an answer up to its first end token.

    Rows of a batch continue after it, and lighteval knows only one end token.
    """
    kept = list(tokens)
    end = next((position for position, token in enumerate(kept) if token in ends), None)
    finish = (
        "length"
        if end is None and len(kept) >= prompt.request.max_new_tokens
        else "stop"
    )
    kept = kept[:end]
    text = decode(kept)
    cut = min(
        (
            position
            for position in (text.find(stop) for stop in prompt.stop)
            if position >= 0
        ),
        default=None,
    )
    if cut is not None:
        text, finish = text[:cut], "stop"

    calls: tuple[ToolCall, ...] = ()
    if prompt.request.tools:
        names = {tool.name for tool in prompt.request.tools}
        text, calls = written_calls(text, names)

    return Answer(
        key=prompt.request.key,
        text=text,
        tool_calls=calls,
        prompt_tokens=len(prompt.tokens),
        output_tokens=len(kept),
        finish=finish,
    )


class MeasuredModel(Model):
    """A local model without its weights: it renders and measures requests."""

    measures_alone = True
    _spare = 0  # tokens of the context that a scored text must leave free

    def __init__(
        self,
        setup: LocalSetup,
        identity: Mapping[str, str],
        *,
        context: int,
        is_main: bool,
    ) -> None:
        self.name = setup.name
        self.identity = identity
        self.is_main = is_main
        self.setup = setup
        self._context = context

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests with the model's own tokenizer and layout, exactly as they are sent."""
        return [self._length(request) for request in requests]

    def counted(self, requests: Sequence[Request]) -> list[int]:
        """Counts with the model's own tokenizer."""
        return [self._length(request).tokens for request in requests]

    def rendered(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """Renders a chat by the model's template, or in a plain layout without one."""
        return self.setup.layout.render(messages, tools)

    def no_tools(self) -> str:
        """Depends on its chat template."""
        return self.setup.layout.no_tools()

    def _askable(
        self,
        requests: Sequence[Request],
        make: Callable[[Request], _AnyPrompt | Failure],
        on_result: OnResult,
    ) -> list[_AnyPrompt]:
        """Returns the prompts of the requests that can be asked; reports the others as failures."""
        keys = [request.key for request in requests]
        if self.share(keys) != keys:
            raise RuntimeError(
                "the processes of this run were given different requests"
            )

        prompts: list[_AnyPrompt] = []
        for request in requests:
            prompt = make(request)
            if not isinstance(prompt, Failure):
                prompts.append(prompt)
            elif self.is_main:
                on_result(prompt)

        return prompts

    def _laid_out(self, request: Request) -> Prompt | ChoicePrompt:
        """Renders a request to token ids: a prompt, or one with its continuations."""
        layout = self.setup.layout
        text = layout.render(request.messages, request.tools)
        if request.continuations:
            tokens, continuations = layout.answer_tokens(text, request.continuations)
            return ChoicePrompt(
                request=request, tokens=tokens, continuations=tuple(continuations)
            )

        return Prompt(
            request=request,
            text=text,
            tokens=layout.tokens(text),
            stop=(*request.stop, *layout.stop),
        )

    def _length(self, request: Request) -> Length:
        laid_out = self._laid_out(request)
        if isinstance(laid_out, ChoicePrompt):
            return Length(tokens=laid_out.longest, room=self._context - self._spare)
        return Length(
            tokens=len(laid_out.tokens), room=self._context - request.max_new_tokens
        )

    def _prompt(self, request: Request) -> Prompt | Failure:
        """Returns the prompt of a request; a failure if it leaves no room for the answer."""
        prompt = self._laid_out(request)
        if not isinstance(prompt, Prompt):
            raise ValueError(
                f"request {request.key} has continuations: ask `loglikelihood`"
            )

        count, size = len(prompt.tokens), request.max_new_tokens
        if count <= self._context - size:
            return prompt

        detail = f"{count} tokens and {size} for the answer, the model's context is {self._context}"
        return Failure(key=request.key, reason=TOO_LONG, detail=detail)

    def _choice_prompt(self, request: Request) -> ChoicePrompt | Failure:
        """Returns a request with its choices as token ids, or why it cannot be asked."""
        prompt = self._laid_out(request)
        if not isinstance(prompt, ChoicePrompt):
            raise ValueError(
                f"request {request.key} has no continuations: ask `generate`"
            )

        for number, ids in enumerate(prompt.continuations, 1):
            if not ids:
                detail = f"choice {number} is empty, or this tokenizer cannot tell where it begins"
                return Failure(
                    key=request.key, reason="choice without tokens", detail=detail
                )

        room = self._context - self._spare
        if prompt.longest <= room:
            return prompt

        detail = f"{prompt.longest} tokens with the longest choice, the model has room for {room}"
        return Failure(key=request.key, reason=TOO_LONG, detail=detail)


def most_tokens(prompt: Prompt | ChoicePrompt) -> Amount:
    """Returns the most tokens that a prompt takes; those read are known exactly."""
    size = len(prompt.tokens)
    if isinstance(prompt, Prompt):
        return Amount(size, prompt.request.max_new_tokens)
    return Amount(sum(size + len(choice) for choice in prompt.continuations))


class UnloadedModel(MeasuredModel):
    """A model without its weights, which can count but not answer."""

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Raises RuntimeError: there are no weights to answer with."""
        raise RuntimeError(f"{self.name} is not loaded")

    loglikelihood = generate


class LocalModel(MeasuredModel, ABC):
    """A model in this process, behind lighteval.

    Attributes:
        backend: lighteval's module of the model.
    """

    backend: ModuleType

    def __init__(
        self,
        setup: LocalSetup,
        identity: Mapping[str, str],
        inner: LightevalModel,
        *,
        context: int,
        is_main: bool,
    ) -> None:
        super().__init__(setup, identity, context=context, is_main=is_main)
        self.inner = inner

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, longest prompts first.

        A chunk's answers are delivered as soon as it is done.
        """
        prompts = self._askable(requests, self._prompt, on_result)
        if not prompts:
            return

        for planned in plan_chunks(prompts, self._chunk_size(prompts)):
            for group, tell in self._groups(planned, on_result):
                for chunk in plan_chunks(group, None):
                    self._answer(chunk, tell)

    def _answer(self, chunk: list[Prompt], on_result: OnResult) -> None:
        """Generates the answers of a chunk, and delivers them.

        lighteval cuts and pads prompts by rules of its own. What it fed to the model is
        compared with each prompt, token by token, and a difference ends the run.
        """
        responses = self._respond(chunk, _docs(chunk))
        for prompt, response in zip(chunk, responses, strict=True):
            fed = tuple(int(token) for token in response.input_tokens)[
                -len(prompt.tokens) :
            ]
            if fed != prompt.tokens:
                raise RuntimeError(
                    f"lighteval changed the prompt of request {prompt.request.key} before asking it"
                )

            if self.is_main:
                tokens = [int(token) for token in response.output_tokens[0]]
                on_result(read_answer(prompt, tokens, self.setup.ends, self._decode))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Scores how probable each continuation is, longest prompts first.

        An answer is delivered with the chunk of its last continuation.
        """
        prompts = self._askable(requests, self._choice_prompt, on_result)
        if not prompts:
            return
        for group, tell in self._groups(prompts, on_result):
            self._answer_choices(group, tell)

    def _answer_choices(
        self, prompts: Sequence[ChoicePrompt], on_result: OnResult
    ) -> None:
        """Scores continuations; a request's answer is delivered with its last one."""
        scores: dict[str, dict[int, float]] = {}
        for chunk in plan_texts(prompts, self._texts_at_once(prompts)):
            with our_tokens(self.inner, chunk):
                responses = self._score(choice_docs(chunk))

            for (prompt, index), logprob in zip(
                chunk, read_logprobs(chunk, responses), strict=True
            ):
                sums = scores.setdefault(prompt.request.key, {})
                sums[index] = logprob
                if self.is_main and len(sums) == len(prompt.continuations):
                    on_result(
                        scored_answer(
                            prompt, [sums[index] for index in range(len(sums))]
                        )
                    )

    def _groups(
        self, prompts: Sequence[_AnyPrompt], on_result: OnResult
    ) -> Iterator[tuple[list[_AnyPrompt], OnResult]]:
        """Yields what is answered next, alike in every process: all, or what the ceiling admits."""
        if self.ceiling is None:
            yield list(prompts), on_result
            return

        if self.is_main:
            for group, tell in in_groups(
                prompts,
                lambda prompt: prompt.request,
                most_tokens,
                self.ceiling,
                on_result,
                _GROUP,
            ):
                self.share([prompt.request.key for prompt in group])
                yield group, tell

            self.share([])
            return

        by_key = {prompt.request.key: prompt for prompt in prompts}
        while keys := self.share([]):
            yield [by_key[key] for key in keys], on_result

    def close(self) -> None:
        """Frees the model's memory."""
        self.inner.cleanup()

    @abstractmethod
    def _chunk_size(self, prompts: Sequence[Prompt]) -> int | None:
        """Returns the most prompts of a chunk; None if all are best answered at once."""

    @abstractmethod
    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int | None:
        """Returns the most texts of a chunk in `loglikelihood`; None if all are best scored at once."""

    def _respond(
        self, chunk: Sequence[Prompt], docs: list[Doc]
    ) -> Sequence[ModelResponse]:
        return self._ask(self.inner.greedy_until, docs)

    def _score(self, docs: list[Doc]) -> Sequence[ModelResponse]:
        return self._ask(self.inner.loglikelihood, docs)

    def _ask(self, ask: Ask, docs: list[Doc]) -> Sequence[ModelResponse]:
        """Asks lighteval; returns its responses in order."""
        with (
            quiet_libraries(self.setup.log_level),
            without_cache_and_bars(self.backend),
        ):
            responses: Sequence[ModelResponse] = ask(docs)
        return responses

    def _decode(self, tokens: list[int]) -> str:
        text: str = self.setup.tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def _docs(chunk: Sequence[Prompt]) -> list[Doc]:
    from lighteval.tasks.requests import Doc

    return [
        Doc(
            query=prompt.text,
            choices=[],
            gold_index=0,
            id=prompt.request.key,
            task_name="medical",
            generation_size=prompt.request.max_new_tokens,
            stop_sequences=list(
                prompt.stop
            ),  # None crashes lighteval for a model without chat template
        )
        for prompt in chunk
    ]
