"""Words by which a message tells of a hospital stay, and how they are found.

The paper names three, "admission", "emergency room" and "ICU"; its whole list stands in a supplement that is not ours to have. The
list here is our own, of words that people use for a stay in hospital; a file takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.whole_file import read_text

__all__ = ["KEYWORDS", "KeywordFinder", "read_keywords"]

KEYWORDS: Final = (
    "admission",
    "admitted",
    "ambulance",
    "discharge papers",
    "discharge summary",
    "discharged",
    "e r",
    "emergency department",
    "emergency room",
    "er",
    "hospital",
    "hospitalisation",
    "hospitalised",
    "hospitalization",
    "hospitalized",
    "hospital stay",
    "icu",
    "in patient",
    "inpatient",
    "intensive care",
    "intubated",
    "life support",
    "readmitted",
    "released from hospital",
    "sent home",
    "ventilator",
)
"""Our own list; `readmitted` is a word of its own because whole words are looked for."""

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 8


class KeywordFinder:
    """Finds keywords as whole words, whatever their case and whatever stands between the words of one.

    Args:
        keywords: words, or some words one behind the other.
    """

    def __init__(self, keywords: Sequence[str]) -> None:
        self._keywords = {tuple(_WORD.findall(keyword.casefold())): keyword for keyword in keywords}
        self._lengths = sorted({len(words) for words in self._keywords})

    def found(self, text: str) -> list[str]:
        """The keywords that stand in a text, each once, in alphabetical order."""
        words = _WORD.findall(text.casefold())
        hits = {
            keyword
            for length in self._lengths
            for start in range(len(words) - length + 1)
            if (keyword := self._keywords.get(tuple(words[start : start + length]))) is not None
        }
        return sorted(hits)


def read_keywords(path: Path) -> tuple[str, ...]:
    """Reads keywords, a line each; empty lines and those that begin with `#` are none.

    Raises:
        MissingError: There is no such file.
        UsageError: It cannot be read, has no keyword, or a line is none.
    """
    try:
        lines = read_text(path, encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise MissingError(
            f"{path}: no such file. Give --keywords a text file with a word or some words a line."
        ) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte 0x{error.object[error.start]:02x}). Save it as UTF-8.") from error
    found: dict[tuple[str, ...], str] = {}
    for number, line in enumerate(lines, start=1):
        keyword = " ".join(line.split()).casefold()
        if not keyword or keyword.startswith("#"):
            continue
        words = tuple(_WORD.findall(keyword))
        if not 1 <= len(words) <= _LONGEST:
            raise UsageError(
                f"{path}: line {number} must hold 1 to {_LONGEST} words of letters and digits, got {len(words)}."
            )
        found.setdefault(words, keyword)
    if not found:
        raise UsageError(f"{path}: has no keyword. Write a word or some words a line.")
    return tuple(sorted(found.values()))
