"""The words and patterns by which replies are read, from `patterns.toml`.

`HINTS` has words without which a pattern cannot match. They save most searches, and a test shows that they change no decision.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["HERE", "HINTS", "Q", "patterns", "words"]

_DATA: Final = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))
_PART: Final = re.compile(r"\{([a-z_]+)\}")
Q: Final = "\x01"
"""Stands for a quantity, so that the grammar is one of words."""
HERE: Final = "\x02"
"""Stands in a passage where an answer has been named ("the final answer is")."""
HINTS: Final = {kind: frozenset(words.split()) for kind, words in _DATA["hints"].items()}


def words(name: str) -> list[str]:
    """A list of words."""
    return str(_DATA["words"][name]).split()


@cache
def patterns(section: str, **parts: str) -> Mapping[str, re.Pattern[str]]:
    """The patterns of a section by name; `parts` are pieces that only the caller knows."""
    return {name: re.compile(_filled(text, parts)) for name, text in _DATA[section].items()}


def _filled(text: str, parts: Mapping[str, str]) -> str:
    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name in parts:
            return parts[name]
        if name in _DATA["parts"]:
            return _filled(_DATA["parts"][name], parts)
        return _filled("(?:" + "|".join(words(name)).replace("_", r"\s+") + ")", parts)

    return _PART.sub(part, re.sub(r"\n\s*", "", text))
