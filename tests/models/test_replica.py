"""The pace of requests to one server, in simulated time: no test here waits."""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Iterable

import pytest

from medical_tasks.models.chat_client import ChatClient, ChatSettings
from medical_tasks.models.replica import Pace
from tests.fault_server import Fault, FaultServer

IN_FLIGHT = 16


class _Jumping(selectors.DefaultSelector):
    """Advances a clock in place of waiting."""

    now = 0.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def seconds(
    takes: Callable[[float], bool], count: int, wait: float | None
) -> tuple[float, int]:
    """How long `count` requests take at a server that answers at once, and how often it refuses."""
    selector = _Jumping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    pace, refused = Pace(), 0

    async def worker(jobs: Iterable[int]) -> None:
        nonlocal refused
        for _ in jobs:
            left = await pace.turn()
            while not takes(loop.time()):
                refused += 1
                pace.refused(left, wait)
                left = await pace.turn()
            pace.accepted()

    async def work() -> None:
        jobs = iter(range(count))
        await asyncio.gather(*(worker(jobs) for _ in range(IN_FLIGHT)))

    loop.run_until_complete(work())
    loop.close()
    return selector.now, refused


def limit(number: int, per: float = 1.0) -> Callable[[float], bool]:
    """A server that accepts at most `number` requests in any `per` seconds."""
    taken: deque[float] = deque()

    def takes(now: float) -> bool:
        while taken and taken[0] <= now - per:
            taken.popleft()
        if len(taken) >= number:
            return False
        taken.append(now)
        return True

    return takes


@pytest.mark.parametrize(
    ("number", "per", "wait", "count"),
    [
        (20, 1.0, 1.0, 400),
        (20, 1.0, 0.05, 400),
        (20, 1.0, None, 400),
        (5, 1.0, 1.0, 200),
        (1, 1.0, 1.0, 100),
        (
            60,
            60.0,
            1.0,
            300,
        ),  # a minute's requests at once, then none for the rest of it
        (
            1,
            0.05,
            1.0,
            1000,
        ),  # asks to wait 1 s for 0.05 s: the rate is found by trying
    ],
)
def test_a_limit_is_found_and_used(
    number: int, per: float, wait: float | None, count: int
) -> None:
    took, refused = seconds(limit(number, per), count, wait)
    assert took < 1.25 * count * per / number + per
    assert refused < IN_FLIGHT + count


def test_requests_to_a_server_without_a_limit_do_not_wait() -> None:
    assert seconds(lambda now: True, 1000, None) == (0.0, 0)


def test_a_429_does_not_use_up_a_retry() -> None:
    async def ask(base_url: str) -> int:
        settings = ChatSettings(base_url=base_url, model="m", max_retries=0)
        async with ChatClient(settings) as client:
            return (
                await client.complete([{"role": "user", "content": "Q"}], max_tokens=8)
            ).attempts

    with FaultServer([Fault.rate_limit("0")] * 30) as server:
        assert asyncio.run(ask(server.base_url)) == len(server.calls) == 31
