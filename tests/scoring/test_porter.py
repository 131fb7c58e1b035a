"""The stemmer against NLTK's, by rule and by vocabulary."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.porter import stem
from tests.support import SHARED, needs_shared

ENDINGS = (
    "s sses ies ss ed ing eed ied at bl iz y ational tional enci anci izer bli alli entli eli ousli ization ation ator alism "
    "iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible "
    "ant ement ment ent ion ou ism ate iti ous ive ize e ll ly"
).split()


@cache
def _nltk() -> Callable[[str], str]:
    return cast(Callable[[str], str], importlib.import_module("nltk.stem.porter").PorterStemmer().stem)


# Porter (1980), the examples of his rules; NLTK's additions; words that are hardly any.
EXAMPLES = """
    caresses caress ponies poni cats cat feed feed agreed agre plastered plaster motoring motor sing sing conflated conflat
    sized size hopping hop falling fall hissing hiss filing file happy happi relational relat rational ration triplicate triplic
    hopeful hope adoption adopt replacement replac probate probat rate rate controll control
    ties tie dying die enjoy enjoy news news sky sky a a as as 2222 2222 ing ing ion ion ied i
""".split()


@pytest.mark.parametrize(("word", "expected"), [("", ""), *zip(EXAMPLES[::2], EXAMPLES[1::2], strict=True)])
def test_examples(word: str, expected: str) -> None:
    assert stem(word) == expected


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="aeiouybcdlstwxz2", max_size=6), st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join))
def test_made_up_words_end_as_in_nltk(start: str, ending: str) -> None:
    pytest.importorskip("nltk")
    assert stem(start + ending) == _nltk()(start + ending)


@needs_shared
@pytest.mark.upstream
def test_every_word_of_real_notes_ends_as_in_nltk() -> None:
    pytest.importorskip("nltk")
    text = (SHARED / "data" / "aci_bench" / "challenge_data" / "train.csv").read_text(encoding="utf-8")
    words = set(re.findall("[a-z0-9]+", text.lower()))
    assert len(words) > 4000
    assert {word for word in words if stem(word) != _nltk()(word)} == set()


def test_long_words_do_not_end_the_program() -> None:
    # Whether one y is a vowel hangs on all before it.
    assert stem("y" * 100_000 + "ing") == "y" * 99_999 + "i"
