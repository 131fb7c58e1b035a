"""How a term is written in an index, and how a stretch of a text is written to be looked up: QuickUMLS's rules.

An index folds case or not, and letters beyond ASCII or not; ACI-BENCH's folds neither. Both sides are decomposed (NFKD).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

__all__ = ["Folding"]

# What decomposing does not bring to ASCII: punctuation of typesetters, and letters without a base letter.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚′´ʼ", "'"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‐‑‒–", "-"),
        "—": "--",
        "⁄": "/",
        "×": "x",
        "÷": "/",
        "±": "+-",
        "°": "deg",
        "·": "*",
        **{"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"},
        **{"đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i", "µ": "u"},
        **dict(zip("αβγδεζηικλμνξοπρςστυφω", "abgdeziiklmnxoprsstufo", strict=False)),
    }
)


@dataclass(frozen=True, kw_only=True)
class Folding:
    """What an index makes of terms.

    Attributes:
        lowercase: case is folded (QuickUMLS's option -L).
        ascii_only: letters are brought to ASCII (its option -U; there by the package unidecode, here by decomposing and a
            short table, so that letters of other scripts than Latin and Greek stay what they are).
    """

    lowercase: bool = False
    ascii_only: bool = False

    def stored(self, term: str) -> str:
        """Writes a term as it stands in the index.

        Args:
            term: as in MRCONSO, without white space at its ends.

        Returns:
            The term, decomposed.
        """
        text = term.lower() if self.lowercase else term
        return unicodedata.normalize("NFKD", _to_ascii(text) if self.ascii_only else text)

    def asked(self, stretch: str) -> str:
        """Writes a stretch of a text to be looked up, not decomposed yet.

        Args:
            stretch: of the text.

        Returns:
            The text. Where case is not folded a stretch all in capitals is, so that it finds terms in small letters only.
        """
        text = _to_ascii(stretch) if self.ascii_only else stretch
        return text.lower() if self.lowercase or text.isupper() else text


def _to_ascii(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).translate(_PLAIN)
