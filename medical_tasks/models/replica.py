"""One server that a model is asked at.

What it serves, what is in flight, and how fast it lets itself be asked.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

_FIRST_WAIT_S = 1.0  # after a 429 that names no time
_LONGEST_WAIT_S = 60.0
_MARGIN = 0.97  # of the rate that was measured: the server's clock is not ours
_NEAR = 1.04  # a rate within 4 % of one that was refused is raised rarely
_RARELY = 30  # times the usual wait between two raises
_TICK_S = 1e-6  # what a clock may be early by
_BURST = 10  # requests that, taken at once, say what the limit is


class Pace:
    """How fast one server may be asked, learnt from the 429s of all calls together.

    A server is asked as fast as callers like until its first 429. That holds everybody
    up for the time the server names. What it took until then, over the time with that
    pause, is the rate that it evidently allows, and requests leave at even intervals
    from then on. The rate is raised now and then, halfway to the lowest one that was
    refused.

    Example: a server takes 20 requests, refuses the next ones 0.1 s after the first,
    and says `Retry-After: 1`. It is asked 0.97 * 20 / 1.1 = 17.6 times a second after
    the pause.

    Neither the library nor asyncio has this: the library's retries wait each by itself,
    and all come back together. Times are seconds of the event loop's clock, which goes
    on from loop to loop.
    """

    def __init__(self) -> None:
        """A server that refused nothing so far; it is asked as fast as callers like."""
        self.resumes = 0.0  # nothing is sent before
        self.answers = 0  # requests that were not refused
        self._rate = math.inf  # requests a second
        self._proven = math.inf  # the last rate that was taken for a while
        self._refused_rate = math.inf  # the lowest rate that was not
        self._raised = 0.0  # when the rate was last set
        self._next = 0.0  # when the next request may leave
        self._unnamed_wait = _FIRST_WAIT_S
        self._last_wait, self._named = 0.0, False
        # Since the last pause: the first request, the first 429, and how many there
        # were of each.
        self._began: float | None = None
        self._paused: float | None = None
        self._sent = self._refused = 0

    async def turn(self) -> float:
        """Waits until a request may leave; returns when it does, for `refused`.

        Example: at 20 requests a second they leave 50 ms apart. One that could leave at
        0.10 s and does so at 0.12 s leaves the next its time, 0.15 s; after a longer
        pause without requests one at most is made up for.
        """
        clock = asyncio.get_running_loop().time
        while True:
            now = clock()
            if now < self.resumes:
                await asyncio.sleep(self.resumes - now)
                continue

            if self._paused is not None:
                self._learn(self._paused)
            if self._rate == math.inf:
                break

            # All wait for the one next time, not each for its own: the rate may be
            # another by then.
            if now >= self._next - _TICK_S:
                # A slot that came late is made up for, one that nobody wanted is gone.
                self._next = max(self._next, now - 1 / self._rate) + 1 / self._rate
                break

            await asyncio.sleep(self._next - now)

        self._began = now if self._began is None else self._began
        self._sent += 1
        return now

    def refused(self, sent: float, wait: float | None) -> float:
        """Takes note of a 429; returns the seconds for which all calls wait.

        Args:
            sent: what `turn` returned for the request.
            wait: what the server asks for, None where it does not say.

        Example: with `Retry-After: 5` all calls wait for 5 s. Without it they wait for
        1 s, and for 2, 4 and at most 60 s as long as no request is taken between two
        pauses.
        """
        now = asyncio.get_running_loop().time()
        if (
            self._began is not None and sent >= self._began
        ):  # else of the time before the pause
            self._refused += 1
            self._paused = now if self._paused is None else self._paused

        self._named = wait is not None
        self._last_wait = self._unnamed_wait if wait is None else wait
        self.resumes = max(self.resumes, now + self._last_wait)

        return self._last_wait

    def taken(self) -> None:
        """Takes note of a request that the server did not refuse.

        Raises the rate when it is time.

        Example: 10 requests a second are taken, 20 were refused. After the time of the
        last wait, of 1 s at least, the rate is 15, then 17.5, then 18.75, and so on.
        Once it is within 4 % of 20, it is raised 30 times as rarely, and past 20 as
        well: the limit may have changed.
        """
        self.answers += 1
        if self._rate == math.inf or self._paused is not None:
            return

        now = asyncio.get_running_loop().time()
        near = self._refused_rate < _NEAR * self._rate
        patience = max(_FIRST_WAIT_S, self._last_wait) * (_RARELY if near else 1)
        if now - self._raised < patience:
            return
        if near:
            self._refused_rate = 1.1 * self._rate  # the limit may have changed since

        self._proven, self._raised = self._rate, now
        self._rate = min(2 * self._rate, (self._rate + self._refused_rate) / 2)

    def _learn(self, paused: float) -> None:
        """Sets the rate after a pause, when it is known what the server took before it."""
        began = paused if self._began is None else self._began
        taken = self._sent - self._refused
        # A pause that the server did not ask for says nothing of its rate.
        span = self.resumes - began if self._named else max(1.0, paused - began)
        measured = _MARGIN * max(1, taken) / max(span, 0.001)
        # A single 429 among many requests may have had another reason than their rate.
        alone = self._refused == 1 and taken >= _BURST
        if self._rate > self._proven:
            self._refused_rate, self._rate = self._rate, self._proven
        elif self._rate == math.inf and not alone:
            self._rate = measured
            # It may have said "1 s" for less. One that took few may have refused a
            # burst alone.
            second = taken / max(1.0, paused - began)
            self._refused_rate = (
                max(second, _NEAR * measured) if taken >= _BURST else math.inf
            )
        elif taken and not alone:
            self._refused_rate = self._rate
            self._rate = min(measured, 0.9 * self._rate)
        elif taken:
            self._rate *= 0.9

        silent = min(_LONGEST_WAIT_S, 2 * self._unnamed_wait)
        self._unnamed_wait = _FIRST_WAIT_S if taken else silent
        self._proven, self._raised, self._next = self._rate, self.resumes, self.resumes
        self._began, self._paused, self._sent, self._refused = None, None, 0, 0


@dataclass
class Replica:
    """One of an endpoint's addresses, and what is known of the server there."""

    url: str
    # the model by its own list, "" when it does not say, None when it was not asked
    serves: str | None = None
    in_flight: int = 0
    trouble: str = ""  # why it is lost, "" while it is not
    losses: int = 0
    # by the loop's clock; until then one that is lost is left alone
    again_at: float = 0.0
    told: bool = False  # whether the user was told that it limits requests
    reached: bool = False  # whether it ever accepted a connection
    answered: bool = False  # whether it ever answered a question
    waited: int = 1  # the latest attempt at its first answer that the user was told of
    pace: Pace = field(default_factory=Pace)
