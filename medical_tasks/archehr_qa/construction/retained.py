"""How much of an answer its reviewer kept: the share of its words, function words and punctuation left out (paper, Results).

The paper compares lemmas, by a tool that it does not name; here words are compared by Porter's stems and our own list of function
words (`words`), so shares can differ a little from the paper's.
"""

from __future__ import annotations

from collections import Counter

from medical_tasks.archehr_qa.construction.words import content_words

__all__ = ["retained_words"]


def retained_words(before: str, after: str) -> tuple[int, int]:
    """Counts the words of an answer that are still there; a word that stood twice and stands once was kept once.

    Args:
        before: the answer as it was written.
        after: as it was left.

    Returns:
        How many were kept, and how many there were.
    """
    written, left = Counter(content_words(before)), Counter(content_words(after))
    return (written & left).total(), written.total()
