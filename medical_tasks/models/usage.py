"""What stored answers took of a model or a judge: requests, tokens, seconds and, where prices are given, money.

It is of the answers, whichever command got them, so that a run that went on states what an
undisturbed one does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from medical_tasks.io.json_records import Field

Prices = tuple[float, float]
"""USD for a million tokens read, and for a million written."""
_COUNTED: Final = ("requests", "prompt_tokens", "output_tokens")
_STATED: Final = (
    *_COUNTED,
    "seconds",
)  # all there was before there were prices; the rest follows from it and them


class Usage(TypedDict):
    """What answers took; None for what is not known of all of them."""

    requests: int  # that were answered
    prompt_tokens: int | None
    output_tokens: int | None
    seconds: float | None  # answers made side by side share the time
    tokens_per_second: float | None  # output tokens by seconds
    price_in: float | None
    price_out: float | None
    cost_usd: float | None


def cost_usd(
    prompt_tokens: int | None, output_tokens: int | None, prices: Prices | None
) -> float | None:
    """The price of tokens; None where either is not known."""
    if prices is None or prompt_tokens is None or output_tokens is None:
        return None
    return (prompt_tokens * prices[0] + output_tokens * prices[1]) / 1_000_000


def _completed(stated: Mapping[str, Any], prices: Prices | None) -> Usage:
    requests, prompt, output, seconds = (stated[name] for name in _STATED)
    seconds = None if seconds is None else round(seconds, 3)
    return Usage(
        requests=requests,
        prompt_tokens=prompt,
        output_tokens=output,
        seconds=seconds,
        tokens_per_second=round(output / seconds, 3) if seconds and output is not None else None,
        price_in=None if prices is None else prices[0],
        price_out=None if prices is None else prices[1],
        cost_usd=cost_usd(prompt, output, prices),
    )


class Meter:
    """Adds up records of the store, each once."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._sums: dict[str, Any] = dict.fromkeys(_STATED, 0)

    def add(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes in records by key.

        One that came with another's request says that it took none of its own.
        """
        for record in (records[key] for key in records if key not in self._keys):
            for name in _STATED:
                before, more = self._sums[name], record.get(name, 1 if name == "requests" else None)
                self._sums[name] = None if before is None or more is None else before + more
        self._keys.update(records)

    def usage(self, prices: Prices | None) -> Usage:
        """The sums so far."""
        return _completed(self._sums, prices)


def _is_usage(value: Any) -> bool:
    """Whether it is a usage, or one of an older suite; what follows from the rest must do so."""
    if not isinstance(value, dict) or set(value) not in (set(_STATED), Usage.__required_keys__):
        return False
    kinds = {each: (int,) if each in _COUNTED else (int, float) for each in value}
    if value["requests"] is None or not all(
        each is None or (type(each) in kinds[name] and 0 <= each <= 2**53)
        for name, each in value.items()
    ):
        return False
    prices: Any = (value.get("price_in"), value.get("price_out"))
    made: Mapping[str, Any] = dict(_completed(value, None if None in prices else prices))
    pairs = [(each, made[name]) for name, each in value.items()]
    return all(
        math.isclose(*pair, rel_tol=1e-9) if None not in pair else pair == (None, None)
        for pair in pairs
    )


USAGE: Final = Field(
    holds=_is_usage,
    rule="requests, prompt_tokens, output_tokens, seconds, tokens_per_second, price_in, price_out and cost_usd, numbers or null, "
    "with the cost and the speed that follow from the others",
    required=False,
)
FORECAST: Final = Field(
    holds=lambda value: (
        isinstance(value, dict)
        and set(value) == set(_COUNTED)
        and all(
            isinstance(span, list) and [type(end) for end in span] == [int, int]
            for span in value.values()
        )
        and all(0 <= end <= 2**53 for span in value.values() for end in span)
    ),
    rule="requests, prompt_tokens and output_tokens, two counts each",
    required=False,
)


def dollars(cost: float) -> str:
    """Writes money, of which a single answer takes very little."""
    return (
        "under $ 0.0001"
        if 0 < cost < 0.0001
        else f"$ {cost:,.4f}"
        if cost < 1
        else f"$ {cost:,.2f}"
    )


def usage_said(usage: Mapping[str, Any]) -> str:
    """Writes what is known of a usage, and that it is of the answers."""
    parts = [f"{usage['requests']:,} requests"]
    parts += [
        f"{usage[name]:,} {name.replace('_', ' ')}"
        for name in _COUNTED[1:]
        if usage[name] is not None
    ]
    if usage["seconds"] is not None:
        speed = usage.get("tokens_per_second")
        parts.append(
            f"{usage['seconds']:,.1f} s"
            + (f" ({speed:,.1f} output tokens a second)" if speed else "")
        )
    if usage.get("cost_usd") is not None:
        parts.append(dollars(usage["cost_usd"]))
    return f"{', '.join(parts)}; replies of earlier commands included"


def an_answer(entry: Mapping[str, Any]) -> tuple[float, str] | None:
    """Output tokens and cost by answered item of an entry of `results.json`, where it states them."""
    usage, answered = entry.get("usage") or {}, (entry.get("coverage") or {}).get("answered")
    if not answered or usage.get("output_tokens") is None:
        return None
    cost = usage.get("cost_usd")
    return usage["output_tokens"] / answered, "" if cost is None else dollars(cost / answered)
