"""What notes are made of.

Word lists, frames of clauses, diseases, and the grammar that fills frames.
"""

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
    """A frame of what a note says besides, one on each topic.

    The topic `talk` needs a patient who talks.

    Attributes:
        ages: Youngest and oldest patient.
    """

    place: str
    settings: frozenset[str]
    topics: frozenset[str]
    text: str
    ages: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Disease:
    """A disease with what is taken for it and what a note adds about it.

    Attributes:
        sex: "" where both have it.
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


def _clause(place: str, line: str) -> Clause:
    """A line of the data file: settings; topics; frame; ages, where they matter."""
    settings, topics, text = (part.strip() for part in line.split(";", 2))
    limits = _FOR_AGES.search(text)
    ages = _ages(limits[1]) if limits else (0, 200)
    text = _FOR_AGES.sub("", text)
    return Clause(place, settings_of(settings), frozenset(topics.split()), text, ages)


def _disease(line: str) -> Disease:
    """A line of the data file: ages; names; drugs; details.

    `f` or `m` behind the ages keeps a disease to one sex.
    """
    who, names, drugs, details = (part.strip() for part in line.split(";"))
    sex = {"f": "female", "m": "male"}.get(who[-1], "")

    return Disease(
        names.split("|"),
        drugs.split("|"),
        details.split("|"),
        _ages(who.rstrip("fm")),
        sex,
    )


def _split(text: str) -> list[str]:
    """The alternatives of a list.

    A bar within `<` and `>` belongs to an inner list: `a|<b|c>` has two alternatives.
    """
    return [match[0] for match in _ALTERNATIVE.finditer(text)]


_ALTERNATIVE: Final = re.compile(r"(?:[^|<>]|<(?:[^<>]|<[^<>]*>)*>)+")
WORDS: Final[Mapping[str, Sequence[str]]] = {
    name: _split("|".join(lines)) for name, lines in read_json("words.json").items()
}
CLAUSES: Final = tuple(
    _clause(place, line)
    for place, lines in read_json("clauses.json").items()
    for line in lines
)
DISEASES: Final = tuple(_disease(line) for line in read_json("diseases.json"))


# Topics: what a calculator asks for, by the words that speak of it. No clause is
# written that has a word of a topic which the calculator needs, whatever the clause was
# combined from.

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W_]+)*")


def _form(entry: str) -> str:
    """The pattern of an entry: `arter*` stands for all words that begin so, `*ectomy` for all that end so."""
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
    """The topics that a word is of."""
    return frozenset(topic for topic, form in _TOPICS.items() if form.fullmatch(word))


def topics_of(text: str) -> frozenset[str]:
    """The topics that a text speaks of, by its words and the parts of hyphenated ones."""
    words = _WORD.findall(text.lower())
    parts = [part for word in words if "-" in word for part in word.split("-")]
    return frozenset().union(*map(_topics_of_word, [*words, *parts]))


# Filling a frame.

_SLOT: Final = re.compile(r"<([^<>]*)>")
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_BEFORE_VOWEL: Final = re.compile(
    r"\b([Aa]) (?=[aei]|o(?!ne\b|nce\b)|u(?!ni|s|t|k|r[aei]))"
)
_TRIES: Final = 8  # for a word that the note does not have yet
_LONGEST: Final = 24  # years back
_GROWN_UP: Final = 18


@cache
def _words_of(name: str, sex: str) -> Sequence[str]:
    """A list without what is of the other sex, which begins with `f:` or `m:`."""
    marks = {"female": "f:", "male": "m:"}
    others = tuple(mark for of, mark in marks.items() if of != sex)
    own = marks.get(sex, "")
    return [
        word.removeprefix(own) for word in WORDS[name] if not word.startswith(others)
    ]


class Phrasing:
    """Fills the frames of one note."""

    def __init__(self, draw: Draw, person: Person, today: datetime.date) -> None:
        self.draw, self.person, self.today = draw, person, today
        self.used: set[str] = set()
        self.youngest = _GROWN_UP  # how old the patient was at least in a `<year>`

    def fill(self, text: str, words: Mapping[str, str]) -> str:
        """Fills in a frame's slots and the names in braces (`words`), and begins with a capital."""
        text = self.chosen(text)
        for name, word in words.items():
            text = text.replace(f"{{{name}}}", word)
        text = _BEFORE_VOWEL.sub(r"\1n ", text)
        return text[:1].upper() + text[1:]

    def chosen(self, text: str) -> str:
        """Fills in a frame's slots alone; names in braces stay."""
        while (new := _SLOT.sub(self._slot, text)) != text:
            text = new
        return text

    def _slot(self, slot: re.Match[str]) -> str:
        """Fills one slot: a year, a number of a range, a word of a list or of `a|b|c`.

        A name that ends in `_c` gets a capital.
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
        """A word of a list, one that the note does not have yet where there is one."""
        words = _words_of(name, self.person.sex)
        for _ in range(_TRIES):
            chosen = self.draw.pick(words)
            if chosen not in self.used:
                break
        self.used.add(chosen)
        return chosen
