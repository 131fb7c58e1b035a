"""Splits texts: turns of a dialogue, sections of a note, sentences and their citations.

Notes are divided at ACI-BENCH's headings (Yim et al. 2023), questions by untrained
Punkt (two of MeQSum's `test`, 173 and 313, unlike DocLens' trained one).

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
    """Joins turns with their numbers, as in DocLens' files: `[0][doctor] ...`."""
    return "\n".join(f"[{number}]{turn}" for number, turn in enumerate(turns))


EMPTY: Final = "#####EMPTY#####"
"""The mark in ACI-BENCH's files of a section that a note does not have, after the section's name."""

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
    """The section that a line begins: a heading alone on it, in capitals, with a colon, or with markup.

    Example: `**Plan:**` and `PLAN` begin the assessment and plan; `Plan of care` is
    prose.
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
    """Divides a note into all of `SECTIONS`; each line, headings included, is in one.

    Lines before the first heading are subjective.

    Example: of the lines `CC: cough`, `He coughs.`, `PLAN` and `Rest.` the first two
    are subjective, the others assessment and plan; the other two sections are "".
    """
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    current = SECTIONS[0]
    for line in note.splitlines(keepends=True):
        current = heading_section(line) or current
        sections[current].append(line)

    return {section: "".join(lines) for section, lines in sections.items()}


_PUNKT: Final = Punkt(
    abbreviations=frozenset({"dr", "mr", "mrs", "prof", "vs", "e.g", "i.e"}),
    name="titles",
)


def split_question(question: str) -> list[str]:
    """Splits a question into its sentences, without the white space around them."""
    # Lower case character by character: a few letters would become two and shift
    # positions.
    small = "".join(
        lower if len(lower := letter.lower()) == 1 else letter for letter in question
    )
    return [
        text
        for start, end in punkt_spans(small, _PUNKT)
        if (text := question[start:end].strip())
    ]


def numbered_question(sentences: Sequence[str]) -> str:
    """Joins sentences with their numbers, as in DocLens' files: `[0] ... [1] ...`."""
    return " ".join(
        f"[{number}] {sentence}" for number, sentence in enumerate(sentences)
    )


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a generated text.

    Attributes:
        raw: the sentence as it is in the text.
        text: the judged text, without markers and with white space collapsed; "" if
            there are only markers.
        citations: the cited numbers without repeats, in order of first mention.
    """

    raw: str
    text: str
    citations: tuple[int, ...]


def read_sentences(text: str) -> tuple[Sentence, ...]:
    """Splits a generated text into sentences, whose joined `raw` is the text; a blank text has none."""
    return tuple(
        Sentence(
            raw=raw,
            text=" ".join(remove_citations(raw).split()),
            citations=cited_ids(raw),
        )
        for raw in sentence_pieces(text)
    )


MAX_RANGE: Final = 100
"""Largest number of sentences in a cited range. `[0-5000]` cites nothing; it is prose."""

_PART = r"[0-9]{1,6}(?:[ \t]{0,3}[-\u2010-\u2014\u2212][ \t]{0,3}[0-9]{1,6})?"
_CALLED = r"(?:(?i:sentences?|turns?|lines?|refs?|sources?|citations?)[ .:#]{1,2}|\^)?"
_MARKER = re.compile(
    rf"\[[ \t]{{0,3}}{_CALLED}({_PART}(?:[ \t]{{0,3}}[,;][ \t]{{0,3}}{_PART})*)[ \t]{{0,3}}\]"
)
_NUMBER = re.compile("[0-9]+")
_SPACES = " \t\u00a0"
_AFTER = re.compile(f"[{_SPACES}]*")
LINE_ENDS: Final = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that end a line."""


class Marker(NamedTuple):
    """One pair of brackets; the source need not have the cited sentences."""

    start: int
    end: int
    ids: tuple[int, ...]


def find_markers(text: str) -> list[Marker]:
    """Finds all markers of a text, `[0]`, `【0】` or `[sentence 0]`.

    Brackets with a range that runs backwards or has more than `MAX_RANGE` sentences are
    prose.
    """
    markers = []
    for match in _MARKER.finditer(alike(text)):
        ranges = [
            tuple(map(int, _NUMBER.findall(span)))
            for span in re.split("[,;]", match[1])
        ]
        if all(0 <= ends[-1] - ends[0] < MAX_RANGE for ends in ranges):
            ids = tuple(
                chain.from_iterable(range(ends[0], ends[-1] + 1) for ends in ranges)
            )
            markers.append(Marker(match.start(), match.end(), ids))

    return markers


def cited_ids(text: str) -> tuple[int, ...]:
    """Lists the cited numbers without repeats, in order of first mention."""
    return tuple(
        dict.fromkeys(chain.from_iterable(marker.ids for marker in find_markers(text)))
    )


def remove_citations(text: str) -> str:
    """Removes the markers with the spaces before them, or after them at the beginning of a line."""
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
"""A line of at least so many characters without an end mark is taken for wrapped."""

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

# A point after these words belongs to them; after a word of the second set it may end a
# sentence, if a capital follows.
_NEVER_LAST = frozenset("dr drs mr mrs ms prof st vs eg ie cf ca approx fig".split())
_SHORTENED = frozenset(
    "no nos pt pts resp incl excl etc min max wk wks yr yrs mo hr hrs tab tabs cap caps dept inc".split()
)


def sentence_pieces(text: str) -> list[str]:
    """Cuts a text into sentences, which joined are the text; each has a letter, or a number with a citation."""
    if not text.strip():
        return []
    return _merged(piece for block in _blocks(text) for piece in _pieces(block))


def _blocks(text: str) -> list[str]:
    """Splits the text into blocks that no sentence crosses; joined they are the text.

    A list item is a block; a heading is in one block with the text below it.

    Example: `a b`, `c d`, blank, `- one`, `- two` are three blocks: the first two lines
    with the blank one, then each item.
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
    """Whether a line is a heading; capitals make one only if the text has lower case too."""
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
    """Whether a line continues the sentence of the wrapped line above it.

    It does if it begins in lower case, or if the line above ends with a comma or is as
    long as a page is wide; not if that one ends with an end mark or a citation.

    Example:
        >>> _runs_on("He was admitted with pain,", "and was given morphine.")
        True
        >>> _runs_on("He was admitted with pain [2]", "and was given morphine.")
        False
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
    """Cuts a block into sentences, each up to its end mark and the markers after it.

    Example:
        >>> list(_pieces("He bled. [1][2] Dr. Smith came [3]. Home."))
        ['He bled. [1][2]', ' Dr. Smith came [3].', ' Home.']
    """
    markers = {marker.start: marker.end for marker in find_markers(block)}
    ends = frozenset(markers.values())
    start = done = 0
    for stop in _STOP.finditer(block):
        if stop.start() < done:  # a point after the markers of an earlier point
            continue

        end = _after_markers(block, stop.end(), markers)
        if _ends(block, stop, start=start, end=end, after_marker=stop.start() in ends):
            yield block[start:end]
            start = end

        done = end

    if start < len(block):
        yield block[start:]


def _after_markers(block: str, end: int, markers: dict[int, int]) -> int:
    while (after := markers.get(_skip(block, end))) is not None:
        stop = _STOP.match(block, after)
        end = stop.end() if stop else after
    return end


def _skip(block: str, position: int) -> int:
    return _SPACE.match(block, position).end()  # type: ignore[union-attr]


def _ends(
    block: str, stop: re.Match[str], *, start: int, end: int, after_marker: bool
) -> bool:
    """Whether a sentence ends with an end mark, which may have markers before and after it."""
    position = _skip(block, end)
    if (
        position == len(block)
        or stop[0][0] in "。！？"
        or end > stop.end()
        or after_marker
    ):
        return True

    following = block[position]
    match = _WORD_BEFORE.search(
        block, max(start, stop.start() - _LONGEST_WORD), stop.start()
    )
    word = match[0] if match else ""
    if position == end:  # "pain.He": lower case, a capital, and no space between
        return (
            following.isupper()
            and word.isalpha()
            and word[-2:].islower()
            and word not in _NEVER_LAST
        )

    if stop[0][0] in "!?":
        return True

    # Only text of the same line: a number at its beginning numbers an item, whatever
    # heading is above it.
    line = _LINE_END.split(
        block[max(start, stop.start() - 2 * _LONGEST_WORD) : stop.start() - len(word)]
    )[-1]
    return _point_ends(word, following, before=(line.split() or [""])[-1])


def _point_ends(word: str, following: str, *, before: str) -> bool:
    """Whether a point after a word and before a space ends a sentence.

    Args:
        word: the word before the point, "" for none.
        following: the first character after the space.
        before: the word before `word` on the same line, "" at its beginning.

    Example: the points of `Dr. Smith`, `2. Aspirin` at the beginning of a line, `5 mg. He`
    and `b.i.d. for`.

        >>> _point_ends("Dr", "S", before="saw"), _point_ends("2", "A", before="")
        (False, False)
        >>> _point_ends("mg", "H", before="5"), _point_ends("b.i.d", "f", before="mg")
        (True, False)
    """
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
    """Joins pieces without content to the next piece, or at the end to the previous one.

    Example: a piece with only a marker goes to the next sentence.

        >>> _merged(["[1] ", "He bled. ", "Home.", " 5."])
        ['[1] He bled. ', 'Home. 5.']
    """
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
