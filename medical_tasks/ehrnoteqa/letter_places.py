"""What stands at one place of an answer: a letter that is named, the text of a choice, or the beginning of a name."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Final

from medical_tasks.ehrnoteqa import letter_words as words_of
from medical_tasks.ehrnoteqa.letter_text import ChoiceTexts

__all__ = ["SHORT_TEXT", "Places"]

SHORT_TEXT: Final = 3
"""Words from which the text of a choice does not stand in an answer by chance."""

# What is written with one letter and a point, before a capital as well: genus and species, rhythms of the heart.
_NAMES: Final = frozenset(
    "coli diff difficile fib flutter jejuni albicans faecalis faecium cloacae baumannii pertussis cereus fumigatus fragilis "
    "burgdorferi perfringens trachomatis glabrata auris tetani botulinum neoformans histolytica dimer section".split()
)
_REASONS: Final = (["because"], ["since"], ["as"], ["based"], ["according"], ["per"])
_BEHIND: Final = 60
_MOST_FILLERS: Final = 6


class Places:
    """An answer in plain text, and the choices.

    Args:
        answer: from `letter_text.read_plain`.
        choices: the texts of the choices, A first.
    """

    def __init__(self, answer: str, choices: Sequence[str]) -> None:
        self.answer = answer
        self.texts = ChoiceTexts(choices)
        self.letters = tuple(string.ascii_uppercase[: len(choices)])

    def named_behind(self, start: int, *, alone: bool = False) -> frozenset[str] | None:
        """What is named at a place or behind words that may stand before it.

        Args:
            start: the place.
            alone: whether nothing but a mark may follow.
        """
        for _ in range(_MOST_FILLERS + 1):
            while self.answer[start : start + 1] in (" ", "\n", ":"):
                start += 1
            letters = self.letters_at(start, alone=alone) or self.text_at(start)
            if letters:
                return letters
            filler = words_of.FILLER.match(self.answer, start)
            if filler is None:
                return None
            start = filler.end()
        return None

    def text_at(self, start: int) -> frozenset[str] | None:
        """The choice whose whole text stands at a place, with an end behind it."""
        found = self.texts.begins(self.answer, start)
        if found is None:
            return None
        number, end = found
        behind = self.answer[end : end + _BEHIND]
        if self.texts.size(number) < SHORT_TEXT:
            ended = behind[:1] in ("", ".", "\n", ")")
        elif behind[:1] == " ":
            ended = behind[1:2] == "(" or behind.split(maxsplit=1)[:1] in _REASONS
        else:
            ended = behind[:1] in ("", ".", "\n", ")", ",", ";", ":")
        return frozenset(self.letters[number]) if ended else None

    def letters_at(self, start: int, *, leading: bool = False, alone: bool = False) -> frozenset[str] | None:
        """The letters that are named at a place: one, or those of a list, or a letter and the choice whose text follows.

        Args:
            start: the place.
            leading: whether it is the beginning, where fewer words may follow.
            alone: whether nothing but a mark may follow.
        """
        opened = self.answer.startswith("(", start)
        place = start + opened
        sign = self.answer[place : place + 1]
        if not sign or sign.upper() not in self.letters:
            return None
        number = self.letters.index(sign.upper())
        if not self._ends(place, number, closed=opened, leading=leading, alone=alone):
            return None
        letters = {sign.upper()}
        end = place + 1
        while sign.isupper() and (joined := words_of.JOINED.match(self.answer, end)) and joined[1] in self.letters:
            letters.add(joined[1])
            end = joined.end()
        bracketed = words_of.JOINED_IN_BRACKETS.match(self.answer, end)
        if bracketed and bracketed[1] in self.letters:
            letters.add(bracketed[1])
        text = self.texts.begins(self.answer, place + 1)
        if text is not None and len(letters) == 1:
            letters.add(self.letters[text[0]])
            end = text[1]
        refuted = words_of.REFUTED.match(self.answer, end)
        # "B. No" where B's text begins with it is no refusal.
        return None if refuted and not self.texts.starts(number, refuted[0]) else frozenset(letters)

    def _ends(self, place: int, number: int, *, closed: bool, leading: bool, alone: bool) -> bool:
        """Whether a letter ends here as one that is named does."""
        small = self.answer[place].islower()
        behind = self.answer[place + 1 : place + 1 + _BEHIND]
        mark, rest = behind[:1], behind[1:]
        if mark == ")":
            if alone:
                return rest[:1] in ("", "\n", ".", ";", "!")
            return rest[:1] != " " or not words_of.VERBS.intersection(rest.split(maxsplit=1)[:1])
        if mark in ("", "\n"):
            return True
        if closed and mark not in ".:":
            return False
        if alone:
            return not small and mark in ".;!" and self._sentence_ends(rest)
        if words_of.JOINED.match(self.answer, place + 1) and not small:
            return True
        if mark in ".,;:!" and self.texts.follows(self.answer, place + 1, number):
            return True
        if mark == " " and self.text_at(place + 2) == frozenset(self.letters[number]):
            return True
        if mark == ".":
            return self._sentence_ends(rest)
        if small and mark not in ",;":
            return False
        if mark in ",;:!":
            return rest[:1] in ("", " ", "\n")
        if mark != " ":
            return False
        word = rest.split(maxsplit=1)[0].rstrip(".,;:") if rest.strip() else ""
        if rest[:1] == "(" or word in ("-", "–", "—") or rest.startswith(words_of.INSTEAD_OF):
            return True
        return word in ("because", "since") if leading else word in words_of.GOES_ON

    def _sentence_ends(self, rest: str) -> bool:
        """Whether what follows a letter's point begins a sentence, not the second half of a name."""
        if rest[:1] in ("", "\n"):
            return True
        if rest[:1] != " ":
            return False
        word = rest.split(maxsplit=1)[0].strip(".,;:()") if rest.strip() else ""
        return word.lower() not in _NAMES and (not word[:1].islower() or word in words_of.GOES_ON)

    def line_letter(self, line: str) -> frozenset[str] | None:
        """The letter of a line that has nothing but it, and perhaps its choice's text."""
        letters = self.lead_letter(line)
        if letters is None:
            return None
        start = words_of.OPTION.match(line)
        rest = line[start.end() if start else 0 :].lstrip("(")[1:].strip("().,:;-–—| ")
        (letter,) = letters
        return letters if not rest or self.texts.whole(rest) == self.letters.index(letter) else None

    def lead_letter(self, line: str) -> frozenset[str] | None:
        """The letter with a mark that a line begins with."""
        option = words_of.OPTION.match(line)
        rest = line[option.end() if option else 0 :][:4]
        opened = rest.startswith("(")
        sign, mark = rest[opened : opened + 1], rest[opened + 1 : opened + 2]
        if not sign or sign.upper() not in self.letters or (sign.islower() and mark != ")"):
            return None
        behind = rest[opened + 2 : opened + 3]
        ended = mark in ("", ")") or (mark in ".:" and behind in ("", " ")) or (mark == " " and behind in "-–—|")
        return frozenset(sign.upper()) if ended else None

    def behind_option(self, start: int) -> int:
        """The place behind the word `option` or `choice`, where it stands there; else the same place."""
        option = words_of.OPTION.match(self.answer, start)
        return option.end() if option else start
