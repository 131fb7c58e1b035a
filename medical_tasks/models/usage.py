"""What stored answers took of a model or a judge: requests, tokens, seconds and, where prices are given, money.

It is of the answers, whichever command got them, so that a run that went on states what
an undisturbed one does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypedDict

from medical_tasks.io.json_records import Field


class Prices(NamedTuple):
    """USD for a million tokens: read, written, and read from the provider's cache.

    What is read from a cache costs as much as the rest where there is no price of its
    own.

    Example:
        >>> prices = Prices(1.25, 10.0, 0.125)
    """

    price_in: float
    price_out: float
    price_cached: float | None = None


_COUNTED: Final = ("requests", "prompt_tokens", "output_tokens")
_STATED: Final = (*_COUNTED, "seconds")
"""All there was before there were prices; the rest follows from it and them."""
_PARTS: Final = ("reasoning_tokens", "cached_tokens")
_BESIDES: Final = (*_PARTS, "provider", "served_model", "adapted")
_LARGEST: Final = 2**53


class _Counted(TypedDict):
    """What every usage states."""

    requests: int
    prompt_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    tokens_per_second: float | None
    price_in: float | None
    price_out: float | None
    cost_usd: float | None


class Usage(_Counted, total=False):
    """What answers took; None for what is not known of all of them.

    Attributes:
        requests: how many were answered.
        prompt_tokens: tokens read, those of the provider's cache included.
        output_tokens: tokens written, those of reasoning included.
        seconds: how long it took; answers made side by side share the time.
        tokens_per_second: output tokens by seconds.
        price_in: USD for a million tokens read.
        price_out: USD for a million tokens written.
        cost_usd: the sum, by these prices.
        reasoning_tokens: output tokens of reasoning; absent where no answer states any.
        cached_tokens: prompt tokens that the provider's cache held; absent likewise.
        price_cached: USD for a million of them; absent where no price was given.
        providers: who answered, with the number of answers, where a router names them.
        served_models: the model that the answers name, with their number.
    """

    reasoning_tokens: int
    cached_tokens: int
    price_cached: float
    providers: dict[str, int]
    served_models: dict[str, int]


def cost_usd(
    prompt_tokens: int | None,
    output_tokens: int | None,
    prices: Prices | None,
    cached_tokens: int = 0,
) -> float | None:
    """The price of tokens; None where either is not known.

    Args:
        prompt_tokens: tokens read, cached ones included.
        output_tokens: tokens written.
        prices: None for no prices.
        cached_tokens: how many of those read the provider's cache held.

    Example:
        >>> cost_usd(1_000_000, 0, Prices(1.0, 10.0, 0.1), cached_tokens=500_000)
        0.55
    """
    if prices is None or prompt_tokens is None or output_tokens is None:
        return None

    cached = min(cached_tokens, prompt_tokens)
    price_cached = (
        prices.price_in if prices.price_cached is None else prices.price_cached
    )
    read = (prompt_tokens - cached) * prices.price_in + cached * price_cached

    return (read + output_tokens * prices.price_out) / 1_000_000


def _completed(stated: Mapping[str, Any], prices: Prices | None) -> Usage:
    """A usage with what follows from the counts and the prices."""
    requests, prompt, output, seconds = (stated[name] for name in _STATED)
    seconds = None if seconds is None else round(seconds, 3)
    parts = {name: stated[name] for name in _PARTS if stated.get(name)}
    usage = Usage(
        requests=requests,
        prompt_tokens=prompt,
        output_tokens=output,
        seconds=seconds,
        tokens_per_second=round(output / seconds, 3)
        if seconds and output is not None
        else None,
        price_in=None if prices is None else prices.price_in,
        price_out=None if prices is None else prices.price_out,
        cost_usd=cost_usd(prompt, output, prices, parts.get("cached_tokens", 0)),
    )
    if "reasoning_tokens" in parts:
        usage["reasoning_tokens"] = parts["reasoning_tokens"]
    if "cached_tokens" in parts:
        usage["cached_tokens"] = parts["cached_tokens"]
    if prices is not None and prices.price_cached is not None:
        usage["price_cached"] = prices.price_cached
    if stated.get("providers"):
        usage["providers"] = dict(stated["providers"])
    if stated.get("served_models"):
        usage["served_models"] = dict(stated["served_models"])

    return usage


def told_besides(reply: object) -> dict[str, Any]:
    """What a reply tells beside its text and its length, for the store; what it leaves open is left out.

    Args:
        reply: a model's `Answer`, or a judge's `Reply`.
    """
    told = {name: getattr(reply, name) for name in _BESIDES}
    return {name: value for name, value in told.items() if value}


class Meter:
    """Adds up records of the store, each once."""

    def __init__(self) -> None:
        """Nothing counted; `add` takes the records of answers, each key once."""
        self._keys: set[str] = set()
        self._sums: dict[str, Any] = dict.fromkeys(_STATED, 0)
        self._parts: Counter[str] = Counter()
        self._providers: Counter[str] = Counter()
        self._served_models: Counter[str] = Counter()
        self.adapted: dict[str, str] = {}
        """Settings that the server refused of any answer, and what was sent instead."""

    def add(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes in records by key.

        One that came with another's request says that it took none of its own.
        """
        for record in (records[key] for key in records if key not in self._keys):
            for name in _STATED:
                before, more = (
                    self._sums[name],
                    record.get(name, 1 if name == "requests" else None),
                )
                self._sums[name] = (
                    None if before is None or more is None else before + more
                )

            for name in _PARTS:
                self._parts[name] += record.get(name) or 0

            if record.get("provider"):
                self._providers[record["provider"]] += 1
            if record.get("served_model"):
                self._served_models[record["served_model"]] += 1

            self.adapted |= record.get("adapted") or {}

        self._keys.update(records)

    def usage(self, prices: Prices | None) -> Usage:
        """The sums so far."""
        who = {"providers": self._providers, "served_models": self._served_models}
        return _completed({**self._sums, **self._parts, **who}, prices)


def prices_of(usage: Mapping[str, Any]) -> Prices | None:
    """The prices by which a usage states its cost; None for none."""
    if usage.get("price_in") is None:
        return None
    return Prices(usage["price_in"], usage["price_out"], usage.get("price_cached"))


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_measure(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST  # type: ignore[operator]


def _is_tally(value: object) -> bool:
    """Whether it is names with numbers above 0."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(name, str) and _is_count(n) and n > 0
            for name, n in value.items()
        )
    )


def _is_usage(value: object) -> bool:
    """Whether it is a usage, or one of an older suite; what follows from the rest must do so."""
    if not isinstance(value, dict) or not _has_names_of_usage(value):
        return False

    tallies = {name for name in ("providers", "served_models") if name in value}
    numbers = {name: each for name, each in value.items() if name not in tallies}
    if not all(_is_tally(value[name]) for name in tallies):
        return False
    if value["requests"] is None or not all(map(_is_stated, numbers, numbers.values())):
        return False

    one_price = (value.get("price_in") is None) != (value.get("price_out") is None)
    made: Mapping[str, Any] = dict(
        _completed(value, None if one_price else prices_of(value))
    )
    return all(_is_the_same(number, made.get(name)) for name, number in numbers.items())


def _has_names_of_usage(value: Mapping[str, object]) -> bool:
    """Whether the names are those of a usage of today, or of an older suite."""
    required, optional = Usage.__required_keys__, Usage.__optional_keys__
    names = set(value)
    return names == set(_STATED) or required <= names <= required | optional


def _is_stated(name: str, number: object) -> bool:
    """Whether a number is one that may stand under a name; a part of a count is never 0."""
    if name in _PARTS:
        return _is_count(number) and bool(number)
    if number is None:
        return True
    return _is_count(number) if name in _COUNTED else _is_measure(number)


def _is_the_same(number: float | None, made: float | None) -> bool:
    if number is None or made is None:
        return number is made
    return math.isclose(number, made, rel_tol=1e-9)


USAGE: Final = Field(
    holds=_is_usage,
    rule="requests, prompt_tokens, output_tokens, seconds, tokens_per_second, price_in, price_out and cost_usd, numbers or null, "
    "with the cost and the speed that follow from the others; and where there are any "
    "reasoning_tokens, cached_tokens, price_cached, providers and served_models",
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
        and all(0 <= end <= _LARGEST for span in value.values() for end in span)
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
    for name, part, of in (
        ("prompt_tokens", "cached_tokens", "from the provider's cache"),
        ("output_tokens", "reasoning_tokens", "of reasoning"),
    ):
        if usage[name] is not None:
            own = f" ({usage[part]:,} {of})" if usage.get(part) else ""
            parts.append(f"{usage[name]:,} {name.replace('_', ' ')}{own}")

    if usage["seconds"] is not None:
        speed = usage.get("tokens_per_second")
        parts.append(
            f"{usage['seconds']:,.1f} s"
            + (f" ({speed:,.1f} output tokens a second)" if speed else "")
        )

    if usage.get("cost_usd") is not None:
        parts.append(dollars(usage["cost_usd"]))
    if usage.get("providers"):
        parts.append(f"answered by {_tally_said(usage['providers'])}")

    return f"{', '.join(parts)}; replies of earlier commands included"


def _tally_said(tally: Mapping[str, int]) -> str:
    """Writes names with their numbers, the most frequent first; one name alone without its number."""
    ordered = sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))
    if len(ordered) == 1:
        return ordered[0][0]
    return ", ".join(f"{name} ({number:,})" for name, number in ordered)


def an_answer(entry: Mapping[str, Any]) -> tuple[float, str] | None:
    """Output tokens and cost by answered item of an entry of `results.json`, where it states them."""
    usage, answered = (
        entry.get("usage") or {},
        (entry.get("coverage") or {}).get("answered"),
    )
    if not answered or usage.get("output_tokens") is None:
        return None

    cost = usage.get("cost_usd")
    return usage["output_tokens"] / answered, "" if cost is None else dollars(
        cost / answered
    )
