"""The numbered sentences of a source: `[0] ... [1] ...`, as the authors' input files and our prompts have them."""

from __future__ import annotations

import re

__all__ = ["read_sources"]

_NUMBER = re.compile(r"\[([0-9]{1,6})\]")


def read_sources(text: str) -> dict[int, str]:
    """Reads a numbered source.

    A number counts when it goes on from the one before, or is the first; another one (`a dose of [5]`) is part of a sentence.

    Args:
        text: the source.

    Returns:
        Number to sentence, white space run together, blank ones included. What stands before the first number is not there.
    """
    marks: list[re.Match[str]] = []
    for found in _NUMBER.finditer(text):
        if not marks or int(found[1]) == int(marks[-1][1]) + 1:
            marks.append(found)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {int(mark[1]): " ".join(text[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=False)}
