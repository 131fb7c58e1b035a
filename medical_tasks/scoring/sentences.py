"""Splits a text into sentences, without a model or a download, by one of two sets of rules.

No word is lost or duplicated.

`medical` is for English clinical notes. `punkt` decides like NLTK's
`PunktSentenceTokenizer` (Kiss and Strunk 2006, Computational Linguistics 32(4)):
`UNTRAINED` is that class without training, `read_punkt` reads NLTK's `punkt_tab`, which
`sent_tokenize` uses.

- `medical`: `Dr.`, `vs.`, `e.g.` end no sentence; `mg.`, `b.i.d.`,
  `etc.` end one only before a capitalized word; a list number stays with its line; a
  blank line ends a sentence
- `punkt`: NLTK's Punkt without training
- `read_punkt(folder)`: NLTK's trained Punkt, from a folder of `punkt_tab`: the splits
  of `sent_tokenize`
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import read_bytes

_ADDRESS = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/tokenizers/punkt_tab.zip"
_APART = r"[)\";}\]*:@'({\[?!]"  # marks that are never inside a word
_JOINED = r"--+|\.{2,}|(?:\.\s){2,}\."  # dashes and ellipses are words of their own
_END = re.compile(rf"[.?!](?=(?P<behind>{_APART}|\s+(?P<next>\S+)))")
_WORD = re.compile(
    rf"{_JOINED}|(?![(\"`{{\[:;&#*@)}}\]\-,])\S+?(?=\s|$|{_APART}|{_JOINED}|,(?=$|\s|{_APART}|{_JOINED}))|\S"
)
_PUNKT_CLOSERS = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?")
_INITIAL = re.compile(r"[^\W\d]\.")
_PUNKT_MARKS = frozenset(";:,.!?")

# How a word occurred in training: bits of the last file of `punkt_tab`.
_MIDDLE_UPPER = 4
_UPPER = 2 + _MIDDLE_UPPER + 8
_FIRST_LOWER = 16
_LOWER = _FIRST_LOWER + 32 + 64


@dataclass(frozen=True, kw_only=True)
class Punkt:
    """Punkt's parameters for a language. Words are in lower case, numbers are `##number##`.

    Attributes:
        abbreviations: words whose full stop ends no sentence, without the full stop.
        collocations: pairs of words that belong together across a full stop.
        starters: words that often begin a sentence.
        cases: for each word how it occurred, in bits.
        name: its name in the identities of scores.
    """

    abbreviations: frozenset[str] = frozenset()
    collocations: frozenset[tuple[str, str]] = frozenset()
    starters: frozenset[str] = frozenset()
    cases: Mapping[str, int] = field(default_factory=dict)
    name: str = "punkt untrained"


UNTRAINED: Final = Punkt()


def read_punkt(folder: str | Path) -> Punkt:
    """Reads trained parameters from the folder of one language, such as `punkt_tab/english`."""
    path = Path(folder).expanduser()
    names = (
        "abbrev_types.txt",
        "collocations.tab",
        "sent_starters.txt",
        "ortho_context.tab",
    )
    hashed = hashlib.sha256()
    tables: list[list[list[str]]] = []
    for name in names:
        try:
            data = read_bytes(path / name)
            lines = data.decode("utf-8").split("\n")
        except OSError as error:
            raise MissingError(
                f"{path / name}: {system_reason(error)}. On a machine with internet: `curl -O "
                f"{_ADDRESS}` and `python -m zipfile -e punkt_tab.zip .`, not the downloader of "
                "NLTK, which below 3.9.3 writes where an archive tells it to; then bring the "
                "folder punkt_tab/english here and give its path."
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path / name}: not UTF-8. Download it again.") from error

        hashed.update(f"{name}\0{len(data)}\0".encode() + data)
        tables.append([line.split("\t") for line in lines if line])

    abbreviations, collocations, starters, cases = tables
    if any(len(row) != 2 for row in (*collocations, *cases)) or not all(
        value.isdecimal() for _, value in cases
    ):
        raise UsageError(
            f"{path}: collocations and contexts of two columns each are expected. Download it "
            "again."
        )

    return Punkt(
        abbreviations=frozenset(word for word, *_ in abbreviations),
        collocations=frozenset((first, second) for first, second in collocations),
        starters=frozenset(word for word, *_ in starters),
        cases={word: int(bits) for word, bits in cases},
        name=f"punkt_tab {hashed.hexdigest()[:16]}",
    )


def punkt_spans(text: str, punkt: Punkt = UNTRAINED) -> list[tuple[int, int]]:
    """Returns start and end of each sentence; the first includes leading white space."""
    raw: list[tuple[int, int]] = []
    start = 0
    for end, following, context in _contexts(text):
        words = (word for line in context.split("\n") for word in _WORD.findall(line))
        if any(_ends(word, after, punkt) for word, after in itertools.pairwise(words)):
            raw.append((start, end))
            start = following

    raw.append((start, len(text.rstrip())))
    spans: list[tuple[int, int]] = []
    taken = 0
    for (start, end), after in itertools.zip_longest(raw, raw[1:]):
        start += taken
        taken = 0
        # Closing quotes and brackets after a full stop belong to the sentence before.
        closers = (
            _PUNKT_CLOSERS.match(text[slice(*after)]) if after is not None else None
        )
        if after is not None and closers is not None:
            spans.append((start, after[0] + len(closers.group().rstrip())))
            taken = closers.end()
        elif start < end:
            spans.append((start, end))

    return spans


def _contexts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields possible ends (the last in a word), the next sentence's start, and the deciding words."""
    pending: re.Match[str] | None = None
    begin, stop = 0, 0
    for match in _END.finditer(text):
        before = _last_space(text, stop, match.start())
        first = before + 1 if before > stop else begin
        if pending is not None and stop <= first:
            yield _context(text, pending, begin)

        pending, begin, stop = match, first, match.start()

    if pending is not None:
        yield _context(text, pending, begin)


def _context(text: str, match: re.Match[str], start: int) -> tuple[int, int, str]:
    next_start = match.end() if match["next"] is None else match.start("next")
    return match.end(), next_start, text[start : match.end()] + match["behind"]


def _last_space(text: str, start: int, end: int) -> int:
    """Returns the last ASCII white space between two positions, -1 if there is none."""
    return max((text.rfind(space, start, end) for space in " \t\n\r\v\f"), default=-1)


def _ends(word: str, after: str, punkt: Punkt) -> bool:
    """Whether a sentence ends after a word, by Punkt's decisions in their order.

    A known collocation ("Dr. Smith") ends none. After an abbreviation the next word
    decides: it must usually start sentences. A number ends none before a word that
    cannot start one, nor does an initial before a possible name: a capitalised word that
    never occurs in lower case. Every other full stop ends a sentence.
    """
    if word in ("?", "!"):
        return True
    if not word.endswith("."):
        return False

    kind, following = _kind(word), _kind_after(after, punkt)
    if (kind, following) in punkt.collocations:
        return False

    initial = _INITIAL.fullmatch(word) is not None
    starts = _starts(after, following, punkt)
    capital = after[0].isupper()
    if word.endswith("..") or (word != "." and _is_known(word[:-1].lower(), punkt)):
        # An abbreviation: only what follows can say that a sentence ends.
        return not initial and (
            starts is True or (capital and following in punkt.starters)
        )

    if not initial:
        return kind != "##number##" or starts is not False

    never_small = capital and not punkt.cases.get(following, 0) & _LOWER
    return starts is True or (starts is None and not never_small)


def _is_known(plain: str, punkt: Punkt) -> bool:
    return plain in punkt.abbreviations or plain.split("-")[-1] in punkt.abbreviations


def _kind(word: str) -> str:
    """Returns a word in lower case without its full stop; all numbers are alike."""
    lower = word.lower()
    if _NUMBER.fullmatch(lower):
        return "##number##"
    return lower[:-1] if len(lower) > 1 and lower.endswith(".") else lower


def _kind_after(word: str, punkt: Punkt) -> str:
    """Like `_kind` for the next word, which keeps a full stop that does not end a sentence."""
    lower = word.lower()
    if _NUMBER.fullmatch(lower):
        return "##number##"

    plain = lower[:-1]
    ends = (
        plain
        and lower.endswith(".")
        and not lower.endswith("..")
        and not _is_known(plain, punkt)
    )
    return plain if ends else lower


def _starts(word: str, kind: str, punkt: Punkt) -> bool | None:
    """Whether a word's case shows that it begins a sentence; None if it does not show it."""
    if word in _PUNKT_MARKS:
        return False
    met = punkt.cases.get(kind, 0)
    if word[0].isupper() and met & _LOWER and not met & _MIDDLE_UPPER:
        return True
    if word[0].islower() and (met & _UPPER or not met & _FIRST_LOWER):
        return False
    return None


Rules = str | Punkt
"""`medical`, `punkt` (untrained), or Punkt with trained parameters."""

MEDICAL: Final = "medical 1"
"""The name of our own rules in the identities of scores; the number rises when they change."""

_WORDS: Final = {
    name: frozenset(words.split())
    for name, words in json.loads(
        Path(__file__).with_name("sentence_words.json").read_text(encoding="utf-8")
    ).items()
}
NEVER_LAST: Final = _WORDS["never_last"]
"""Abbreviations that are never the last word of a sentence."""

OFTEN_LAST: Final = _WORDS["often_last"]
"""Abbreviations that end a sentence if a capitalised word follows."""

BEFORE_NUMBERS: Final = _WORDS["before_numbers"]
"""Words that are abbreviations if a number follows."""

_TITLES: Final = _WORDS["titles"]
_CLOSERS = "\"'”’)]}»"
_OPENERS = "\"'“‘([{«"
_MARKS = ".!?"
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_LISTED = re.compile(r"(?:\d{1,3}|[A-Za-z])\.")
_BULLET = re.compile(r"(?:[-*•·–]|\d{1,3}[.)]|[A-Za-z]\))")


def split_sentences(text: str, *, rules: Rules = "medical") -> list[str]:
    """Returns the sentences of a text, in order."""
    return [text[start:end] for start, end in sentence_spans(text, rules=rules)]


def sentence_spans(text: str, *, rules: Rules = "medical") -> list[tuple[int, int]]:
    """Returns start and end of each sentence.

    With Punkt, the first includes leading white space, as in NLTK.
    """
    if isinstance(rules, Punkt):
        return punkt_spans(text, rules)
    if rules == "punkt":
        return punkt_spans(text)

    if rules != "medical":
        raise ValueError(
            f"rules must be medical, punkt, or parameters of Punkt; got {rules!r}"
        )

    return _medical_spans(text)


def rules_name(rules: Rules) -> str:
    """Returns the name of rules for identities: scores by different rules are not comparable."""
    sentence_spans("", rules=rules)
    return (
        rules.name
        if isinstance(rules, Punkt)
        else MEDICAL
        if rules == "medical"
        else Punkt().name
    )


def _medical_spans(text: str) -> list[tuple[int, int]]:
    """Returns start and end of each sentence, split between words by `_divides`."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for index in range(len(words)):
        if index + 1 == len(words) or _divides(text, words, index):
            spans.append((words[start][0], words[index][1]))
            start = index + 1
    return spans


def _divides(text: str, words: list[tuple[int, int]], index: int) -> bool:
    """Whether a sentence ends with the word at `index`, which is not the last one.

    An empty line ends a sentence, and so does a line break before a list item. Otherwise
    the word must end with a mark:

    - `?` and `!` end a sentence: "Any pain? None."
    - `...` does, unless a lower-case letter follows: "no change ... and no fever"
    - `1.` at the beginning of a line numbers a list item and does not
    - a full stop does, unless it belongs to an abbreviation: `_abbreviates`
    """
    word, following = (text[slice(*words[position])] for position in (index, index + 1))
    gap = text[words[index][1] : words[index + 1][0]]
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

    first = index == 0 or "\n" in text[words[index - 1][1] : words[index][0]]
    if first and _LISTED.fullmatch(word):
        return False

    return not _abbreviates(
        core[:-1], nextword, text[slice(*words[index - 1])] if index else ""
    )


def _abbreviates(word: str, following: str, before: str) -> bool:
    """Whether the full stop after a word belongs to an abbreviation and ends no sentence."""
    plain = word.lower()
    if plain in NEVER_LAST:
        return True
    if plain in BEFORE_NUMBERS and following[:1].isdigit():
        return True

    if len(word) == 1 and word.isupper():  # "Dr. J. Lee", and not "hepatitis B. The"
        initials = len(before) == 2 and before[0].isupper() and before[1] == "."
        return (initials or before.rstrip(".").lower() in _TITLES) and following[
            :1
        ].isupper()

    if plain in OFTEN_LAST or _DOTTED.fullmatch(word):
        return not _opens(following)

    return False


def _opens(word: str) -> bool:
    """Whether a word looks like the first of a sentence.

    It has a capital and lower-case letters, or is a single capital A or I.
    """
    letters = list(itertools.takewhile(str.isalpha, word))
    if not letters:
        return False
    return letters[0].isupper() and (
        (len(letters) == 1 and letters[0] in "AI") or any(map(str.islower, letters))
    )
