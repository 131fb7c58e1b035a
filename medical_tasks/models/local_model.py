"""What models that run in this process share: rendering, chunks, length checks, and reading answers back.

A backend only answers, or scores, a chunk of prompts with lighteval. Everything a user can notice is decided here, so that
`hf/` and `vllm/` ask the same text, refuse the same prompts and end an answer at the same place.
"""

from __future__ import annotations

import importlib.metadata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Answer, Failure, Length, OnResult, Request
from medical_tasks.models.chat_template import ChatLayout
from medical_tasks.models.checkpoint import Checkpoint
from medical_tasks.models.chunks import Prompt, plan_chunks
from medical_tasks.models.fingerprint import fingerprint
from medical_tasks.models.local_choices import (
    ChoicePrompt,
    choice_docs,
    our_tokens,
    plan_texts,
    read_logprobs,
    scored_answer,
)
from medical_tasks.models.local_options import decoding

__all__ = ["TOO_LONG", "LocalModel", "LocalSetup", "make_identity", "open_layout", "read_answer"]

TOO_LONG = "prompt too long"
"""Reason of a request that the model's context does not hold."""

_Made = TypeVar("_Made", Prompt, ChoicePrompt)


@dataclass(frozen=True, kw_only=True)
class LocalSetup:
    """What is known of a local model before its weights are loaded.

    Attributes:
        name: the name the user gave.
        identity: everything that makes its answers what they are.
        layout: how prompts are written.
        tokenizer: of transformers.
        ends: token ids that end an answer.
        context: longest prompt and answer together, in tokens.
        log_level: from which level on the libraries may log.
    """

    name: str
    identity: Mapping[str, str]
    layout: ChatLayout
    tokenizer: Any
    ends: frozenset[int]
    context: int
    log_level: int


def open_layout(checkpoint: Checkpoint, name: str, values: Mapping[str, Any]) -> tuple[Any, ChatLayout]:
    """Loads the tokenizer and finds out how its prompts are written.

    Raises:
        UsageError: The tokenizer does not load here, or has no end token.
    """
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(checkpoint.folder), local_files_only=True)
    except (ValueError, OSError, ImportError, KeyError) as error:
        raise UsageError(
            f"{name}: its tokenizer does not load with transformers {transformers.__version__}: {error}\n"
            "A tokenizer saved by transformers 5 does not load in 4: then save it again with the version in use."
        ) from error
    if tokenizer.eos_token is None:
        raise UsageError(
            f"{name}: its tokenizer names no end token (eos_token), which lighteval needs to end and pad answers."
        )
    return tokenizer, ChatLayout(tokenizer, model=name, enable_thinking=values.get("enable_thinking"))


def make_identity(
    checkpoint: Checkpoint,
    values: Mapping[str, Any],
    *,
    backend: str,
    dtype: str,
    layout: ChatLayout,
    engines: Mapping[str, int],
    **more: str,
) -> dict[str, str]:
    """Collects what makes a local model's answers what they are.

    Batch and chunk sizes, the number of processes and the place of the files are left out: they are meant to change nothing.

    Args:
        checkpoint: the model's folder.
        values: model arguments read.
        backend: `hf` or `vllm`.
        dtype: type of the weights while running.
        layout: how prompts are written.
        engines: packages that compute the answer, each with how many parts of its version count. A resumed run asks again
            after these parts change, and not after a small update; full versions stand in the recipe.
        more: what only this backend has.
    """
    versions = []
    for package, parts in engines.items():
        version = importlib.metadata.version(package).split(".")
        versions.append(f"{package} {'.'.join(version[:parts])}")
    identity = {
        "backend": backend,
        "model": checkpoint.label,
        "weights": fingerprint(checkpoint.folder),
        "dtype": dtype,
        "decoding": decoding(values),
        "layout": layout.name,
        "engine": ", ".join(versions),
        **more,
    }
    if checkpoint.revision:
        identity["revision"] = checkpoint.revision
    if "enable_thinking" in values:
        identity["enable_thinking"] = str(values["enable_thinking"]).lower()
    return identity


def read_answer(
    prompt: Prompt, tokens: Sequence[int], ends: frozenset[int], decode: Callable[[list[int]], str]
) -> Answer:
    """Reads an answer from what was generated.

    A row of a batch goes on after its end token until all rows have ended, and lighteval knows one end token where a
    model may have several; so the end is looked for here.

    Args:
        prompt: what was asked.
        tokens: what came, padding included.
        ends: token ids that end an answer.
        decode: from ids to text, special tokens left out.
    """
    kept = list(tokens)
    end = next((place for place, token in enumerate(kept) if token in ends), None)
    finish = "length" if end is None and len(kept) >= prompt.request.max_new_tokens else "stop"
    kept = kept[:end]
    text = decode(kept)
    cut = min((place for place in (text.find(stop) for stop in prompt.stop) if place >= 0), default=None)
    if cut is not None:
        text, finish = text[:cut], "stop"
    return Answer(
        key=prompt.request.key, text=text, prompt_tokens=len(prompt.tokens), output_tokens=len(kept), finish=finish
    )


class LocalModel(ABC):
    """A model in this process, behind lighteval.

    Args:
        setup: what was found out before loading.
        is_main: False in all but the first process of a distributed run.
    """

    endpoint: str | None = None
    inner: Any
    _spare = 0  # tokens of the context that a text to be scored must leave free

    def __init__(self, setup: LocalSetup, *, is_main: bool) -> None:
        self.name = setup.name
        self.identity: Mapping[str, str] = setup.identity
        self.is_main = is_main
        self.setup = setup

    def share(self, keys: list[str]) -> list[str]:
        """Returns the main process's list in every process."""
        return keys

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, longest prompts first; a chunk's answers are handed over as soon as it is done.

        Args:
            requests: the same in every process.
            on_result: called in the main process only.

        Raises:
            RuntimeError: The processes were given different requests, or lighteval changed a prompt.
            UsageError: The GPU's memory does not suffice for the batch size.
        """
        prompts = self._askable(requests, self._prompt, on_result)
        if not prompts:
            return
        for chunk in plan_chunks(prompts, self._chunk_size(prompts)):
            responses = self._respond(chunk, _docs(chunk))
            for prompt, response in zip(chunk, responses, strict=True):
                asked = tuple(int(token) for token in response.input_tokens)[-len(prompt.tokens) :]
                if asked != prompt.tokens:
                    raise RuntimeError(f"lighteval changed the prompt of request {prompt.request.key} before asking it")
                if self.is_main:
                    tokens = [int(token) for token in response.output_tokens[0]]
                    on_result(read_answer(prompt, tokens, self.setup.ends, self._decode))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Says how probable each continuation of each request is, longest prompts first.

        Continuations have the tokens that `ChatLayout.answer_tokens` gives them. An answer is handed over with the chunk that
        holds the last of its continuations. It depends on batches and processes only as far as floating-point sums do.

        Args:
            requests: the same in every process, each with continuations.
            on_result: called in the main process only.

        Raises:
            RuntimeError: The processes were given different requests, or lighteval scored other tokens.
            UsageError: The GPU's memory does not suffice for the batch size.
        """
        prompts = self._askable(requests, self._choice_prompt, on_result)
        if not prompts:
            return
        known: dict[str, dict[int, float]] = {}
        for chunk in plan_texts(prompts, self._texts_at_once(prompts)):
            with our_tokens(self.inner, chunk):
                responses = self._score(choice_docs(chunk))
            for text, logprob in zip(chunk, read_logprobs(chunk, responses), strict=True):
                prompt = text.prompt
                sums = known.setdefault(prompt.request.key, {})
                sums[text.index] = logprob
                if self.is_main and len(sums) == len(prompt.continuations):
                    on_result(scored_answer(prompt, [sums[index] for index in range(len(sums))]))

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests with the model's own tokenizer and layout, exactly as they would be asked."""
        return [self._length(request) for request in requests]

    @abstractmethod
    def close(self) -> None:
        """Frees the model's memory."""

    @abstractmethod
    def _chunk_size(self, prompts: Sequence[Prompt]) -> int | None:
        """Most prompts a chunk; None when all are best answered at once."""

    @abstractmethod
    def _respond(self, chunk: Sequence[Prompt], docs: Sequence[Any]) -> Sequence[Any]:
        """Asks lighteval; returns its responses in order."""

    @abstractmethod
    def _texts_at_once(self, prompts: Sequence[ChoicePrompt]) -> int | None:
        """Most texts of `loglikelihood` a chunk; None when all are best scored at once."""

    @abstractmethod
    def _score(self, docs: Sequence[Any]) -> Sequence[Any]:
        """Asks lighteval for log-likelihoods; returns its responses in order."""

    def _askable(
        self, requests: Sequence[Request], make: Callable[[Request], _Made | Failure], on_result: OnResult
    ) -> list[_Made]:
        """Prompts of the requests that can be asked; tells the others."""
        keys = [request.key for request in requests]
        if self.share(keys) != keys:
            raise RuntimeError("the processes of this run were given different requests")
        prompts: list[_Made] = []
        for request in requests:
            made = make(request)
            if not isinstance(made, Failure):
                prompts.append(made)
            elif self.is_main:
                on_result(made)
        return prompts

    def _prompt(self, request: Request) -> Prompt | Failure:
        if request.continuations:
            raise ValueError(f"request {request.key} has continuations: ask `loglikelihood`")
        layout = self.setup.layout
        text = layout.render(request.messages)
        tokens = layout.tokens(text)
        if len(tokens) > self.setup.context - request.max_new_tokens:
            detail = (
                f"{len(tokens)} tokens and {request.max_new_tokens} for the answer, the model's context is "
                f"{self.setup.context}"
            )
            return Failure(key=request.key, reason=TOO_LONG, detail=detail)
        return Prompt(request=request, text=text, tokens=tokens, stop=(*request.stop, *layout.stop))

    def _choice_prompt(self, request: Request) -> ChoicePrompt | Failure:
        if not request.continuations:
            raise ValueError(f"request {request.key} has no continuations: ask `generate`")
        layout = self.setup.layout
        tokens, continuations = layout.answer_tokens(layout.render(request.messages), request.continuations)
        for number, ids in enumerate(continuations, 1):
            if not ids:
                detail = f"choice {number} is empty, or this tokenizer cannot tell where it begins"
                return Failure(key=request.key, reason="choice without tokens", detail=detail)
        prompt = ChoicePrompt(request=request, tokens=tokens, continuations=tuple(continuations))
        if prompt.longest > self.setup.context - self._spare:
            detail = f"{prompt.longest} tokens with the longest choice, the model has room for "
            detail += f"{self.setup.context - self._spare}"
            return Failure(key=request.key, reason=TOO_LONG, detail=detail)
        return prompt

    def _length(self, request: Request) -> Length:
        layout = self.setup.layout
        text = layout.render(request.messages)
        if not request.continuations:
            return Length(tokens=len(layout.tokens(text)), room=self.setup.context - request.max_new_tokens)
        tokens, continuations = layout.answer_tokens(text, request.continuations)
        longest = max(map(len, continuations))
        return Length(tokens=len(tokens) + longest, room=self.setup.context - self._spare)

    def _decode(self, tokens: list[int]) -> str:
        text: str = self.setup.tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def _docs(chunk: Sequence[Prompt]) -> list[Any]:
    from lighteval.tasks.requests import Doc

    return [
        Doc(
            query=prompt.text,
            choices=[],
            gold_index=0,
            id=prompt.request.key,
            task_name="medical",
            generation_size=prompt.request.max_new_tokens,
            stop_sequences=list(prompt.stop),  # None crashes lighteval for a model without chat template
        )
        for prompt in chunk
    ]
