"""The material of notes: word lists, frames of clauses, diseases, and how frames are filled."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from medical_tasks.construct.fresh.chart import Person, settings_of
from medical_tasks.construct.fresh.quantities import Draw, read_json

__all__ = ["CLAUSES", "DISEASES", "WORDS", "Clause", "Phrasing", "topics_of"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A frame of a background clause; a note has one at most on each topic.

    The topic `talk` needs a patient who talks.

    Attributes:
        ages: The youngest and the oldest patient.
    """

    section: str
    settings: frozenset[str]
    topics: frozenset[str]
    text: str
    ages: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Disease:
    """A disease with its drugs and details for the note.

    Attributes:
        sex: The sex that can have it; "" for both.
    """

    names: Sequence[str]
    drugs: Sequence[str]
    details: Sequence[str]
    ages: tuple[int, int]
    sex: str

    def fits(self, person: Person) -> bool:
        """Whether a patient can have it."""
        return self.ages[0] <= person.years <= self.ages[1] and self.sex in (
            "",
            person.sex,
        )


def _ages(text: str) -> tuple[int, int]:
    low, high = text.split("-")
    return int(low), int(high)


_FOR_AGES: Final = re.compile(r"; (\d+-\d+)$")


def _clause(section: str, line: str) -> Clause:
    """Parses a line of the data file: settings; topics; frame; optional ages."""
    settings, topics, text = (field.strip() for field in line.split(";", 2))
    limits = _FOR_AGES.search(text)
    ages = _ages(limits[1]) if limits else (0, 200)
    text = _FOR_AGES.sub("", text)
    return Clause(section, settings_of(settings), frozenset(topics.split()), text, ages)


def _disease(line: str) -> Disease:
    """Parses a line of the data file: ages; names; drugs; details.

    `f` or `m` after the ages restricts a disease to one sex.
    """
    who, names, drugs, details = (field.strip() for field in line.split(";"))
    sex = {"f": "female", "m": "male"}.get(who[-1], "")

    return Disease(
        names.split("|"),
        drugs.split("|"),
        details.split("|"),
        _ages(who.rstrip("fm")),
        sex,
    )


def _split(text: str) -> list[str]:
    """Splits a list into its alternatives.

    A bar within `<` and `>` belongs to an inner list: `a|<b|c>` has two alternatives.
    """
    return [match[0] for match in _ALTERNATIVE.finditer(text)]


_ALTERNATIVE: Final = re.compile(r"(?:[^|<>]|<(?:[^<>]|<[^<>]*>)*>)+")
WORDS: Final[Mapping[str, Sequence[str]]] = {
    name: _split("|".join(lines)) for name, lines in read_json("words.json").items()
}
CLAUSES: Final = tuple(
    _clause(section, line)
    for section, lines in read_json("clauses.json").items()
    for line in lines
)
DISEASES: Final = tuple(_disease(line) for line in read_json("diseases.json"))


# Topics: the concepts of calculators, by the words about them. No clause is written that
# has a word of a topic which the calculator needs, whatever it was combined from.

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W_]+)*")


def _form(entry: str) -> str:
    """Returns the pattern of an entry: `arter*` is a prefix, `*ectomy` a suffix."""
    if entry.endswith("*"):
        return f"{re.escape(entry[:-1])}.*"
    if entry.startswith("*"):
        return f".*{re.escape(entry[1:])}s?"
    return re.escape(entry)


_TOPICS: Final[Mapping[str, re.Pattern[str]]] = {
    topic: re.compile("|".join(map(_form, words.split())))
    for topic, words in read_json("topics.json").items()
}


@cache
def _topics_of_word(word: str) -> frozenset[str]:
    """The topics of a word."""
    return frozenset(topic for topic, form in _TOPICS.items() if form.fullmatch(word))


def topics_of(text: str) -> frozenset[str]:
    """The topics of a text, by its words and the parts of hyphenated words.

    Example:
        >>> sorted(topics_of("type 2 diabetes"))
        ['sugar']
    """
    words = _WORD.findall(text.lower())
    pieces = [piece for word in words if "-" in word for piece in word.split("-")]
    return frozenset().union(*map(_topics_of_word, [*words, *pieces]))


# Filling a frame.

_SLOT: Final = re.compile(r"<([^<>]*)>")
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_BEFORE_VOWEL: Final = re.compile(
    r"\b([Aa]) (?=[aei]|o(?!ne\b|nce\b)|u(?!ni|s|t|k|r[aei]))"
)
_LONGEST: Final = 24  # years ago
_GROWN_UP: Final = 18


@cache
def _words_of(name: str, sex: str) -> Sequence[str]:
    """Returns a word list without the words of the other sex, marked `f:` or `m:`."""
    marks = {"female": "f:", "male": "m:"}
    others = tuple(mark for of, mark in marks.items() if of != sex)
    own = marks.get(sex, "")
    return [
        word.removeprefix(own) for word in WORDS[name] if not word.startswith(others)
    ]


class Phrasing:
    """Fills the frames of one note.

    A frame has slots in angle brackets, which are drawn: `<year>`, `<2-5>`, `<a|b>` or the
    name of a list of `words.json`. Names in braces are replaced by the `words` of a call.

    Attributes:
        used: the words that the note has, so that others are preferred.
        youngest: the patient's lowest age in a `<year>`: 18, or that of the last disease.
    """

    def __init__(self, draw: Draw, person: Person, today: datetime.date) -> None:
        self.draw, self.person, self.today = draw, person, today
        self.used: set[str] = set()
        self.youngest = _GROWN_UP  # the patient's lowest age in a `<year>`

    def fill(self, text: str, words: Mapping[str, str]) -> str:
        """Fills a frame's slots and the names in braces (`words`), and capitalises it."""
        text = self.chosen(text)
        for name, word in words.items():
            text = text.replace(f"{{{name}}}", word)
        text = _BEFORE_VOWEL.sub(r"\1n ", text)
        return text[:1].upper() + text[1:]

    def chosen(self, text: str) -> str:
        """Fills a frame's slots alone; names in braces remain."""
        while (new := _SLOT.sub(self._slot, text)) != text:
            text = new
        return text

    def _slot(self, slot: re.Match[str]) -> str:
        """Fills one slot: a year, a number in a range, a word from a list or `a|b|c`.

        The word for a name that ends in `_c` is capitalised.
        """
        inner = slot[1]
        if inner == "year":
            return str(self.today.year - self._lag())
        if limits := _RANGE.fullmatch(inner):
            return str(self.draw.whole(int(limits[1]), int(limits[2])))

        name = inner.removesuffix("_c")
        chosen = self.word(name) if name in WORDS else self.draw.pick(inner.split("|"))
        return chosen[:1].upper() + chosen[1:] if name != inner else chosen

    def _lag(self) -> int:
        grown = self.person.years - self.youngest
        return self.draw.whole(1, max(1, min(_LONGEST, grown)))

    def word(self, name: str) -> str:
        """Draws a word from a list, preferably one that the note does not have yet."""
        words = _words_of(name, self.person.sex)
        for _ in range(self.draw.tries):
            chosen = self.draw.pick(words)
            if chosen not in self.used:
                break
        self.used.add(chosen)
        return chosen
