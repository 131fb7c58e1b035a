"""The texts that bytes may stand for: decoded, with escapes undone, with markup taken out.

A sentence in a file is still that sentence when JSON, HTML or a URL wrote it with escapes, when a log printed it in the
form of a program's literal, or when a program wrote it in UTF-16.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

__all__ = ["bytes_views", "json_texts", "strings_by_place", "text_views"]

_ROUNDS = 4  # JSON in JSON in a log: escapes of escapes
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_TAG = re.compile(r"<[^<>]*>")
_UTF_16 = (("utf-16-le", 0), ("utf-16-be", 0), ("utf-16-le", 1), ("utf-16-be", 1))


def bytes_views(raw: bytes) -> Iterator[str]:
    """Yields every text that a file's bytes may stand for."""
    text = raw.decode("utf-8", "replace")
    yield from text_views(text)
    if b"\0" in raw:
        for encoding, start in _UTF_16:
            yield from text_views(raw[start:].decode(encoding, "replace"))
    elif "\ufffd" in text:
        yield from text_views(raw.decode("cp1252", "replace"))


def text_views(text: str) -> Iterator[str]:
    """Yields a text, what it is with its escapes undone (as often as there are some), and that without markup."""
    yield text
    for _ in range(_ROUNDS):
        plain = _unescaped(text)
        if plain == text:
            break
        text = plain
        yield text
    if "<" in text:
        yield _TAG.sub(" ", text)
        yield _TAG.sub("", text)


def _unescaped(text: str) -> str:
    if "\\" in text:
        text = _joined(_ESCAPE.sub(_character, text))
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text, errors="replace")
    return text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _SIMPLE.get(match[3], match[3])


def _joined(text: str) -> str:
    """Makes characters of the pairs of surrogates that JSON writes; a lone one becomes a sign between words."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strings_by_place(value: Any, found: dict[tuple[str, ...], list[str]], place: tuple[str, ...] = ()) -> None:
    """Collects the strings inside a value by where they stand; lists have one place for all their elements.

    So a text that was stored word by word, as lists of tokens are, is a text again. Names of fields are strings as well.

    Args:
        value: what JSON, parquet or Arrow hold: dicts, lists, strings, bytes, and anything else, which is passed over.
        found: place to strings in order; added to.
        place: where the value stands.
    """
    if isinstance(value, str):
        found.setdefault(place, []).append(value)
    elif isinstance(value, bytes):
        found.setdefault(place, []).append(value.decode("utf-8", "replace"))
    elif isinstance(value, dict):
        for name, part in value.items():
            found.setdefault((*place, ""), []).append(str(name))
            strings_by_place(part, found, (*place, str(name)))
    elif isinstance(value, list | tuple):
        for part in value:
            strings_by_place(part, found, (*place, "*"))


def json_texts(text: str) -> Iterator[str]:
    """Yields the strings of a JSON text, those of one place joined.

    Raises:
        ValueError: It is not JSON.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    strings_by_place(json.loads(text), found)
    for strings in found.values():
        yield " ".join(strings)
