"""How well a server's limits are used, with nothing lost: three servers on loopback, 16 requests in flight.

    python -m measurements.engine_rates

1. One request a second, each further one answered 429 with `Retry-After: 1`: 60 requests, none may be lost.
2. 20 requests in any second, `Retry-After: 1`: 400 requests, at least 90 % of the limit used, none lost. A second server
   of the kind counts by whole seconds, and a third keeps a bucket of 20 that fills evenly.
3. Replies that take 0.2 s and no limit: 800 requests, at least 0.92 of the 80 a second that 16 in flight make possible.

The first line is for loading the library, which takes about a second and is not part of
the others.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel

IN_FLIGHT = 16
BODY = json.dumps(
    {
        "choices": [
            {"message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    }
)

Takes = Callable[[float], bool]
"""Says whether a request that comes at a time is within the limit."""


def sliding(limit: int) -> Takes:
    """At most so many requests in any second."""
    taken: deque[float] = deque()

    def takes(now: float) -> bool:
        while taken and taken[0] <= now - 1:
            taken.popleft()
        if len(taken) >= limit:
            return False
        taken.append(now)
        return True

    return takes


def by_the_second(limit: int) -> Takes:
    """At most so many requests between two full seconds."""
    counts: dict[int, int] = {}

    def takes(now: float) -> bool:
        counts[int(now)] = counts.get(int(now), 0) + 1
        return counts[int(now)] <= limit

    return takes


def bucket(limit: int, size: int) -> Takes:
    """A bucket of tokens that fills at the limit."""
    tokens, last = float(size), time.monotonic()

    def takes(now: float) -> bool:
        nonlocal tokens, last
        tokens, last = min(size, tokens + (now - last) * limit), now
        if tokens < 1:
            return False
        tokens -= 1
        return True

    return takes


class Server:
    """A chat endpoint on loopback, in an event loop on a thread of its own."""

    def __init__(
        self, takes: Takes = lambda now: True, *, latency: float = 0.0
    ) -> None:
        self.refused = 0
        self._takes, self._latency = takes, latency
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256)
        )
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return  # the client has gone
            size = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(size)
            if self._takes(time.monotonic()):
                await asyncio.sleep(self._latency)
                status, more, body = "200 OK", "", BODY
            else:
                self.refused += 1
                status, more, body = "429 Too Many", "Retry-After: 1\r\n", "{}"
            head_of_reply = (
                f"HTTP/1.1 {status}\r\n{more}Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            writer.write((head_of_reply + body).encode())
            await writer.drain()


def measure(name: str, server: Server, count: int, ideal: float, least: float) -> bool:
    """Sends requests to a server, prints the figures, and returns whether they are good enough."""
    settings = ChatSettings(base_url=server.base_url, model="m", concurrency=IN_FLIGHT)
    model = EndpointModel("openai-api/h/m", settings, sampling={"temperature": 0.0})
    requests = [
        Request(
            key=str(n),
            messages=({"role": "user", "content": f"Question {n}"},),
            max_new_tokens=8,
        )
        for n in range(count)
    ]
    results: list[Answer | Failure] = []
    began = time.monotonic()
    model.generate(requests, results.append)
    took = time.monotonic() - began
    lost = count - sum(isinstance(result, Answer) for result in results)
    used = count / took / ideal
    print(
        f"{name:34}{count:>9}{lost:>6}{server.refused:>9}{took:>9.1f}{used:>8.2f}",
        flush=True,
    )
    return lost == 0 and used >= least


def main() -> int:
    """Prints a line for each server; 1 if an answer is lost, or too little of a limit is used."""
    print(
        f"{'server':34}{'requests':>9}{'lost':>6}{'refused':>9}{'seconds':>9}{'used':>8}"
    )
    bounds = [
        measure("a start", Server(), 16, 80.0, 0.0),
        measure("replies of 0.2 s, no limit", Server(latency=0.2), 800, 80.0, 0.92),
        measure("20 in any second", Server(sliding(20)), 400, 20.0, 0.9),
        measure(
            "20 in any second, 0.2 s", Server(sliding(20), latency=0.2), 400, 20.0, 0.9
        ),
        measure("20 by whole seconds", Server(by_the_second(20)), 400, 20.0, 0.9),
        measure(
            "a bucket of 20 that fills evenly", Server(bucket(20, 20)), 400, 20.0, 0.9
        ),
        measure("1 in any second", Server(sliding(1)), 60, 1.0, 0.0),
    ]
    return int(not all(bounds))


if __name__ == "__main__":
    sys.exit(main())
