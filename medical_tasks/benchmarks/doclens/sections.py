"""The four sections of a clinical note, as ACI-BENCH divides it: subjective, exam, results, assessment and plan.

A note is divided at its headings, and at nothing else: each heading that is known begins its section, every other line stays
where it is. So no text is ever lost or doubled, whatever a model writes. Which heading belongs where follows ACI-BENCH's own
division (Yim et al. 2023, "division-based" summaries): vital signs that stand before the examination are part of the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["EMPTY", "SECTIONS", "divide_note", "heading_section"]

SECTIONS: Final = ("subjective", "objective_exam", "objective_results", "assessment_and_plan")
EMPTY: Final = "#####EMPTY#####"
"""What ACI-BENCH's files hold for a section that a note does not have, behind the section's name."""

_HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "subjective": (
        "subjective", "chief complaint", "cc", "reason for visit", "history of present illness", "hpi", "interval history",
        "history", "past history", "medical history", "past medical history", "pmh", "surgical history",
        "past surgical history", "psh", "birth history", "family history", "social history", "allergies", "medications",
        "current medications", "home medications", "review of systems", "ros", "immunizations",
    ),
    "objective_exam": (
        "objective", "objective exam", "exam", "examination", "physical exam", "physical examination", "pe",
        "objective physical exam",
    ),
    "objective_results": (
        "objective results", "results", "result", "laboratory results", "lab results", "labs", "imaging", "imaging results",
        "test results", "diagnostic results", "diagnostics", "data reviewed",
    ),
    "assessment_and_plan": (
        "assessment and plan", "assessment plan", "a p", "ap", "assessment", "impression", "impression and plan", "plan",
        "treatment plan", "recommendations",
    ),
}  # fmt: skip
_SECTION_OF: Final = {heading: section for section, names in _HEADINGS.items() for heading in names}

_LONGEST: Final = 60
_MARKUP: Final = re.compile(r"^[#>\s]*[*_]{0,3}(?P<text>.*?)[*_]{0,3}\s*:?\s*[*_]{0,3}\s*$")
_NUMBERED: Final = re.compile(r"^(?:\d{1,2}|[IVX]{1,4}|[A-Da-d])[.)]\s+")
_NO_WORD: Final = re.compile(r"[^a-z]+")


def heading_section(line: str) -> str | None:
    """Says which section a line begins.

    A heading stands alone on its line: in capitals, in words with a capital first and a colon behind, or marked up
    (`## Plan`, `**Plan:**`). A line of prose that holds such a word is none.

    Args:
        line: one line of a note.

    Returns:
        One of `SECTIONS`; None for any other line.
    """
    if len(line) > _LONGEST or not line.strip():
        return None
    stripped = line.strip()
    text = _NUMBERED.sub("", _MARKUP.sub(r"\g<text>", stripped)).strip()
    marked = stripped[0] in "#*_" or stripped.rstrip("*_ ").endswith(":")
    if not text or not (text.isupper() or (marked and text[0].isupper())):
        return None
    return _SECTION_OF.get(_NO_WORD.sub(" ", text.lower()).strip())


def divide_note(note: str) -> dict[str, str]:
    """Divides a note.

    Args:
        note: the whole note.

    Returns:
        Text of each of `SECTIONS`, headings included, "" for those it does not have. What stands before the first heading is
        subjective. Each line of the note is in exactly one section, with its line end, in order.
    """
    parts: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for section, line in _lines(note):
        parts[section].append(line)
    return {section: "".join(lines) for section, lines in parts.items()}


def _lines(note: str) -> Iterator[tuple[str, str]]:
    current = SECTIONS[0]
    for line in note.splitlines(keepends=True):
        current = heading_section(line) or current
        yield current, line
