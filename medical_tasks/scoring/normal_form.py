"""The normal form in which replies are parsed: bounded, with one sign for each kind of mark.

A person reads `【D】`, `「D」` and `(D)` alike, and does not see `<|im_end|>`. Every parser
of a model's or judge's text begins here, so that its own rules need only one sign for
each kind of mark, and no reply, however hostile, is long.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from medical_tasks.io.patterns import Pattern

MAX_REPLY: Final = 16_384
"""The longest reply that is read, in characters. The end of a longer one is read: it has the answer."""
MAX_RUN: Final = 40
"""The longest run that is read of a sign that is neither a letter nor a digit."""

_ALIKE: dict[int, str] = {
    ord(sign): instead
    for instead, signs in {
        '"': "“”„‟«»「」『』〝〞＂〈〉《》⟨⟩",
        "'": "‘’‚‛ʼ＇",
        "[": "【〔〖［⟦〚",
        "]": "】〕〗］⟧〛",
        "(": "（❨",
        ")": "）❩",
        "|": "│｜¦∣┃❘",
        "→": "⇒➡⟶➔➜⟹👉",
        "✅": "✔☑✓🗸",
        "❌": "✗✘✖☒✕",
        "☐": "▢□",
        " ": "\u00a0\t\u202f",
        "-": "\u2010\u2011\u2012\u2212",
        ",": "，、",
        ";": "；",
    }.items()
    for sign in signs
}
_ALIKE |= {
    code: str(unicodedata.digit(chr(code)))
    for code in (*range(0x2460, 0x2469), 0xB2, 0xB3, 0xB9, *range(0x2074, 0x207A), *range(0xFF10, 0xFF1A))
}  # fmt: skip
_UNSEEN: Final = Pattern("[\\0\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff\ue000-\uf8ff]")
_END_MARK: Final = Pattern(
    r"<\|[A-Za-z_]{1,30}\|>|</?s>|<(?:eos|pad|(?:start|end)_of_turn)>|\[(?:/?INST|EOS)\]|<br ?/?>",
    re.IGNORECASE,
)
_BEFORE: Final = Pattern(
    rf"(?:{_END_MARK.pattern}|{_UNSEEN.pattern}|\s)*+", re.IGNORECASE
)
_BEHIND: Final = Pattern(rf"(?:{_END_MARK.pattern}|{_UNSEEN.pattern})\Z", re.IGNORECASE)
_LONGEST_MARK: Final = 40
_MOST_MARKS: Final = 20
_ARROW: Final = Pattern("[-=]{1,3}>")
_BLANKS: Final = Pattern(r"[^\S\n]+")
_LINES: Final = Pattern(r" ?\n(?: ?\n)++ ?")
_RUN: Final = Pattern(rf"([^\w\s])\1{{{MAX_RUN},}}+")


def shortened(text: str) -> str:
    """Returns the end of a reply, with runs of blanks, empty lines and signs shortened."""
    text = text[-MAX_REPLY:].replace("\r\n", "\n").replace("\r", "\n")
    text = _LINES.sub("\n\n", _BLANKS.sub(" ", text))
    return _RUN.sub(lambda run: run[1] * MAX_RUN, text)


def without_marks(text: str) -> str:
    """Strips blanks, invisible characters and end marks from both ends of a text.

    Nothing inside the text is changed.
    """
    before = _BEFORE.match(text)
    text = text[before.end() if before else 0 :].rstrip()
    for _ in range(_MOST_MARKS):
        mark = _BEHIND.search(text, max(0, len(text) - _LONGEST_MARK))
        if mark is None:
            break

        text = text[: mark.start()].rstrip()

    return text


def alike(text: str) -> str:
    """Unifies quotation marks, brackets, bars and digits; every character keeps its position."""
    return text.translate(_ALIKE)


def normal_form(text: str) -> str:
    """Returns the text as it is parsed.

    Example: `【Ｄ】</s>` becomes `[D]` and a line break.
    """
    seen = _END_MARK.sub("\n", _UNSEEN.sub("", shortened(text)))
    return unicodedata.normalize("NFKC", alike(_ARROW.sub("→", seen)))
