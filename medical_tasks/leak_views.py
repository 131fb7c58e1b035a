"""The texts that bytes may stand for: decoded, with escapes undone, with markup and hyphens at line ends taken out.

A sentence in a file is still that sentence when JSON, HTML or a URL wrote it with escapes, when a log printed it in the
form of a program's literal, or when a program wrote it in UTF-16, UTF-32 or base64.
"""

from __future__ import annotations

import base64
import contextlib
import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

__all__ = ["bytes_views", "json_texts", "readings", "strings_by_place", "text_views"]

_ROUNDS = 4  # JSON in JSON in a log: escapes of escapes
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_TAG = re.compile(r"<[^<>]*>")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # and other orders to a terminal
_HYPHEN = re.compile(r"(?<=\w)[-\u2010][ \t]*\r?\n[ \t]*")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4}\s{0,2}){16,}[A-Za-z0-9+/_-]{0,3}")
# Letters of Europe and typographic signs; numpy keeps strings like this.
_UTF_32 = (
    ("utf-32-le", re.compile(rb"(?:[^\0][\0-\x05\x20]\0\0){16,}")),
    ("utf-32-be", re.compile(rb"(?:\0\0[\0-\x05\x20][^\0]){16,}")),
)
_UTF_16 = (("utf-16-le", 0), ("utf-16-be", 0), ("utf-16-le", 1), ("utf-16-be", 1))


def bytes_views(raw: bytes) -> Iterator[str]:
    """Yields every text that a file's bytes may stand for."""
    text = raw.decode("utf-8", "replace")
    yield from text_views(text)
    if b"\0" in raw:
        for encoding, start in _UTF_16:
            yield from text_views(raw[start:].decode(encoding, "replace"))
        for encoding, form in _UTF_32:
            for found in form.finditer(raw):
                yield from text_views(found[0].decode(encoding, "replace"))
    elif "\ufffd" in text:
        yield from text_views(raw.decode("cp1252", "replace"))


def text_views(text: str) -> Iterator[str]:
    """Yields the readings of a text, and of what stands in it in base64."""
    for reading in readings(text):
        yield reading
        for found in _BASE64.finditer(reading):
            packed = "".join(found[0].split()).replace("-", "+").replace("_", "/")
            raw = base64.b64decode(packed[: len(packed) // 4 * 4])  # up to two letters less
            yield from readings(raw.decode("utf-8", "replace"))


def readings(text: str) -> Iterator[str]:
    """Yields a text, what it is with its escapes undone (as often as there are some), and that without markup or hyphens."""
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
    if "\x1b" in text:
        yield _COLOUR.sub("", text)
    if "-" in text and _HYPHEN.search(text):
        yield _HYPHEN.sub("", _TAG.sub(" ", text))


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

    So a text that was stored word by word, as lists of tokens are, is a text again. Names of fields are strings as well, and a
    string that is JSON itself is looked into.

    Args:
        value: what JSON, parquet or Arrow hold: dicts, lists, strings, bytes, and anything else, which is passed over.
        found: place to strings in order; added to.
        place: where the value stands.
    """
    if isinstance(value, str):
        found.setdefault(place, []).append(value)
        if value.lstrip()[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                strings_by_place(json.loads(value), found, (*place, "json"))
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
