"""An answer's text as the letter rules read it, and the texts of choices in it.

Markup is taken off and LaTeX, JSON and tags become plain words, so that the rules (`letters`) deal with plain sentences. All of it
is linear in the text's length.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, Final

__all__ = ["ChoiceTexts", "plain_words", "read_plain", "spoken"]

_SIGNS: Final[dict[int, Any]] = str.maketrans(
    {"’": "'", "‘": "'", "“": None, "”": None, '"': None, "`": None, "*": None, "$": None, "{": None, "\r": "\n"}
    | {"[": "(", "]": ")", "}": "\n", "_": " ", "\t": " ", "\u00a0": " ", "：": ":", "（": "(", "）": ")"}
)
# What Chinese, Japanese and Korean writing has in place of ASCII.
_SIGNS.update({0xFEE0 + ord(letter): letter for letter in string.ascii_letters})
_SIGNS.update({ord("。"): ". ", ord("．"): ". ", ord("，"): ", ", ord("、"): ", "})
# Marks of chat templates that a server left in, and signs that are not seen.
_TURN_END: Final = re.compile(r"<\|[A-Za-z_]{1,30}\|>|</?s>")
_UNSEEN: Final = re.compile("[\\0\u200b-\u200f\u2060\ufeff]")
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{")
_LATEX: Final = re.compile(r"\\(?:text(?:bf|rm|it)?|math(?:bf|rm|sf|it)|rm|bf)\b\s{0,4}|\\[()\[\],;!]")
_TAG: Final = re.compile(r"<(/?)(?:final[ _])?(answer|choice|option)>", re.I)
_BULLET: Final = re.compile(r"(?:^|(?<=\n))(?:(?:[-•>+]|#{1,6}) )+")
_QUOTE: Final = re.compile(r"(?<!\w)'|'(?!\w)")
_SPACES: Final = re.compile(r" {2,}")
_LINES: Final = re.compile(r" ?(?:\n ?)+")
# A decimal is one word: 5 mg does not stand in 1.5 mg.
_WORD: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")
_ARTICLE: Final = re.compile(r"\s*(?:[Aa]n?|[Tt]he) (?=[a-z0-9])")
_LONGEST_START: Final = 4000


def spoken(response: str) -> str:
    """The answer without reasoning between <think> tags, and nothing where that never ends."""
    if response.lstrip().startswith("<think>"):
        return response.partition("</think>")[2].strip()
    return response.rpartition("</think>")[2].strip()


def read_plain(answer: str) -> str:
    r"""Takes markup off.

    Args:
        answer: a model's answer, without its reasoning.

    Returns:
        The text with single blanks and single line breaks, round brackets alone, no quotation marks or signs of emphasis;
        `\boxed{D}`, `<answer>D</answer>` and JSON's `"answer": "D"` as a line `answer: D`.
    """
    text = _BOXED.sub("\nboxed answer: {", _TURN_END.sub("\n", _UNSEEN.sub("", answer)))
    text = _LATEX.sub("", text)
    text = _TAG.sub(lambda tag: "\n" if tag[1] else f"\n{tag[2]}: ", text)
    text = _SPACES.sub(" ", _QUOTE.sub("", text.translate(_SIGNS)))
    text = _LINES.sub("\n", text.strip())
    text = _BULLET.sub("", text)
    for before, after in (("( ", "("), (" )", ")"), (" .", "."), (" ,", ","), (" :", ":")):
        text = text.replace(before, after)
    return text


def plain_words(text: str) -> str:
    """The words in small letters, one blank between them: what is compared when texts of choices are."""
    return " ".join(_WORD.findall(text.lower()))


class ChoiceTexts:
    """The texts of an item's choices, to be found in answers.

    Args:
        choices: the texts, A first.
    """

    def __init__(self, choices: Sequence[str]) -> None:
        self._words = [plain_words(choice) for choice in choices]
        self._first = {choice.split()[0] for choice in self._words if choice}
        longest = max((len(choice) for choice in choices), default=0)
        # Marks and blanks between the words may be others in an answer.
        self._window = min(2 * longest + 40, _LONGEST_START)

    def whole(self, text: str) -> int | None:
        """The choice that a text is, but for case, marks and an article before it; None for none or several.

        A single letter is no text.
        """
        words = plain_words(text)
        if len(words) < 2:
            return None
        readings = {words, plain_words(_ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text)}
        return self._only([number for number, choice in enumerate(self._words) if choice and choice in readings])

    def begins(self, text: str, start: int) -> tuple[int, int] | None:
        """The choice whose whole text stands at a place, the longest of several, and where it ends.

        Two choices of the same text are none.
        """
        first = _WORD.search(text, start, start + self._window)
        if first is None or first[0].lower() not in self._first:
            return None
        words = list(_WORD.finditer(text[start : start + self._window].lower()))
        said = " ".join(word[0] for word in words) + " "
        found = [number for number, choice in enumerate(self._words) if choice and said.startswith(choice + " ")]
        longest = max((len(self._words[number]) for number in found), default=0)
        number = self._only([number for number in found if len(self._words[number]) == longest])
        return None if number is None else (number, start + words[self.size(number) - 1].end())

    def follows(self, text: str, start: int, number: int) -> bool:
        """Whether what stands at a place is the text of a choice, or its first words (of a text that is cut), three or more."""
        words = plain_words(text[start : start + self._window])
        choice = self._words[number]
        if not words or not choice:
            return False
        if (words + " ").startswith(choice + " "):
            return True
        head = choice.split()[:3]
        return len(head) == 3 and words.split()[:3] == head

    def starts(self, number: int, text: str) -> bool:
        """Whether the words of a choice begin with those of a text."""
        return f"{self._words[number]} ".startswith(f"{plain_words(text)} ")

    def size(self, number: int) -> int:
        """How many words a choice has."""
        return len(self._words[number].split())

    def places(self, words: str) -> list[tuple[int, int, int]]:
        """Finds whole texts of choices in plain words.

        Args:
            words: from `plain_words`.

        Returns:
            Begin, end and choice of each that does not lie inside a longer one, in order.
        """
        padded = f" {words} "
        found: list[tuple[int, int, int]] = []
        for number, choice in enumerate(self._words):
            if not choice or self._words.count(choice) > 1:
                continue
            at = padded.find(f" {choice} ")
            while at >= 0:
                found.append((at, at + len(choice), number))
                at = padded.find(f" {choice} ", at + len(choice) + 1)
        # By begin, the longer one first: what an earlier one covers to its end lies inside of it.
        kept: list[tuple[int, int, int]] = []
        for begin, end, number in sorted(found, key=lambda place: (place[0], -place[1])):
            if not kept or end > kept[-1][1]:
                kept.append((begin, end, number))
        return kept

    @staticmethod
    def _only(numbers: Sequence[int]) -> int | None:
        return numbers[0] if len(numbers) == 1 else None
