"""Lines of a report that were wrapped by their width, joined again; and the sentences of the result.

Sentences are found by `scoring.sentences`, which knows the abbreviations of clinical texts (`approx. 3 mm`, `Dr.`, `cm.` amid a
sentence), keeps the number of a list with its line and ends a sentence at an empty line. The rules of `doclens.sentences` are
for letters of patients: they know five abbreviations, and capitals do not count for them.
"""

from __future__ import annotations

import re

from medical_tasks.scoring.sentences import split_sentences

__all__ = ["joined_lines", "report_sentences"]

_ITEM = re.compile(r"(?P<number>\(?[0-9]{1,2}[.)]|#[0-9]{1,2}[.)]?)\s+\S|[-*•·]\s+\S")
_END_MARKS = (".", "!", "?", ":", ";")
_CLOSING = "\"')]"


def joined_lines(text: str) -> str:
    """Joins wrapped lines.

    A line goes on with the one before it, unless it begins an item of a list or an empty line stands between. Behind an empty
    line, as a page's end leaves one, it goes on with a heading that ends in a colon, and where the line before has no end mark and
    it begins with a small letter. A number at its beginning is an item's only where the line before has ended: `measures up to`
    is followed by no item.

    Args:
        text: lines, of any indentation.

    Returns:
        Paragraphs and items, one a line, paragraphs with an empty line before them; no other white space but single spaces.
    """
    joined: list[list[str]] = []  # what lines hold, of which some are empty
    above, gap = "", False  # the last line that is not empty, and whether an empty one is below
    for raw in text.splitlines():
        line = " ".join(raw.split())
        if not line:
            gap = bool(above)
            continue
        if above and _goes_on(above, line, gap=gap):
            joined[-1].append(line)
        else:
            joined += [[], [line]] if gap else [[line]]
        above, gap = line, False
    return "\n".join(map(" ".join, joined))


def _goes_on(above: str, line: str, *, gap: bool) -> bool:
    ended = above.rstrip(_CLOSING).endswith(_END_MARKS)
    item = _ITEM.match(line)
    if item:
        return bool(item["number"]) and not ended and not gap
    return not gap or above.endswith(":") or (line[0].islower() and not ended)


def report_sentences(findings: str) -> list[str]:
    """Splits findings into sentences; the number of a sentence is its place, from 0.

    Args:
        findings: as `joined_lines` returns it.

    Returns:
        Sentences that are not blank, each on one line. Joined by spaces they are the findings up to white space.
    """
    return [" ".join(sentence.split()) for sentence in split_sentences(findings)]
