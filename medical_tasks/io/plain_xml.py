"""XML from outside, read so that it can do nothing but be read.

No document type, hence no entity that could expand or point elsewhere; nothing outside the text is followed; its size and the
depth of its elements are bounded. What is wrong is told by its place: the text may be private.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any, Final
from xml.parsers.expat import ErrorString

__all__ = ["DEPTH_LIMIT", "PlainXmlError", "xml_root"]

DEPTH_LIMIT: Final = 64
"""Elements within one another; files of tables and of cases have less than ten."""


class PlainXmlError(ValueError):
    """What is wrong with a document, as the end of a sentence that begins with its name."""


def xml_root(data: bytes, *, limit_bytes: int) -> ET.Element:
    """Reads a document.

    Args:
        data: all of it, UTF-8 with or without a byte order mark.
        limit_bytes: the most it may have.

    Returns:
        Its outermost element; comments and processing instructions are left out.

    Raises:
        PlainXmlError: It is too long or too deep, no UTF-8, has a document type, or is not whole.
    """
    if len(data) > limit_bytes:
        raise PlainXmlError(f"has {len(data):,} bytes, more than {limit_bytes:,}")
    try:
        # Decoded here, so that no declared encoding hides a document type from the next line.
        document = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlainXmlError(f"is not UTF-8 (byte {error.start:,})") from None
    if "\0" in document:
        # Bytes of UTF-16 can be UTF-8 as well; the parser would tell them by their zeros, and find the document type then.
        raise PlainXmlError("is not whole: it has a character with the code 0")
    if "<!DOCTYPE" in document:
        raise PlainXmlError("declares entities, or could: it has a DOCTYPE")
    parser = ET.XMLParser(target=_Bounded())  # noqa: S314 - without a DOCTYPE there are no entities to expand
    try:
        parser.feed(document)
        root: ET.Element = parser.close()
    except ET.ParseError as error:
        line, column = error.position
        # The parser's own message can quote the document, such as the name of an entity it does not know.
        raise PlainXmlError(f"is not whole: {ErrorString(error.code)}, line {line}, column {column + 1}") from None
    return root


class _Bounded(ET.TreeBuilder):
    """Builds the tree, down to a depth."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: Any, attrs: Any, /) -> ET.Element:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise PlainXmlError(f"has elements within one another deeper than {DEPTH_LIMIT}")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)
