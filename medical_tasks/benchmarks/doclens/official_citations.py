"""The authors' reading of citations, bug for bug (their `citation_evaluation/eval_citation.py` and `eval_citation_model.py`).

What they do:

- `sent` (ACI-BENCH) splits with NLTK's `sent_tokenize`; `meqsum` takes the whole output as one sentence; `citation` (the radiology
  reports, and texts of other kinds) cuts behind each run of the characters `[`, `]`, `+` and digits, so every number of the prose
  ends a segment, and drops what stands behind the last run
- a split by `citation` that gives one segment is one sentence that nothing supports, however well it was cited; one that gives
  none is nothing at all: an output without a single digit is not counted
- numbers count behind `[`, so `[1-3]` cites 1 and `[4, 5]` cites 4; they are put into a Python set and taken in its order
- a sentence that cites nothing takes the citations of the next that has any, those with repeats
- without citations, or with one as large as the number of source sentences, the sentence is unsupported and not asked about; else
  it is asked about with its first ten citations
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.scoring.punkt import UNTRAINED, Punkt, punkt_spans

__all__ = [
    "MAX_CITATIONS",
    "OfficialSentence",
    "SplitMethod",
    "official_ids",
    "official_segments",
    "official_sentences",
    "official_sources",
    "remove_citations_official",
    "without_item_numbers",
]

SplitMethod = Literal["sent", "citation", "meqsum"]

MAX_CITATIONS: Final = 10
"""How many citations of a sentence are looked at."""

_RUN = re.compile(r"[\[\d+\]]+")
_OPEN = re.compile(r"\[(\d+)")
_REMOVED = re.compile(r" ?\[\d+")
_SOURCE = re.compile(r"\[(\d+)\]")
_ITEM = re.compile(r"\d+. ")
_MAX_DIGITS = 640  # the fewest digits Python can be set to refuse; no source has as many sentences


@dataclass(frozen=True, kw_only=True)
class OfficialSentence:
    """A sentence as their score files have it.

    Attributes:
        output: with its citations, white space run together; "" for the one segment that counts as uncited.
        target: what is judged.
        citations: the numbers that count in the denominator of citation precision, cut to ten if it is asked about.
        asked: whether a judge decides; otherwise nothing supports it.
        borrowed: whether the citations are those of a later sentence.
    """

    output: str
    target: str
    citations: tuple[int, ...] = ()
    asked: bool = False
    borrowed: bool = False


def official_segments(text: str, *, method: SplitMethod, punkt: Punkt = UNTRAINED) -> list[str]:
    """Splits an output as they do, white space as it stands.

    Args:
        text: the output.
        method: theirs for the dataset.
        punkt: parameters for `sent`; they use NLTK's trained ones for English (`scoring.punkt.read_punkt`).
    """
    if method == "meqsum":
        return [text]
    if method == "sent":
        return [text[start:end] for start, end in punkt_spans(text, punkt)]
    ends = [found.end() for found in _RUN.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def official_ids(text: str) -> list[int]:
    """Lists the numbers behind `[`, repeats included."""
    return [int(digits[:_MAX_DIGITS]) for digits in _OPEN.findall(text)]


def remove_citations_official(text: str) -> str:
    """Takes `[1` with the space before it away, then each ` |` and each `]` of the text."""
    # One pass takes what their two take: a number behind a bracket is never followed by what makes another.
    return _REMOVED.sub("", text).replace(" |", "").replace("]", "")


def without_item_numbers(text: str) -> str:
    """Takes each number with any character and a space behind it away, as they do before TRUE judges a radiology summary."""
    return _ITEM.sub("", text)


def official_sources(text: str) -> dict[int, str]:
    """Splits an input at every `[0]`; what stands before the first is dropped, and of a number given twice the last counts."""
    marks = list(_SOURCE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        int(mark[1][:_MAX_DIGITS]): " ".join(text[mark.end() : end].split())
        for mark, end in zip(marks, ends, strict=False)
    }


def official_sentences(
    text: str, *, method: SplitMethod, sources: Mapping[int, str] | Collection[int], punkt: Punkt = UNTRAINED
) -> list[OfficialSentence]:
    """Reads an output as they do.

    Args:
        text: the output.
        method: theirs for the dataset.
        sources: the numbers of the source's sentences.
        punkt: as in `official_segments`.

    Returns:
        Their records, in order.

    Raises:
        UsageError: The source is not numbered from 0 without a gap and a sentence cites a number it does not have. Their script
            ends with a KeyError.
    """
    if not text:
        return []
    segments = official_segments(text, method=method, punkt=punkt)
    if method == "citation" and len(segments) == 1:
        return [OfficialSentence(output="", target="")]
    outputs = [" ".join(segment.split()) for segment in segments]
    ids = [official_ids(output) for output in outputs]
    following = _following(ids)
    return [
        _sentence(output, own=own, later=later, sources=sources)
        for output, own, later in zip(outputs, ids, following, strict=True)
    ]


def _following(ids: Sequence[list[int]]) -> list[list[int]]:
    """For each sentence the citations of the next that has some."""
    found: list[list[int]] = []
    later: list[int] = []
    for own in reversed(ids):
        found.append(later)
        later = own or later
    return found[::-1]


def _sentence(
    output: str, *, own: list[int], later: list[int], sources: Mapping[int, str] | Collection[int]
) -> OfficialSentence:
    # The order of a Python set of small numbers is mostly ascending, but not always ({8, 1}): which ten are the first is its.
    citations = list(set(own)) if own else later
    asked = bool(citations) and max(citations) < len(sources)
    if asked:
        citations = citations[:MAX_CITATIONS]
        missing = [number for number in citations if number not in sources]
        if missing:
            raise UsageError(
                f"[{missing[0]}] is cited, and the source's {len(sources)} sentences have no such number. The authors' script "
                "fails on sources that are not numbered 0, 1, 2 ...: number them so."
            )
    return OfficialSentence(
        output=output,
        target=remove_citations_official(output),
        citations=tuple(citations),
        asked=asked,
        borrowed=not own and bool(citations),
    )
