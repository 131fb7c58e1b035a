"""Judges behind inspect_ai's model providers: `inspect/<provider>/<model>`. No inspect log is written.

inspect retries by itself and does not say how often, so the budget counts calls and not their
retries.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import queue
import weakref
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medical_tasks.errors import MissingError, UsageError, install_command
from medical_tasks.guard import policy
from medical_tasks.judges.base import Backend, Call, NoReply, OnReply, Reply
from medical_tasks.models.budget import SPENT, Amount, RunBudget, estimate_chat
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.models.knock import TRIES, proxy_for, unreachable
from medical_tasks.models.opener import CHAT_OPTIONS, Reader, read_options

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from inspect_ai.model import Model, ModelOutput

PREFIX = "inspect/"
IN_PROCESS = frozenset({"hf", "mockllm", "nnterp", "none", "transformer_lens"})
"""Providers that send nothing anywhere."""
GIVE_UP_AFTER = 8
"""Calls that fail in the same hopeless way, with no reply ever, before the rest is not even tried."""

_NOT_TAKEN = ("api_key_env", "max_tokens_field")
INSPECT_OPTIONS: Mapping[str, Reader] = {
    name: CHAT_OPTIONS[name] for name in CHAT_OPTIONS if name not in _NOT_TAKEN
}
_DEFAULTS: Mapping[str, Any] = {
    "concurrency": 16,
    "max_retries": 6,
    "temperature": 0.0,
    "timeout": 600.0,
    "total_time": 1800.0,
}
_DECIDING = ("base_url", "temperature", "top_p", "seed")
_HOPELESS = ("connection", "http 400", "http 401", "http 403", "http 404", "http 422")


def open_inspect(name: str, options: Mapping[str, str]) -> InspectJudge:
    """Opens `inspect/<provider>/<model>`. Nothing is sent yet."""
    provider, slash, model = name.removeprefix(PREFIX).partition("/")
    if not name.startswith(PREFIX) or not provider or not slash or not model:
        raise UsageError(
            f"a judge behind inspect is named inspect/<provider>/<model>, got {name!r}."
        )
    return InspectJudge(name, read_options(options, INSPECT_OPTIONS, model=name, what="judge"))


class InspectJudge(Backend):
    """A judge behind an inspect provider; works also where an event loop is running."""

    def __init__(
        self, name: str, values: Mapping[str, Any], *, model_args: Mapping[str, Any] | None = None
    ) -> None:
        if importlib.util.find_spec("inspect_ai") is None:
            raise MissingError(
                f"{name} needs inspect_ai, which is not installed: {install_command('inspect')}"
            )
        self._values = {**_DEFAULTS, **values}
        self._model_args = dict(model_args or {})
        self.name = name
        self._model_name = name.removeprefix(PREFIX)
        provider = self._model_name.partition("/")[0]
        self.identity: Mapping[str, str] = {
            "backend": "inspect",
            "model": self._model_name,
            **{
                key: str(self._values[key])
                for key in _DECIDING
                if self._values.get(key) is not None
            },
        }
        if provider not in IN_PROCESS:
            # The provider's own address where none is given: which one that is, it does not tell.
            self.endpoint = self._values.get("base_url") or f"inspect://{provider}"
        self.samples = self._values["temperature"] != 0
        self._any_reply = False
        self._portal: BlockingPortal | None = None
        # What runs in this process loads its weights on opening: that waits for the first question.
        self._model: Model | None = None if self.endpoint is None else self._open()

    def answer(self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply) -> None:
        """Asks for all replies, at most `concurrency` at once.

        Refused while credentialed text is held.
        """
        if self.endpoint is not None:
            policy.require_visible_endpoint(self.name, "judge")
        if not calls:
            return
        if self._model is None:
            self._model = self._open()
        self._reach(self._model)
        reason, row = "", 0
        with contextlib.closing(self._outcomes(self._model, calls, budget)) as outcomes:
            for outcome in outcomes:
                on_reply(outcome)
                self._any_reply |= isinstance(outcome, Reply)
                ended = outcome.reason if isinstance(outcome, NoReply) else ""
                reason, row = ended, row + 1 if ended == reason else 1
                hopeless = ended in _HOPELESS or ended.startswith("inspect ")
                if hopeless and row >= GIVE_UP_AFTER and not self._any_reply:
                    raise MissingError(
                        MESSAGES["inspect"].format(name=self.name, row=row, reason=reason)
                    )

    def _reach(self, model: Model) -> None:
        """Ends the asking when nothing accepts a connection at the provider's address, where that is known."""
        client = getattr(model.api, "client", None)
        url = str(getattr(client, "base_url", "") or self._values.get("base_url") or "").rstrip("/")
        if self._any_reply or not url.startswith("http") or proxy_for(url):
            return
        troubles = self._started().call(unreachable, [url])
        if troubles:
            raise MissingError(
                f"nothing answers at {url} ({self.name}): {troubles[url]}; given up after {TRIES} "
                "attempts. Start the server, or correct the base URL."
            )

    def _outcomes(
        self, model: Model, calls: Sequence[Call], budget: RunBudget
    ) -> Generator[Reply | NoReply, None, None]:
        """Yields outcomes in the calling thread as they come.

        Leaving early cancels what is in flight.
        """
        results: queue.SimpleQueue[Reply | NoReply | None] = queue.SimpleQueue()
        waiting = iter(calls)

        async def worker() -> None:
            for call in waiting:
                results.put(await self._reply(model, call, budget))

        async def work() -> None:
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self._values["concurrency"], len(calls))):
                        workers.create_task(worker())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
            finally:
                results.put(None)

        future = self._started().start_task_soon(work)
        ended = False
        try:
            while (outcome := results.get()) is not None:
                yield outcome
            ended = True
        finally:
            if not ended:
                future.cancel()
                # Not before everything has ended: its clients are used again.
                while results.get() is not None:
                    continue
        future.result()

    def _started(self) -> BlockingPortal:
        """The loop on a thread of its own, for clients that are bound to one.

        Ends with the process at the latest.
        """
        from anyio.from_thread import start_blocking_portal

        if self._portal is None:
            stack = contextlib.ExitStack()
            self._portal = stack.enter_context(start_blocking_portal())
            self._stop = weakref.finalize(self, stack.close)
        return self._portal

    async def _reply(self, model: Model, call: Call, budget: RunBudget) -> Reply | NoReply:
        from inspect_ai.model import (
            ChatMessageAssistant,
            ChatMessageSystem,
            ChatMessageUser,
            GenerateConfig,
        )

        longest = call.question.max_tokens
        most = Amount(estimate_chat(call.messages), longest)
        if not budget.admit(most):
            return NoReply(key=call.key, reason=SPENT)
        seed = self._values.get("seed")
        config = GenerateConfig(max_tokens=longest, seed=None if seed is None else seed + call.vote)
        kinds = {
            "system": ChatMessageSystem,
            "user": ChatMessageUser,
            "assistant": ChatMessageAssistant,
        }
        # Model text can hold lone surrogates, which no provider can be sent.
        texts = [
            each["content"].encode("utf-8", "replace").decode("utf-8") for each in call.messages
        ]
        chat = [
            kinds[each["role"]](content=text)
            for each, text in zip(call.messages, texts, strict=True)
        ]
        used: Amount | None = None
        try:
            async with asyncio.timeout(self._values["total_time"]):
                output = await model.generate(chat, config=config)
            if output.usage is not None:
                used = Amount(output.usage.input_tokens, output.usage.output_tokens)
        except (
            Exception
        ) as error:  # each provider raises its own library's; nothing of ours runs inside
            reason = _reason(error)
            used = Amount() if reason == "connection" else None
            return NoReply(key=call.key, reason=reason, attempts=1)
        finally:
            budget.settle(most, used)
        return _outcome(call, output)

    def _open(self) -> Model:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model

        values = self._values
        config = GenerateConfig(
            temperature=values["temperature"],
            top_p=values.get("top_p"),
            max_retries=values["max_retries"],
            timeout=max(1, round(values["total_time"])),
            attempt_timeout=max(1, round(values["timeout"])),
            max_connections=values["concurrency"],
        )
        settings = {
            "config": config,
            "base_url": values.get("base_url"),
            "memoize": False,
            **self._model_args,
        }
        try:
            return get_model(self._model_name, **settings)
        except (PrerequisiteError, ImportError) as error:
            raise MissingError(f"{self.name} cannot be opened by inspect: {error}") from error
        except ValueError as error:
            raise UsageError(f"{self.name} is no model for inspect: {error}") from error

    def close(self) -> None:
        """Ends the connections."""
        if self._portal is not None:
            if self._model is not None:
                self._portal.call(self._model.api.aclose)
            self._stop()
        self._model = self._portal = None


def _outcome(call: Call, output: ModelOutput) -> Reply | NoReply:
    if not output.choices:  # inspect says nothing of it and gives an empty text
        return NoReply(key=call.key, reason="empty choices", attempts=1)
    if output.stop_reason == "content_filter":
        return NoReply(key=call.key, reason="refused by filter", attempts=1)
    if not output.completion.strip():
        return NoReply(key=call.key, reason="empty content", attempts=1)
    prompt, written = (
        (output.usage.input_tokens, output.usage.output_tokens) if output.usage else (None, None)
    )
    said, finish = output.completion, output.stop_reason
    return Reply(
        key=call.key, text=said, finish=finish, prompt_tokens=prompt, output_tokens=written
    )


def _reason(error: BaseException) -> str:
    """The class of a failure. Never an error's own text, which may quote the question."""
    from tenacity import RetryError

    if isinstance(error, RetryError):
        last = error.last_attempt.exception()
        return "timeout" if last is None else _reason(last)
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return "rate limited" if status == 429 else f"http {status}"
    name = type(error).__name__
    if "Timeout" in name:
        return "timeout"
    return "connection" if "Connect" in name else f"inspect {name}"
