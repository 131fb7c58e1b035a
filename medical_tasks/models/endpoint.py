"""A model behind an OpenAI-compatible endpoint: `openai-api/<host alias>/<model>`.

As in inspect, the alias `my-host` reads `MY_HOST_BASE_URL` (one address, or those of
replicas) and `MY_HOST_API_KEY`. Questions are measured with a tokenizer in a folder or
by the server (vLLM's `/tokenize`); without either, or without a known context, lengths
are unknown.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import (
    Answer,
    ChoiceScores,
    Failure,
    Length,
    Model,
    OnResult,
    Request,
)
from medical_tasks.models.batch_provider import Line, Sent
from medical_tasks.models.batches import Batches
from medical_tasks.models.budget import (
    Amount,
    Ceiling,
    Reserved,
    RunBudget,
    estimate_tokens,
)
from medical_tasks.models.call_pool import run_calls
from medical_tasks.models.chat_client import (
    CallFailed,
    ChatClient,
    ChatSettings,
    Completion,
    completion_body,
    encodable_chat,
    texts_of,
)
from medical_tasks.models.chat_reply import listed_model, whole_number
from medical_tasks.models.chat_template import ChatLayout
from medical_tasks.models.checkpoint import (
    MESSAGES,
    Checkpoint,
    check_config,
    quiet_libraries,
)
from medical_tasks.models.encoder import open_tokenizer, readable
from medical_tasks.models.endpoint_choices import (
    ALTERNATIVES,
    ChoiceAsker,
    ChoiceSettings,
)
from medical_tasks.models.opener import (
    HOSTED,
    SENT_AS_GIVEN,
    TESTED_OPTIONS,
    read_addresses,
    read_options,
)
from medical_tasks.models.refusals import Adaptations
from medical_tasks.models.spending import most_of, refusal, taken_by
from medical_tasks.models.till import ModelTill
from medical_tasks.models.tool_calls import offered_text
from medical_tasks.spec import Message

PREFIX = "openai-api/"
_NO_KEY = (
    "none"  # sent without a key; servers that check keys answer 401, which ends the run
)


_Text = tuple[Message, ...] | str
"""What is counted: a chat ready for its answer, or a text alone."""


_Asker = Callable[[ChatClient, Request], Awaitable[Completion | ChoiceScores]]
"""Sends one request."""


class EndpointModel(Model):
    """A model under test that answers over HTTP.

    Its identity holds the base URL, or `served` (by default the model's name) for
    replicas, which come, go and move.
    """

    def __init__(
        self,
        name: str,
        settings: ChatSettings,
        *,
        sampling: Mapping[str, Any],
        backend: str = "openai-api",
        identity: Mapping[str, str] | None = None,
        choices: ChoiceSettings | None = None,
        context: int | None = None,
        tokens: FolderTokens | None = None,
    ) -> None:
        """Prepares the model; nothing is sent.

        Args:
            name: of the model in results.
            settings: the endpoint and the limits of calls to it.
            sampling: fields of a request that decide the answer; part of the identity.
            backend: the kind of server, for the identity.
            identity: replaces the address, for a server that was started for the run.
            choices: how probabilities of choices are requested.
            context: tokens of prompt and answer, None to ask the server.
            tokens: counts tokens instead of the server.
        """
        self._choices = choices or ChoiceSettings()
        self.name = name
        self.endpoint: str | None = " ".join(settings.addresses)
        named = settings.served or (settings.model if settings.replicas else "")
        address = {"served": named} if named else {"base_url": settings.base_url}
        self.identity: Mapping[str, str] = {
            "backend": backend,
            "model": settings.model,
            **(address if identity is None else identity),
            **{field: _identified(value) for field, value in sorted(sampling.items())},
            **self._choices.identity,
        }
        self.sampling: Mapping[str, Any] = dict(sampling)
        self._settings = settings
        self._context = context
        self._tokens = tokens
        self._unmeasured = False  # whether neither folder nor server can tell
        self._serves: bool | None = None  # whether the server counts tokens
        # tokens of continuations, which many questions share
        self._continuation_tokens: dict[str, int] = {}
        self._batches: Batches | None = None

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, with at most `concurrency` in flight, or in batches.

        Results arrive in order of completion.
        """
        if self._batches is not None:
            self._generate_in_batches(self._batches, requests, on_result)
            return

        def asker(_: ChatSettings, till: ModelTill) -> _Asker:
            async def ask(client: ChatClient, request: Request) -> Completion:
                return await client.complete(
                    request.messages,
                    max_tokens=request.max_new_tokens,
                    stop=request.stop,
                    extra=self.fields(request.repeat - 1),
                    tools=request.tools,
                    spending=till.call(till.most(request)),
                )

            return ask

        self._run(requests, asker, on_result)

    def fields(self, later: int = 0) -> dict[str, object]:
        """Returns the fields of a request's body that decide the answer.

        Args:
            later: how many times the same question was asked before, each time with
                another seed.
        """
        fields = {
            name: value for name, value in self.sampling.items() if name != "extra_body"
        }
        if "seed" in fields:
            fields["seed"] += later

        return {**fields, **self.sampling.get("extra_body", {})}

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `generate` ask in batches from now on."""
        self._batches = Batches(self._settings, journal)

    def _generate_in_batches(
        self, batches: Batches, requests: Sequence[Request], on_result: OnResult
    ) -> None:
        """Asks in batches until all is answered, or the ceiling admits nothing more."""
        waiting = {request.key: request for request in requests}
        ceiling = self.ceiling or Ceiling(RunBudget())
        reserved = Reserved(ceiling.budget)

        def most(request: Request) -> Amount:
            return most_of(request, ceiling.prices, self.longest(request))

        def lines(keys: Collection[str]) -> Iterator[Line]:
            # the others are in batches of earlier commands
            for key in waiting.keys() - set(keys):
                reserved.hold(key, most(waiting[key]))

            for request in (waiting[key] for key in keys):
                if not reserved.admit(request.key, most(request)):
                    continue

                body = completion_body(
                    self._settings,
                    request.messages,
                    max_tokens=request.max_new_tokens,
                    stop=request.stop,
                    extra=self.fields(request.repeat - 1),
                    tools=request.tools,
                )
                yield Line(keys=(request.key,), body=body)

        def deliver(keys: Sequence[str], outcome: Completion | CallFailed) -> None:
            request = waiting.pop(keys[0], None)
            if request is None:
                return

            result = _result(request, outcome)
            used = Amount()
            if isinstance(result, Answer):
                used = taken_by(result, most(request), ceiling.prices)

            reserved.settle(request.key, used)
            on_result(result)

        while before := len(waiting):
            sent = {
                key: Sent(
                    texts=texts_of(request.messages),
                    stop=request.stop,
                    tools=bool(request.tools),
                )
                for key, request in waiting.items()
            }
            batches.ask(sent, lines, deliver)
            if len(waiting) == before:
                break

        for key in waiting:
            on_result(refusal(key))

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Scores how probable the continuations of each request are.

        Results arrive in order of completion.
        """
        fields = {name: 0.0 for name in ("temperature",) if name in self.sampling}
        fields |= self.sampling.get("extra_body", {})
        self._run(
            requests,
            lambda settings, till: (
                ChoiceAsker(settings.where, self._choices, fields, till=till).ask
            ),
            on_result,
        )

    def _run(
        self,
        requests: Sequence[Request],
        asker: Callable[[ChatSettings, ModelTill], _Asker],
        on_result: OnResult,
    ) -> None:
        """Makes one call for each request; delivers results as they arrive.

        Args:
            requests: the requests.
            asker: makes the function that sends one, from the settings and the budget.
            on_result: called with each result.
        """
        if not requests:
            return

        till = ModelTill(self)
        with self.asking() as settings:
            run_calls(
                settings,
                requests,
                till.admitting(asker(settings, till)),
                lambda *outcome: on_result(_result(*outcome)),
            )

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests before they are asked.

        None for all if neither folder nor server can tell.
        """
        with self.asking() as settings:
            return self._measure(settings, requests)

    @property
    def measures_alone(self) -> bool:  # type: ignore[override]
        """Whether folder and context are known, so that the server is not asked."""
        return self._tokens is not None and self._context is not None

    def longest(self, request: Request) -> int:
        """Returns the limit for all requests, else the request's own."""
        most: int = self.sampling.get("max_completion_tokens", request.max_new_tokens)
        return request.max_new_tokens and most

    def counted(self, requests: Sequence[Request]) -> list[int] | None:
        """Counts with the tokenizer in the folder, if one is named."""
        if self._tokens is None:
            return None

        continuations = [
            max(self._tokens.counts(request.continuations), default=0)
            for request in requests
        ]
        chats = self._tokens.counts(
            [tuple(encodable_chat(request.messages)) for request in requests]
        )
        tools = [estimate_tokens(offered_text(request.tools)) for request in requests]

        return [sum(counts) for counts in zip(chats, continuations, tools, strict=True)]

    def no_tools(self) -> str:
        """A server without tools says so itself."""
        return ""

    def _measure(
        self, settings: ChatSettings, requests: Sequence[Request]
    ) -> list[Length | None]:
        """Returns the lengths of requests in the server's tokens; None where unknown.

        Nothing is counted without a known context, since there is nothing to compare
        with. Continuations, which many questions share, are counted once.
        """
        nothing: list[Length | None] = [None] * len(requests)
        if not requests or self._unmeasured:
            return nothing

        if self._context is None:
            self._context = _served_context(settings) or (
                self._tokens.context() if self._tokens else None
            )

        if self._context is None:
            self._unmeasured = True
            return nothing

        chats = [encodable_chat(request.messages) for request in requests]
        counted = self._counts(settings, [tuple(chat) for chat in chats])
        texts = dict.fromkeys(
            text for request in requests for text in request.continuations
        )
        new = [text for text in texts if text not in self._continuation_tokens]
        sizes = self._counts(settings, [readable(text) for text in new])
        self._continuation_tokens.update(
            {
                text: size
                for text, size in zip(new, sizes, strict=True)
                if size is not None
            }
        )

        return [
            self._length(request, count)
            for request, count in zip(requests, counted, strict=True)
        ]

    def _counts(
        self, settings: ChatSettings, texts: Sequence[_Text]
    ) -> Sequence[int | None]:
        """Counts tokens by the folder's tokenizer, or else by the server."""
        if self._unmeasured or not texts:
            return [None] * len(texts)
        if self._tokens is not None:
            return self._tokens.counts(texts)

        if self._serves is None:
            # One alone, so that a server that cannot count is sent no more.
            first = _served_counts(settings, texts[:1])
            self._serves = first[0] is not None
            self._unmeasured = not self._serves
            return [*first, *self._counts(settings, texts[1:])]

        return _served_counts(settings, texts)

    def _length(self, request: Request, count: int | None) -> Length | None:
        """Returns a request's tokens and the room for them, given the tokens of its chat.

        None where a continuation could not be counted: a guess could drop items.
        """
        sizes = [self._continuation_tokens.get(text) for text in request.continuations]
        counted = [size for size in sizes if size is not None]
        if count is None or self._context is None or len(counted) < len(sizes):
            return None

        # A letter is the token that is generated; after a continuation that is sent, the
        # server generates one more.
        generated = (
            int(self._choices.way_of(request.continuations) != "top")
            if sizes
            else self.longest(request)
        )
        return Length(
            tokens=count + max(counted, default=0), room=self._context - generated
        )

    @contextmanager
    def asking(self) -> Iterator[ChatSettings]:
        """Yields the endpoint's settings, for callers that send their own requests."""
        yield self._settings


def _identified(value: object) -> str:
    """Writes a setting's value for the identity."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else str(value)


def _result(
    request: Request, outcome: Completion | ChoiceScores | CallFailed
) -> Answer | Failure:
    """Turns the outcome of a call into the answer or failure of its request.

    Finish reasons other than `stop` and `length` are dropped: servers have their own.
    """
    if isinstance(outcome, CallFailed):
        return Failure(key=request.key, reason=outcome.reason, detail=outcome.detail)
    if isinstance(outcome, ChoiceScores):
        return Answer(key=request.key, text=outcome.to_text())

    choice = outcome.choices[0]
    return Answer(
        key=request.key,
        text=choice.text,
        prompt_tokens=outcome.prompt_tokens,
        output_tokens=outcome.output_tokens,
        finish=choice.finish if choice.finish in ("stop", "length") else "",
        reasoning=choice.reasoning,
        reasoning_tokens=outcome.reasoning_tokens,
        cached_tokens=outcome.cached_tokens,
        provider=outcome.provider,
        served_model=outcome.served_model,
        adapted=outcome.adapted,
        tool_calls=choice.tool_calls,
    )


def chat_settings(alias: str, model: str, values: Mapping[str, Any]) -> ChatSettings:
    """Builds an endpoint's settings from arguments and environment."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", alias):
        raise UsageError(
            f"a host alias starts with a letter and holds letters, digits, - and _, got {alias!r}."
        )

    stem = alias.upper().replace("-", "_")
    url_name, key_name = (
        f"{stem}_BASE_URL",
        values.get("api_key_env", f"{stem}_API_KEY"),
    )
    urls = read_addresses(
        values.get("base_url") or os.environ.get(url_name) or HOSTED.get(alias, "")
    )
    key = os.environ.get(key_name, "")
    missing = []
    if not urls:
        missing.append(
            f"export {url_name}=http://127.0.0.1:8000/v1   # the endpoint's address, up to its "
            "version"
        )

    # With base_url and no api_key_env, no key is required: local servers often check
    # none.
    if not key and ("api_key_env" in values or "base_url" not in values):
        missing.append(
            f"export {key_name}=...   # its key; any word when the server checks none"
        )

    if missing:
        raise MissingError(
            f"the endpoint of openai-api/{alias}/{model} is not set up. Set in the environment:\n  "
            + "\n  ".join(missing)
        )

    return ChatSettings(
        base_url=urls[0],
        replicas=tuple(urls[1:]),
        served=values.get("served", ""),
        model=model,
        api_key=key or _NO_KEY,
        key_name=key_name,
        **{"concurrency": 16 * len(urls), **limits_of(values)},
    )


def limits_of(values: Mapping[str, object]) -> dict[str, Any]:
    """Returns the arguments of `ChatSettings` other than address, model and key."""
    limits = {
        name: values[name]
        for name in (
            "concurrency",
            "timeout",
            "max_retries",
            "total_time",
            "batch_poll",
            "batch_size",
        )
        if name in values
    }
    own = {"stop", "temperature", "max_tokens", "max_completion_tokens"} - set(values)
    if "max_completion_tokens" in values:  # `model_options` passes its value
        limits["token_field"] = "max_completion_tokens"  # noqa: S105 - a field name

    if "max_tokens_field" in values:
        own -= {"max_tokens", "max_completion_tokens"}
        limits["token_field"] = values["max_tokens_field"]

    limits["adaptations"] = Adaptations(own=frozenset(own))
    return limits


def model_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `EndpointModel` other than the endpoint."""
    folder = values.get("tokenizer")
    # temperature=none leaves the temperature to the server.
    sampling = {"temperature": 0.0} | {
        name: values[name] for name in ("temperature", *SENT_AS_GIVEN) if name in values
    }

    return {
        "sampling": {
            name: value for name, value in sampling.items() if value is not None
        },
        "choices": ChoiceSettings(
            way=values.get("logprobs", "auto"),
            alternatives=values.get("top_logprobs", ALTERNATIVES),
        ),
        "context": values.get("context"),
        "tokens": None if folder is None else FolderTokens(Path(folder).expanduser()),
    }


def open_endpoint(name: str, *, options: Mapping[str, str]) -> EndpointModel:
    """Opens `openai-api/<host alias>/<model>`. Nothing is sent yet.

    The caller must check the guard.
    """
    alias, _, model = name.removeprefix(PREFIX).partition("/")
    if not name.startswith(PREFIX) or not alias or not model:
        raise UsageError(
            f"an endpoint model is named openai-api/<host alias>/<model>, got {name!r}."
        )

    values = read_options(options, TESTED_OPTIONS, model=name)
    return EndpointModel(
        name, chat_settings(alias, model, values), **model_options(values)
    )


class FolderTokens:
    """Counts tokens with a tokenizer on this machine, and chats by its own template."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "tokenizer_config.json").is_file():
            raise MissingError(MESSAGES["tokenizer_folder"].format(folder=folder))
        self._folder = folder

    def context(self) -> int | None:
        """Returns the context length in the `config.json` beside it; None where there is none."""
        return Checkpoint(
            folder=self._folder, label=self._folder.name, revision=""
        ).context()

    def counts(self, texts: Sequence[_Text]) -> list[int]:
        """Counts tokens."""
        with quiet_libraries(logging.ERROR):
            return [self._count(text) for text in texts]

    @cached_property
    def _count(self) -> Callable[[_Text], int]:
        """Opens the tokenizer and returns a function that counts with it.

        Texts are counted without special tokens, chats as the template renders them.
        """
        check_config(self._folder)
        hint = "\nAnother folder is named with --model-args tokenizer=FOLDER."
        tokenizer = open_tokenizer(f"tokenizer={self._folder}", self._folder, hint)
        if tokenizer.chat_template is None:
            raise UsageError(MESSAGES["tokenizer_template"].format(folder=self._folder))

        layout = ChatLayout(tokenizer, model=self._folder.name)

        def count(text: _Text) -> int:
            if isinstance(text, str):
                return len(
                    tokenizer(text, add_special_tokens=False, verbose=False)[
                        "input_ids"
                    ]
                )

            return len(layout.tokens(layout.render(text)))

        return count


_Job = TypeVar("_Job")


def _collect(
    settings: ChatSettings,
    jobs: Sequence[_Job],
    ask: Callable[[ChatClient, _Job], Awaitable[int | None]],
) -> list[int | None]:
    """Requests one number per job from the server; None where it gives none."""
    counts: dict[int, int | None] = {}

    def deliver(number: int, outcome: int | CallFailed | None) -> None:
        counts[number] = whole_number(outcome, 1)

    run_calls(
        settings,
        range(len(jobs)),
        lambda client, number: ask(client, jobs[number]),
        deliver,
    )

    return [counts[number] for number in range(len(jobs))]


def _served_context(settings: ChatSettings) -> int | None:
    async def ask(client: ChatClient, path: str) -> int | None:
        entry = listed_model(await _fetch(client, path), settings.model)
        return (
            whole_number(entry.get("max_model_len"), 1)
            if entry.get("id") == settings.model
            else None
        )

    return _collect(settings, ["/models"], ask)[0]


def _served_counts(settings: ChatSettings, texts: Sequence[_Text]) -> list[int | None]:
    """Has the server count tokens (vLLM's `/tokenize`, beside its version).

    Chats are counted with the template, plain texts without special tokens.
    """

    async def ask(client: ChatClient, text: _Text) -> int | None:
        if isinstance(text, str):
            body, sent = {"prompt": text, "add_special_tokens": False}, [text]
        else:
            body = {"messages": list(text), "add_generation_prompt": True}
            sent = [message["content"] for message in text]

        reply = await _fetch(
            client, "/../tokenize", {"model": settings.model, **body}, texts=sent
        )
        return whole_number(reply.get("count") if isinstance(reply, dict) else None, 1)

    return _collect(settings, texts, ask)


async def _fetch(
    client: ChatClient,
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    texts: Sequence[str] = (),
) -> Any:
    """Requests a path of the server; None if it has no such path, or refuses."""
    try:
        return await client.fetch(path, body, texts=texts)
    except CallFailed as failed:
        if failed.reason != "connection":
            return None

        # Without a body, no text was sent yet; later only this call may have failed.
        every_call = body is None
        raise CallFailed(
            failed.reason,
            failed.detail,
            attempts=failed.attempts,
            every_call=every_call,
        ) from failed
