"""Answers by the thousand: forms that take a choice, and tempting ones that take none or another.

`{l}` and `{t}` are the letter and the text of the choice that a form speaks of first, `{m}` and `{u}` those of another one, `{n}`
and `{v}` of a third.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator, Sequence

from tests.case_tables import cases
from tests.support import ROOT

_FAMILIES = json.loads((ROOT / "tests" / "golden" / "ehrnoteqa" / "letter_families.json").read_text(encoding="utf-8"))
CHOICES: list[list[str]] = _FAMILIES["choices"]
RIGHT: list[str] = _FAMILIES["right"]
WRONG: list[str] = _FAMILIES["wrong"]

_SIGNS = cases(__file__, "SIGNS")


def _answers(forms: Sequence[str], *, seed: int, each: int) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    draw = random.Random(seed)
    for form in forms:
        for _ in range(each):
            choices = tuple(draw.sample(draw.choice(CHOICES), 5))
            first, second, third = draw.sample(range(5), 3)
            letter = string.ascii_uppercase[first]
            signs = {name: chr(start + first) for name, start in _SIGNS.items()}
            text = form.format(
                l=letter, s=letter.lower(), t=choices[first], m="ABCDE"[second], u=choices[second], n="ABCDE"[third],
                v=choices[third], **signs,
            )  # fmt: skip
            yield form, text, choices, letter


def right_answers(each: int = 5) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Form, answer, choices, and the letter that the answer takes."""
    return list(_answers(RIGHT, seed=1, each=each))


def wrong_answers(each: int = 5) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Form, answer, choices, and the letter that it seems to take and does not."""
    return list(_answers(WRONG, seed=2, each=each))
