"""SQuAD-form JSON files of any size, paragraph by paragraph: one note with its questions is in memory at a time.

Three outer shapes are read, all of which the makers of such files use:

    {"data": [ENTRY, ...]}      SQuAD's own
    [ENTRY, ...]                emrQA's files put together
    ENTRY                       one of emrQA's files, by challenge

where ENTRY is `{"title": ..., "paragraphs": [PARAGRAPH, ...]}`, its members in any order, others passed over.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import open_file

__all__ = ["PARAGRAPH_LIMIT_CHARS", "Paragraph", "read_paragraphs", "read_titles"]

# emrQA's fullest notes have some tens of millions with all their questions; beyond is the rest of a file behind a lost bracket.
PARAGRAPH_LIMIT_CHARS = 512 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_SPACE = " \t\r\n"
# A value that ends with the text read so far fails there, or up to one escape before.
_NEAR_END = 16
_EXPONENT = len("e+1")


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph as it stands in the file.

    Attributes:
        line: on which it begins, from 1.
        entry: number of the entry it is of, from 1.
        number: of the paragraph in its entry, from 1.
        title: of the entry, where it stands before the paragraphs; None where not.
        value: the paragraph, any JSON value.
    """

    line: int
    entry: int
    number: int
    title: Any
    value: Any


def read_paragraphs(path: Path, *, on_read: Callable[[int], None] = lambda _: None) -> Iterator[Paragraph]:
    """Reads the paragraphs of a file.

    Args:
        path: the file, UTF-8; a byte order mark is skipped.
        on_read: called with the number of bytes that were read so far.

    Yields:
        The paragraphs in order.

    Raises:
        UsageError: The file cannot be read, is cut off or damaged, or is of none of the shapes; the message says where and
            never quotes the file.
    """
    for entry, title, line, value in _walk(path, on_read):
        if value is not None:
            number, content = value
            yield Paragraph(line=line, entry=entry, number=number, title=title, value=content)


def read_titles(path: Path) -> dict[int, Any]:
    """Reads the titles of the entries alone, wherever they stand.

    Args:
        path: the file.

    Returns:
        Number of the entry to its title, for those that have one.

    Raises:
        UsageError: As `read_paragraphs`.
    """
    return {entry: title for entry, title, _, value in _walk(path, lambda _: None) if value is None}


# Entry, its title so far, line; and number and value of a paragraph, or None where the title itself was come upon.
_Step = tuple[int, Any, int, tuple[int, Any] | None]


def _walk(path: Path, on_read: Callable[[int], None]) -> Iterator[_Step]:
    try:
        with open_file(path) as stream:
            text = _Text(path, stream, on_read)
            if not text.peek():
                raise text.wrong("it is empty")
            if text.peek() == "[":
                yield from _entries(text)
            else:
                yield from _entry(text, 1, outer=True)
            if text.peek():
                raise text.wrong("something stands behind the end of the JSON value")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error


def _entries(text: _Text) -> Iterator[_Step]:
    for number in text.elements():
        yield from _entry(text, number)


def _entry(text: _Text, number: int, *, outer: bool = False) -> Iterator[_Step]:
    title: Any = None
    found = False
    for name in text.members():
        if name == "paragraphs":
            found = True
            for place in text.elements():
                line = text.line()
                yield number, title, line, (place, text.value())
        elif name == "data" and outer:
            found = True
            yield from _entries(text)
        elif name == "title":
            title = text.value()
            yield number, title, text.line(), None
        else:
            text.value()
    if not found:
        wanted = "'data' or 'paragraphs'" if outer else "'paragraphs'"
        raise text.wrong(f"the object that ends there has no {wanted}")


class _Text:
    """The text of a file, read as far as is needed."""

    def __init__(self, path: Path, stream: BinaryIO, on_read: Callable[[int], None]) -> None:
        self._path = path
        self._stream = stream
        self._on_read = on_read
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._held = ""
        self._at = 0
        self._ended = False
        self._line = 1
        self._counted = 0  # how far in the held text lines were counted

    def line(self) -> int:
        """Returns the line of what comes next."""
        self.peek()
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def wrong(self, reason: str) -> UsageError:
        """Makes the error of what comes next."""
        return UsageError(
            f"{self._path}: line {self.line()}: not a SQuAD-form JSON file: {reason}. Download it, or make it, again."
        )

    def peek(self) -> str:
        """Returns the next character that is no white space, and leaves it there; "" at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held) or self._ended:
                return self._held[self._at : self._at + 1]
            self._more()

    def elements(self) -> Iterator[int]:
        """Counts through a list; the caller takes the value each time."""
        return self._parts("[", "]", "a list")

    def members(self) -> Iterator[str]:
        """Yields the names of an object; the caller takes the value each time."""
        names: set[str] = set()
        for _ in self._parts("{", "}", "an object"):
            name = self.value() if self.peek() == '"' else None
            if not isinstance(name, str) or self.peek() != ":":
                raise self._broken()
            self._at += 1
            if name in names:
                raise self.wrong("the object that holds this has two members of one name")
            names.add(name)
            yield name

    def _parts(self, opening: str, closing: str, kind: str) -> Iterator[int]:
        if self.peek() != opening:
            raise self.wrong(f"{kind} must stand there") if self.peek() else self._broken()
        self._at += 1
        if self.peek() == closing:
            self._at += 1
            return
        number = 1
        while True:
            yield number
            number += 1
            sign = self.peek()
            if sign not in (",", closing):
                raise self._broken()
            self._at += 1
            if sign == closing:
                return

    def _broken(self) -> UsageError:
        return self.wrong("it is damaged there" if self.peek() else "it is cut off there")

    def value(self) -> Any:
        """Takes a whole value."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                # Either the rest of the value is not held yet, or it is broken where the decoder says.
                unfinished = error.pos + _NEAR_END > len(self._held) or error.msg.startswith("Unterminated string")
                if self._ended or not unfinished:
                    self._at = error.pos
                    raise self.wrong(f"it is {'cut off or ' if unfinished else ''}damaged there") from error
            except (ValueError, RecursionError) as error:
                reason = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
                raise self.wrong(f"{reason} in the value that begins there") from error
            else:
                # The first half of a number is a number: `1` of `12`, `1.5` of `1.5e+3`.
                cut = self._held[end : end + 1] in (".", "e", "E") and len(self._held) - end < _EXPONENT
                if self._ended or (end < len(self._held) and not cut):
                    self._at = end
                    return value
            if len(self._held) - self._at > PARAGRAPH_LIMIT_CHARS:
                raise self.wrong(f"the value that begins there has more than {PARAGRAPH_LIMIT_CHARS:,} characters")
            self._more()

    def _more(self) -> None:
        """Holds at least twice as much of what comes next, so that trying again costs no more than reading did."""
        self._line += self._held.count("\n", self._counted, self._at)
        rest = self._held[self._at :]
        self._at = self._counted = 0
        raw = self._stream.read(max(_CHUNK_BYTES, len(rest)))
        self._on_read(self._stream.tell())
        self._ended = not raw
        try:
            self._held = rest + self._decode.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{self._path}: not UTF-8 near byte {self._stream.tell():,} (byte 0x{error.object[error.start]:02x}). Download it, "
                "or make it, again."
            ) from error
