"""Where sentences begin and end, for judges that read no prompt."""

from __future__ import annotations

import itertools
import re

__all__ = ["sentence_spans"]

_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[a-z][.!?])(?=[A-Z])|(?<=[。！？])|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Splits a text at line ends and after `.`, `!` and `?`.

    Abbreviations end a sentence too: what is done with the spans must bear that.

    Args:
        text: any text.

    Returns:
        Start and end of each sentence with the white space behind it; together they are the whole text, in order.
    """
    cuts = sorted({0, len(text), *(found.end() for found in _BREAK.finditer(text))})
    return list(itertools.pairwise(cuts))
