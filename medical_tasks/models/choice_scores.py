"""How probable a model finds each of an item's choices: the answer of tasks that ask `choices`, written as text.

As text it goes through the store, files of responses and the replay of a run like any other answer::

    {"logprobs": [-1.25, -0.5, null, -7.0, -3.125], "tokens": [1, 1, 1, 1, 1], "below": -9.5}
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

__all__ = ["ChoiceScores"]

_KEYS = {"logprobs", "tokens", "below"}
_MOST = 2**53  # whole numbers of JSON can be too large for a float


@dataclass(frozen=True, kw_only=True)
class ChoiceScores:
    """What a model says of the choices of one item.

    Attributes:
        logprobs: natural logarithm of the probability of each choice's tokens after the prompt, summed; None where a server
            tells the most probable tokens only and the choice is not among them.
        tokens: number of tokens each was summed over.
        below: no log-probability that is None is above this; None when all are known.
    """

    logprobs: tuple[float | None, ...]
    tokens: tuple[int, ...]
    below: float | None = None

    def __post_init__(self) -> None:
        known = [value for value in self.logprobs if value is not None]
        if not self.logprobs or len(self.logprobs) != len(self.tokens):
            raise ValueError("needs one log-probability and one number of tokens for each choice")
        if any(not value <= 1e-6 for value in known) or any(count < 1 for count in self.tokens):
            raise ValueError("a log-probability is at most 0 and a choice has at least one token")
        if (len(known) < len(self.logprobs)) != (self.below is not None):
            raise ValueError("`below` is given where a log-probability is not known, and only there")
        if self.below is not None and not self.below <= 1e-6:
            raise ValueError("`below` is at most 0")

    def to_text(self) -> str:
        """Writes it as one line of JSON; an impossible choice (probability 0) as the string `-inf`."""
        logprobs = [None if value is None else _written(value) for value in self.logprobs]
        record: dict[str, Any] = {"logprobs": logprobs, "tokens": list(self.tokens)}
        if self.below is not None:
            record["below"] = _written(self.below)
        return json.dumps(record, allow_nan=False)

    @classmethod
    def from_text(cls, text: str) -> ChoiceScores:
        """Reads what `to_text` wrote.

        Raises:
            ValueError: It is not of that form; says what is wrong, without the text.
        """
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("not JSON") from None
        if not isinstance(record, dict) or not {"logprobs", "tokens"} <= set(record) <= _KEYS:
            raise ValueError("must be an object with logprobs and tokens (and below)")
        logprobs, tokens = record["logprobs"], record["tokens"]
        if not isinstance(logprobs, list) or not all(value is None or _is_logprob(value) for value in logprobs):
            raise ValueError('logprobs must be a list of numbers, null or "-inf"')
        if not isinstance(tokens, list) or not all(type(count) is int and count < _MOST for count in tokens):
            raise ValueError("tokens must be a list of whole numbers that a model could have")
        below = record.get("below")
        if below is not None and not _is_logprob(below):
            raise ValueError("below must be a number")
        return cls(
            logprobs=tuple(None if value is None else float(value) for value in logprobs),
            tokens=tuple(tokens),
            below=None if below is None else float(below),
        )


def _is_logprob(value: Any) -> bool:
    if type(value) is int:
        return abs(value) < _MOST
    return value == "-inf" or (type(value) is float and not math.isnan(value))


def _written(value: float) -> float | str:
    return value if math.isfinite(value) else "-inf"
