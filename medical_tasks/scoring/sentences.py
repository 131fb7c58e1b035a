"""Splits a text into sentences, without a model or a download.

    split_sentences("Seen by Dr. Lee. Given 5 mg. p.o. b.i.d. He improved.")
    ['Seen by Dr. Lee.', 'Given 5 mg. p.o. b.i.d.', 'He improved.']

Two sets of rules. `medical` is this package's own: it knows the abbreviations of English notes, keeps the number of a list with
its line and ends a sentence at a blank line. `punkt` is NLTK's Punkt (module `punkt`), which metrics of other people are
computed with. Whatever the rules, no word is lost and none is doubled: between two sentences there is white space alone.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from medical_tasks.scoring.punkt import Punkt, punkt_spans

__all__ = ["MEDICAL", "Rules", "rules_name", "sentence_spans", "split_sentences"]

Rules = str | Punkt
"""`medical`, `punkt` (untrained), or Punkt with what it learnt."""

MEDICAL: Final = "medical 1"
"""What identities say of our own rules; the number goes up when they change."""

NEVER_LAST: Final = frozenset(
    "approx cf dr dres drs e.g eg fig figs gen hon i.e ie messrs mr mrs ms prof ref refs rep rev s/p st viz vs w/o".split()
)
"""Abbreviations that something always follows."""

OFTEN_LAST: Final = frozenset(
    (
        "abd al ave avg bid bilat blvd cap caps cc cm cont dept diff dx etc ext ft fx g gm gms gr gtt gtts hosp hr "
        "hrs ht hx i.m i.v im inc inj iv jr kg lab labs lat lb lbs max mcg meq mg min mins ml mm mo mos neg oz po "
        "prn pt pts q.d q.h.s q.o.d qd qhs qid qod resp rx sc sec secs sl sol soln sq sr subq supp susp sx tab "
        "tabs tbsp temp tid tsp tx ug vol wk wks wt yr yrs µg"
    ).split()
)
"""Abbreviations that can end a sentence: they do where a word with a capital follows."""

BEFORE_NUMBERS: Final = frozenset("apr aug dec feb jan jul jun mar no nos nov oct p pp sec sep sept tel vol".split())
"""Words that are abbreviations where a number follows."""

_TITLES: Final = frozenset("dr drs mr mrs ms prof rev st".split())
_CLOSERS = "\"'”’)]}»"
_OPENERS = "\"'“‘([{«"
_MARKS = ".!?"
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_LISTED = re.compile(r"(?:\d{1,3}|[A-Za-z])\.")
_BULLET = re.compile(r"(?:[-*•·–]|\d{1,3}[.)]|[A-Za-z]\))")


def split_sentences(text: str, *, rules: Rules = "medical") -> list[str]:
    """The sentences of a text, in order.

    Args:
        text: any text.
        rules: `medical`, `punkt`, or parameters of Punkt.

    Returns:
        Sentences that are not blank; none for a text without words.

    Raises:
        ValueError: Unknown rules.
    """
    return [text[start:end] for start, end in sentence_spans(text, rules=rules)]


def sentence_spans(text: str, *, rules: Rules = "medical") -> list[tuple[int, int]]:
    """Start and end of each sentence; what lies between two of them is white space.

    Args:
        text: any text.
        rules: as in `split_sentences`. With Punkt the first sentence has the white space before it, as NLTK's has.

    Raises:
        ValueError: Unknown rules.
    """
    if isinstance(rules, Punkt):
        return punkt_spans(text, rules)
    if rules == "punkt":
        return punkt_spans(text)
    if rules != "medical":
        raise ValueError(f"rules must be medical, punkt, or parameters of Punkt; got {rules!r}")
    return _medical_spans(text)


def rules_name(rules: Rules) -> str:
    """What an identity says of rules: numbers computed with different ones are not the same.

    Raises:
        ValueError: Unknown rules.
    """
    sentence_spans("", rules=rules)
    return rules.name if isinstance(rules, Punkt) else MEDICAL if rules == "medical" else Punkt().name


def _medical_spans(text: str) -> list[tuple[int, int]]:
    words = [found.span() for found in re.finditer(r"\S+", text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for place in range(len(words)):
        if place + 1 == len(words) or _divides(text, words, place):
            spans.append((words[start][0], words[place][1]))
            start = place + 1
    return spans


def _divides(text: str, words: list[tuple[int, int]], place: int) -> bool:
    """Whether a sentence ends between a word and the next."""
    word, following = (text[slice(*words[number])] for number in (place, place + 1))
    gap = text[words[place][1] : words[place + 1][0]]
    if gap.count("\n") > 1:
        return True
    if "\n" in gap and _BULLET.fullmatch(following):
        return True
    core = word.rstrip(_CLOSERS).lstrip(_OPENERS)
    if not core or core[-1] not in _MARKS:
        return False
    if core[-1] != "." or core.endswith(("?.", "!.")):
        return True
    nextword = following.lstrip(_OPENERS)
    if core.endswith(".."):
        return not nextword[:1].islower()
    first = place == 0 or "\n" in text[words[place - 1][1] : words[place][0]]
    if first and _LISTED.fullmatch(word):
        return False
    return not _abbreviates(core[:-1], nextword, text[slice(*words[place - 1])] if place else "")


def _abbreviates(word: str, following: str, before: str) -> bool:
    """Whether the full stop behind a word is the word's own, and ends no sentence."""
    plain = word.lower()
    if plain in NEVER_LAST:
        return True
    if plain in BEFORE_NUMBERS and following[:1].isdigit():
        return True
    if len(word) == 1 and word.isupper():  # "Dr. J. Lee", and not "hepatitis B. The"
        initials = len(before) == 2 and before[0].isupper() and before[1] == "."
        return (initials or before.rstrip(".").lower() in _TITLES) and following[:1].isupper()
    if plain in OFTEN_LAST or _DOTTED.fullmatch(word):
        return not _opens(following)
    return False


def _opens(word: str) -> bool:
    """Whether a word looks like the first of a sentence: a capital and small letters, or a word of one capital."""
    letters = list(itertools.takewhile(str.isalpha, word))
    if not letters:
        return False
    return letters[0].isupper() and ((len(letters) == 1 and letters[0] in "AI") or any(map(str.islower, letters)))
