"""Parses radiology reports of MIMIC-III: modality and anatomy, findings and impression.

The paper names modalities and anatomies (appendix on the experiments), but not how
reports were assigned to them; the word lists here are ours.

- **Reports**: category `Radiology`, not marked `ISERROR`, no procedures; `DESCRIPTION`
  gives one modality and one of the anatomies.
- **Sections**: `FINDINGS` and `IMPRESSION` or `CONCLUSION` of the final report; without
  `FINDINGS`, the text under the heading of the examination, as in MEDIQA 2021. Left out
  and counted: a missing section, several impressions, findings under 10 words,
  impressions under 2 words or that only point elsewhere. Wrapped lines are joined;
  de-identification marks stay.
- **Splits**: `test` has shares by largest remainder and, within a pair, the lowest
  hashes of ROW_ID. `train` has up to 50 reports of six pairs (CT head, abdomen, chest,
  spine; MR head, spine), one per patient and none of a `test` patient.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from medical_tasks.io.files import packaged


class LeftOut(StrEnum):
    """Why a report was left out; counts are printed with this text."""

    ERROR = "marked as an error by its hospital"
    OTHER_MODALITY = "neither CT nor MR"
    SEVERAL_MODALITIES = "CT and MR"
    PROCEDURE = "a procedure under CT or MR"
    OTHER_ANATOMY = "none of the seven anatomies"
    SEVERAL_ANATOMIES = "several anatomies"
    NO_FINDINGS = "no findings section"
    NO_IMPRESSION = "no impression section"
    ONE_SECTION = "findings and impression in one section"
    SEVERAL_IMPRESSIONS = "several impression sections"
    SHORT_FINDINGS = "findings too short"
    SHORT_IMPRESSION = "impression too short"
    POINTING_IMPRESSION = "impression that only points to the findings"


MODALITIES: Final = ("CT", "MR")
ANATOMIES: Final = ("head", "abdomen", "chest", "spine", "neck", "sinus", "pelvis")


class Kind(NamedTuple):
    """A report's modality and anatomy."""

    modality: str
    anatomy: str


TRAIN_KINDS: Final = tuple(
    Kind(*kind.split())
    for kind in ("CT head", "CT abdomen", "CT chest", "CT spine", "MR head", "MR spine")
)
"""The six kinds with a train split. Their number is the paper's; we chose the most frequent ones."""


_LISTS: Final = packaged(__file__, "mimic_report.json")
_MODALITY_OF: Final = {
    word: name for name, words in _LISTS["modalities"].items() for word in words.split()
}
# `other` stands for all anatomies but the seven, so that a limb together with the pelvis
# is ambiguous. `THORACIC`, `CERVICAL` and `LUMBAR` mean the spine only if it is named:
# there are thoracic aortas.
_ANATOMY_OF: Final = {
    word: name for name, words in _LISTS["anatomies"].items() for word in words.split()
}
_PROCEDURES, _VIEWS, _NO_EXAMINATION, _POINTERS, _POINTS_AT = (
    frozenset(_LISTS[name].split())
    for name in ("procedures", "views", "no_examination", "pointers", "points_at")
)

# With one of these words before it, a `SINUS` is a vein of the head.
_VEINS: Final = frozenset(("VENOUS", "DURAL", "SAGITTAL", "CAVERNOUS"))

_WORD = re.compile("[A-Z0-9]+")


@lru_cache(maxsize=8192)
def kind_of(description: str) -> Kind | LeftOut:
    """Classifies a report; abdomen and pelvis together are `abdomen`, other combinations are ambiguous.

    Example:
        >>> kind_of("CT ABD & PELVIS WITH CONTRAST")
        Kind(modality='CT', anatomy='abdomen')
        >>> kind_of("CT CHEST AND HEAD").name
        'SEVERAL_ANATOMIES'
    """
    words = _WORD.findall(description.upper())
    modalities = {_MODALITY_OF[word] for word in words if word in _MODALITY_OF}
    if len(modalities) != 1:
        return LeftOut.SEVERAL_MODALITIES if modalities else LeftOut.OTHER_MODALITY
    if not _PROCEDURES.isdisjoint(words):
        return LeftOut.PROCEDURE

    anatomies = {
        "head" if word.startswith("SINUS") and before in _VEINS else _ANATOMY_OF[word]
        for before, word in zip(["", *words], words, strict=False)
        if word in _ANATOMY_OF
    }
    if anatomies == {"abdomen", "pelvis"}:
        anatomies = {"abdomen"}
    if len(anatomies) > 1:
        return LeftOut.SEVERAL_ANATOMIES

    anatomy = anatomies.pop() if anatomies else "other"
    return (
        LeftOut.OTHER_ANATOMY if anatomy == "other" else Kind(modalities.pop(), anatomy)
    )


_FEWEST_FINDINGS_WORDS, _FEWEST_IMPRESSION_WORDS = 10, 2


@dataclass(frozen=True, kw_only=True)
class Report:
    """The used sections of a report, with lines joined to paragraphs and empty lines between these."""

    findings: str
    impression: str


_RULE = re.compile(r"^[ \t]*_{10,}[ \t]*$", re.MULTILINE)
_FINAL = re.compile(
    r"^[ \t]*(?:\*+ )?(?:(?:FINAL|REVISED) REPORT\b.*|(?i:(?:FINAL|REVISED) REPORT)[ \t*:]*)$",
    re.MULTILINE,
)
# The order's block is a dozen lines; a `(Cont)` far below belongs to another page.
_PAGE_BREAK = re.compile(
    r"^[ \t]*\(Over\)[ \t]*\n(?:.*\n){0,40}?[ \t]*\(Cont\)[ \t]*$", re.MULTILINE
)
_PAGE_MARK = re.compile(r"^[ \t]*\((?:Over|Cont)\)[ \t]*$", re.MULTILINE)

_HEADINGS: Final = {
    "both": r"FINDINGS? ?(?:/|&|AND) ?IMPRESSIONS?|IMPRESSIONS? ?(?:/|&|AND) ?FINDINGS?",
    "findings": r"FINDINGS?",
    "impression": r"(?:(?:FINAL|OVERALL) )?IMPRESSIONS?(?: ?(?:/|&|AND) "
    r"?(?:PLAN|RECOMMENDATIONS?))?|CONCLUSIONS?|SUMMARY",
    "other": r"ATTENDING|BACKGROUND|CLINICAL [A-Z ]{4,25}|COMPARISONS?(?: [A-Z]{2,12})?|CONTRAST|"
    r"DICTATED BY|DOSE|EXAM(?:INATION)?S?|HISTORY|INDICATIONS?|MEDICAL "
    r"CONDITION|NOTIFICATIONS?|PRIOR STUD(?:Y|IES)|"
    r"PROCEDURES?|PROTOCOL|REASON(?: FOR [A-Z ]{4,25})?|RECOMMENDATIONS?|STUDY|TECHNI(?:QUE|CAL "
    r"FACTORS)",
}
_KNOWN: Final = {
    name: re.compile(pattern, re.IGNORECASE) for name, pattern in _HEADINGS.items()
}
# A heading at the beginning of a line: with a colon, before a dash, or alone.
_LINE = re.compile(
    r"^[ \t]*([A-Za-z][A-Za-z&/ -]{3,60}?)[ \t]*(?::|$|[ \t]--?[ \t])", re.MULTILINE
)
# A heading after another sentence, with a colon.
_WITHIN = re.compile(
    r"(?:(?<=[.:)\]][ \t])|(?<=[.:)\]][ \t]{2}))"
    r"((?i:FINDINGS?|IMPRESSIONS?)|TECHNIQUE|COMPARISONS?|RECOMMENDATIONS?)[ \t]*:"
)
# Another reading of the same examination, an earlier or later one: `WET READ VERSION #1`,
# `Addendum by`, `PFI REPORT`.
_READING = re.compile(
    r"^[^\w\n]*((?:(?:ATTENDING|ED|ER|FINAL|FIRST|INITIAL|NIGHT|OVERNIGHT|RADIOLOGY|RESIDENT|REVISED|SECOND|UPDATED) ){0,2}"
    r"(?:ADDEND(?:UM|A)(?: REPORT)?|ATTENDING (?:NOTE|REVIEW)|NOTE ADDED (?:AT|IN|ON) [A-Z]+ "
    r"REVIEW|OVER-?READ|PFI(?: REPORT)?|"
    r"PRELIM(?:INARY)?(?: (?:FINDINGS|IMPRESSION|READ(?:ING)?|REPORT|RESULTS?))?|"
    r"PROVISIONAL FINDINGS(?: IMPRESSION)?(?: \(PFI\))?|READ BY|WET[ -]?READ(?:ING)?S?))"
    r"[])* \t]*(?:(?:VERSION|AUDIT|BY)\b|[#(:]|-{1,2}[ \t]|-*[ \t]*$|(?-i:(?<=[A-Z)][ "
    r"\t])[A-Z0-9\[*]))",
    re.MULTILINE | re.IGNORECASE,
)
# An examined region or examination, before a colon: `CHEST, PA AND LATERAL:`, `CT OF THE
# ABDOMEN WITHOUT IV CONTRAST:`.
_EXAMINATION = re.compile(
    r"^[ \t]*([A-Z](?:[A-Za-z0-9&/,.() -]|\[\*\*[^\]\n]*\*\*\]){2,80}?)[ \t]*:",
    re.MULTILINE,
)
_MASKED = re.compile(r"\[\*\*.*?\*\*\]")
# The signature: far to the right, or with the time of the approval.
_SIGNED = re.compile(
    r"^[ \t]{10,}DR\.|\b(?:Approved|[Ss]igned by)[ \t]*:", re.MULTILINE
)

_NUMBERED = re.compile(r"(?:^|\s)(?:\(?[0-9]{1,2}[.)]|[-*•·])$")
_ENDED: Final = (".", "!", "?", ":", ";", ")", "]", "_")

_LETTERS = re.compile("[a-z]+")


def read_report(text: str) -> Report | LeftOut:
    """Finds findings and impression in a note.

    Findings can have several sections, or only headings of what was examined. Sections
    with other names, other readings (a wet read, an addendum) and the signature belong
    to neither.
    """
    sections = _sections(_body(text.replace("\r\n", "\n")))
    if sections is None:
        return LeftOut.ONE_SECTION

    impressions, examined = sections["impression"], sections["examined"]
    findings = sections["findings"] or examined
    if not sections["findings"] and len(examined) == 1:
        # Headings stay only if there are several, to distinguish the sections.
        findings = [examined[0].partition(":")[2].lstrip()]

    if not findings:
        return LeftOut.NO_FINDINGS
    if len(impressions) != 1:
        return LeftOut.SEVERAL_IMPRESSIONS if impressions else LeftOut.NO_IMPRESSION

    report = Report(findings="\n\n".join(findings), impression=impressions[0])
    return check_report(report) or report


def _sections(body: str) -> dict[str, list[str]] | None:
    """The texts of findings, impression, and examined regions; None if findings and impression share a section.

    Returns:
        The texts under `findings`, `impression` and `examined`, in order. A section `reading`
        after complete ones is a second reading of the same images, and ends the report.
    """
    sections: dict[str, list[str]] = {"findings": [], "impression": [], "examined": []}
    headings = [*_headings(body), ("", len(body), len(body))]
    for (name, begin, start), (_, end, _) in itertools.pairwise(headings):
        if name == "both":
            return None

        whole = (sections["findings"] or sections["examined"]) and sections[
            "impression"
        ]
        if name == "reading" and whole:
            break

        after_impression = name == "examined" and sections["impression"]
        text = _section(body[start:end])
        if name in sections and not after_impression and text:
            sections[name].append(
                _section(body[begin:end]) if name == "examined" else text
            )

    return sections


def check_report(report: Report) -> LeftOut | None:
    """Why a report with both sections cannot be used; None if it can."""
    if (
        sum(any(map(str.isalnum, word)) for word in report.findings.split())
        < _FEWEST_FINDINGS_WORDS
    ):
        return LeftOut.SHORT_FINDINGS

    words = _LETTERS.findall(report.impression.lower())
    if words and _POINTERS.issuperset(words) and not _POINTS_AT.isdisjoint(words):
        return LeftOut.POINTING_IMPRESSION
    if len(words) < _FEWEST_IMPRESSION_WORDS:
        return LeftOut.SHORT_IMPRESSION

    return None


def _body(text: str) -> str:
    """The final report alone.

    Without a line that begins it, this is the last block between rules that has findings
    and is no wet read.
    """
    text = _PAGE_MARK.sub("", _PAGE_BREAK.sub("", text))
    final = _FINAL.search(text)
    if final:
        # A second such line begins another report.
        return _RULE.split(
            _FINAL.split(text[final.end() :], maxsplit=1)[0], maxsplit=1
        )[0]

    blocks = {
        block: [name for name, _, _ in _headings(block)]
        for block in _RULE.split(text)[::-1]
    }
    reports = {
        block: names for block, names in blocks.items() if names[:1] != ["reading"]
    } or blocks
    for section in ("findings", "examined"):
        for block, names in reports.items():
            if section in names:
                return block

    return next(iter(reports))


def _headings(body: str) -> list[tuple[str, int, int]]:
    """The headings in order, each with its kind, start and end.

    The kind is a section's name, `reading`, or `examined` if no section continues.
    """
    headings = {}
    for match in itertools.chain(
        _EXAMINATION.finditer(body), _LINE.finditer(body), _WITHIN.finditer(body)
    ):
        name = _section_of(match[1])
        if name == "examined" or (
            name and (match[1].isupper() or _begins(body, match.start(1)))
        ):
            headings[match.start(1)] = (name, match.start(), match.end())

    for match in _READING.finditer(body):
        if match[1].isupper() or _begins(body, match.start(1)):
            headings[match.start(1)] = ("reading", match.start(), match.end())

    kept: list[tuple[str, int, int]] = []
    for _, heading in sorted(headings.items()):
        continues = kept and kept[-1][0] not in ("examined", "other")
        if heading[0] != "examined" or not continues:
            kept.append(heading)

    return kept


def _begins(body: str, position: int) -> bool:
    """Whether lower-case text at a position can be a heading: it continues no sentence and no item of a list."""
    line = body.rfind("\n", 0, position) + 1
    before = body[line:position].strip()
    if before:
        return not _NUMBERED.search(before)

    above = body[:line].rstrip(" \t")
    gap = not above.strip() or above.endswith(("\n\n", "\n \n"))
    return gap or body[position].isupper() or above.rstrip().endswith(_ENDED)


@lru_cache(maxsize=8192)
def _section_of(heading: str) -> str:
    """The kind of a heading; "" for other text."""
    for name, pattern in _KNOWN.items():
        if pattern.fullmatch(heading):
            return name

    examined, _, last = heading.rpartition(" ")
    if _KNOWN["findings"].fullmatch(last) and _examination(examined):
        return "findings"
    return "examined" if _examination(heading) else ""


def _examination(heading: str) -> bool:
    """Whether a heading names what was examined: in capitals with any other words, otherwise with views only."""
    heading = _MASKED.sub("", heading)
    words = _WORD.findall(heading.upper())
    others = [
        word for word in words if word not in _MODALITY_OF and word not in _ANATOMY_OF
    ]
    if len(others) == len(words) or not _NO_EXAMINATION.isdisjoint(words):
        return False

    return heading.isupper() or _VIEWS.issuperset(others)


def _section(text: str) -> str:
    signed = _SIGNED.search(text)
    return joined_lines(
        text[: text.rfind("\n", 0, signed.start()) + 1] if signed else text
    )


_ITEM = re.compile(r"(?P<number>\(?[0-9]{1,2}[.)]|#[0-9]{1,2}[.)]?)\s+\S|[-*•·]\s+\S")
_END_MARKS = (".", "!", "?", ":", ";")
_CLOSING = "\"')]"


def joined_lines(text: str) -> str:
    """Joins wrapped lines to paragraphs and items of lists, with one per line.

    Paragraphs have an empty line before them. After an empty line, such as at the end of
    a page, text continues after a heading with a colon, or in lower case if the line
    before has no end mark. A number after `measures up to` begins no item.
    """
    joined: list[list[str]] = []  # the pieces of each line; empty lines have none
    # the last line that is not empty, and whether an empty one is below
    above, gap = "", False
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
