"""The 13a tokenizer of machine translation, which BLEU and SARI share.

Source: mteval-v13a.pl of NIST (Western languages), as sacrebleu and `evaluate` run it.
"""

from __future__ import annotations

import re

__all__ = ["tokenize_13a"]

# In this order: "&amp;lt;" becomes "<".
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

# One after the other over the whole text. A match consumes both characters, so of two neighbouring marks the second can stay
# where it is: part of the numbers everybody compares with, and kept.
_STEPS = (
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),  # ASCII marks other than ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # . and , unless after a digit ...
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # ... and before one
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # - after a digit
)


def tokenize_13a(text: str) -> list[str]:
    """Words, numbers and marks of a text. Case is kept, apostrophes stay inside words, "2.35" and "12,500" stay whole.

    The literal "<skipped>" and hyphens before a line break are deleted, and the entities of the four characters " & < > are read.
    """
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text.split()
