r"""Which choice an answer takes, read by rules and without a judge.

Answers say it as `D`, `(D)`, `D. text`, `**D**`, `The correct answer is D because ...`, `Option D is correct`, `\boxed{D}`,
`{"answer": "D"}`, or by the whole text of a choice. Medicine is full of letters that are no choices: vitamin D, hepatitis B,
E. coli, group A, stage C, B cells, "A patient". So a letter counts only where an answer names one, and only if nothing behind it
makes it the beginning of a name.

- An answer that names several letters takes none of them. Of several it takes what it says in the end if it says so: from the
  first `final answer` or box on, else from the first `so ...` or `therefore ...` on, it has to be one.
- A letter with the whole text of another choice behind it names both, so none.
- What is denied (`not A`), supposed (`if the answer is A`) or asked (`is it A?`) is not named.
- Only if no letter is named, the text of a choice counts: one that stands whole in the answer, is not denied there, and is the
  only one.

What is not sure is None, which scores as wrong: this matcher misses some answers that a reader would understand. Every rule takes
linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from medical_tasks.ehrnoteqa import letter_words as words_of
from medical_tasks.ehrnoteqa.letter_places import SHORT_TEXT, Places
from medical_tasks.ehrnoteqa.letter_text import plain_words, read_plain, spoken

__all__ = ["Letter", "read_letter"]

_PLAIN, _CONCLUSION, _FINAL = 1, 2, 3
_BEFORE = 80  # characters in which a clause or sentence begins
_WORDS_BEFORE = 60
_SHORT_ANSWER = 25  # words
_SHORTEST_TEXT = 4  # letters
_DENIED_WITHIN = 4  # words
_LISTING = re.compile(r"[^\n]*\b(?:choices|options) ?[:=]", re.IGNORECASE)


@dataclass(frozen=True)
class Letter:
    """A choice that an answer takes.

    Attributes:
        letter: `A` is the first choice.
        why: which rule found it; no text of the answer.
    """

    letter: str
    why: str


@dataclass(frozen=True)
class _Claim:
    """A place at which letters are named.

    Attributes:
        letters: which; several name no one.
        why: the rule.
        strength: whether it is said as a conclusion.
    """

    letters: frozenset[str]
    why: str
    strength: int = _PLAIN


def read_letter(text: str, choices: Sequence[str]) -> Letter | None:
    """Reads the choice that an answer takes.

    Args:
        text: the model's raw text; reasoning between <think> tags is passed over.
        choices: the texts of the choices, A first; at most 26.

    Returns:
        The letter and the rule, or None when the answer takes none, or several.
    """
    answer = read_plain(spoken(text))
    reader = _Reader(answer, choices)
    whole = reader.texts.whole(answer)
    if whole is not None:
        return Letter(reader.letters[whole], "the answer is the text of a choice")
    labelled = reader.behind_label()
    if labelled is not None:
        return Letter(labelled, "named as the answer")
    if reader.lists_letters():
        return None
    claims = sorted(reader.claims(), key=lambda claim: claim[0])
    found = _settled([claim for _, claim in claims]) if claims else _settled(list(reader.weak_claims()))
    if found is None or len(found.letters) != 1:
        return reader.by_text() if found is None else None
    (letter,) = found.letters
    return Letter(letter, found.why)


def _settled(claims: Sequence[_Claim]) -> _Claim | None:
    """What is named from the first of the strongest claims on, taken together."""
    if not claims:
        return None
    strength = max(claim.strength for claim in claims)
    first = next(place for place, claim in enumerate(claims) if claim.strength == strength)
    return _Claim(frozenset().union(*(claim.letters for claim in claims[first:])), claims[first].why)


class _Reader(Places):
    """An answer, and what it says of its choice."""

    def claims(self) -> Iterator[tuple[int, _Claim]]:
        """Everything that names letters outright, with its place."""
        for pattern, why in ((words_of.ANSWER, "named as the answer"), (words_of.CHOOSE, "chosen by the model")):
            for match in pattern.finditer(self.answer):
                letters = self.named_behind(match.end(), alone=match.re is words_of.ANSWER and not match["be"])
                if letters and not self._denied(match.start()) and not _LISTING.match(match[0]):
                    yield match.start(), _Claim(letters, why, self._strength(match.start(), match.end()))
        for match in words_of.IT_IS.finditer(self.answer):
            start = self.behind_option(match.end() + 1)
            letters = self.letters_at(start) if self._led(match.start()) and self._is_capital(start) else None
            if letters and not self._denied(match.start()):
                yield match.start(), _Claim(letters, "named", self._strength(match.start(), match.start()))
        yield from self._by_verdicts()
        for match in words_of.CORRECT.finditer(self.answer):
            if match[1] in self.letters and self._led(match.start()) and not self._denied(match.start()):
                yield (
                    match.start(),
                    _Claim(frozenset(match[1]), "called correct", self._strength(match.start(), match.start())),
                )
        for match in words_of.PART.finditer(self.answer):
            between = f" {plain_words(match[2])} "
            if match[1].upper() in self.letters and not any(
                f" {word} " in between for word in ("option", "choice", "answer", "not", "wrong", "incorrect")
            ):
                claim = _Claim(
                    frozenset(match[1].upper()), "called correct", self._strength(match.start(), match.start())
                )
                yield match.start(), claim
        for match in words_of.BOTH_CORRECT.finditer(self.answer):
            if match[1] in self.letters and match[2] in self.letters:
                yield match.start(), _Claim(frozenset((match[1], match[2])), "several called correct")
        for match in words_of.CONCLUDE.finditer(self.answer):
            start = self.behind_option(match.end() + 1)
            letters = self.letters_at(start, alone=True)
            if letters:
                yield match.start(), _Claim(letters, "named in conclusion", _CONCLUSION)
        yield from ((0, claim) for claim in self._leading())

    def weak_claims(self) -> Iterator[_Claim]:
        """What names a letter if nothing else does."""
        for match in words_of.MATCHES.finditer(self.answer):
            letters = self.letters_at(self.behind_option(match.end() + 1))
            if letters and not self._denied(match.start()):
                yield _Claim(letters, "said to match", self._strength(match.start(), match.start()))
        for match in words_of.SUPPORTED.finditer(self.answer):
            if match[1] in self.letters and not self._denied(match.start()):
                yield _Claim(frozenset(match[1]), "said to match", self._strength(match.start(), match.start()))
        *before, line = self.answer.split("\n")
        letters = self.line_letter(line) if before else None
        others = {self.lead_letter(other) for other in before} - {None}
        # Behind lines that go through the choices it repeats one of them.
        if letters and (others <= {letters} or (letters in others and len(others) > 2)):
            yield _Claim(letters, "the last line")

    def behind_label(self) -> str | None:
        """The letter alone behind `A:`, which then stands for answer."""
        label, _, rest = self.answer.partition(":")
        return rest.strip(" .") if label == "A" and rest.strip(" .") in self.letters else None

    def _by_verdicts(self) -> Iterator[tuple[int, _Claim]]:
        """The one choice that is called right where each has a line that says whether it is."""
        right: dict[str, int] = {}
        place, told = 0, set()
        for line in self.answer.split("\n"):
            match = words_of.VERDICT_LINE.fullmatch(line)
            if match and match[1].upper() in self.letters:
                told.add(match[1].upper())
                denied = words_of.NEGATION.search(line[max(0, match.start(2) - 12) : match.start(2)])
                if match[2].lower() in ("correct", "right", "yes", "true") and not denied:
                    right[match[1].upper()] = place
            place += len(line) + 1
        if len(told) > 2 and len(right) == 1:
            ((letter, place),) = right.items()
            yield place, _Claim(frozenset(letter), "called correct")

    def lists_letters(self) -> bool:
        """Whether the answer is nothing but different letters, in a line or with their texts in lines."""
        if words_of.ONLY_LETTERS.fullmatch(self.answer):
            return len({sign for sign in self.answer if sign in self.letters}) > 1
        lines = self.answer.split("\n", len(self.letters) + 1)
        found = [self.line_letter(line) for line in lines]
        return all(found) and len(set(found)) > 1

    def by_text(self) -> Letter | None:
        """The only choice whose text stands in the answer."""
        words = plain_words(self.answer)
        named: set[int] = set()
        meant = False
        last = 0
        for begin, end, number in self.texts.places(words):
            # What another choice's text denies is no denial of this one.
            before = words[max(last, begin - _WORDS_BEFORE) : begin].rpartition(" but ")[2].split()[-_DENIED_WITHIN:]
            last = end
            if words_of.REFUTED_TEXT.match(words, end):
                continue
            if not words_of.NEGATIONS.intersection(before) and words_of.INSTEAD not in " ".join(before):
                named.add(number)
                meant = meant or self._meant(words, begin, end, number)
        if len(named) != 1 or not meant:
            return None
        return Letter(self.letters[named.pop()], "the only choice whose text it has")

    def _meant(self, words: str, begin: int, end: int, number: int) -> bool:
        """Whether a choice's text does not just stand there in passing: it is long, or a short answer begins or ends with it."""
        size = self.texts.size(number)
        if size >= SHORT_TEXT:
            return True
        edge = end == len(words) or (begin == 0 and size > 1)
        return edge and end - begin >= _SHORTEST_TEXT and words.count(" ") < _SHORT_ANSWER

    def _leading(self) -> Iterator[_Claim]:
        start = self.behind_option(0)
        letters = self.letters_at(start, leading=True) or self.text_at(start)
        if start and self.answer[start : start + 5].replace("(", "").replace(")", "")[1:2] == ",":
            return  # "Option A, which ...": it is spoken of
        if letters is None or self._enumerates(letters) or self._labels(letters):
            return
        yield _Claim(letters, "the answer begins with it")

    def _enumerates(self, letters: frozenset[str]) -> bool:
        """Whether the answer begins by going through the choices one by one."""
        if letters != frozenset("A"):
            return False
        first, _, rest = self.answer.partition("\n")
        return self.lead_letter(rest.partition("\n")[0]) == frozenset("B") or any(
            mark in first for mark in (" B. ", " B) ", " (B) ", " B: ", "ption B")
        )

    def _labels(self, letters: frozenset[str]) -> bool:
        """Whether `A:` begins the answer, with another choice's text behind it; then it stands for answer."""
        if letters != frozenset("A") or self.answer[1:2] != ":":
            return False
        found = {number for _, _, number in self.texts.places(plain_words(self.answer.partition("\n")[0]))}
        return bool(found) and 0 not in found

    def _is_capital(self, start: int) -> bool:
        return self.answer[start : start + 2].lstrip("(")[:1].isupper()

    def _clause_before(self, place: int) -> str:
        before = self.answer[max(0, place - _BEFORE) : place]
        ends = [match.end() for match in words_of.NO_LETTER_BEFORE.finditer(before)]
        return before[ends[-1] :] if ends else before

    def _denied(self, place: int) -> bool:
        return words_of.NEGATION.search(self._clause_before(place)) is not None

    def _led(self, place: int) -> bool:
        return words_of.LED_BY.search(self.answer[max(0, place - 20) : place]) is not None

    def _strength(self, start: int, end: int) -> int:
        """Whether what stands here, or right before it in the sentence, says that it is a conclusion."""
        before = self.answer[max(0, start - _BEFORE) : start]
        sentence = before[max(before.rfind(mark) for mark in (". ", "\n", "! ", "? ", "; ")) + 1 :]
        said = f"{sentence}{self.answer[start:end]}"
        if words_of.FINAL.search(said):
            return _FINAL
        return _CONCLUSION if words_of.CONCLUDING.search(said) else _PLAIN
