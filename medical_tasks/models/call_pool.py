"""Thousands of calls to one endpoint from synchronous code, in an event loop on another thread.

The first Ctrl-C waits for the requests in flight, the second ends at once. A slot is
free again when its result was taken, not when it came: no more than `concurrency`
results are ever lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.models.chat_client import (
    SETTING_REFUSED,
    CallFailed,
    ChatClient,
    ChatSettings,
)
from medical_tasks.models.chat_reply import REDIRECT
from medical_tasks.models.tool_calls import TOOLS_REFUSED

GIVE_UP_AFTER = 8
"""Calls that fail in the same hopeless way, with no answer between them, before the rest is not even tried."""

SLOW_S = 5.0
"""Seconds without any answer after which that is said."""

REJECTED = "inspect "
"""How reasons begin of errors that only the library which asks can name."""
_REJECTING = ("http 400", "http 403", "http 422")
_KEPT = "Finished answers are kept: the same command goes on from there."

_KEY_REFUSED = "the endpoint {} refused the key"
_VALID_KEY = "Put a valid key into {key}: export {key}=... "
_EXPLAINED: Mapping[str, tuple[type[MedicalTasksError], str, str]] = {
    "http 401": (MissingError, _KEY_REFUSED, _VALID_KEY),
    "http 403": (MissingError, _KEY_REFUSED, _VALID_KEY),
    "quota exhausted": (MissingError, "the account at {} has no quota left", ""),
    "rate limited": (
        MissingError,
        "the endpoint {} lets nothing through",
        "Wait until its limit allows requests again, or ask for a higher one. ",
    ),
    "connection": (
        MissingError,
        "nothing answers at {}",
        "Start the server, or correct the base URL. ",
    ),
    "http 404": (
        UsageError,
        "the endpoint {} does not know this model or address",
        "Check the model's name (the server lists its own at {base}/models) and that the base URL ends in its version, as /v1. ",
    ),
    SETTING_REFUSED: (
        UsageError,
        "the endpoint {} refuses a setting",
        "Leave it out of {option}, or give it another value (temperature=none leaves the temperature to the server). ",
    ),
    TOOLS_REFUSED: (
        UsageError,
        "the endpoint {} takes no tools, which this task offers the model",
        "Use a server and a model with tool calls (vLLM: --enable-auto-tool-choice --tool-call-parser NAME, "
        "llama.cpp: --jinja), or a task without tools, such as medcalc. ",
    ),
    REDIRECT: (
        UsageError,
        "the endpoint {} redirects",
        "Give the address that answers itself as the base URL, or ask who runs the server. ",
    ),
    "": (
        UsageError,
        "the endpoint {} rejects every request",
        "Check the model's name and its arguments. ",
    ),
}
"""Reason that ends a run, to the kind of error, what is the matter and the next step; "" for any other."""

Job = TypeVar("Job")
Result = TypeVar("Result")
Client = TypeVar("Client")


class Asked(Protocol):
    """What messages say of who is asked."""

    @property
    def where(self) -> str:
        """The endpoint in messages."""
        ...

    @property
    def base_url(self) -> str:
        """Its address."""
        ...

    @property
    def key_name(self) -> str:
        """The environment variable that its key was read from."""
        ...

    @property
    def purpose(self) -> str:
        """`model` or `judge`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Callee(Generic[Client]):
    """What is called, and how."""

    where: str  # it in messages
    base_url: str
    concurrency: int
    # one, inside the event loop
    client: Callable[[], AbstractAsyncContextManager[Client]]
    key_name: str = ""  # environment variable its key was read from
    purpose: str = "model"  # or `judge`
    addresses: str = ""  # all that it has
    timeout: float = 600.0  # seconds for an attempt
    answered: Callable[[], bool] = lambda: False  # whether it has said anything at all
    # the loop of clients that all have to live in one; None for a loop of these calls
    # alone
    loop: asyncio.AbstractEventLoop | None = None


def run_calls(
    settings: ChatSettings,
    jobs: Sequence[Job],
    call: Callable[[ChatClient, Job], Awaitable[Result]],
    deliver: Callable[[Job, Result | CallFailed], None],
) -> None:
    """Runs one call for each job at an OpenAI-compatible endpoint, as `run_jobs` does."""
    callee = Callee(
        where=settings.where,
        base_url=settings.base_url,
        concurrency=settings.concurrency,
        client=lambda: ChatClient(settings),
        key_name=settings.key_name,
        purpose=settings.purpose,
        addresses=", ".join(settings.addresses),
        timeout=settings.timeout,
        answered=lambda: any(replica.answered for replica in settings.known.values()),
    )
    run_jobs(callee, jobs, call, deliver)


def run_jobs(
    callee: Callee[Client],
    jobs: Sequence[Job],
    call: Callable[[Client, Job], Awaitable[Result]],
    deliver: Callable[[Job, Result | CallFailed], None],
) -> None:
    """Runs one call for each job, at most `concurrency` at once, and delivers each outcome, in order of completion.

    A `CallFailed` is that job's outcome. After Ctrl-C raises KeyboardInterrupt, with
    what was under way delivered or cancelled.
    """
    if not jobs:
        return

    pool = _Pool(callee, jobs, call)
    pool.start()
    try:
        with _first_interrupt(pool.finish_begun) as interrupted:
            for job, outcome, taken in iter(pool.finished.get, None):
                deliver(job, outcome)
                pool.tell(taken.set)
    except KeyboardInterrupt:
        pool.cancel()
        for job, outcome, _ in iter(pool.finished.get, None):
            deliver(job, outcome)

        raise
    finally:
        pool.cancel()
        pool.join()

    if interrupted:
        raise KeyboardInterrupt
    if pool.error is not None:
        raise pool.error


@contextlib.contextmanager
def _first_interrupt(act: Callable[[], int]) -> Iterator[list[int]]:
    """Has the first Ctrl-C act instead of ending the block, where Ctrl-C means the default.

    What is yielded has an entry then.
    """
    interrupted: list[int] = []

    def first(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupted.append(number)
        left = act()
        said = f"stopping: waiting for {left} requests that are under way. Ctrl-C again ends at once, without their answers."
        print(f"\n{said}", file=sys.stderr, flush=True)

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, first)

    try:
        yield interrupted
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _Pool(Generic[Client, Job, Result]):
    """The loop on its thread and the workers there. `finished` ends with None."""

    def __init__(
        self,
        callee: Callee[Client],
        jobs: Sequence[Job],
        call: Callable[[Client, Job], Awaitable[Result]],
    ) -> None:
        """Prepares the pool; nothing runs yet.

        `finished` holds job, outcome and the event that frees its slot; None is its
        end.
        """
        self.finished: queue.SimpleQueue[
            tuple[Job, Result | CallFailed, asyncio.Event] | None
        ] = queue.SimpleQueue()
        self.error: BaseException | None = None
        self._callee = callee
        self._jobs = jobs
        self._call = call
        self._gate = _Gate(callee)
        self._running = threading.Event()
        self._stopping = False
        self._begun = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = threading.Event()
        # A daemon, so that a second Ctrl-C always ends the process.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main()), name="chat calls", daemon=True
        )

    def start(self) -> None:
        if self._callee.loop is None:
            self._thread.start()
        else:
            asyncio.run_coroutine_threadsafe(self._main(), self._callee.loop)

    def join(self) -> None:
        """Waits until nothing of it runs any more."""
        self._ended.wait()
        if self._callee.loop is None:
            self._thread.join()

    def finish_begun(self) -> int:
        """Begins no further call; returns how many are under way."""
        self._stopping = True
        return self._begun

    def cancel(self) -> None:
        self._running.wait()
        if self._task is not None:
            self.tell(self._task.cancel)

    def tell(self, what: Callable[[], object]) -> None:
        """Has the loop's thread do something; harmless when the loop has ended."""
        if self._loop is None or self._loop.is_closed():
            return
        with contextlib.suppress(
            RuntimeError
        ):  # the loop closed in this very moment: nobody is left to tell
            self._loop.call_soon_threadsafe(what)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._running.set()
        try:
            await self._work()
        except asyncio.CancelledError:
            pass  # asked for by `cancel`, whose caller knows why
        except (
            BaseException
        ) as error:  # handed over to the calling thread, which raises it
            self.error = error
        finally:
            self.finished.put(None)
            self._ended.set()

    async def _work(self) -> None:
        """Runs one worker for each slot until no job is left.

        Of several errors of workers the first is raised.
        """
        waiting = iter(self._jobs)
        slow = asyncio.create_task(self._say_slow())
        try:
            async with self._callee.client() as client, asyncio.TaskGroup() as workers:
                # One worker a slot, not one task a job: memory does not grow with the
                # number of jobs.
                for _ in range(min(self._callee.concurrency, len(self._jobs))):
                    workers.create_task(self._worker(client, waiting))
        except CallFailed as failed:  # nobody is there
            raise explained(self._callee, failed) from None
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            slow.cancel()

    async def _say_slow(self) -> None:
        """Says after a while that a server, which is there, has not answered anything yet."""
        await asyncio.sleep(SLOW_S)
        if self._gate.heard or self._callee.answered():
            return
        print(
            f"waiting for {self._callee.addresses or self._callee.where}: connected, and no answer yet; each attempt may "
            f"take timeout={self._callee.timeout:g} s",
            file=sys.stderr,
            flush=True,
        )

    async def _worker(self, client: Client, waiting: Iterator[Job]) -> None:
        """Makes calls one after the other.

        The next begins when the result was taken from the queue, so that a run that is
        killed loses at most one result a slot.
        """
        for job in waiting:
            if self._stopping:
                return

            taken = asyncio.Event()
            self._begun += 1
            try:
                result = await self._call(client, job)
            except CallFailed as failed:
                self._gate.failed(failed)
                self.finished.put((job, failed, taken))
            else:
                self._gate.answered()
                self.finished.put((job, result, taken))
            finally:
                self._begun -= 1

            await taken.wait()


@dataclass
class _Gate(Generic[Client]):
    """Stops a run that cannot get anything, instead of failing each of its requests slowly."""

    callee: Callee[Client]
    heard: bool = False  # whether any call has ended
    any_answer: bool = False
    row: int = 0  # failures of one reason, with no answer between them
    row_reason: str = ""

    def answered(self) -> None:
        self.heard = self.any_answer = True
        self.row = 0

    def failed(self, failed: CallFailed) -> None:
        """Counts failures of one reason in a row; ends the run where it is hopeless.

        Example: 8 times `connection` without an answer between ends it, as 8 times
        `http 400` does while nothing at all was answered. After a first answer
        `http 400` is the fault of a question, and the run goes on.
        """
        self.heard = True
        self.row = self.row + 1 if failed.reason == self.row_reason else 1
        self.row_reason = failed.reason
        rejected = failed.reason.startswith((REJECTED, *_REJECTING))
        hopeless = failed.reason in ("connection", "rate limited") or (
            not self.any_answer and rejected
        )
        if failed.every_call or (hopeless and self.row >= GIVE_UP_AFTER):
            raise explained(self.callee, failed)


def explained(settings: Asked, failed: CallFailed) -> MedicalTasksError:
    """Makes the error that ends a run of a failure that others would share."""
    key, base = settings.key_name, settings.base_url.rstrip("/")
    kind, what, step = _EXPLAINED.get(failed.reason, _EXPLAINED[""])
    if what == _KEY_REFUSED and not key:
        step = "Name the key's variable: api_key_env=NAME. "

    if (
        failed.reason == "http 404" and "://" not in base
    ):  # a provider that shows no address
        step = "Check the model's name. "

    where = what.format(settings.where)
    option = "--judge-args" if settings.purpose == "judge" else "--model-args"
    step = step.format(key=key, base=base, option=option)

    return kind(f"{where}: {failed.detail.rstrip('.')}. {step}{_KEPT}")
