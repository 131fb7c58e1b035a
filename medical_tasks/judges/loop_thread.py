"""An event loop on a thread of its own, for libraries that are asynchronous only.

It works the same in a script and in a notebook whose loop is running already, and lives as long as the clients that are
bound to it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["LoopThread"]


class LoopThread:
    """The thread and its loop, started when first needed.

    Args:
        name: the thread's name.
    """

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

        Leaving the iterator early, by an exception as well, cancels what is still under way.

        Args:
            work: is given a function that takes each result.

        Raises:
            BaseException: What `work` raises, after the results it brought before; the first when there are several.
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
