"""`lexical`: entailment by word overlap. Offline, deterministic, no download; **its numbers are not comparable**.

It is there so that everything runs anywhere. It counts words and understands nothing; docs/judges_local.md says how far
that goes against physicians.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from medical_tasks.judges.base import Budget, Call, Label, NoReply, OnReply, Reply
from medical_tasks.judges.lexical_words import STEM, Sentence, split_sentences

__all__ = ["LexicalJudge", "decide"]

VERSION = "1"
"""Counts up with every change that can move a label."""

ENTAILS_FROM = 0.4
"""Share of the hypothesis' content from which it counts as entailed: the mean of the shares in the best window and in all.

Chosen, with `STEM` and `WINDOW`, on half of the questions of K-QA's physician-labelled pairs; docs/judges_local.md has both
halves. Content is counted in letters: a long word says more than a short one.
"""

WINDOW = 2
"""Neighbouring sentences that count as one place; what is meant often stands in one and is explained in the next."""

SAME_FROM = 0.6
"""Overlap (Dice) of hypothesis and one sentence from which a clash between them is a contradiction.

Too few contradictions are labelled to choose it by them; it asks for nearly the same sentence.
"""

_PREMISES_KEPT = 16
_ENDS = ".!?。！？"
_OPENERS = "\"'“‘([{«*_"
_CLOSERS = "\"'”’)]}»*_"
_BULLETS = frozenset("-*•–—·+#>")


class LexicalJudge:
    """Decides by words alone; see `decide`."""

    name = "lexical"
    reads: Literal["prompt", "pair"] = "pair"
    endpoint: str | None = None
    comparable = False
    samples = False

    def __init__(self) -> None:
        self.identity: Mapping[str, str] = {
            "kind": "lexical",
            "version": VERSION,
            "entails_from": f"{ENTAILS_FROM:g}",
            "same_from": f"{SAME_FROM:g}",
            "window": str(WINDOW),
            "stem": str(STEM),
        }

    def answer(self, calls: Sequence[Call], budget: Budget, on_reply: OnReply) -> None:
        """Labels every call's pair. Nothing is sent, so the budget is not asked."""
        read = lru_cache(maxsize=_PREMISES_KEPT)(_Premise)  # an answer is judged against many statements in a row
        for call in calls:
            pair = call.question.pair
            if pair is None:
                on_reply(NoReply(key=call.key, reason="no pair", detail="the question has no premise and hypothesis"))
            else:
                on_reply(Reply(key=call.key, label=_decide(read(pair.premise), pair.hypothesis), attempts=0))

    def close(self) -> None:
        """Holds nothing."""


def decide(premise: str, hypothesis: str) -> Label:
    """Says whether a text entails another, as far as words tell.

    In this order:

    1. A blank premise or hypothesis: neutral.
    2. The hypothesis stands in the premise as a line or as whole sentences, but for case, white space, a bullet or a quote in
       front and punctuation at the end: entailment, whatever else stands there.
    3. Its content overlaps with a sentence of the premise by `SAME_FROM` (the most similar one), and the two clash in
       negation, opposites or numbers: contradiction.
    4. All of its numbers stand in the premise, and of its content `ENTAILS_FROM`, on average of the best `WINDOW` sentences
       and the whole premise: entailment.
    5. Else neutral.

    Args:
        premise: what is given; any text.
        hypothesis: what may follow; any text.
    """
    return _decide(_Premise(premise), hypothesis)


def _decide(premise: _Premise, text: str) -> Label:
    needle = _folded(text)
    if not needle or not premise.text.strip():
        return "neutral"
    if premise.holds(needle):
        return "entailment"
    hypothesis = Sentence(text)
    wanted = hypothesis.content
    if not wanted or not premise.sentences:
        return "neutral"
    closest = max(premise.sentences, key=lambda sentence: _overlap(wanted, sentence.content))
    if _overlap(wanted, closest.content) >= SAME_FROM and hypothesis.clashes(closest):
        return "contradiction"
    if any(word[0].isdigit() for word in wanted - premise.content):
        return "neutral"
    best = max(_letters(wanted & window) for window in premise.windows)
    share = (best + _letters(wanted & premise.content)) / (2 * _letters(wanted))
    return "entailment" if share >= ENTAILS_FROM else "neutral"


@dataclass(frozen=True)
class _Premise:
    """A premise, read once for all hypotheses."""

    text: str

    @cached_property
    def sentences(self) -> list[Sentence]:
        return [Sentence(part) for part in split_sentences(self.text)]

    @cached_property
    def windows(self) -> list[frozenset[str]]:
        contents = [sentence.content for sentence in self.sentences]
        return [frozenset().union(*contents[start : start + WINDOW]) for start in range(len(contents))]

    @cached_property
    def content(self) -> frozenset[str]:
        return frozenset().union(*(sentence.content for sentence in self.sentences))

    @cached_property
    def _folded(self) -> tuple[str, frozenset[int], frozenset[int]]:
        """The text folded, and where in it lines and sentences begin and end."""
        words: list[str] = []
        starts: set[int] = set()
        ends: set[int] = set()
        place = 0
        for line in self.text.splitlines():
            fresh = True
            parts = line.split()
            for number, part in enumerate(parts):
                word = part.casefold()
                if fresh:
                    starts |= {place, place + len(word) - len(word.lstrip(_OPENERS))}
                words.append(word)
                bare = word.rstrip(_CLOSERS)
                ended = bare.endswith(tuple(_ENDS))
                if ended or number == len(parts) - 1:
                    ends |= {place + len(word), place + len(word.rstrip(_CLOSERS + _ENDS + ":;,"))}
                # What follows a bullet or a list number begins a line as well.
                fresh = ended or (fresh and _is_bullet(word))
                place += len(word) + 1
        return " ".join(words), frozenset(starts), frozenset(ends)

    def holds(self, needle: str) -> bool:
        """Whether a folded text stands in it as a line or as whole sentences."""
        text, starts, ends = self._folded
        bare = needle.rstrip(_CLOSERS + _ENDS + ":;,")
        return any(
            start + len(wanted) in ends and text.startswith(wanted, start)
            for wanted in {needle, bare} - {""}
            for start in starts
        )


def _letters(words: frozenset[str]) -> int:
    """Whole numbers only: a sum of fractions would depend on the order in which a set gives its members."""
    return sum(map(len, words))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))


def _folded(text: str) -> str:
    return " ".join(part.casefold() for part in text.split())


def _is_bullet(word: str) -> bool:
    return word in _BULLETS or word.rstrip(".):").isdigit()
