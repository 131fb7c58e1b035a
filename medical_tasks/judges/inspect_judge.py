"""Judges behind inspect_ai's model providers: `inspect/<provider>/<model>`.

For providers that have no OpenAI-compatible endpoint. inspect retries by itself and does not say how often, so the budget
counts calls and not their retries; every other limit holds. No inspect log is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import queue
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError, install_command
from medical_tasks.guard import policy
from medical_tasks.judges.base import Budget, Call, NoReply, OnReply, Reply
from medical_tasks.judges.budget import estimate_chat
from medical_tasks.models.opener import CHAT_OPTIONS, Reader, read_options

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

PREFIX = "inspect/"
IN_PROCESS = frozenset({"hf", "mockllm", "nnterp", "none", "transformer_lens"})
"""Providers that send nothing anywhere."""
GIVE_UP_AFTER = 8
"""Calls that fail in the same hopeless way, with no reply ever, before the rest is not even tried."""

_TAKEN = ("base_url", "concurrency", "max_retries", "seed", "temperature", "timeout", "top_p", "total_time")
INSPECT_OPTIONS: Mapping[str, Reader] = {name: CHAT_OPTIONS[name] for name in _TAKEN}
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
        raise UsageError(f"a judge behind inspect is named inspect/<provider>/<model>, got {name!r}.")
    return InspectJudge(name, read_options(options, INSPECT_OPTIONS, model=name, what="judge"))


class InspectJudge:
    """A judge behind an inspect provider. Implements `judges.base.Backend`; works also where an event loop is running."""

    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, name: str, values: Mapping[str, Any], *, model_args: Mapping[str, Any] | None = None) -> None:
        if importlib.util.find_spec("inspect_ai") is None:
            raise MissingError(f"{name} needs inspect_ai, which is not installed: {install_command('inspect')}")
        self._values = {**_DEFAULTS, **values}
        self._model_args = dict(model_args or {})
        self.name = name
        self._model_name = name.removeprefix(PREFIX)
        provider = self._model_name.partition("/")[0]
        self.identity: Mapping[str, str] = {
            "backend": "inspect",
            "model": self._model_name,
            **{key: str(self._values[key]) for key in _DECIDING if self._values.get(key) is not None},
        }
        self.endpoint: str | None = None
        if provider not in IN_PROCESS:
            # The provider's own address where none is given: which one that is, it does not tell.
            self.endpoint = self._values.get("base_url") or f"inspect://{provider}"
        self.samples = self._values["temperature"] != 0
        self._any_reply = False
        self._loop = _LoopThread("inspect judge")
        # What runs in this process loads its weights on opening: that waits for the first question.
        self._model: Model | None = None if self.endpoint is None else self._open()

    def answer(self, calls: Sequence[Call], budget: Budget, on_reply: OnReply) -> None:
        """Asks for all replies, at most `concurrency` at once; refused while credentialed text is held."""
        if self.endpoint is not None:
            policy.require_visible_endpoint(self.name, "judge")
        if not calls:
            return
        if self._model is None:
            self._model = self._open()
        model = self._model
        row = _Row(self)

        async def work(put: Any) -> None:
            waiting = iter(calls)
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self._values["concurrency"], len(calls))):
                    workers.create_task(self._worker(model, waiting, budget, put))

        with contextlib.closing(self._loop.outcomes(work)) as outcomes:
            for outcome in outcomes:
                on_reply(outcome)
                row.count(outcome)

    async def _worker(self, model: Model, waiting: Iterator[Call], budget: Budget, put: Any) -> None:
        for call in waiting:
            put(await self._reply(model, call, budget))

    async def _reply(self, model: Model, call: Call, budget: Budget) -> Reply | NoReply:
        from inspect_ai.model import GenerateConfig

        prompt, longest = estimate_chat(call.messages), call.question.max_tokens
        if not budget.admit(prompt_tokens=prompt, output_tokens=longest):
            return NoReply(key=call.key, reason="budget spent")
        seed = self._values.get("seed")
        config = GenerateConfig(max_tokens=longest, seed=None if seed is None else seed + call.vote)
        chat = [_message(each) for each in call.messages]
        used: int | None = None
        try:
            async with asyncio.timeout(self._values["total_time"]):
                output = await model.generate(chat, config=config)
            if output.usage is not None:
                used = output.usage.input_tokens + output.usage.output_tokens
        except Exception as error:  # each provider raises its own library's; nothing of ours runs inside
            reason = _reason(error)
            used = 0 if reason == "connection" else None
            return NoReply(key=call.key, reason=reason, detail=f"{self._model_name}: {reason}", attempts=1)
        finally:
            budget.settle(prompt_tokens=prompt, output_tokens=longest, used=used)
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
        try:
            return get_model(
                self._model_name, config=config, base_url=values.get("base_url"), memoize=False, **self._model_args
            )
        except (PrerequisiteError, ImportError) as error:
            raise MissingError(f"{self.name} cannot be opened by inspect: {error}") from error
        except ValueError as error:
            raise UsageError(f"{self.name} is no model for inspect: {error}") from error

    def close(self) -> None:
        """Ends the connections."""
        if self._model is not None and self._loop.started:
            self._loop.run(self._model.api.aclose())
        self._model = None
        self._loop.stop()


class _Row:
    """Stops when it is plain that nothing will be answered."""

    def __init__(self, judge: InspectJudge) -> None:
        self._judge = judge
        self._reason = ""
        self._length = 0

    def count(self, outcome: Reply | NoReply) -> None:
        judge = self._judge
        if isinstance(outcome, Reply):
            judge._any_reply = True
            return
        self._length = self._length + 1 if outcome.reason == self._reason else 1
        self._reason = outcome.reason
        hopeless = outcome.reason in _HOPELESS or outcome.reason.startswith("inspect ")
        if judge._any_reply or not hopeless or self._length < GIVE_UP_AFTER:
            return
        raise self._explain()

    def _explain(self) -> MedicalTasksError:
        return MissingError(
            f"the judge {self._judge.name} answers nothing: {self._length} calls ended with {self._reason}. Check the model's "
            "name, the provider's key and address, and that it can be reached. Replies it gave before are kept: the same "
            "command goes on from there."
        )


def _message(message: Any) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    # Model text can hold lone surrogates, which no provider can be sent.
    content = message["content"].encode("utf-8", "replace").decode("utf-8")
    made: ChatMessage = kinds[message["role"]](content=content)
    return made


def _outcome(call: Call, output: ModelOutput) -> Reply | NoReply:
    problem = ""
    if not output.choices:
        problem = "empty choices"  # inspect says nothing of it and gives an empty text
    elif output.stop_reason == "content_filter":
        problem = "refused by filter"
    elif not output.completion.strip():
        problem = "empty content"
    if problem:
        return NoReply(key=call.key, reason=problem, detail=f"{output.model}: {problem}", attempts=1)
    usage = output.usage
    return Reply(
        key=call.key,
        text=output.completion,
        finish=output.stop_reason,
        prompt_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
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


class _LoopThread:
    """An event loop on a thread of its own, started when first needed, for clients that are bound to one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether it runs."""
        return self._thread is not None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs something on the loop and waits for it; raises what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._started()).result()

    def outcomes(
        self, work: Callable[[Callable[[Any], None]], Coroutine[Any, Any, None]]
    ) -> Generator[Any, None, None]:
        """Runs something that brings results one by one, and yields them in the calling thread.

        Leaving the iterator early cancels what is in flight. What `work` raises is raised after the results it brought
        before.
        """
        results: queue.SimpleQueue[tuple[Any] | None] = queue.SimpleQueue()

        async def main() -> None:
            try:
                await work(lambda result: results.put((result,)))
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
            finally:
                results.put(None)

        future = asyncio.run_coroutine_threadsafe(main(), self._started())
        ended = False
        try:
            for (result,) in iter(results.get, None):
                yield result
            ended = True
        finally:
            if not ended:
                future.cancel()
                # Not before everything has ended: its clients are used again.
                while results.get() is not None:
                    continue
        future.result()

    def stop(self) -> None:
        """Ends the loop and its thread; harmless when they never began."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            loop = asyncio.new_event_loop()
            self._loop = loop
            # A daemon, so that a second Ctrl-C always ends the process.
            self._thread = threading.Thread(target=self._serve, args=(loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
