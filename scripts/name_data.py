"""Makes `medical_tasks/leaderboard/submission_package/name_data.json`: properties of the characters that a name may have.

    pip install pyicu-wheels==2.15.2
    python scripts/name_data.py

The characters are those with Identifier_Status=Allowed (UTS 39) and printable ASCII.
`looks` maps each, case-folded and decomposed, to what it looks like (confusables.txt)
in capitals or small letters of its own script, so that I, l, i and 1 are one.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import icu  # type: ignore[import-not-found]

OUT = (
    Path(__file__).parents[1]
    / "medical_tasks"
    / "leaderboard"
    / "submission_package"
    / "name_data.json"
)
SCRIPTS = (
    "Arab Armn Beng Bopo Cyrl Deva Ethi Geor Grek Gujr Guru Hang Hani Hebr Hira Kana Khmr Knda Laoo Latn Mlym Mymr Orya Sinh Taml "
    "Telu Thaa Thai Tibt"
).split()
EAST_ASIAN = {"Bopo", "Hang", "Hani", "Hira", "Kana"}
CHECKER = icu.SpoofChecker()
LONG_DASH = CHECKER.getSkeleton(0, "\u2014")
ASCII = {chr(code) for code in range(0x20, 0x7F)}


def characters(script: str) -> set[str]:
    """Lists the characters of a script that a name may have."""
    return {
        str(char)
        for char in icu.UnicodeSet(f"[[:Identifier_Status=Allowed:]&[:scx={script}:]]")
    }


def ranges(chars: set[str]) -> str:
    """Writes characters as ranges of hexadecimal code points."""
    spans: list[list[int]] = []
    for code in sorted(map(ord, chars)):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return " ".join(
        f"{low:X}-{high:X}" if high > low else f"{low:X}" for low, high in spans
    )


def decorates(char: str) -> bool:
    """Whether it is a mark on, through or under any letter: an accent, not a vowel sign of a script."""
    return unicodedata.category(char) == "Mn" and (
        unicodedata.combining(char) == 1 or unicodedata.combining(char) >= 200
    )


def look(text: str) -> str:
    """Returns what a text looks like, without accents."""
    seen = CHECKER.getSkeleton(0, text).replace(LONG_DASH, "-")
    return (
        "".join(
            char for char in unicodedata.normalize("NFD", seen) if not decorates(char)
        )
        or text
    )


class Classes:
    """Looks that stand for one letter, in capitals or small."""

    def __init__(self) -> None:
        self.of: dict[str, set[str]] = {}

    def join(self, letters: set[str]) -> None:
        """Joins the looks of a letter's forms."""
        for letter in sorted(letters):
            if decorates(letter):
                continue  # the capital of the iota under a letter is a letter of its own
            forms = {letter, letter.upper(), letter.lower(), letter.casefold()}
            looks = {look(form) for form in forms if len(form) == 1}
            joined = looks.union(*(self.of.get(seen, set()) for seen in looks))
            self.of.update(dict.fromkeys(joined, joined))

    def name(self, seen: str) -> str:
        """Returns one text for a look: the longest, letter by letter, of its forms (`m` and `M` are `rn`)."""
        longest = max(sorted(self.of.get(seen, {seen})), key=len)
        if len(longest) > 1:
            return "".join(map(self.name, longest))
        return min(
            self.of.get(seen, {seen}), key=lambda text: (text.casefold(), text)
        ).casefold()


def main() -> None:
    """Writes the file."""
    scripts = {script: characters(script) for script in SCRIPTS}
    letters = set().union(*scripts.values()) - ASCII
    # Of the characters without a script: the marks, and the apostrophe.
    marks = {
        char for char in characters("Zyyy") | characters("Zinh") if decorates(char)
    }
    common = (
        (ASCII | marks | {"\u2019"})
        - letters
        - {char for char in ASCII if char.isalpha()}
    )
    latin = scripts["Latn"] | common
    looks: dict[str, str] = {}
    for script, own in scripts.items():
        classes = Classes()
        classes.join(latin if script in EAST_ASIAN else latin | own)
        for char in sorted(own | common):
            for folded in unicodedata.normalize("NFD", char.casefold()):
                name = classes.name(look(folded))
                if folded.isascii() and not name.isalnum():
                    continue  # punctuation is left out of names that are compared
                if not decorates(folded) and name != folded:
                    looks.setdefault(folded, name)
    like_latin = {
        char
        for script, own in scripts.items()
        if script not in EAST_ASIAN | {"Latn"}
        for char in own - common
        if char.isalnum() and (seen := look(char)).isascii() and seen.isalnum()
    }
    grouped: dict[str, str] = {}
    for char, seen in sorted(looks.items()):
        grouped[seen] = grouped.get(seen, "") + char
    data = {
        "source": f"Unicode {icu.UNICODE_VERSION} as in ICU {icu.ICU_VERSION} (PyICU {icu.VERSION}); made by scripts/name_data.py",
        "licence": "Unicode License v3 (https://www.unicode.org/license.txt). Copyright (c) Unicode, Inc.",
        "common": ranges(common),
        "scripts": {script: ranges(own - common) for script, own in scripts.items()},
        "like_latin": "".join(sorted(like_latin)),
        "looks": dict(sorted(grouped.items())),
    }
    OUT.write_text(
        json.dumps(data, indent=1, ensure_ascii=True) + "\n", encoding="ascii"
    )
    print(
        f"{OUT}: {sum(map(len, grouped.values()))} characters with another look, {len(like_latin)} like Latin ones"
    )


if __name__ == "__main__":
    main()
