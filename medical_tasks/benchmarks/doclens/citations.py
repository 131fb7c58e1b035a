"""Sentences of generated text, each with what it cites (DocLens, section 3.3).

A sentence that cites nothing stays what it is: a sentence that nothing supports. It borrows no citation. What the source does
not have is kept among its ids; `verdicts` makes it a citation that supports nothing. Where sentences end says `sentence_ends`.
"""

from __future__ import annotations

from dataclasses import dataclass

from medical_tasks.benchmarks.doclens.markers import cited_ids, remove_citations
from medical_tasks.benchmarks.doclens.sentence_ends import sentence_pieces

__all__ = ["Sentence", "read_sentences"]


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence.

    Attributes:
        raw: as it stands, with its markers and the white space around it.
        text: what is judged: without markers, white space run together. "" where there are markers and nothing else.
        citations: what it cites, each number once, in order of first mention.
    """

    raw: str
    text: str
    citations: tuple[int, ...]


def read_sentences(text: str) -> tuple[Sentence, ...]:
    """Reads a generated text.

    Args:
        text: a model's output.

    Returns:
        Its sentences, none for a blank text. Their `raw`, one behind the other, are the text: nothing is lost.
    """
    return tuple(
        Sentence(raw=raw, text=" ".join(remove_citations(raw).split()), citations=cited_ids(raw))
        for raw in sentence_pieces(text)
    )
