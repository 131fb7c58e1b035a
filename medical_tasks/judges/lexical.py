"""`lexical`: entailment by word overlap, offline and deterministic.

**Its numbers are not comparable** with any others (docs/judges_local.md).

1. A blank premise or hypothesis: neutral.
2. The hypothesis is a line or whole sentences of the premise, up to case, white space,
   bullets, quotes and end punctuation: entailment.
3. Its content overlaps with a sentence of the premise by 0.6 (Dice), and the two differ
   an odd number of times in negation or opposites (safe/unsafe), or in all numbers of a
   unit: contradiction.
4. All of its numbers and 0.4 of its content are in the premise, on average of the best
   two neighbouring sentences and the whole: entailment.
5. Otherwise neutral.

Content is all words except function words and negations, cut to six letters and
weighted by length.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from medical_tasks.judges.base import Backend, Call, Label, NoReply, OnReply, Reply
from medical_tasks.judges.windows import sentence_spans
from medical_tasks.models.budget import RunBudget

VERSION = "1"
"""Incremented with every change that can alter a label."""

ENTAILS_FROM = 0.4
"""Smallest share of the hypothesis' content, in letters, for an entailment.

Chosen, with `STEM` and `WINDOW`, on half of K-QA's physician-labelled questions; docs/judges_local.md has both halves."""

WINDOW = 2
"""Number of neighbouring sentences searched together; the second often explains the first."""

SAME_FROM = 0.6
"""Smallest overlap (Dice) with one sentence for a clash to be a contradiction; there are too few labels to tune it."""

LEXICAL = "lexical (not comparable)"
GIVEN = "given by the caller"
"""The source of verdicts in metrics for existing answers: this judge, or the caller."""

_PREMISES_KEPT = 16
_ENDS = ".!?。！？"
_OPENERS = "\"'“‘([{«*_"
_CLOSERS = "\"'”’)]}»*_"
_BULLETS = frozenset("-*•–—·+#>")


class LexicalJudge(Backend):
    """Decides by words alone; see `decide`."""

    name = "lexical"
    reads = "pair"
    comparable = False

    def __init__(self) -> None:
        self.identity: Mapping[str, str] = {
            "kind": "lexical",
            "version": VERSION,
            "entails_from": f"{ENTAILS_FROM:g}",
            "same_from": f"{SAME_FROM:g}",
            "window": str(WINDOW),
            "stem": str(STEM),
        }

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Labels every call's pair. Nothing is sent, so the budget is not asked."""
        # Successive statements are judged on the same answer.
        read = lru_cache(maxsize=_PREMISES_KEPT)(_Premise)
        for call in calls:
            pair = call.question.pair
            if pair is None:
                on_reply(NoReply(key=call.key, reason="no pair"))
                continue

            on_reply(
                Reply(
                    key=call.key,
                    label=_decide(read(pair.premise), pair.hypothesis),
                    attempts=0,
                )
            )


def decide(premise: str, hypothesis: str) -> Label:
    """Decides by words whether a text entails another, with these rules in order.

    1. Entailment: the hypothesis is a line or whole sentences of the premise.
    2. Contradiction: it clashes with the most similar sentence.
    3. Entailment: its numbers and `ENTAILS_FROM` of its content are in the premise, as
       the mean of the best window and the whole.
    """
    return _decide(_Premise(premise), hypothesis)


def _decide(premise: _Premise, text: str) -> Label:
    """Like `decide`, with a premise that is parsed once for many hypotheses.

    A number of the hypothesis that the premise lacks rules out entailment, however many
    words agree.
    """
    needle = _folded(text)
    if not needle or not premise.text.strip():
        return "neutral"
    if premise.holds(needle):
        return "entailment"

    hypothesis = Sentence(text)
    content = hypothesis.content
    if not content or not premise.sentences:
        return "neutral"

    closest = max(
        premise.sentences, key=lambda sentence: _overlap(content, sentence.content)
    )
    if _overlap(content, closest.content) >= SAME_FROM and hypothesis.clashes(closest):
        return "contradiction"
    if any(word[0].isdigit() for word in content - premise.content):
        return "neutral"

    best = max(_letters(content & window) for window in premise.windows)
    share = (best + _letters(content & premise.content)) / (2 * _letters(content))
    return "entailment" if share >= ENTAILS_FROM else "neutral"


@dataclass(frozen=True)
class _Premise:
    """A text in the forms that are compared with hypotheses, each computed when needed.

    Attributes:
        text: the text.
        sentences: its sentences that have a word.
        windows: the content words of each run of `WINDOW` neighbouring sentences; the last
            is shorter.
        content: the content words of all sentences.
    """

    text: str

    @cached_property
    def sentences(self) -> list[Sentence]:
        return [Sentence(text) for text in split_sentences(self.text)]

    @cached_property
    def windows(self) -> list[frozenset[str]]:
        contents = [sentence.content for sentence in self.sentences]
        return [
            frozenset().union(*contents[start : start + WINDOW])
            for start in range(len(contents))
        ]

    @cached_property
    def content(self) -> frozenset[str]:
        return frozenset().union(*(sentence.content for sentence in self.sentences))

    @cached_property
    def _folded(self) -> tuple[str, frozenset[int], frozenset[int]]:
        """The folded text, with the positions where lines and sentences begin and end."""
        words: list[str] = []
        starts: set[int] = set()
        ends: set[int] = set()
        position = 0
        for line in self.text.splitlines():
            fresh = True
            tokens = line.split()
            for number, token in enumerate(tokens):
                word = token.casefold()
                if fresh:
                    starts |= {
                        position,
                        position + len(word) - len(word.lstrip(_OPENERS)),
                    }

                words.append(word)
                bare = word.rstrip(_CLOSERS)
                ended = bare.endswith(tuple(_ENDS))
                if ended or number == len(tokens) - 1:
                    ends |= {
                        position + len(word),
                        position + len(word.rstrip(_CLOSERS + _ENDS + ":;,")),
                    }

                # Text after a bullet or a list number also begins a line.
                fresh = ended or (
                    fresh and (word in _BULLETS or word.rstrip(".):").isdigit())
                )
                position += len(word) + 1

        return " ".join(words), frozenset(starts), frozenset(ends)

    def holds(self, needle: str) -> bool:
        """Whether it has a folded text as a line or as whole sentences."""
        text, starts, ends = self._folded
        bare = needle.rstrip(_CLOSERS + _ENDS + ":;,")
        return any(
            start + len(candidate) in ends and text.startswith(candidate, start)
            for candidate in {needle, bare} - {""}
            for start in starts
        )


def _letters(words: frozenset[str]) -> int:
    """The number of letters; a sum of fractions would depend on the order of a set's members."""
    return sum(map(len, words))


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


def _folded(text: str) -> str:
    return " ".join(word.casefold() for word in text.split())


STEM = 6
"""Letters of a word's stem: `recommended` and `recommendation` are one word, and so are `increases` and `increasing`."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*|%")

_WORDS = json.loads(
    Path(__file__).with_name("lexical_words.json").read_text(encoding="utf-8")
)
_STOP = frozenset(_WORDS["stop"].split())
_NEGATIONS = frozenset(_WORDS["negations"].split())
_NUMBERS: Mapping[str, str] = _WORDS["numbers"]
_SIDES = {
    word: (pair[0].split()[0], side)
    for pair in _WORDS["opposites"]
    for side in (0, 1)
    for word in pair[side].split()
}


def split_sentences(text: str) -> list[str]:
    """Splits a text into its sentences, leaving out those without a word."""
    sentences = (text[start:end] for start, end in sentence_spans(text))
    return [sentence for sentence in sentences if _TOKEN.search(sentence)]


@dataclass(frozen=True)
class Sentence:
    """A text as words.

    Example:
        >>> sentence = Sentence("Do not take more than 1,000.50 mg.")
        >>> sentence.words
        ('do', 'not', 'take', 'more', 'than', '1000.5', 'mg')
        >>> dict(sentence.numbers), sentence.negated
        ({'mg': {'1000.5'}}, True)
    """

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in order, in lower case; numbers without thousands separators and trailing zeros."""
        folded = unicodedata.normalize("NFKC", self.text).casefold().replace("’", "'")
        return tuple(_plain(word) for word in _TOKEN.findall(folded))

    @cached_property
    def content(self) -> frozenset[str]:
        """Its content: stems without function words and negations, opposites under one name, and numbers."""
        return frozenset(
            _stem(word)
            for word in self.words
            if word not in _STOP and not _negates(word)
        )

    @cached_property
    def numbers(self) -> Mapping[str, set[str]]:
        """Numbers by the stem of the word that follows them (`""` at the end)."""
        by_unit: defaultdict[str, set[str]] = defaultdict(set)
        for word, unit in itertools.pairwise((*self.words, "")):
            if word[0].isdigit():
                by_unit[_stem(unit)].add(word)
        return by_unit

    @cached_property
    def negated(self) -> bool:
        """Whether it holds an odd number of negations."""
        return sum(map(_negates, self.words)) % 2 == 1

    @cached_property
    def sides(self) -> dict[str, int]:
        """The side it holds, for each pair of opposites of which it holds only one."""
        held = {_SIDES[word] for word in self.words if word in _SIDES}
        return {name: side for name, side in held if (name, 1 - side) not in held}

    def clashes(self, other: Sentence) -> bool:
        """Whether negation and opposites differ an odd number of times (`not safe`/`unsafe`: twice), or a unit's numbers all do.

        Example:
            >>> twice, thrice = Sentence("Take 2 tablets."), Sentence("Take 3 tablets.")
            >>> twice.clashes(thrice), twice.clashes(Sentence("Take 3 drops."))
            (True, False)
        """
        flips = self.negated != other.negated
        for name, side in self.sides.items():
            flips ^= other.sides.get(name, side) != side
        return flips or any(
            values.isdisjoint(other.numbers.get(unit, values))
            for unit, values in self.numbers.items()
        )


def _plain(word: str) -> str:
    """A word in its form for comparison.

    Example:
        >>> [_plain(word) for word in ("%", "1,000", "2.50", "1,5", "7.0")]
        ['percent', '1000', '2.5', '1.5', '7']
    """
    if word == "%":
        return "percent"
    if not word[0].isdigit():
        return _NUMBERS.get(word, word)
    word = re.sub(r",(?=\d{3}(?!\d))", "", word).replace(",", ".")
    return (word.rstrip("0").rstrip(".") or "0") if "." in word else word


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _stem(word: str) -> str:
    if word[:1].isdigit():
        return word
    return _SIDES[word][0][:STEM] if word in _SIDES else word[:STEM]
