"""The normal form of replies: characters that look alike, marks, and long texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.normal_form import (
    MAX_REPLY,
    MAX_RUN,
    alike,
    normal_form,
    shortened,
    without_marks,
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("【Ｄ】", "[D]"),
        ("「D」 and “D”", '"D" and "D"'),
        ("D<|im_end|>", "D\n"),
        ("the answer => D", "the answer → D"),
        ("✓ ✔ ✅ and ✗", "✅ ✅ ✅ and ❌"),
        ("a\u200b\u00a0\t  b\r\n\n \n\nc", "a b\n\nc"),
        ("*" * 1000, "*" * MAX_RUN),
        ("5" * 100, "5" * 100),
        ("", ""),
    ],
)
def test_normal_form(text: str, form: str) -> None:
    assert normal_form(text) == form


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from(" \n\t*[|「①,"))))
def test_laws_of_the_normal_form(text: str) -> None:
    assert len(alike(text)) == len(text)
    assert alike(alike(text)) == alike(text)
    assert len(shortened(text)) <= len(text)
    assert shortened(shortened(text)) == shortened(text)
    assert without_marks(f"\ufeff {text.strip()}x<|im_end|></s>\n") in (
        f"{text.strip()}x",
        without_marks(f"{text.strip()}x"),
    )


def test_a_long_reply_keeps_its_end() -> None:
    text = shortened("word " * MAX_REPLY + "the answer is D")
    assert text.endswith("the answer is D")
    assert len(text) <= MAX_REPLY
