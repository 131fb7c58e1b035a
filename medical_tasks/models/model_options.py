"""Model arguments from the command line (`--model-args k=v,...`): names checked, values read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from medical_tasks.errors import UsageError

__all__ = ["CHAT_OPTIONS", "COUNT", "SECONDS", "TESTED_OPTIONS", "WORD", "Reader", "read_options"]


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(text)
    return value


def _temperature(text: str) -> float | None:
    if text == "none":
        return None
    value = float(text)
    if not 0 <= value <= 2:
        raise ValueError(text)
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError(text)
    return value


def _token_field(text: str) -> str:
    if text not in ("max_tokens", "max_completion_tokens"):
        raise ValueError(text)
    return text


def _way(text: str) -> str:
    if text not in ("auto", "top", "prompt"):
        raise ValueError(text)
    return text


def _word(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text.strip()


Reader = tuple[Callable[[str], Any], str]
"""A function from text to value, raising ValueError, and the rule in words."""

COUNT: Reader = (_count, "a whole number from 1")
SECONDS: Reader = (_seconds, "seconds above 0")
WORD: Reader = (_word, "some text")

CHAT_OPTIONS: Mapping[str, Reader] = {
    "base_url": WORD,
    "api_key_env": WORD,
    "concurrency": COUNT,
    "timeout": SECONDS,
    "total_time": SECONDS,
    "max_retries": (_whole, "a whole number from 0"),
    "temperature": (_temperature, "a number from 0 to 2, or none to leave it to the server"),
    "top_p": (_share, "a number above 0, up to 1"),
    "seed": (int, "a whole number"),
    "max_tokens_field": (_token_field, "max_tokens or max_completion_tokens"),
}
"""What every model behind HTTP takes, a judge as well."""

TESTED_OPTIONS: Mapping[str, Reader] = {
    **CHAT_OPTIONS,
    "logprobs": (_way, "auto, top or prompt"),
    "top_logprobs": COUNT,
    "context": COUNT,
    "tokenizer": WORD,
}
"""What a model under test takes besides: how probabilities are asked for, and what tells how long a question is."""


def read_options(
    options: Mapping[str, str], readers: Mapping[str, Reader], *, model: str, what: str = "model"
) -> dict[str, Any]:
    """Reads model arguments.

    Args:
        options: name to text, as given.
        readers: the names this model takes.
        model: the model's name, for messages.
        what: whose arguments they are, for messages: `model`, or `judge`.

    Returns:
        Name to value, for the names given.

    Raises:
        UsageError: A name is unknown, or a text does not follow its rule.
    """
    unknown = [name for name in options if name not in readers]
    if unknown:
        raise UsageError(
            f"unknown {what} argument {', '.join(map(repr, unknown))} for {model}. "
            f"Accepted: {', '.join(sorted(readers))}."
        )
    values: dict[str, Any] = {}
    for name, text in options.items():
        read, rule = readers[name]
        try:
            values[name] = read(text)
        except ValueError:
            raise UsageError(f"{what} argument {name} must be {rule}, got {text!r}.") from None
    return values
