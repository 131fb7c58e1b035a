"""ROUGE: recorded values, the library, by hand, laws; and its stemmer against NLTK's, by rule and by vocabulary."""

from __future__ import annotations

import csv
import importlib
import re
from dataclasses import astuple
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.models.text_metrics import score_texts
from medical_tasks.scoring.porter import stem
from medical_tasks.scoring.rouge import VARIANTS, Overlap, rouge, rouge_tokens
from tests.case_tables import tabled
from tests.scoring.text_cases import EMPTY, TEXTS
from tests.support import SHARED, needs_shared

NOTHING = Overlap(precision=0.0, recall=0.0, f1=0.0)


@needs_shared
@pytest.mark.upstream
@tabled("name", "published")
def test_two_systems_have_their_published_figures(
    name: str, published: list[float]
) -> None:
    folder = SHARED / "data" / "aci_bench"
    true = _notes(folder / "challenge_data" / "clinicalnlp_taskB_test1.csv")
    said = _notes(folder / "predictions" / name)
    assert len(said) == len(true) == 40
    texts = list(said.values()), [true[encounter] for encounter in said]
    estimates, _ = score_texts(*texts, ("rouge1", "rouge2", "rougeLsum"))
    assert [round(100 * each.value, 2) for each in estimates.values()] == published


def _notes(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["encounter_id"]: row["note"] for row in csv.DictReader(file)}


# Few letters, so that there are many longest common subsequences to choose from.
LISTS = st.lists(st.sampled_from(["a ", "b ", "c ", "d ", "\n"]), max_size=70).map(
    "".join
)


@cache
def _library(stem: bool) -> Any:
    module = importlib.import_module("rouge_score.rouge_scorer")
    return module.RougeScorer(
        ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"], use_stemmer=stem
    )


@given(TEXTS | LISTS, st.lists(TEXTS | LISTS, min_size=1, max_size=3), st.booleans())
def test_the_library_says_the_same(
    prediction: str, references: list[str], stem: bool
) -> None:
    pytest.importorskip("rouge_score")
    expected = _library(stem).score_multi(references, prediction)
    found = rouge(prediction, references, variants=tuple(expected), stem=stem)
    for variant, (precision, recall, f1) in expected.items():
        figures = found[variant]
        assert (figures.precision, figures.recall, figures.f1) == pytest.approx(
            (precision, recall, f1), abs=1e-12
        )


def test_by_hand() -> None:
    # a b c d against a c e: two common words of 4 and 3; no common pair; a c in order.
    scores = rouge("a b c d", "A, c; E!")
    assert astuple(scores["rouge1"]) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    assert scores["rouge2"] == NOTHING
    assert scores["rougeL"] == scores["rouge1"]
    # In another order of lines every line is still found whole; as one text only one of
    # the two is in order.
    scores = rouge("red rash\nno fever", "no fever\nred rash")
    assert scores["rougeLsum"].f1 == 1
    assert scores["rougeL"].f1 == 0.5
    for other in (". ", "\r", "\u2028"):
        assert (
            rouge(f"red rash{other}no fever", f"no fever{other}red rash")[
                "rougeLsum"
            ].f1
            == 0.5
        )
    assert rouge_tokens("Sjögren’s: pH 7.35, X-RAY\n发烧") == [
        "sj",
        "gren",
        "s",
        "ph",
        "7",
        "35",
        "x",
        "ray",
    ]
    assert rouge_tokens("rashes was treated days", stem=True) == [
        "rash",
        "was",
        "treat",
        "day",
    ]
    assert set(rouge("发烧", "发烧").values()) == {NOTHING}


def test_empty_texts_score_nothing_and_unknown_variants_are_named() -> None:
    for empty, other in product(EMPTY[:4], [*EMPTY[:4], "a rash"]):
        assert (
            rouge(empty, other)
            == rouge(other, empty)
            == dict.fromkeys(VARIANTS, NOTHING)
        )
    for variant in ("rouge", "rouge0", "rouge10", "rougel", "ROUGE1"):
        with pytest.raises(
            ValueError, match=f"variants must be out of .*; got '{variant}'"
        ):
            rouge("a", "a", variants=[variant])


ENDINGS = (
    "s sses ies ss ed ing eed ied at bl iz y ational tional enci anci izer bli alli entli eli ousli ization ation ator alism "
    "iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible "
    "ant ement ment ent ion ou ism ate iti ous ive ize e ll ly"
).split()


# Porter (1980), the examples of his rules; NLTK's additions; words that are hardly any.
EXAMPLES = """
    caresses caress ponies poni cats cat feed feed agreed agre plastered plaster motoring motor sing sing conflated conflat
    sized size hopping hop falling fall hissing hiss filing file happy happi relational relat rational ration triplicate triplic
    hopeful hope adoption adopt replacement replac probate probat rate rate controll control
    ties tie dying die enjoy enjoy news news sky sky a a as as 2222 2222 ing ing ion ion ied i
""".split()


@pytest.mark.parametrize(
    ("word", "expected"), [("", ""), *zip(EXAMPLES[::2], EXAMPLES[1::2], strict=True)]
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(
    st.text(alphabet="aeiouybcdlstwxz2", max_size=6),
    st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join),
)
def test_made_up_words_end_as_in_nltk(start: str, ending: str) -> None:
    assert stem(start + ending) == pytest.importorskip(
        "nltk.stem.porter"
    ).PorterStemmer().stem(start + ending)


@needs_shared
@pytest.mark.upstream
def test_every_word_of_real_notes_ends_as_in_nltk() -> None:
    theirs = pytest.importorskip("nltk.stem.porter").PorterStemmer().stem
    text = (SHARED / "data" / "aci_bench" / "challenge_data" / "train.csv").read_text(
        encoding="utf-8"
    )
    words = set(re.findall("[a-z0-9]+", text.lower()))
    assert len(words) > 4000
    assert {word for word in words if stem(word) != theirs(word)} == set()


def test_long_words_do_not_end_the_program() -> None:
    # Whether one y is a vowel hangs on all before it.
    assert stem("y" * 100_000 + "ing") == "y" * 99_999 + "i"
