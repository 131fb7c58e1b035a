"""How AlignScore takes a context and a claim apart, and makes one number of the parts' scores.

Source: Zha et al. (2023), AlignScore: Evaluating factual consistency with a unified alignment function, section 3.3, in the form of
the authors' code: about 350 words a chunk of context, every sentence of the claim against every chunk, the best chunk of each
sentence, the mean over sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["CHUNK_WORDS", "best_and_mean", "chunk_context"]

CHUNK_WORDS: Final = 350
"""Words that decide how many chunks a context has."""


def chunk_context(context: str, sentences: Sequence[str]) -> list[str]:
    """Joins the sentences of a context to chunks.

    Each chunk has the same number of sentences, the last one what is left; so there can be more chunks than `words // 350 + 1`,
    and a context of one sentence is one chunk whatever its length.

    Args:
        context: the whole text, whose words are counted.
        sentences: its sentences.

    Returns:
        At least one chunk; an empty text is one of a context without sentences.
    """
    known = list(sentences) or [""]
    step = max(1, len(known) // (len(context.split()) // CHUNK_WORDS + 1))
    return [" ".join(known[start : start + step]) for start in range(0, len(known), step)]


def best_and_mean(scores: Sequence[Sequence[float]]) -> float:
    """The mean over a claim's sentences of its best chunk's score.

    Args:
        scores: for each sentence the score of each chunk, at least one.

    Returns:
        0 for a claim without sentences: it says nothing that the context could bear out. The authors' code crashes there.
    """
    return math.fsum(max(row) for row in scores) / len(scores) if scores else 0.0
