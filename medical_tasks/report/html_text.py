"""Text in a page: escaped, with what a browser cannot hold written visibly, and links that lead nowhere unexpected."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

__all__ = ["Markup", "attributes", "escaped", "escaped_content", "isolated", "link", "markup"]

# A lone surrogate cannot be stored as UTF-8; control characters are not allowed in HTML (tab and line ends are).
_UNSTORABLE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WEB = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)
_FRAGMENT = re.compile(r"#[A-Za-z0-9._~%/:+@=,;!-]*")


class Markup(str):
    """HTML made by this package, every strange text in it escaped already; any other string is text."""

    __slots__ = ()


def markup(*parts: str) -> Markup:
    """Joins parts that are HTML already."""
    return Markup("".join(parts))


def escaped(text: str) -> Markup:
    r"""Makes text safe for HTML, inside an element and inside a quoted attribute.

    Args:
        text: any text, also hostile; what is `Markup` already stays as it is.

    Returns:
        The text with `<`, `>`, `&` and both quotes as references; lone surrogates and control characters in the form
        `\\ud800`, `\\x00`, since neither can stand in a page.
    """
    if isinstance(text, Markup):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    text = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    # Both end a line for some readers of HTML and for none of ours.
    return Markup(html.escape(text).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;"))


def escaped_content(text: str) -> Markup:
    """Escapes text that stands in an element and never in an attribute: quotes stay as they are, in JSON a third of the text."""
    return Markup(escaped(text).replace("&quot;", '"').replace("&#x27;", "'"))


def isolated(text: str) -> Markup:
    """Escapes a name that stands inside a sentence: its writing direction cannot turn the words around it."""
    return markup("<bdi>", escaped(text), "</bdi>")


def attributes(values: Mapping[str, str | bool | None]) -> str:
    """Writes attributes, each with a blank before it.

    Args:
        values: name (ours) to value; True gives the bare name, None and False leave it out.
    """
    parts = []
    for name, value in values.items():
        if value is True:
            parts.append(f" {name}")
        elif value is not None and value is not False:
            parts.append(f' {name}="{escaped(value)}"')
    return "".join(parts)


def link(text: str, address: str) -> Markup:
    """Makes a link of an address on the web or within the page; of any other address (`javascript:`) only the text."""
    if _FRAGMENT.fullmatch(address):
        return markup(f'<a href="{escaped(address)}">', escaped(text), "</a>")
    if _WEB.fullmatch(address):
        return markup(f'<a href="{escaped(address)}" rel="noreferrer noopener">', escaped(text), "</a>")
    return escaped(text)
