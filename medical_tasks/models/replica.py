"""The state of one server: what it serves, what is in flight, and how fast it accepts requests."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

_FIRST_WAIT_S = 1.0  # after a 429 that names no time
_LONGEST_WAIT_S = 60.0
_MARGIN = (
    0.97  # share of the measured rate that is used: the server's clock is not ours
)
_NEAR = 1.04  # a rate within 4 % of a refused one is raised rarely
_RARELY = 30  # times the usual wait between two raises
_TICK_S = 1e-6  # by how much a clock may be early
_BURST = 10  # requests accepted at once that reveal the limit


class Pace:
    """The request rate of one server, learnt from the 429s of all calls together.

    There is no limit until the first 429. That pauses all calls for the time the server
    names. The requests it accepted until then, divided by the time including the pause,
    give the rate that it evidently allows; from then on requests leave at even intervals.
    Now and then the rate is raised halfway to the lowest rate that was refused.

    Example: a server accepts 20 requests, refuses the next ones 0.1 s after the first,
    and says `Retry-After: 1`. After the pause it is sent 0.97 * 20 / 1.1 = 17.6 requests
    a second.

    Neither the library nor asyncio has this: the library's retries wait independently,
    and then all return at once. Times are seconds of the event loop's clock, which
    continues from loop to loop.
    """

    def __init__(self) -> None:
        """Starts without a limit."""
        self.resumes = 0.0  # nothing is sent before
        self.answers = 0  # requests that were not refused
        self._rate = math.inf  # requests a second
        self._proven = math.inf  # the last rate that was accepted for a while
        self._refused_rate = math.inf  # the lowest rate that was refused
        self._raised = 0.0  # when the rate was last set
        self._next = 0.0  # when the next request may leave
        self._unnamed_wait = _FIRST_WAIT_S
        self._last_wait, self._named = 0.0, False
        # Since the last pause: when the first request and the first 429 came, and how
        # many there were of each.
        self._began: float | None = None
        self._paused: float | None = None
        self._sent = self._refused = 0

    async def turn(self) -> float:
        """Waits until a request may be sent; returns the time, for `refused`.

        Example: 20 requests a second are 50 ms apart. One that is due at 0.10 s and is
        sent at 0.12 s does not delay the next, due at 0.15 s; after a longer pause
        without requests at most one is made up for.
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

            # All wait for the same next time, not each for its own: the rate may have
            # changed by then.
            if now >= self._next - _TICK_S:
                # A slot used late is made up for, a slot that nobody used is lost.
                self._next = max(self._next, now - 1 / self._rate) + 1 / self._rate
                break

            await asyncio.sleep(self._next - now)

        self._began = now if self._began is None else self._began
        self._sent += 1
        return now

    def refused(self, sent: float, wait: float | None) -> float:
        """Records a 429; returns the seconds for which all calls wait.

        Args:
            sent: what `turn` returned for the request.
            wait: seconds that the server asks for, None where it names none.

        Example: with `Retry-After: 5` all calls wait for 5 s. Without it they wait for
        1 s, then for 2, 4 and at most 60 s as long as no request is accepted between two
        pauses.
        """
        now = asyncio.get_running_loop().time()
        # A request sent before the last pause does not count.
        if self._began is not None and sent >= self._began:
            self._refused += 1
            self._paused = now if self._paused is None else self._paused

        self._named = wait is not None
        self._last_wait = self._unnamed_wait if wait is None else wait
        self.resumes = max(self.resumes, now + self._last_wait)

        return self._last_wait

    def accepted(self) -> None:
        """Records a request that the server did not refuse, and raises the rate when due.

        Example: 10 requests a second are accepted, 20 were refused. After the time of
        the last wait, and at least 1 s, the rate is 15, then 17.5, then 18.75, and so
        on. Once it is within 4 % of 20, it is raised 30 times less often, and past 20 as
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
        """Sets the rate after a pause, by what the server accepted before it.

        By what happened since the last pause:

            a rate that was just raised was refused    back to the last one accepted for a while
            several refused, no rate yet               the rate of the accepted requests
            several refused                            that rate, or 0.9 of the present one if lower
            one refused, `_BURST` or more accepted     0.9 of the present one, if there is one
            none accepted                              the same; waits without a named time double

        The first line that applies counts.
        """
        began = paused if self._began is None else self._began
        accepted = self._sent - self._refused
        # A pause that the server did not ask for says nothing about its rate.
        span = self.resumes - began if self._named else max(1.0, paused - began)
        measured = _MARGIN * max(1, accepted) / max(span, 0.001)
        # A single 429 among many requests may have had another reason than their rate.
        alone = self._refused == 1 and accepted >= _BURST
        if self._rate > self._proven:
            self._refused_rate, self._rate = self._rate, self._proven
        elif self._rate == math.inf and not alone:
            self._rate = measured
            # The server may have rounded its wait up to 1 s. One that accepted only a
            # few requests may have refused a burst, not a rate.
            second = accepted / max(1.0, paused - began)
            self._refused_rate = (
                max(second, _NEAR * measured) if accepted >= _BURST else math.inf
            )
        elif accepted and not alone:
            self._refused_rate = self._rate
            self._rate = min(measured, 0.9 * self._rate)
        elif accepted:
            self._rate *= 0.9

        silent = min(_LONGEST_WAIT_S, 2 * self._unnamed_wait)
        self._unnamed_wait = _FIRST_WAIT_S if accepted else silent
        self._proven, self._raised, self._next = self._rate, self.resumes, self.resumes
        self._began, self._paused, self._sent, self._refused = None, None, 0, 0


@dataclass
class Replica:
    """One of an endpoint's addresses, with the state of its server.

    Attributes:
        url: its base URL.
        serves: the model that its list names, "" where it lists none, None before it
            was asked.
        in_flight: requests in flight.
        trouble: why it is lost, "" while it is not.
        losses: how often it was lost.
        again_at: when a lost replica may be tried again, by the loop's clock.
        limit_noted: whether a note has said that it limits requests.
        reached: whether it ever accepted a connection.
        answered: whether it ever answered a question.
        waited: the latest attempt at its first answer that a note has named.
        pace: how fast it accepts requests.
    """

    url: str
    serves: str | None = None
    in_flight: int = 0
    trouble: str = ""
    losses: int = 0
    again_at: float = 0.0
    limit_noted: bool = False
    reached: bool = False
    answered: bool = False
    waited: int = 1
    pace: Pace = field(default_factory=Pace)
