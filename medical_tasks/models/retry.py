"""When to ask again: growing, jittered waits, and what the server itself asked for."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Backoff", "requested_wait"]


class Backoff:
    """Waits that double, each shortened by up to half at random so that clients do not come back together.

    Args:
        first: seconds before the first retry.
        longest: seconds above which waits do not grow.
        seed: seed of the jitter.
    """

    def __init__(self, *, first: float, longest: float, seed: int) -> None:
        self._first = first
        self._longest = longest
        self._random = random.Random(seed)  # noqa: S311 - jitter, not a secret

    def wait(self, retry: int) -> float:
        """Returns the seconds to wait before a retry.

        Args:
            retry: 0 for the first retry.
        """
        # The exponent is bounded so that a huge retry number does not overflow.
        return min(self._longest, self._first * 2.0 ** min(retry, 60)) * self._random.uniform(0.5, 1.0)


def requested_wait(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Reads how long the server asks to be left alone.

    Args:
        headers: response headers, lower-case names or a case-insensitive mapping. `retry-after-ms` goes before
            `retry-after`, which may be seconds or an HTTP date (RFC 9110, section 10.2.3).
        now: the present, for tests.

    Returns:
        Seconds, not negative; None when nothing readable was asked.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds * scale
    try:
        moment = parsedate_to_datetime(headers.get("retry-after") or "")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
