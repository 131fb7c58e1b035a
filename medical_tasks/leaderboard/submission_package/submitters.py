"""Checks a submitter's statements, in the same way when writing and reading a package.

Names that people cannot distinguish are equal, by Unicode Technical Standard 39:
`Identifier_Status=Allowed` and printable ASCII, "highly restrictive" in scripts, bounded
marks; compared by appearance (NFKC, case, `confusables.txt`). Data: `name_data.json`.

A model is its name and organisation. Names that a reader cannot tell apart are the
same: case, accents, spaces and punctuation do not count (except `+`, and separators
between digits: `1.3b` is not `13b`), and look-alikes (`1 l I`, `0 O`, `m rn`) are
equal.

Names are letters and digits of one script (Latin may be mixed with Chinese, Japanese or
Korean), spaces and ASCII punctuation, by Unicode Technical Standard 39 (highly
restrictive).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final
from urllib.parse import urlsplit

from medical_tasks.io.files import packaged
from medical_tasks.runs.results import JsonDict

_EAST_ASIAN: Final = (
    ("Latn", "Hani", "Hira", "Kana"),
    ("Latn", "Hani", "Bopo"),
    ("Latn", "Hani", "Hang"),
)
_URL_CHARACTERS: Final = re.compile(r"[A-Za-z0-9._~:/?#@!$&()*+,;=%-]+")
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+"
)
_MOST_MARKS: Final = 4
"""Most consecutive marks (UTS 39, 5.4), and twice the most accents, which fit any letter."""
# Spaces and punctuation do not distinguish names, except between digits: `1.3b` is not
# `13b`. At this point 0 has become o, and 1 has become i.
_BETWEEN_DIGITS: Final = re.compile(
    r"(?:(?<=[2-9])|(?<=[\Wio2-9][io])) (?=[2-9]|[io]+[2-9]|[io]+[a-z]?(?![a-z]))"
)


def is_address(text: str) -> bool:
    """Whether a text is a plain https:// address, without user or port."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is not None
    except ValueError:
        return False
    plain = text.startswith("https://") and _URL_CHARACTERS.fullmatch(text) is not None
    by_name = _HOST.fullmatch(parts.hostname or "") is not None
    return plain and by_name and not has_port and "@" not in parts.netloc


def name_problem(name: str) -> str:
    """Says why a text cannot be a name on a leaderboard; "" if it can.

    `name_problem("Mеdical")`, with a Cyrillic letter, is `mixes scripts at U+0435 ...`.
    """
    text = unicodedata.normalize("NFC", name)
    return _characters_problem(text) or _scripts_problem(text) or _marks_problem(text)


def _characters_problem(text: str) -> str:
    patterns = _name_data()[0]
    if not any(char.isalnum() for char in text):
        return "has no letter and no digit"
    for char in text:
        if not patterns["all"].fullmatch(char):
            return (
                f"has {_character(char)}: a name consists of letters and digits in common use, spaces "
                "and ASCII punctuation"
            )
    return ""


def _scripts_problem(text: str) -> str:
    """Checks that a name is in one script, or in Latin with an East Asian one."""
    scripts = {name: form for name, form in _name_data()[0].items() if name != "all"}
    for end in range(1, len(text) + 1):
        # The first character that does not fit the script of those before it.
        if not any(form.fullmatch(text, 0, end) for form in scripts.values()):
            return (
                f"mixes scripts at {_character(text[end - 1])}: write it in one script, or in "
                "Latin with Chinese, Japanese or Korean"
            )

    other = [char for char in text if char.isalnum() and not char.isascii()]
    if other and _name_data()[1].issuperset(other):
        return (
            f"has {_character(other[0])}, and nothing that does not look Latin: write it in Latin "
            "letters"
        )

    return ""


def _marks_problem(text: str) -> str:
    """Checks that a letter has few marks, each once, and of its own script."""
    together = {"".join(scripts) for scripts in _EAST_ASIAN}
    single = [
        form
        for name, form in _name_data()[0].items()
        if name not in together and name != "all"
    ]
    letters: list[str] = []  # each with its marks
    for char in text:
        if letters and unicodedata.category(char) == "Mn":
            letters[-1] += char
        else:
            letters.append(char)

    for letter in letters:
        base, marks = letter[0], letter[1:]
        too_many = (
            len(marks) > _MOST_MARKS or sum(map(_is_accent, marks)) > _MOST_MARKS // 2
        )
        if too_many or len(set(marks)) < len(marks):
            return (
                f"has {len(marks)} marks on one letter, the first of them {_character(marks[0])}: "
                "write the letter alone"
            )

        # A Japanese mark does not fit a Latin letter.
        if marks and not any(form.fullmatch(letter) for form in single):
            return (
                f"has {_character(marks[0])} on {_character(base)}, which is from another script: "
                "write the letter alone"
            )

    return ""


@lru_cache(4096)
def name_key(name: str) -> str:
    """Returns a key that is equal for indistinguishable names.

    It works for any text, even one that cannot be a name.

    Example:
        Case, hyphens and spaces do not distinguish names, nor do letters that look alike;
        a point between digits does:

        >>> name_key("GPT-4") == name_key("gpt 4")
        True
        >>> name_key("Model 1.5") == name_key("Model 15")
        False
    """
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", name).casefold()
    )
    looks = _name_data()[2]
    seen = "".join(
        looks.get(char, char)
        for char in unicodedata.normalize("NFD", folded)
        if not _is_accent(char)
    )
    # `+` is part of names.
    spaced = " ".join(
        "".join(
            char if char == "+" or unicodedata.category(char)[0] in "LMN" else " "
            for char in seen
        ).split()
    )

    return _BETWEEN_DIGITS.sub(".", f" {spaced}").replace(" ", "")


def model_key(organisation: str, model: str) -> tuple[str, str]:
    """Returns the key of a model: its organisation's key and its name's key."""
    return name_key(organisation), name_key(model)


def _is_accent(char: str) -> bool:
    """Whether it is a mark on, through or under any letter, and not a script's vowel."""
    combining = unicodedata.combining(char)
    return (combining == 1 or combining >= 200) and unicodedata.category(char) == "Mn"


def _character(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}"


@cache
def _name_data() -> tuple[dict[str, re.Pattern[str]], frozenset[str], dict[str, str]]:
    """Returns patterns by script and `all`, letters like Latin ones, and look-alikes."""
    data: JsonDict = packaged(__file__, "name_data.json")

    def pattern(*scripts: str) -> re.Pattern[str]:
        ranges = " ".join(
            [data["common"], *(data["scripts"][script] for script in scripts)]
        ).split()
        ends = (span.partition("-") for span in ranges)
        return re.compile(
            "["
            + "".join(rf"\U{low:0>8}-\U{high or low:0>8}" for low, _, high in ends)
            + "]*"
        )

    patterns = {script: pattern(script) for script in data["scripts"]}
    patterns |= {"".join(scripts): pattern(*scripts) for scripts in _EAST_ASIAN}
    patterns["all"] = pattern(*data["scripts"])
    looks = {char: look for look, chars in data["looks"].items() for char in chars}

    return patterns, frozenset(data["like_latin"]), looks
