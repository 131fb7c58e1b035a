"""Synthetic radiology reports in the layout of MIMIC-III: the order's block, rules, headings, wrapped lines, page breaks."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass
from typing import Final

from medical_tasks.doclens.mimic_twin_words import NORMAL, SEEN, Examination

__all__ = ["TwinReport", "write_report"]

_RULE: Final = " " + "_" * 78 + "\n"
_FINAL: Final = " " * 33 + "FINAL REPORT\n"
_WIDTH: Final = 76
_PAGE_LINES: Final = 60
_WITHOUT_FINDINGS, _WITHOUT_IMPRESSION, _POINTING = 0.12, 0.08, 0.03


@dataclass(frozen=True, kw_only=True)
class TwinReport:
    """A report, and what a reader should find in it.

    Attributes:
        text: of the note.
        sentences: of its findings; empty for a report that cannot be used.
        impression: with single spaces; "" for one that cannot be used.
    """

    text: str
    sentences: tuple[str, ...]
    impression: str


def write_report(draw: random.Random, examination: Examination, *, date: str, length: int) -> TwinReport:
    """Writes a report.

    Args:
        draw: the source of chance.
        examination: what was done.
        date: of it.
        length: characters of the findings, at least; findings that few sentences fill are repeated at other levels.

    Returns:
        Text and what is in it.
    """
    sentences, meanings = _content(draw, examination.anatomy, length)
    numbered = len(meanings) > 1
    impression = [f"{place}. {each}" if numbered else each for place, each in enumerate(meanings, start=1)]
    kind = draw.random()
    usable = kind > _WITHOUT_FINDINGS + _WITHOUT_IMPRESSION + _POINTING
    heading = draw.choice(("FINDINGS:  ", "FINDINGS:\n ", f"{examination.modality} FINDINGS:  ", "Findings: "))
    if kind < _WITHOUT_FINDINGS:
        heading = "This examination was read on the console.  "
    elif kind < _WITHOUT_FINDINGS + _POINTING:
        impression = [draw.choice(("As above.", "Please see above.", "See body of the report."))]
    end = draw.choice(("IMPRESSION:  ", "IMPRESSION:\n ", "CONCLUSION: ")) + "\n ".join(map(_wrapped, impression))
    if _WITHOUT_FINDINGS + _POINTING <= kind < _WITHOUT_FINDINGS + _POINTING + _WITHOUT_IMPRESSION:
        end = ""
    half = len(sentences) // 2
    paragraphs = [sentences[:half], sentences[half:]] if draw.random() < 0.5 else [sentences]
    findings = "\n\n ".join(_wrapped(" ".join(part)) for part in paragraphs if part)
    order = _order(draw, examination, date)
    body = (
        f" INDICATION:  {draw.randrange(20, 90)}-year-old patient with a change of status.\n\n"
        f" COMPARISON:  [**{date}**].\n\n"
        f" TECHNIQUE:  {examination.modality} images were obtained as by protocol.\n\n"
        f" {heading}{findings}\n\n {end}\n"
    )
    signed = " " * 28 + "DR. [**First Name11 (Name Pattern1) **] [**Last Name (NamePattern4) 91**]\n"
    text = order + _condition() + _RULE + _FINAL + _paged(body, order) + ("\n\n" + signed if kind > 0.5 else "")
    if kind > 0.9:
        text += _RULE + " " * 33 + "PFI REPORT\n IMPRESSION:  Nothing acute.\n"
    return TwinReport(
        text=text, sentences=tuple(sentences) if usable else (), impression=" ".join(impression) if usable else ""
    )


def _content(draw: random.Random, anatomy: str, length: int) -> tuple[list[str], list[str]]:
    seen = draw.sample(SEEN[anatomy], draw.randrange(1, len(SEEN[anatomy]) + 1))
    numbers = [draw.randrange(3, 60) for _ in seen]
    sentences = [each.finding.format(n=number) for each, number in zip(seen, numbers, strict=True)]
    normal = draw.sample(NORMAL[anatomy], len(NORMAL[anatomy]))
    level = 0
    while normal or sum(map(len, sentences)) < length:
        sentences.append(
            normal.pop() if normal else f"Level {(level := level + 1)} is unremarkable and of normal signal."
        )
    draw.shuffle(sentences)
    return sentences, [each.meaning.format(n=number) for each, number in zip(seen, numbers, strict=True)]


def _order(draw: random.Random, examination: Examination, date: str) -> str:
    return (
        f"[**{date}**] {draw.randrange(1, 13)}:{draw.randrange(60):02d} {draw.choice(('AM', 'PM'))}\n"
        f" {examination.description:<63} Clip # [**Clip Number (Radiology) {draw.randrange(100, 99999)}**]\n"
        " Reason: please evaluate for acute change\n"
        " Admitting Diagnosis: CHANGE OF STATUS\n" + _RULE
    )


def _condition() -> str:
    return (
        " [**Hospital 2**] MEDICAL CONDITION:\n  patient with a change of status\n"
        " REASON FOR THIS EXAMINATION:\n  please evaluate\n No contraindications for IV contrast\n"
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=" ", break_long_words=False, break_on_hyphens=False)


def _paged(body: str, order: str) -> str:
    """Breaks a long report as the printer did: the order's block stands again between the pages."""
    lines = body.splitlines(keepends=True)
    pages = ["".join(lines[start : start + _PAGE_LINES]) for start in range(0, len(lines), _PAGE_LINES)]
    between = " " * 60 + "(Over)\n\n" + order + _FINAL + " (Cont)\n"
    return between.join(pages)
