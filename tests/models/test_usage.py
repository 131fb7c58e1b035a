"""What answers took: sums, prices, and the form that a package's reader takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.models.opener import read_prices
from medical_tasks.models.usage import USAGE, Meter, usage_said

OLD = {"requests": 2, "prompt_tokens": 300, "output_tokens": 21, "seconds": 1.5}
NEW = {**OLD, "tokens_per_second": 14.0, "price_in": 0.15, "price_out": 0.6, "cost_usd": 5.76e-05}
COUNTS = st.none() | st.integers(0, 10**9)
PRICES = st.none() | st.tuples(st.floats(0, 1000), st.floats(0, 1000))


@given(st.dictionaries(st.text(), st.tuples(COUNTS, COUNTS, st.none() | st.floats(0, 100))), PRICES)
def test_each_record_counts_once_and_what_one_leaves_open_the_sum_does(
    found: dict[str, Any], prices: tuple[float, float] | None
) -> None:
    names = ("prompt_tokens", "output_tokens", "seconds")
    records = {key: dict(zip(names, each, strict=True)) for key, each in found.items()}
    meter = Meter()
    meter.add(records)
    meter.add(records)
    usage = meter.usage(prices)
    assert usage["requests"] == len(found)
    each = [[record[name] for record in records.values()] for name in names]
    prompt, output = (None if None in column else sum(column) for column in each[:2])
    assert (usage["prompt_tokens"], usage["output_tokens"]) == (prompt, output)
    assert (usage["seconds"] is None) == (None in each[2])
    if prices is None or prompt is None or output is None:
        assert usage["cost_usd"] is None
    else:
        assert usage["cost_usd"] == pytest.approx(
            prompt * prices[0] / 1e6 + output * prices[1] / 1e6, 1e-12, 1e-12
        )
    assert USAGE.holds(usage)


@pytest.mark.parametrize(
    "change",
    [
        {"cost_usd": 5.0e-05}, {"cost_usd": None}, {"tokens_per_second": 15.0}, {"price_in": None}, {"requests": None},
        {"requests": True}, {"output_tokens": -21}, {"seconds": 10**400}, {"prompt_tokens": 300.0}, {"more": 1},
    ],
)  # fmt: skip
def test_a_usage_that_contradicts_itself_is_none(change: dict[str, Any]) -> None:
    assert USAGE.holds(OLD)
    assert USAGE.holds(NEW)
    assert not USAGE.holds(NEW | change)


def test_words_and_prices() -> None:
    said = "2 requests, 300 prompt tokens, 21 output tokens, 1.5 s (14.0 output tokens a second), under $ 0.0001"
    assert usage_said(NEW) == f"{said}; replies of earlier commands included"
    assert usage_said({**OLD, "prompt_tokens": None}).startswith(
        "2 requests, 21 output tokens, 1.5 s;"
    )
    assert read_prices({"seed": "1", "price_in": "0.15", "price_out": "0.6"}, model="m") == (
        0.15,
        0.6,
    )
    assert read_prices({"seed": "1"}, model="m") is None
    with pytest.raises(UsageError, match="m: a cost needs both price_in and price_out"):
        read_prices({"price_in": "1"}, model="m")
    with pytest.raises(
        UsageError,
        match="price_out must be USD for a million tokens, from 0 to 1,000,000, got 'nan'",
    ):
        read_prices({"price_in": "1", "price_out": "nan"}, model="m")
