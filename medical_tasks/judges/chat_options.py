"""Arguments of chat judges (`--judge-args k=v,...`): those of the model behind them, and a few of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.models.local_options import FLAG
from medical_tasks.models.model_options import CHAT_OPTIONS, Reader, read_options
from medical_tasks.models.server import SERVED_OPTIONS, TRANSFORMERS

__all__ = ["CHAT_JUDGE_OPTIONS", "CONCURRENCY", "read_chat_options"]

CONCURRENCY: Final = 32
"""Requests in flight when none are named: judged statements are short."""


def _price(text: str) -> float:
    value = float(text)
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(text)
    return value


_PRICE: Reader = (_price, "USD for a million tokens, from 0")
CHAT_JUDGE_OPTIONS: Mapping[str, Reader] = {
    "n_choices": FLAG,
    "price_in": _PRICE,
    "price_out": _PRICE,
    "varies": FLAG,
}
"""What only judges take; none of it changes a verdict's key."""


def read_chat_options(name: str, options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Takes a chat judge's arguments apart.

    Args:
        name: the judge's name, kind included.
        options: as given.

    Returns:
        Arguments for opening its model, as text; and the judge's own: `n_choices`, `varies` (the server's replies differ also
        at temperature 0, so that votes mean something), and `prices` (USD for a million tokens
        read and written) when both are given.

    Raises:
        UsageError: A name is unknown, a text does not follow its rule, or one price is given without the other.
    """
    kind = name.partition("/")[0]
    readers = {**SERVED_OPTIONS.get(kind, CHAT_OPTIONS), **CHAT_JUDGE_OPTIONS}
    values = read_options(options, readers, model=name, what="judge")
    prices = [values[side] for side in ("price_in", "price_out") if side in values]
    if len(prices) == 1:
        raise UsageError(f"{name}: a forecast needs both price_in and price_out (USD for a million tokens), got one.")
    own: dict[str, Any] = {name: values.get(name, False) for name in ("n_choices", "varies")}
    if prices:
        own["prices"] = tuple(prices)
    rest = {option: text for option, text in options.items() if option not in CHAT_JUDGE_OPTIONS}
    if kind != TRANSFORMERS:  # which answers one by one, and has its own default
        rest.setdefault("concurrency", str(CONCURRENCY))
    return rest, own
