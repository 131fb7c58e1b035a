"""Documents cut into passages of a bounded number of words, at paragraph borders where there is one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medical_tasks.benchmarks.kqa.documents import Document

__all__ = ["OVERLAP", "Chunk", "chunk_documents"]

OVERLAP = 5
"""Up to one word in so many is repeated from the passage before, so that a sentence cut in two stands whole somewhere."""

# Text without spaces (some scripts, encoded pictures) is cut as well, or one "word" could fill the whole prompt.
_WORD = re.compile(r"\S{1,40}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A passage.

    Attributes:
        id: name of its document, `#`, and its number in it from 1.
        document: where it is from.
        text: the passage, as it stands in the document.
    """

    id: str
    document: Document
    text: str


def chunk_documents(documents: Iterable[Document], chunk_words: int) -> Iterator[Chunk]:
    """Cuts documents.

    A passage ends at the last paragraph border in its second half, else after its full number of words. The next one begins
    at the first paragraph border within the overlap, else with the overlap.

    Args:
        documents: in order.
        chunk_words: words of a passage at most.

    Yields:
        The passages in order; every word of a document is in at least one of its passages.
    """
    for document in documents:
        for number, text in enumerate(_passages(document.text, chunk_words), start=1):
            yield Chunk(id=f"{document.name}#{number}", document=document, text=text)


def _passages(text: str, size: int) -> Iterator[str]:
    spans = [match.span() for match in _WORD.finditer(text)]
    borders = _borders(text, spans)
    start = 0
    while start < len(spans):
        end = min(start + size, len(spans))
        if end < len(spans):
            # The last border that leaves more than half a passage.
            end = next((place for place in range(end, start + size // 2, -1) if place in borders), end)
        yield text[spans[start][0] : spans[end - 1][1]]
        if end == len(spans):
            return
        earliest = end - size // OVERLAP
        start = next((place for place in range(earliest, end + 1) if place in borders), earliest)


def _borders(text: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    """Numbers of the words that begin a paragraph."""
    starts = [start for start, _ in spans]
    return {bisect_left(starts, match.end()) for match in _BLANK_LINE.finditer(text)}
