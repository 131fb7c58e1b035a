"""Models behind inspect_ai's providers: `inspect/PROVIDER/MODEL`, as the model under test and as a judge.

inspect retries failed requests itself, and writes no log of its own here. Text of
credentialed data is sent only if the provider's client shows its address, and only to
this machine or an attested host.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.guard import policy
from medical_tasks.models import inspect_reply
from medical_tasks.models.base import Answer, Failure, Length, Model, OnResult, Request
from medical_tasks.models.budget import SPENT, estimate_tokens
from medical_tasks.models.call_pool import Callee, run_jobs
from medical_tasks.models.chat_client import (
    CallFailed,
    Completion,
    Spending,
    check_base_url,
    encodable_chat,
    refused_setting,
    tools_refused,
)
from medical_tasks.models.chat_reply import TOOLS
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.endpoint import FolderTokens
from medical_tasks.models.endpoint_choices import ChoiceAsker, ChoiceSettings, is_letter
from medical_tasks.models.inspect_options import (
    PREFIX,
    InspectSettings,
    read_settings,
    unopened,
)
from medical_tasks.models.inspect_tools import inspect_chat, tool_infos
from medical_tasks.models.knock import TRIES, proxy_for, unreachable, without_user
from medical_tasks.models.refusals import Adaptations
from medical_tasks.models.spending import REFUSED
from medical_tasks.models.till import ModelTill
from medical_tasks.models.tool_calls import offered_text
from medical_tasks.spec import Message, Tool

if TYPE_CHECKING:
    from inspect_ai.model import BatchConfig, GenerateConfig, ModelOutput
    from inspect_ai.model import Model as Provider

BATCHED: Final = ("anthropic", "google", "grok", "openai", "together")
"""Providers for which inspect creates batches."""
IN_PROCESS: Final = frozenset({"hf", "mockllm", "nnterp", "none", "transformer_lens"})
"""Providers that send nothing anywhere."""
_FEWEST_TOKENS: Final[Mapping[str, int]] = {"openai": 16}
"""The smallest `max_tokens` that a provider accepts, if more than one."""


# The exchange of the current asyncio task, for the hooks of its client.
_SEEN: Final[ContextVar[inspect_reply.Seen | None]] = ContextVar("seen", default=None)


_Asker = Callable[["InspectClient", Request], Awaitable[Answer]]


class InspectModel(Model):
    """A model behind an inspect provider.

    A model in this process is opened, and loads its weights, with the first question.
    """

    def __init__(
        self,
        name: str,
        settings: InspectSettings,
        *,
        purpose: str = "model",
        objects: Mapping[str, object] | None = None,
    ) -> None:
        # further arguments of the provider, which the command line cannot give
        self._objects = objects or {}
        self.name = name
        self.purpose = purpose  # or `judge`, for the data guard
        self.settings = settings
        self._model_name = name.removeprefix(PREFIX)
        self.provider, _, self._served = self._model_name.partition("/")
        identity = {"backend": "inspect", "model": self._model_name}
        folder = settings.tokenizer
        self._tokens = FolderTokens(Path(folder).expanduser()) if folder else None
        self._opened: Provider | None = None
        # whether the guard sees each request's address before it is sent
        self._visible = False
        self._reached = False
        self._adaptations = Adaptations(own=settings.own)
        if self.provider not in IN_PROCESS:
            self._opened = self._open()
            url = self._watch(self._opened)
            self._visible = url is not None
            self.endpoint = url or f"{PREFIX}{self.provider}"
            identity |= (
                {"base_url": url} if url is not None and _from_environment(url) else {}
            )

        self.identity: Mapping[str, str] = identity | settings.identity

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Answers all requests, in order of completion."""

        def asker(till: ModelTill) -> _Asker:
            async def ask(client: InspectClient, request: Request) -> Answer:
                return await client.answer(request, till.call(till.most(request)))

            return ask

        self._run(requests, asker, on_result)

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        """Scores letters as the answer's first token, if the provider reports probabilities."""
        texts = {text for request in requests for text in request.continuations}
        if not all(map(is_letter, texts)):
            raise UsageError(MESSAGES["inspect_texts"].format(name=self.name))

        choices = ChoiceSettings(alternatives=self.settings.alternatives)
        config = self.settings.config
        fields = {"temperature": 0.0} if "temperature" in config else {}

        def asker(till: ModelTill) -> _Asker:
            letters = ChoiceAsker(self._where, choices, fields, till=till)

            async def ask(client: InspectClient, request: Request) -> Answer:
                scores = await letters.ask(client, request)
                return Answer(key=request.key, text=scores.to_text())

            return ask

        self._run(requests, asker, on_result)

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `generate` ask in batches of inspect's, which keeps no journal of them."""
        option = "--judge-batch" if self.purpose == "judge" else "--batch"
        if self.provider not in BATCHED or self._opened is None:
            raise UsageError(
                f"{option}: inspect makes batches of {', '.join(BATCHED)}, not of {self.provider}. "
                "Leave it out."
            )

        policy.require_no_batch(option)
        self.settings = self.settings.in_batches()
        self._opened.config = _base_config(self.settings)
        print(
            f"note: {self.name}: inspect makes the batches, and they cannot be resumed: stopping "
            "it loses what is under way, which is paid for",
            file=sys.stderr,
            flush=True,
        )

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        """Measures requests with the tokenizer in a folder, since no provider reports a limit."""
        counted = self.counted(requests)
        context = self.settings.context or (
            self._tokens.context() if self._tokens else None
        )
        if counted is None or context is None:
            return [None] * len(requests)

        return [
            Length(tokens=count, room=context - self.longest(request))
            for request, count in zip(requests, counted, strict=True)
        ]

    def longest(self, request: Request) -> int:
        """Returns the limit for all requests, else the request's own plus that of reasoning."""
        return request.max_new_tokens and self.settings.longest_of(request)

    def counted(self, requests: Sequence[Request]) -> list[int] | None:
        """Counts with the tokenizer in the folder, if one is named; a letter is one token more."""
        if self._tokens is None:
            return None
        counts = self._tokens.counts(
            [tuple(encodable_chat(request.messages)) for request in requests]
        )
        return [
            count
            + bool(request.continuations)
            + estimate_tokens(offered_text(request.tools))
            for request, count in zip(requests, counts, strict=True)
        ]

    def no_tools(self) -> str:
        """A provider or server without tools says so itself."""
        return ""

    def _run(
        self,
        requests: Sequence[Request],
        asker: Callable[[ModelTill], _Asker],
        on_result: OnResult,
    ) -> None:
        """Makes one call for each request; delivers results as they arrive."""
        if not requests:
            return

        self._check_guard()
        till = ModelTill(self)

        def deliver(request: Request, outcome: Answer | CallFailed) -> None:
            if isinstance(outcome, CallFailed):
                key, reason, detail = request.key, outcome.reason, outcome.detail
                on_result(Failure(key=key, reason=reason, detail=detail))
            else:
                on_result(outcome)

        run_jobs(self._callee(), requests, till.admitting(asker(till)), deliver)

    @property
    def _where(self) -> str:
        """The model in messages."""
        provider = f"inspect's provider {self.provider} (model {self._served!r})"
        return provider if self.endpoint is None else f"{self.endpoint}, {provider}"

    def _callee(self) -> Callee[InspectClient]:
        keys = [] if self._opened is None else self._opened.api.api_key_vars
        return Callee(
            where=self._where,
            base_url=self.endpoint or "",
            concurrency=self.settings.at_once,
            client=self._client,
            key_name=self.settings.key_name or "".join(keys[:1]),
            purpose=self.purpose,
            timeout=self.settings.timeout,
            loop=shared_loop(),
        )

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[InspectClient]:
        """Yields the client, once a server is known to answer at the address."""
        if self._opened is None:
            self._opened = self._open()

        if self.endpoint is not None and not self._reached:
            await check_reachable(
                self.endpoint, min(TRIES, self.settings.max_retries + 1)
            )
            self._reached = True

        yield InspectClient(
            self._opened, self.settings, self._adaptations, where=self._where
        )

    def _open(self) -> Provider:
        """Has inspect open the model, without its own cache of models."""
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import get_model

        open_model = cast("Callable[..., Provider]", get_model)
        try:
            return open_model(
                self._model_name,
                config=_base_config(self.settings),
                base_url=self.settings.base_url,
                api_key=self.settings.api_key,
                memoize=False,
                **self.settings.provider_args,
                **self._objects,
            )
        except (PrerequisiteError, ImportError) as error:
            raise MissingError(unopened(self.name, error)) from error
        except (TypeError, ValueError) as error:
            raise UsageError(f"{self.name} is no model for inspect: {error}") from error

    def _watch(self, opened: Provider) -> str | None:
        """Hooks into a provider's client, so that the guard sees each request's address.

        Returns:
            The address; None for a provider that shows none.
        """
        from medical_tasks.models.wire import guard_hook

        client = getattr(opened.api, "client", None)
        base_url, http = (
            getattr(client, "base_url", None),
            getattr(client, "_client", None),
        )
        hooks = getattr(http, "event_hooks", None)
        if base_url is None or http is None or hooks is None:
            return None

        url = str(base_url).rstrip("/")
        check_base_url(url)
        http.event_hooks = {
            "request": [*hooks["request"], guard_hook(url, self.purpose)],
            "response": [*hooks["response"], _note_headers],
        }

        return url

    def _check_guard(self) -> None:
        """Refuses text of credentialed data where it could leave this machine unseen."""
        from medical_tasks.models.wire import quiet_requests

        if self.endpoint is None or not policy.protecting():
            return

        quiet_requests()
        # inspect's warnings quote errors
        logging.getLogger("inspect_ai").setLevel(logging.ERROR)
        if not self._visible or _passes_on():
            policy.require_visible_endpoint(self.name, self.purpose)

        policy.require_endpoint(self.endpoint, self.purpose)
        proxy = proxy_for(self.endpoint, even_loopback=True)
        if proxy is not None:
            policy.require_endpoint(
                without_user(proxy), f"proxy on the way to the {self.purpose}"
            )

    def close(self) -> None:
        """Closes the connections."""
        if self._opened is not None:
            closing = self._opened.api.aclose()
            asyncio.run_coroutine_threadsafe(closing, shared_loop()).result()
        self._opened = None


class InspectClient:
    """Calls an opened model, in `shared_loop`."""

    def __init__(
        self,
        model: Provider,
        settings: InspectSettings,
        adaptations: Adaptations,
        *,
        where: str,
    ) -> None:
        self._model = model
        self._settings = settings
        self._adaptations = adaptations  # what the provider refused so far
        self._where = where
        self._provider = str(model).partition("/")[0]

    async def answer(self, request: Request, spending: Spending) -> Answer:
        """Asks a question; raises `CallFailed` if it gets no answer.

        When a provider refuses one of the suite's own settings, the request is repeated
        without it.
        """
        meant = self._settings.sent_settings(request)
        while True:
            changes = dict(self._adaptations.changes)
            sent = self._adaptations.applied(meant)
            config = _call_config(sent)
            try:
                output, seen = await self._call(
                    request.messages, config, spending, request.tools
                )
            except CallFailed as failed:
                if request.tools and TOOLS in failed.refused:
                    raise tools_refused(failed) from failed
                if not self._adaptations.learn(sent, failed.refused):
                    raise refused_setting(meant, failed) from failed

                self._adaptations.report(self._where)
                continue

            adapted = {
                name: change for name, change in changes.items() if name in meant
            }
            if self._provider not in IN_PROCESS:
                adapted |= inspect_reply.left_out(
                    self._model.config.merge(config), seen
                )

            return inspect_reply.to_answer(request, output, seen, adapted)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        logprobs: int | None = None,
        extra: Mapping[str, object] | None = None,
        spending: Spending,
    ) -> Completion:
        """Requests one answer, with the probabilities of its tokens if the provider reports them."""
        fewest = _FEWEST_TOKENS.get(self._provider, 1)
        scoring = {
            "logprobs": None if logprobs is None else True,
            "top_logprobs": logprobs,
        }
        longest = max(max_tokens, fewest) + self._settings.budget
        config = _call_config({"max_tokens": longest, **scoring, **(extra or {})})
        output, _ = await self._call(messages, config, spending)
        return inspect_reply.to_completion(output)

    async def _call(
        self,
        messages: Sequence[Message],
        config: GenerateConfig,
        spending: Spending,
        tools: Sequence[Tool] = (),
    ) -> tuple[ModelOutput, inspect_reply.Seen]:
        """Sends a request within the budget, which counts inspect's own retries as one."""
        if not await spending.admit():
            raise CallFailed(SPENT, REFUSED, attempts=0)

        try:
            output, seen = await self._send(messages, config, tools)
        except BaseException as error:
            nobody = isinstance(error, CallFailed) and error.reason == "connection"
            spending.settle(None, free=nobody)
            raise

        spending.settle(inspect_reply.to_completion(output))
        return output, seen

    async def _send(
        self,
        messages: Sequence[Message],
        config: GenerateConfig,
        tools: Sequence[Tool],
    ) -> tuple[ModelOutput, inspect_reply.Seen]:
        """Sends one request through inspect; returns its output and what it exchanged.

        inspect's cache stays off: only the run's store keeps answers.
        """
        chat = encodable_chat(messages)
        seen = inspect_reply.Seen()
        _SEEN.set(seen)
        converted = inspect_chat(chat)
        try:
            async with asyncio.timeout(self._settings.total_time):
                with _record_events(seen):
                    output = await self._model.generate(
                        converted,
                        tools=tool_infos(tools),
                        config=config,
                        cache=False,
                    )
        except Exception as error:  # each provider raises its own library's
            texts = [message["content"] for message in chat]
            raise inspect_reply.to_failure(error, sent=texts) from None

        inspect_reply.check_output(output)
        return output, seen


def shared_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop of all models behind inspect in this process.

    They share its limits of connections. It runs on a daemon thread.
    """
    with _STARTING:
        return _loop_of(os.getpid())


_STARTING: Final = threading.Lock()


@functools.cache
def _loop_of(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="inspect calls", daemon=True).start()
    return loop


async def check_reachable(url: str, tries: int) -> None:
    """Checks whether a server can be reached before any text is sent, unless a proxy leads to it."""
    if not url.startswith(("http://", "https://")):
        return
    if proxy_for(url, even_loopback=True) is not None:
        return

    troubles = await unreachable([url], tries)
    if troubles:
        ended = f"; given up after {tries} attempts" if tries > 1 else ""
        raise CallFailed(
            "connection", troubles[url] + ended, attempts=tries, every_call=True
        )


def _record_events(seen: inspect_reply.Seen) -> AbstractContextManager[None]:
    """Sends inspect's events of a call to `seen`, rather than keeping them for the whole process."""
    try:
        from inspect_ai.model._model import use_model_event_sink
    except ImportError:  # in versions without it, less is known about a reply
        return contextlib.nullcontext()
    return use_model_event_sink(seen)


async def _note_headers(response: object) -> None:
    seen = _SEEN.get()
    headers = getattr(response, "headers", {})
    if seen is not None and "x-inference-provider" in headers:
        seen.headers = {"x-inference-provider": headers["x-inference-provider"]}


def _from_environment(url: str) -> bool:
    """Returns whether a variable such as OPENAI_BASE_URL replaces the provider's address."""
    return any(
        name.endswith("_BASE_URL") and text.rstrip("/") == url
        for name, text in os.environ.items()
    )


def _passes_on() -> bool:
    """Returns whether inspect may pass requests on: to hooks of other packages, or telemetry."""
    try:
        from inspect_ai.hooks._hooks import get_all_hooks
    except ImportError:  # in versions without it this is unknown
        return True
    return "INSPECT_TELEMETRY" in os.environ or any(
        hook.enabled() for hook in get_all_hooks()
    )


def _call_config(settings: Mapping[str, object]) -> GenerateConfig:
    """Makes inspect's configuration of one call from settings under the suite's names."""
    from inspect_ai.model import GenerateConfig

    named = {
        "stop_seqs" if name == "stop" else name: value
        for name, value in settings.items()
    }
    return GenerateConfig(**cast("Mapping[str, None]", named))


def _base_config(settings: InspectSettings) -> GenerateConfig:
    """Makes inspect's configuration of every request.

    Its times are whole seconds, at least 1.
    """
    from inspect_ai.model import GenerateConfig

    unknown = [
        name for name in settings.lasting if name not in GenerateConfig.model_fields
    ]
    if unknown:
        raise UsageError(
            f"the installed inspect_ai does not know {', '.join(unknown)}. Leave it out, or install "
            f"a newer one: {install_command('inspect')}"
        )

    adaptive = {"adaptive_connections": settings.adaptive} if settings.adaptive else {}
    return GenerateConfig(
        **cast("Mapping[str, None]", {**settings.lasting, **adaptive}),
        batch=_batch_config(settings) if settings.batch else None,
        max_retries=settings.max_retries,
        timeout=max(1, round(settings.total_time)),
        attempt_timeout=max(1, round(settings.timeout)),
        max_connections=None if settings.adaptive else settings.concurrency,
    )


def _batch_config(settings: InspectSettings) -> BatchConfig:
    from inspect_ai.model import BatchConfig

    return BatchConfig(
        size=settings.concurrency,  # so a batch is sent when no more questions come
        max_size=settings.batch_size,
        send_delay=settings.batch_poll,
        tick=settings.batch_poll,
    )


def open_inspect(
    name: str, *, options: Mapping[str, str], what: str = "model"
) -> InspectModel:
    """Opens `inspect/PROVIDER/MODEL`. Nothing is sent yet.

    The caller must check the guard.
    """
    provider, slash, model = name.removeprefix(PREFIX).partition("/")
    if not name.startswith(PREFIX) or not provider or not slash or not model:
        raise UsageError(
            f"a {what} of an inspect provider is named inspect/<provider>/<model>, got {name!r}."
        )

    if importlib.util.find_spec("inspect_ai") is None:
        raise MissingError(
            f"{name} needs inspect_ai, which is not installed: {install_command('inspect')}"
        )

    return InspectModel(name, read_settings(name, options, what=what), purpose=what)
