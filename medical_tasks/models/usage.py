"""The usage behind stored answers: requests, tokens, seconds and, with prices, money.

It covers the answers whichever command got them, so that a resumed run reports the same
as an uninterrupted one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypedDict

from medical_tasks.io.json_records import Field


class Prices(NamedTuple):
    """USD for a million tokens: read, written, and read from the provider's cache.

    Without a price of their own, cached tokens cost as much as other tokens read.

    Example:
        >>> prices = Prices(1.25, 10.0, 0.125)
    """

    price_in: float
    price_out: float
    price_cached: float | None = None


_COUNTED: Final = ("requests", "prompt_tokens", "output_tokens")
_STATED: Final = (*_COUNTED, "seconds")
"""All that a usage of an older suite states; with prices, the rest follows from it."""
_PARTS: Final = ("reasoning_tokens", "cached_tokens")
_BESIDES: Final = (*_PARTS, "provider", "served_model", "adapted")
_LARGEST: Final = 2**53


class _Counted(TypedDict):
    """The fields of every usage."""

    requests: int
    prompt_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    tokens_per_second: float | None
    price_in: float | None
    price_out: float | None
    cost_usd: float | None


class Usage(_Counted, total=False):
    """What answers took; None for a sum if its number is unknown for any answer.

    Attributes:
        requests: how many were answered.
        prompt_tokens: tokens read, those of the provider's cache included.
        output_tokens: tokens written, those of reasoning included.
        seconds: how long it took; answers made in parallel share the time.
        tokens_per_second: output tokens by seconds.
        price_in: USD for a million tokens read.
        price_out: USD for a million tokens written.
        cost_usd: the sum, by these prices.
        reasoning_tokens: output tokens of reasoning; absent if no answer reports any.
        cached_tokens: prompt tokens from the provider's cache; absent if no answer
            reports any.
        price_cached: USD for a million of them; absent if no price was given.
        providers: the providers that a router names, with the number of answers.
        served_models: the models that the answers name, with the number of answers.
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
    """Returns the price of tokens; None where tokens or prices are unknown.

    Args:
        prompt_tokens: tokens read, cached ones included.
        output_tokens: tokens written.
        prices: None for no prices.
        cached_tokens: how many of those read came from the provider's cache.

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
    """Makes a usage: the counts, and what follows from them and the prices.

    Args:
        stated: what records add up to: the fields of `_STATED`, and those of `_PARTS`,
            `providers` and `served_models` where reported.
        prices: what tokens cost; None leaves the cost unknown.
    """
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


def reply_metadata(reply: object) -> dict[str, object]:
    """Returns what a reply reports beside its text and length, for the store; no empty values.

    Args:
        reply: a model's `Answer`, or a judge's `Reply`.
    """
    values = {name: getattr(reply, name) for name in _BESIDES}
    return {name: value for name, value in values.items() if value}


class Meter:
    """Adds up the usage in records of the store, each once.

    A sum is None as soon as one record does not report its number: a partial sum would look
    like a cheap run.

    Example: the record `a` is added twice and counts once; `b` does not report its output.

        >>> meter = Meter()
        >>> meter.add({"a": {"prompt_tokens": 10, "output_tokens": 2}})
        >>> meter.add({"a": {}, "b": {"prompt_tokens": 20}})
        >>> usage = meter.usage(None)
        >>> usage["requests"], usage["prompt_tokens"], usage["output_tokens"]
        (2, 30, None)
    """

    def __init__(self) -> None:
        """Starts at zero."""
        self._keys: set[str] = set()
        self._sums: dict[str, Any] = dict.fromkeys(_STATED, 0)
        self._parts: Counter[str] = Counter()
        self._providers: Counter[str] = Counter()
        self._served_models: Counter[str] = Counter()
        self.adapted: dict[str, str] = {}
        """Settings that the server refused for any answer, and what was sent instead."""

    def add(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds records by key, each key once.

        An answer that shared another's request has 0 requests of its own.
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
        """Returns the sums so far."""
        who = {"providers": self._providers, "served_models": self._served_models}
        return _completed({**self._sums, **self._parts, **who}, prices)


def prices_of(usage: Mapping[str, Any]) -> Prices | None:
    """Returns the prices in a usage; None for none."""
    if usage.get("price_in") is None:
        return None
    return Prices(usage["price_in"], usage["price_out"], usage.get("price_cached"))


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_measure(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST  # type: ignore[operator]


def _is_tally(value: object) -> bool:
    """Returns whether a value maps names to counts above 0."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(name, str) and _is_count(n) and n > 0
            for name, n in value.items()
        )
    )


def _is_usage(value: object) -> bool:
    """Returns whether a value is a usage, also of an older suite, with consistent numbers.

    Consistent means that the rate and the cost are what the counts and prices give.
    """
    if not isinstance(value, dict) or not _has_names_of_usage(value):
        return False

    tallies = {name for name in ("providers", "served_models") if name in value}
    numbers = {name: number for name, number in value.items() if name not in tallies}
    if not all(_is_tally(value[name]) for name in tallies):
        return False
    if value["requests"] is None or not all(map(_is_stated, numbers, numbers.values())):
        return False

    one_price = (value.get("price_in") is None) != (value.get("price_out") is None)
    computed: Mapping[str, Any] = dict(
        _completed(value, None if one_price else prices_of(value))
    )
    return all(
        _is_the_same(number, computed.get(name)) for name, number in numbers.items()
    )


def _has_names_of_usage(value: Mapping[str, object]) -> bool:
    """Returns whether the names are those of a usage, of this suite or an older one."""
    required, optional = Usage.__required_keys__, Usage.__optional_keys__
    names = set(value)
    return names == set(_STATED) or required <= names <= required | optional


def _is_stated(name: str, number: object) -> bool:
    """Returns whether a field may have this number; a part of a count is never 0."""
    if name in _PARTS:
        return _is_count(number) and bool(number)
    if number is None:
        return True
    return _is_count(number) if name in _COUNTED else _is_measure(number)


def _is_the_same(number: float | None, computed: float | None) -> bool:
    if number is None or computed is None:
        return number is computed
    return math.isclose(number, computed, rel_tol=1e-9)


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
    """Writes an amount in USD, which may be tiny."""
    return (
        "under $ 0.0001"
        if 0 < cost < 0.0001
        else f"$ {cost:,.4f}"
        if cost < 1
        else f"$ {cost:,.2f}"
    )


def usage_said(usage: Mapping[str, Any]) -> str:
    """Writes what is known of a usage, for people."""
    parts = [f"{usage['requests']:,} requests"]
    for name, detail, description in (
        ("prompt_tokens", "cached_tokens", "from the provider's cache"),
        ("output_tokens", "reasoning_tokens", "of reasoning"),
    ):
        if usage[name] is not None:
            own = f" ({usage[detail]:,} {description})" if usage.get(detail) else ""
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
    """Writes names with their counts, the most frequent first; a single name without its count."""
    ordered = sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))
    if len(ordered) == 1:
        return ordered[0][0]
    return ", ".join(f"{name} ({number:,})" for name, number in ordered)


def an_answer(entry: Mapping[str, Any]) -> tuple[float, str] | None:
    """Returns output tokens and cost per answered item of an entry in `results.json`, if known."""
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
