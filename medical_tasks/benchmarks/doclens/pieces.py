"""Texts in pieces: turns, sections of a note, sentences, and what they cite.

A note is divided at ACI-BENCH's headings (Yim et al. 2023), a question by untrained
Punkt; citations: docs/doclens_scoring.md.

- **Citations** are `[3]`, `[3][4]`, `[3, 4]`, `[3-5]` or `[3–5]`, once per sentence.
  Other numbers are prose: `5 mg`, `[8.2 -> 6.9]`, `[note 3]`, backward ranges and
  ranges over more than 100 sentences.
- **Sentences** end at `.`, `!`, `?`, an empty line, before a list item, and at a line
  end unless the line runs on. Headings belong to the sentence below them, markers to
  the sentence before them.
- A sentence whose citations are missing or all unknown is unsupported; beside valid
  ones, an unknown number is imprecise.
- **Claims**: 1 to 30 per text. A blank text, or `#####EMPTY#####`, has none.

| | claim recall | claim precision | citation recall | citation precision |
|---|---|---|---|---|
| empty output | 0 | `nan` | 0 | `nan` |
| text in a section that the reference lacks | `nan` | 0 | as usual | as usual |
| sentences without citations | as usual | as usual | 0 | `nan` |

- **Turns** begin at a line that starts with a speaker (`[doctor]`, `[patient_guest]`),
  or at the beginning (D2N131 of `test2`); other lines, also `[ inaudible ]`, continue
  the turn.
- **Sections** (`subjective`, `objective_exam`, `objective_results`,
  `assessment_and_plan`) begin at known headings; every line is in exactly one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from medical_tasks.benchmarks.doclens.declarations import SECTIONS as SECTIONS
from medical_tasks.scoring.normal_form import alike
from medical_tasks.scoring.sentences import Punkt, punkt_spans

_SPEAKER = re.compile(r"\s*\[\s*([A-Za-z]\w*)\s*\]")
_HEARD = frozenset(
    "background cough coughing coughs crosstalk foreign garbled inaudible indiscernible laugh "
    "laughing laughs laughter music noise "
    "overlapping pause silence sigh sighs sound static unclear unintelligible".split()
)
"""What transcribers write in brackets and is nobody who speaks."""


def begins_turn(line: str) -> bool:
    """Says whether a line begins with a speaker.

    `[doctor]`, `[patient_guest]`, in any case, with spaces around the name or not.
    """
    speaker = _SPEAKER.match(line)
    return speaker is not None and speaker[1].lower() not in _HEARD


def split_turns(dialogue: str) -> list[str]:
    """Splits a dialogue where somebody begins to speak, as DocLens numbers its files.

    Joined by line feeds the turns are it.

    Example: `[doctor] Hello.`, `How are you?` and `[patient] Fine.`, on three lines,
    are two turns, since the second line names nobody.
    """
    turns: list[str] = []
    for line in dialogue.split("\n") if dialogue else []:
        if turns and not begins_turn(line):
            turns[-1] += f"\n{line}"
        else:
            turns.append(line)

    return turns


def numbered_dialogue(turns: Sequence[str]) -> str:
    """Puts each turn's number before it, as in DocLens's files.

    `[0][doctor] ...`, one turn behind the other.
    """
    return "\n".join(f"[{number}]{turn}" for number, turn in enumerate(turns))


EMPTY: Final = "#####EMPTY#####"
"""What ACI-BENCH's files hold for a section that a note does not have, behind the section's name.
"""

_HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "subjective": (
        "subjective", "chief complaint", "cc", "reason for visit", "history of present illness", "hpi", "interval history",
        "history", "past history", "medical history", "past medical history", "pmh", "surgical "
                                                                                     "history",
        "past surgical history", "psh", "birth history", "family history", "social history", "allergies", "medications",
        "current medications", "home medications", "review of systems", "ros", "immunizations",
    ),
    "objective_exam": (
        "objective", "objective exam", "exam", "examination", "physical exam", "physical "
                                                                               "examination", "pe",
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
_SECTION_OF: Final = {
    heading: section for section, names in _HEADINGS.items() for heading in names
}

_LONGEST: Final = 60
_MARKUP: Final = re.compile(
    r"^[#>\s]*[*_]{0,3}(?P<text>.*?)[*_]{0,3}\s*:?\s*[*_]{0,3}\s*$"
)
_NUMBERED: Final = re.compile(r"^(?:\d{1,2}|[IVX]{1,4}|[A-Da-d])[.)]\s+")
_NO_WORD: Final = re.compile(r"[^a-z]+")


def heading_section(line: str) -> str | None:
    """Says which section a line begins.

    A heading alone on it, in capitals, with a colon behind, or marked up.

    Example: `**Plan:**` and `PLAN` begin the assessment and plan; `Plan of care` begins
    nothing, and is prose.
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
    """Divides a note into all of `SECTIONS`, each of its lines in one, headings included.

    Before the first heading it is subjective.

    Example: of the lines `CC: cough`, `He coughs.`, `PLAN` and `Rest.` the first two
    are subjective, the others assessment and plan; both sections between are "".
    """
    parts: dict[str, list[str]] = {section: [] for section in SECTIONS}
    current = SECTIONS[0]
    for line in note.splitlines(keepends=True):
        current = heading_section(line) or current
        parts[current].append(line)

    return {section: "".join(lines) for section, lines in parts.items()}


_PUNKT: Final = Punkt(
    abbreviations=frozenset({"dr", "mr", "mrs", "prof", "vs", "e.g", "i.e"}),
    name="titles",
)


def split_question(question: str) -> list[str]:
    """Splits a question into its sentences, without the white space around them."""
    # In small letters, character by character: a few letters would become two, and
    # places would shift.
    small = "".join(
        lower if len(lower := letter.lower()) == 1 else letter for letter in question
    )
    return [
        text
        for start, end in punkt_spans(small, _PUNKT)
        if (text := question[start:end].strip())
    ]


def numbered_question(sentences: Sequence[str]) -> str:
    """Puts each sentence's number before it, as in DocLens's files: `[0] ... [1] ...`."""
    return " ".join(
        f"[{number}] {sentence}" for number, sentence in enumerate(sentences)
    )


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence.

    Attributes:
        text: what is judged: without markers, white space run together; "" where there
            are markers and nothing else.
        citations: each number once, in order of first mention.
    """

    raw: str
    text: str
    citations: tuple[int, ...]


def read_sentences(text: str) -> tuple[Sentence, ...]:
    """Reads a generated text, whose sentences' `raw`, one behind the other, it is.

    A blank one has none.
    """
    return tuple(
        Sentence(
            raw=raw,
            text=" ".join(remove_citations(raw).split()),
            citations=cited_ids(raw),
        )
        for raw in sentence_pieces(text)
    )


MAX_RANGE: Final = 100
"""Most sentences a range can cite. `[0-5000]` points nowhere; it stays prose."""

_PART = r"[0-9]{1,6}(?:[ \t]{0,3}[-\u2010-\u2014\u2212][ \t]{0,3}[0-9]{1,6})?"
_CALLED = r"(?:(?i:sentences?|turns?|lines?|refs?|sources?|citations?)[ .:#]{1,2}|\^)?"
_MARKER = re.compile(
    rf"\[[ \t]{{0,3}}{_CALLED}({_PART}(?:[ \t]{{0,3}}[,;][ \t]{{0,3}}{_PART})*)[ \t]{{0,3}}\]"
)
_NUMBER = re.compile("[0-9]+")
_SPACES = " \t\u00a0"
_AFTER = re.compile(f"[{_SPACES}]*")
LINE_ENDS: Final = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line."""


class Marker(NamedTuple):
    """One pair of brackets; whether the source has the sentences that it cites is not asked."""

    start: int
    end: int
    ids: tuple[int, ...]


def find_markers(text: str) -> list[Marker]:
    """Finds all markers of a text, `[0]`, `【0】` or `[sentence 0]`.

    A range that runs backwards or over more than `MAX_RANGE` sentences makes it all
    prose.
    """
    markers = []
    for match in _MARKER.finditer(alike(text)):
        parts = [
            tuple(map(int, _NUMBER.findall(part)))
            for part in re.split("[,;]", match[1])
        ]
        if all(0 <= part[-1] - part[0] < MAX_RANGE for part in parts):
            ids = tuple(
                chain.from_iterable(range(part[0], part[-1] + 1) for part in parts)
            )
            markers.append(Marker(match.start(), match.end(), ids))

    return markers


def cited_ids(text: str) -> tuple[int, ...]:
    """Lists what a text cites, each number once, in order of first mention."""
    return tuple(
        dict.fromkeys(chain.from_iterable(marker.ids for marker in find_markers(text)))
    )


def remove_citations(text: str) -> str:
    """Takes the markers out, each with the spaces before it.

    Where one begins a line, the spaces behind it go.
    """
    kept: list[str] = []
    start, last = 0, ""
    for marker in find_markers(text):
        before = text[start : marker.start].rstrip(_SPACES)
        kept.append(before)
        last = before[-1:] or last
        begins_line = not last or last in LINE_ENDS
        start = _AFTER.match(text, marker.end).end() if begins_line else marker.end  # type: ignore[union-attr]

    return "".join((*kept, text[start:]))


_LONG_LINE: Final = 60
"""A line of as many characters without an end mark was broken by its width."""

_LONG_HEADING: Final = 80

_LINE_END = re.compile(f"[{LINE_ENDS}]")
_LINE = re.compile(f"[^{LINE_ENDS}]*(?:\r\n|[{LINE_ENDS}]|$)")
_ITEM = re.compile(r"\s*(?:[-*+•◦▪‣·–—]\s|\(?(?:[0-9]{1,3}|[a-zA-Z])[.)]\s)")
_MARKED_HEADING = re.compile(r"#{1,6}\s.*|\*\*[^*]+\*\*|__[^_]+__")
_CLOSING = "\"'”’»)*_」』）"
_STOP = re.compile(f"[.!?…]+[{_CLOSING}]*|[。！？]+[{_CLOSING}]*")
_ENDED = re.compile(f"[.!?…。！？][{_CLOSING}]*\\Z")
_SPACE = re.compile(r"\s*")
_WORD_BEFORE = re.compile(r"[\w.&'’-]*\Z")
_LONGEST_WORD: Final = 24

# Points behind these are part of the word; behind the second they also may end a
# sentence, if a capital follows.
_NEVER_LAST = frozenset("dr drs mr mrs ms prof st vs eg ie cf ca approx fig".split())
_SHORTENED = frozenset(
    "no nos pt pts resp incl excl etc min max wk wks yr yrs mo hr hrs tab tabs cap caps dept inc".split()
)


def sentence_pieces(text: str) -> list[str]:
    """Cuts a text into sentences, which joined are the text.

    Each has a letter, or else a number or sign that cites.
    """
    if not text.strip():
        return []
    return _merged(piece for block in _blocks(text) for piece in _pieces(block))


def _blocks(text: str) -> list[str]:
    """The text in blocks that no sentence goes beyond; joined they are the text.

    A list item is a block, and a heading is of one block with what stands below it.

    Example: `a b`, `c d`, blank, `- one`, `- two` make three blocks: the first two
    lines with the blank one, then each item.
    """
    has_small = any(map(str.islower, text))
    blocks: list[list[str]] = []
    # the last line that is not blank, and whether blank ones follow it
    above, gap = "", False
    for match in _LINE.finditer(text):
        line = match[0]
        if blocks and (
            not line.strip()
            or not above
            or _goes_on(above, line, gap=gap, has_small=has_small)
        ):
            blocks[-1].append(line)
        else:
            blocks.append([line])

        above, gap = (line, False) if line.strip() else (above, True)

    return ["".join(block) for block in blocks]


def _goes_on(above: str, line: str, *, gap: bool, has_small: bool) -> bool:
    markers = find_markers(line)
    if markers and sum(marker.end - marker.start for marker in markers) == len(
        "".join(line.split())
    ):
        return True
    return _is_heading(above, has_small=has_small) or (
        not gap and _runs_on(above, line)
    )


def _is_heading(line: str, *, has_small: bool) -> bool:
    """Whether a line is what stands above a text.

    Capitals say so only where the text has small letters too.
    """
    bare = line.strip()
    if len(bare) > _LONG_HEADING or _ENDED.search(bare) or find_markers(bare):
        return False
    if bare.rstrip("*_").endswith((":", "：")) or _MARKED_HEADING.fullmatch(bare):
        return True

    in_capitals = (
        has_small and any(map(str.isupper, bare)) and not any(map(str.islower, bare))
    )
    return in_capitals and not _ITEM.match(bare)


def _runs_on(above: str, line: str) -> bool:
    """Whether a line goes on with the sentence above it, broken by the width of a page.

    It does if it begins small, or if the line above ends with a comma or is as long as
    a page is wide; not if that one has ended, by a mark or by its citation.
    """
    bare = above.rstrip()
    markers = find_markers(bare)
    if (
        _ITEM.match(line)
        or _ENDED.search(bare)
        or (markers and markers[-1].end == len(bare))
    ):
        return False

    return (
        line.lstrip()[0].islower()
        or bare.endswith((",", "，"))
        or len(bare) >= _LONG_LINE
    )


def _pieces(block: str) -> Iterator[str]:
    markers = {marker.start: marker.end for marker in find_markers(block)}
    ends = frozenset(markers.values())
    start = done = 0
    for stop in _STOP.finditer(block):
        if stop.start() < done:  # a point behind the markers behind a point
            continue

        end = _behind_markers(block, stop.end(), markers)
        if _ends(block, stop, start=start, end=end, behind_marker=stop.start() in ends):
            yield block[start:end]
            start = end

        done = end

    if start < len(block):
        yield block[start:]


def _behind_markers(block: str, end: int, markers: dict[int, int]) -> int:
    while (after := markers.get(_skip(block, end))) is not None:
        stop = _STOP.match(block, after)
        end = stop.end() if stop else after
    return end


def _skip(block: str, place: int) -> int:
    return _SPACE.match(block, place).end()  # type: ignore[union-attr]


def _ends(
    block: str, stop: re.Match[str], *, start: int, end: int, behind_marker: bool
) -> bool:
    """Whether a sentence ends behind an end mark, which may have markers before and behind it."""
    place = _skip(block, end)
    if (
        place == len(block)
        or stop[0][0] in "。！？"
        or end > stop.end()
        or behind_marker
    ):
        return True

    following = block[place]
    match = _WORD_BEFORE.search(
        block, max(start, stop.start() - _LONGEST_WORD), stop.start()
    )
    word = match[0] if match else ""
    if place == end:  # "pain.He": small letters, a capital, and no space between
        return (
            following.isupper()
            and word.isalpha()
            and word[-2:].islower()
            and word not in _NEVER_LAST
        )

    if stop[0][0] in "!?":
        return True

    # Of the same line: what stands first on one numbers an item, whatever heading is
    # above it.
    line = _LINE_END.split(
        block[max(start, stop.start() - 2 * _LONGEST_WORD) : stop.start() - len(word)]
    )[-1]
    return _point_ends(word, following, before=(line.split() or [""])[-1])


def _point_ends(word: str, following: str, *, before: str) -> bool:
    """Whether a point behind a word ends a sentence when a space follows."""
    key = word.replace(".", "").casefold()
    if key in _NEVER_LAST:
        return False

    if not before.strip("(") and (
        _ITEM.match(f"{word}. ") or (len(word) == 1 and word.isalpha())
    ):  # item or initial
        return False

    if len(word) == 1 and before.rstrip(".").casefold() in _NEVER_LAST:  # Dr. J. Smith
        return False
    if following.islower():
        return len(word) > 3 and word.isalpha() and key not in _SHORTENED

    return following.isupper() or key not in _SHORTENED


def _merged(pieces: Iterable[str]) -> list[str]:
    """Gives pieces that say nothing of their own to the next, at the end to the one before."""
    merged: list[str] = []
    waiting = ""
    for piece in pieces:
        waiting += piece
        bare = remove_citations(piece)
        if any(map(str.isalpha, piece)) or (
            bare != piece and any(map(str.isdigit, bare))
        ):
            merged.append(waiting)
            waiting = ""

    if waiting:
        merged[-1:] = ["".join((*merged[-1:], waiting))]

    return merged
