"""Strips the dress of an answer: Unicode variants, LaTeX, Markdown and HTML, so that the readers see plain ASCII signs.

Every rule here is a single pass over the text.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["MAGNITUDES", "NUMBER_WORDS", "TENS", "plain"]

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
"""Each number at its own place."""

TENS = {
    word: 10 * value
    for value, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
}
MAGNITUDES = {"hundred": 100, "thousand": 1000}

_SIGNS = {
    **dict.fromkeys("−–—‒―‐‑﹣－", "-"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("“”„‟″＂", '"'),
    **dict.fromkeys("‘’‚‛′＇", "'"),
    **dict.fromkeys("⋅·∙•∗✕✖╳", "×"),
    **dict.fromkeys("≅≃∼～~≒", "≈"),
    **dict.fromkeys("⇒⟹➔➜➡", "→"),
    "⁄": "/",
    "∕": "/",
    "／": "/",
    "％": "%",
    "＝": "=",
    "：": ":",
    "，": ",",
    "．": ".",
    "（": "(",
    "）": ")",
    "⩽": "≤",
    "⩾": "≥",
    **dict.fromkeys("❌✗✘🚫👎⛔", " wrong "),
    "½": " 1/2",
    "¼": " 1/4",
    "¾": " 3/4",
}
_TABLE = str.maketrans(_SIGNS)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]++")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

_LATEX = (
    (
        re.compile(
            r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|operatorname|boxed|fbox)\s*+\{([^{}]*+)\}"
        ),
        r" \1 ",
    ),
    (re.compile(r"\\[dt]?frac\s*+\{([^{}]*+)\}\s*+\{([^{}]*+)\}"), r" \1/\2 "),
    (re.compile(r"\\(?:[bx]?cancel|sout|st)\s*+\{[^{}]*+\}"), " "),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])"), "×"),
    (re.compile(r"\\(?:approx|simeq|sim|cong)(?![A-Za-z])"), "≈"),
    (re.compile(r"\\(?:Rightarrow|rightarrow|to|implies)(?![A-Za-z])"), "→"),
    (re.compile(r"\\(?:leq?|geq?|lt|gt)(?![A-Za-z])"), "<"),
    (re.compile(r"\\pm(?![A-Za-z])"), "±"),
    (re.compile(r"\\n(?:e|eq)(?![A-Za-z])"), "≠"),
    (re.compile(r"\\sqrt(?![A-Za-z])"), "√"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\[A-Za-z]++|\\.|\$"), " "),
)
_LATEX_ROUNDS = 3  # commands within commands, as in \boxed{25.2\ \text{mg}}

_MARKS = (
    # The sign to look for first, the pattern, and what stands for it.
    ("&", re.compile(r"&gt;"), ">"),
    ("&", re.compile(r"&lt;"), "<"),
    ("&", re.compile(r"&nbsp;|&#160;"), " "),
    ("<", re.compile(r"<!--(?:[^-]|-(?!->)){0,4000}+(?:-->|$)"), " "),
    ("<", re.compile(r"<(del|s|strike)>[^<>\n]{0,200}</\1>|</?[A-Za-z][^<>\n]{0,60}>", re.IGNORECASE), " "),
    # Two stars are bold unless they stand between numbers, where they are a power.
    ("**", re.compile(r"(?<![0-9])\*\*|\*\*(?!-?[0-9])"), ""),
    ("__", re.compile(r"__"), ""),
    # What is struck out is not said.
    ("~~", re.compile(r"~~[^~\n]{0,200}~~|~~"), " "),
    ("`", re.compile(r"`"), ""),
    ("!=", re.compile(r"!="), "≠"),
    (">=", re.compile(r">="), "≥"),
    ("<=", re.compile(r"<="), "≤"),
    (">", re.compile(r"[-=]{1,2}>"), "→"),
    ("==", re.compile(r"=="), "="),
)


def plain(text: str) -> str:
    """Writes a text with plain signs: `**1,234.5**` and `$1{,}234.5$` as 1,234.5, `10⁻⁴` as 10^-4.

    Digits of any script become ASCII digits; dashes, minus signs, quotes and spaces of any kind become plain ones.
    """
    if not text.isascii():
        text = _RAISED_RUN.sub(lambda run: "^" + run[0].translate(_RAISED), text)
        text = text.translate(_LOWERED).translate(_TABLE)
        digits = {ord(sign): str(unicodedata.decimal(sign)) for sign in set(text) if sign.isdecimal() and sign > "9"}
        text = text.translate(digits) if digits else text
    if "\\" in text or "$" in text or "{,}" in text:
        for _ in range(_LATEX_ROUNDS):
            for pattern, replacement in _LATEX[:4]:
                text = pattern.sub(replacement, text)
        for pattern, replacement in _LATEX[4:]:
            text = pattern.sub(replacement, text)
    for sign, pattern, replacement in _MARKS:
        if sign in text:
            text = pattern.sub(replacement, text)
    return text
