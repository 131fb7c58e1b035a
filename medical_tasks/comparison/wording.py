"""Values of recipes and answers in a sentence: short, on one line, and harmless on a terminal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["differing", "mapping", "one_line", "short"]

_LONGEST: Final = 48
_HASH: Final = re.compile(r"[0-9a-f]{16,}")
_HASH_SHOWN: Final = 8
_MOST: Final = 3
_DEEPEST: Final = 6


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one: recipes of packages come from anybody."""
    return value if isinstance(value, Mapping) else {}


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Puts a text on one line of at most so many characters, with what could move a terminal's cursor written visibly."""
    text = " ".join(text[: 8 * longest].split())
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def short(value: Any, *, quote: bool = False) -> str:
    """Writes a value of a recipe in a few characters: hashes by their beginning, collections by a hash of their own.

    Args:
        value: JSON.
        quote: whether a text stands in quotes.
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return one_line(f"{value}")
    if isinstance(value, str):
        if _HASH.fullmatch(value):
            return value[:_HASH_SHOWN]
        return repr(one_line(value)) if quote else one_line(value) or "nothing"
    if not value:
        return "nothing"
    digest = hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:_HASH_SHOWN]
    return f"{len(value)} {'entry' if len(value) == 1 else 'entries'} ({digest})"


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Names what two mappings differ in, the first few entries with both values.

    Returns:
        For example `max_new_tokens 48 and 512; model_args.dtype none and float32`; never empty for mappings that differ.
    """
    flat = _flat(first), _flat(second)
    names = [name for name in dict.fromkeys([*flat[0], *flat[1]]) if flat[0].get(name) != flat[1].get(name)]
    names.sort(key=lambda name: ("sha256" in name, name))  # words first, hashes after them
    parts = [f"{one_line(name)} {short(flat[0].get(name))} and {short(flat[1].get(name))}" for name in names[:_MOST]]
    if len(names) > _MOST:
        parts.append(f"{len(names) - _MOST} more")
    return "; ".join(parts) or "what one leaves out is nothing in the other"


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, Mapping) and part and depth < _DEEPEST:
            found.update(_flat(part, f"{prefix}{name}.", depth + 1))
        else:
            found[f"{prefix}{name}"] = part
    return found
