"""Usage of answers: sums, prices, and the form that readers of a package accept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.models.opener import read_prices
from medical_tasks.models.usage import USAGE, Meter, Prices, usage_said

OLD = {"requests": 2, "prompt_tokens": 300, "output_tokens": 21, "seconds": 1.5}
NEW = {
    **OLD,
    "tokens_per_second": 14.0,
    "price_in": 0.15,
    "price_out": 0.6,
    "cost_usd": 5.76e-05,
}
COUNTS = st.none() | st.integers(0, 10**9)
PRICE = st.floats(0, 1000)
PRICES = st.none() | st.builds(Prices, PRICE, PRICE, st.none() | PRICE)
COLUMNS = ("prompt_tokens", "output_tokens", "seconds", "cached_tokens", "provider")
RECORDS = st.dictionaries(
    st.text(),
    st.fixed_dictionaries(
        {
            "prompt_tokens": COUNTS,
            "output_tokens": COUNTS,
            "seconds": st.none() | st.floats(0, 100),
            "cached_tokens": COUNTS,
            "provider": st.sampled_from(["", "one", "two"]),
        }
    ),
)


@given(RECORDS, PRICES)
def test_each_record_counts_once_and_an_unknown_count_makes_the_sum_unknown(
    records: dict[str, dict[str, Any]], prices: Prices | None
) -> None:
    meter = Meter()
    meter.add(records)
    meter.add(records)
    usage = meter.usage(prices)
    assert usage["requests"] == len(records)
    columns = {name: [record[name] for record in records.values()] for name in COLUMNS}
    prompt, output = (
        None if None in columns[name] else sum(columns[name])
        for name in ("prompt_tokens", "output_tokens")
    )
    assert (usage["prompt_tokens"], usage["output_tokens"]) == (prompt, output)
    assert (usage["seconds"] is None) == (None in columns["seconds"])
    cached = sum(count or 0 for count in columns["cached_tokens"])
    assert usage.get("cached_tokens", 0) == cached
    assert sum(usage.get("providers", {}).values()) == sum(
        map(bool, columns["provider"])
    )
    if prices is None or prompt is None or output is None:
        assert usage["cost_usd"] is None
    else:
        cached = min(cached, prompt)
        price_cached = (
            prices.price_in if prices.price_cached is None else prices.price_cached
        )
        cost = (prompt - cached) * prices.price_in + cached * price_cached
        assert usage["cost_usd"] == pytest.approx(
            (cost + output * prices.price_out) / 1e6, 1e-9, 1e-9
        )
    assert USAGE.holds(usage)


@pytest.mark.parametrize(
    "change",
    [
        {"cost_usd": 5.0e-05}, {"cost_usd": None}, {"tokens_per_second": 15.0}, {"price_in": None}, {"requests": None},
        {"requests": True}, {"output_tokens": -21}, {"seconds": 10**400}, {"prompt_tokens": 300.0}, {"more": 1},
        {"reasoning_tokens": 0}, {"cached_tokens": -1}, {"providers": {}}, {"providers": {"x": 0}},
        {"price_cached": 1, "cached_tokens": 9},
    ],
)  # fmt: skip
def test_a_usage_that_contradicts_itself_is_invalid(change: dict[str, Any]) -> None:
    assert USAGE.holds(OLD)
    assert USAGE.holds(NEW)
    assert not USAGE.holds(NEW | change)


def test_a_usage_in_words() -> None:
    sentence = "2 requests, 300 prompt tokens, 21 output tokens, 1.5 s (14.0 output tokens a second), under $ 0.0001"
    assert usage_said(NEW) == f"{sentence}; replies of earlier commands included"
    assert usage_said({**OLD, "prompt_tokens": None}).startswith(
        "2 requests, 21 output tokens, 1.5 s;"
    )


def test_prices_of_options() -> None:
    assert read_prices({"seed": "1"}, model="m") is None
    options = {"seed": "1", "price_in": "0.15", "price_out": "0.6"}
    assert read_prices(options, model="m") == Prices(0.15, 0.6)
    options["price_cached"] = "0.01"
    assert read_prices(options, model="m") == Prices(0.15, 0.6, 0.01)
    with pytest.raises(UsageError, match="m: a cost needs both price_in and price_out"):
        read_prices({"price_in": "1"}, model="m")
    with pytest.raises(
        UsageError,
        match="price_out must be USD for a million tokens, from 0 to 1,000,000, got 'nan'",
    ):
        read_prices({"price_in": "1", "price_out": "nan"}, model="m")
