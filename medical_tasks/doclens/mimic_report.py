"""Findings and impression of a radiology report of MIMIC-III.

The note begins with a block of the order (examination, reason, medical condition), between lines of underscores; what counts
stands below `FINAL REPORT`, up to the next such line, behind which preliminary reports are repeated. At the end of a page the
block is repeated between `(Over)` and `(Cont)`. Sections begin with headings. Lines are wrapped at some eighty characters.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from medical_tasks.doclens.mimic_left_out import LeftOut
from medical_tasks.doclens.mimic_lines import joined_lines

__all__ = ["FEWEST_FINDINGS_WORDS", "FEWEST_IMPRESSION_WORDS", "Report", "check_report", "read_report"]

FEWEST_FINDINGS_WORDS: Final = 10
FEWEST_IMPRESSION_WORDS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is used of a report: lines joined to paragraphs, between which an empty line stands.

    Attributes:
        findings: what was seen.
        impression: what it means.
    """

    findings: str
    impression: str


_RULE = re.compile(r"^[ \t]*_{10,}[ \t]*$", re.MULTILINE)
_FINAL = re.compile(r"^[ \t]*(?:\*+ )?(?:FINAL|REVISED) REPORT\b.*$", re.MULTILINE)
# The order's block is a dozen lines; a `(Cont)` far below is of another page.
_PAGE_BREAK = re.compile(r"^[ \t]*\(Over\)[ \t]*\n(?:.*\n){0,40}?[ \t]*\(Cont\)[ \t]*$", re.MULTILINE)
_PAGE_MARK = re.compile(r"^[ \t]*\((?:Over|Cont)\)[ \t]*$", re.MULTILINE)

_EXAMINED: Final = "CTA?|MR[AI]?|HEAD|BRAIN|NECK|CHEST|ABDOM(?:EN|INAL)|PELVI[SC]|(?:[CTL]-?)?SPINE|AND|&"
_HEADINGS: Final = {
    "both": r"FINDINGS? ?(?:/|&|AND) ?IMPRESSIONS?|IMPRESSIONS? ?(?:/|&|AND) ?FINDINGS?",
    "findings": rf"(?:(?:{_EXAMINED}) ){{0,5}}FINDINGS?",
    "impression": r"(?:(?:FINAL|OVERALL) )?IMPRESSIONS?|CONCLUSIONS?|SUMMARY",
    "other": r"ADDENDUM(?: REPORT)?|ATTENDING|BACKGROUND|CLINICAL [A-Z ]{4,25}|COMPARISONS?(?: [A-Z]{2,12})?|CONTRAST|"
    r"DICTATED BY|DOSE|EXAM(?:INATION)?S?|HISTORY|INDICATIONS?|MEDICAL CONDITION|NOTIFICATIONS?|PRIOR STUD(?:Y|IES)|"
    r"PROCEDURES?|PROTOCOL|PROVISIONAL FINDINGS IMPRESSION(?: \(PFI\))?|REASON(?: FOR [A-Z ]{4,25})?|RECOMMENDATIONS?|STUDY|"
    r"TECHNI(?:QUE|CAL FACTORS)|WET READ",
}
_KNOWN: Final = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _HEADINGS.items()}
# At the beginning of a line with a colon; in capitals also alone on it, before a dash, or with a colon behind another sentence.
_LINE = re.compile(r"^[ \t]*([A-Z][A-Za-z&/ -]{3,40}?(?: \(PFI\))?)[ \t]*(?:(:)|$|[ \t]-[ \t])", re.MULTILINE)
_WITHIN = re.compile(
    r"(?:(?<=[.:)\]][ \t])|(?<=[.:)\]][ \t]{2}))(FINDINGS?|IMPRESSIONS?|TECHNIQUE|COMPARISONS?|RECOMMENDATIONS?)[ \t]*(:)"
)
# Who signed it: far to the right, or with the time of the approval.
_SIGNED = re.compile(r"^[ \t]{10,}DR\.|\b(?:Approved|[Ss]igned by)[ \t]*:", re.MULTILINE)

_LETTERS = re.compile("[a-z]+")
_POINTERS: Final = frozenset(
    "a above and are as at below body comment comments complete described description detail detailed details dictated dictation "
    "discussed examination exam findings for full given in information is listed main mentioned noted of outlined per please refer "
    "report reported reports same section see stated study text the these this to under".split()
)
_POINTS_AT: Final = frozenset("above below body comment comments description findings report section text".split())


def read_report(text: str) -> Report | LeftOut:
    """Finds findings and impression in a note.

    Several findings sections, as of a report on head and face, are joined. Sections of other names, and who signed, belong to
    neither.

    Args:
        text: a note, as released.

    Returns:
        Both sections, or the reason for which the report cannot be used.
    """
    body = _body(text.replace("\r\n", "\n"))
    parts: dict[str, list[str]] = {"findings": [], "impression": []}
    name, start = "other", 0
    for following, begin, end in _headings(body):
        if following == "both":
            return LeftOut.ONE_SECTION
        if name in parts:
            parts[name].append(body[start:begin])
        name, start = following, end
    if name in parts:
        parts[name].append(body[start:])
    findings, impressions = ([joined for each in parts[name] if (joined := _section(each))] for name in parts)
    if not findings:
        return LeftOut.NO_FINDINGS
    if len(impressions) != 1:
        return LeftOut.SEVERAL_IMPRESSIONS if impressions else LeftOut.NO_IMPRESSION
    report = Report(findings="\n\n".join(findings), impression=impressions[0])
    return check_report(report) or report


def check_report(report: Report) -> LeftOut | None:
    """Says why a report with both sections cannot be used.

    Args:
        report: its sections.

    Returns:
        The reason; None for a report that can be used.
    """
    if sum(any(map(str.isalnum, word)) for word in report.findings.split()) < FEWEST_FINDINGS_WORDS:
        return LeftOut.SHORT_FINDINGS
    words = _LETTERS.findall(report.impression.lower())
    if words and _POINTERS.issuperset(words) and not _POINTS_AT.isdisjoint(words):
        return LeftOut.POINTING_IMPRESSION
    if len(words) < FEWEST_IMPRESSION_WORDS:
        return LeftOut.SHORT_IMPRESSION
    return None


def _body(text: str) -> str:
    """The final report alone; without such a line the last of what stands between rules that has findings, or the last."""
    text = _PAGE_MARK.sub("", _PAGE_BREAK.sub("", text))
    final = _FINAL.search(text)
    if final:
        # A second such line begins another report.
        return _RULE.split(_FINAL.split(text[final.end() :], maxsplit=1)[0], maxsplit=1)[0]
    blocks = _RULE.split(text)[::-1]
    return next((block for block in blocks if any(name == "findings" for name, _, _ in _headings(block))), blocks[0])


def _headings(body: str) -> list[tuple[str, int, int]]:
    """The headings in order: which section each begins (`findings`, `impression`, `both` or `other`), its start and end."""
    found = []
    for match in itertools.chain(_LINE.finditer(body), _WITHIN.finditer(body)):
        name = _section_of(match[1])
        if name and (match[1].isupper() or match[2]):
            found.append((name, match.start(), match.end()))
    return sorted(found, key=lambda each: each[1])


@lru_cache(maxsize=8192)
def _section_of(heading: str) -> str:
    """Which section a heading begins; "" for what is none."""
    return next((name for name, known in _KNOWN.items() if known.fullmatch(heading)), "")


def _section(text: str) -> str:
    """A section without who signed it."""
    signed = _SIGNED.search(text)
    return joined_lines(text[: text.rfind("\n", 0, signed.start()) + 1] if signed else text)
