"""Thousands of calls to one endpoint from synchronous code, in an event loop on another thread.

The first Ctrl-C waits for the requests in flight, the second ends at once. A slot is
free again once its result has been delivered, not when it arrives, so that at most
`concurrency` results can be lost.

A run ends at once after 401 (key), 404 (model or address), a redirect or a spent quota,
and after 8 failures in a row if nothing answers, if every request gets a 429, or if 400,
403 or 422 precede any answer. A server that accepts connections and sends nothing is
reported after 5 seconds and has `timeout` to answer.
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
from typing import Any, Generic, TypeVar

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
"""Consecutive failures of one hopeless kind after which the remaining calls are not tried."""

SLOW_S = 5.0
"""Seconds without any answer after which a notice is printed."""

REJECTED = "inspect "
"""Prefix of reasons that name an exception of the library that sent the request."""
_REJECTING = ("http 400", "http 403", "http 422")
_RESUME = "Finished answers are kept: the same command continues from there."

_KEY_REFUSED = "the endpoint {} refused the key"
_VALID_KEY = "Put a valid key into {key}: export {key}=... "
_RUN_ERRORS: Mapping[str, tuple[type[MedicalTasksError], str, str]] = {
    "http 401": (MissingError, _KEY_REFUSED, _VALID_KEY),
    "http 403": (MissingError, _KEY_REFUSED, _VALID_KEY),
    "quota exhausted": (MissingError, "the account at {} has no quota left", ""),
    "rate limited": (
        MissingError,
        "the endpoint {} lets nothing through",
        "Wait until its limit allows requests again, or request a higher one. ",
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
        "the endpoint {} does not support tools, which this task offers the model",
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
"""Maps a failure's reason to the error class, the problem and the next step; "" stands for any other reason."""

Job = TypeVar("Job")
Result = TypeVar("Result")
Client = TypeVar("Client")


@dataclass(frozen=True, kw_only=True)
class Callee(Generic[Client]):
    """The endpoint to call.

    Attributes:
        where: its name in messages.
        base_url: its address.
        concurrency: the most calls in flight.
        client: opens a client, inside the event loop.
        key_name: the environment variable that holds the key.
        purpose: `model` or `judge`.
        timeout: seconds for one attempt.
        has_answered: whether the endpoint has ever answered.
        loop: the event loop that all clients share; None to run these calls in a loop
            of their own.
    """

    where: str
    base_url: str
    concurrency: int
    client: Callable[[], AbstractAsyncContextManager[Client]]
    key_name: str = ""
    purpose: str = "model"
    timeout: float = 600.0
    has_answered: Callable[[], bool] = lambda: False
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
        timeout=settings.timeout,
        has_answered=lambda: any(
            replica.answered for replica in settings.replica_states.values()
        ),
    )
    run_jobs(callee, jobs, call, deliver)


def run_jobs(
    callee: Callee[Client],
    jobs: Sequence[Job],
    call: Callable[[Client, Job], Awaitable[Result]],
    deliver: Callable[[Job, Result | CallFailed], None],
) -> None:
    """Runs one call for each job, at most `concurrency` at once, and delivers each outcome, in order of completion.

    A `CallFailed` is the outcome of its job. After Ctrl-C, KeyboardInterrupt is raised
    once the calls in flight are delivered or cancelled.
    """
    if not jobs:
        return

    pool = _Pool(callee, jobs, call)
    pool.start()
    try:
        with _first_interrupt(pool.finish_begun) as interrupted:
            for job, outcome, delivered in iter(pool.finished.get, None):
                deliver(job, outcome)
                pool.call_soon(delivered.set)
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
def _first_interrupt(on_interrupt: Callable[[], int]) -> Iterator[list[int]]:
    """Calls `on_interrupt` at the first Ctrl-C instead of ending the block.

    A handler of SIGINT that somebody else installed stays in place. The list that is
    yielded has an entry once Ctrl-C was pressed.
    """
    interrupted: list[int] = []

    def first(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupted.append(number)
        in_flight = on_interrupt()
        message = f"stopping: waiting for {in_flight} requests in flight. Ctrl-C again ends at once, without their answers."
        print(f"\n{message}", file=sys.stderr, flush=True)

    handles_interrupt = threading.current_thread() is threading.main_thread()
    handles_interrupt = (
        handles_interrupt
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if handles_interrupt:
        signal.signal(signal.SIGINT, first)

    try:
        yield interrupted
    finally:
        if handles_interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _Pool(Generic[Client, Job, Result]):
    """An event loop on a thread of its own, with one worker for each slot.

    The caller's thread calls `start`, takes results from `finished` until it gets None, calls
    `join`, and then finds in `error` what ended the pool early, if anything did. A slot takes
    its next job only once the caller has handled the last result.
    """

    def __init__(
        self,
        callee: Callee[Client],
        jobs: Sequence[Job],
        call: Callable[[Client, Job], Awaitable[Result]],
    ) -> None:
        """Prepares the pool; nothing runs yet.

        `finished` receives each job with its outcome and the event that frees its slot,
        and None at the end.
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
        """Waits until the pool has ended."""
        self._ended.wait()
        if self._callee.loop is None:
            self._thread.join()

    def finish_begun(self) -> int:
        """Starts no further call; returns how many are in flight."""
        self._stopping = True
        return self._begun

    def cancel(self) -> None:
        self._running.wait()
        if self._task is not None:
            self.call_soon(self._task.cancel)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Runs a callback in the loop's thread; does nothing once the loop has ended."""
        if self._loop is None or self._loop.is_closed():
            return
        # The loop may close between the check and the call.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._running.set()
        try:
            await self._work()
        except asyncio.CancelledError:
            pass  # by `cancel`, whose caller knows why
        except BaseException as error:  # the calling thread raises it
            self.error = error
        finally:
            self.finished.put(None)
            self._ended.set()

    async def _work(self) -> None:
        """Runs one worker for each slot until no job is left.

        Raises the first error when several workers fail.
        """
        waiting = iter(self._jobs)
        slow = asyncio.create_task(self._report_silence())
        try:
            async with self._callee.client() as client, asyncio.TaskGroup() as workers:
                # One worker per slot, not one task per job: memory does not grow with
                # the number of jobs.
                for _ in range(min(self._callee.concurrency, len(self._jobs))):
                    workers.create_task(self._worker(client, waiting))
        except CallFailed as failed:  # the client could not be opened
            raise run_error(self._callee, failed) from None
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            slow.cancel()

    async def _report_silence(self) -> None:
        """Prints a notice when a server that accepts connections has not answered for a while."""
        await asyncio.sleep(SLOW_S)
        if self._gate.any_outcome or self._callee.has_answered():
            return
        print(
            f"waiting for {self._callee.where}: connected, and no answer yet; each attempt may "
            f"take timeout={self._callee.timeout:g} s",
            file=sys.stderr,
            flush=True,
        )

    async def _worker(self, client: Client, waiting: Iterator[Job]) -> None:
        """Makes calls one after the other.

        The next call starts once the last result is delivered, so that a run that is
        killed loses at most one result per slot.
        """
        for job in waiting:
            if self._stopping:
                return

            delivered = asyncio.Event()
            self._begun += 1
            try:
                result = await self._call(client, job)
            except CallFailed as failed:
                self._gate.failed(failed)
                self.finished.put((job, failed, delivered))
            else:
                self._gate.answered()
                self.finished.put((job, result, delivered))
            finally:
                self._begun -= 1

            await delivered.wait()


@dataclass
class _Gate(Generic[Client]):
    """Ends a run that cannot succeed, instead of letting each request fail slowly."""

    callee: Callee[Client]
    any_outcome: bool = False  # whether any call has ended
    any_answer: bool = False
    consecutive: int = 0  # failures of one reason, with no answer between them
    last_reason: str = ""

    def answered(self) -> None:
        self.any_outcome = self.any_answer = True
        self.consecutive = 0

    def failed(self, failed: CallFailed) -> None:
        """Counts consecutive failures with one reason, and ends a hopeless run.

        Example: 8 times `connection` with no answer in between ends the run, and so do
        8 times `http 400` while nothing has been answered at all. After a first answer
        `http 400` is the fault of a single question, and the run continues.
        """
        self.any_outcome = True
        self.consecutive = (
            self.consecutive + 1 if failed.reason == self.last_reason else 1
        )
        self.last_reason = failed.reason
        rejected = failed.reason.startswith((REJECTED, *_REJECTING))
        hopeless = failed.reason in ("connection", "rate limited") or (
            not self.any_answer and rejected
        )
        if failed.every_call or (hopeless and self.consecutive >= GIVE_UP_AFTER):
            raise run_error(self.callee, failed)


def run_error(
    endpoint: ChatSettings | Callee[Any], failed: CallFailed
) -> MedicalTasksError:
    """Makes the error that ends a run when other calls would fail in the same way."""
    key, base = endpoint.key_name, endpoint.base_url.rstrip("/")
    kind, problem, step = _RUN_ERRORS.get(failed.reason, _RUN_ERRORS[""])
    if problem == _KEY_REFUSED and not key:
        step = "Name the key's variable: api_key_env=NAME. "

    if failed.reason == "http 404" and "://" not in base:
        step = "Check the model's name. "  # the provider shows no address

    where = problem.format(endpoint.where)
    option = "--judge-args" if endpoint.purpose == "judge" else "--model-args"
    step = step.format(key=key, base=base, option=option)

    return kind(f"{where}: {failed.detail.rstrip('.')}. {step}{_RESUME}")
