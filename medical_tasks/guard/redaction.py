"""What of an item's result may stand in a run's folder when its source is credentialed: id, hash and scores, no text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

__all__ = ["redact_reason", "redact_row", "redact_value"]

_KEPT_TEXT = frozenset({"task", "id", "cluster", "unscored"})
_DIGEST = "response_sha256"

# Reasons for which an item has no score that are known to hold no text of anybody's: those of our own client and runner.
_PLAIN_REASONS = frozenset(
    {
        "budget spent", "cannot tell contradiction", "cannot tell entailment", "cannot tell neutral",
        "cannot tell not_entailment", "cut reply", "choice not among the log-probabilities told", "connection", "empty choices",
        "empty content", "entails and contradicts", "forecast only", "http error", "no gold: for people to score",
        "no pair", "no question of entailment", "no reply", "no verdict", "not answered in the run", "not asked",
        "not in the recorded verdicts", "not in the responses", "not in the store", "not json", "not reachable",
        "out of memory", "prompt too long", "quota exhausted", "rate limited", "recorded for another question",
        "refused by filter", "timeout", "tool call", "unreadable reply",
    }
)  # fmt: skip
_REASON_WORDS = frozenset("judge http".split()).union(*(reason.split() for reason in _PLAIN_REASONS))
_PLAIN_PREFIXES = ("no answer: ", "judge: ")
_LABEL = re.compile(r"[A-Za-z_]{1,24}")
_NOTES = frozenset({"parsed", "why"})
_NOTE_PART = re.compile(r"[^\s,;:]+")
_NUMBER = re.compile(r"[0-9]{1,6}(?:/[0-9]{1,6})?")
_MOST_LABELS = 8  # different ones in a value: with their fields' names, verdicts have fewer
_HTTP = re.compile(r"http [1-5]\d\d")


def redact_reason(reason: str) -> str:
    """Keeps of the reason for which an item has no score what can hold no text of the source.

    Args:
        reason: as scoring or the runner gives it (`no answer: http 500`, `judge: unreadable reply`).

    Returns:
        The same when it is one of the classes this package makes itself; else its first part and `other`.
    """
    prefix = next((start for start in _PLAIN_PREFIXES if reason.startswith(start)), "")
    rest = reason.removeprefix(prefix)
    return reason if rest in _PLAIN_REASONS or _HTTP.fullmatch(rest) else f"{prefix}other"


def redact_value(value: Any) -> Any:
    """Keeps of a verdict's value what can hold no text: numbers, and single plain words such as labels.

    Args:
        value: JSON.

    Returns:
        The same shape, every other string ""; all of them where there are so many different words that they may be a text
        word by word.
    """
    words = set(_words(value))
    return _kept(value, words if len(words) <= _MOST_LABELS else frozenset())


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from (*_words(name), *_words(part))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _words(part)
    elif isinstance(value, str) and _LABEL.fullmatch(value):
        yield value


def _kept(value: Any, labels: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {name if name in labels else "": _kept(part, labels) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_kept(part, labels) for part in value]
    return "" if isinstance(value, str) and value not in labels else value


def _is_plain(note: str, words: Collection[str]) -> bool:
    return all(part in words or part in _REASON_WORDS or _NUMBER.fullmatch(part) for part in _NOTE_PART.findall(note))


def redact_row(
    row: Mapping[str, Any], response: str | None, *, note_words: Collection[str] = frozenset()
) -> dict[str, Any]:
    """Takes everything out of a row of `items.parquet` that may quote the source.

    Args:
        row: from `results.item_rows`.
        response: the answer that was scored, None when there was none.
        note_words: words that the benchmark's own scoring writes into `parsed` and `why`. A note of these and of numbers alone is
            kept: it says how the answer was read and holds no word of it.

    Returns:
        The row with numbers, task, id, cluster and groups as they were, every other text emptied, the reason reduced to its
        class (`redact_reason`), and `response_sha256`, the answer's SHA-256 ("" for none).
    """
    made: dict[str, Any] = {}
    for name, value in row.items():
        if name == "unscored":
            made[name] = None if value is None else redact_reason(str(value))
        elif value is None or isinstance(value, bool | int | float) or name in _KEPT_TEXT or name.startswith("group_"):
            made[name] = value
        else:
            made[name] = value if name in _NOTES and _is_plain(str(value), note_words) else ""
    digest = "" if response is None else hashlib.sha256(response.encode("utf-8", "surrogatepass")).hexdigest()
    return {**made, _DIGEST: digest}
