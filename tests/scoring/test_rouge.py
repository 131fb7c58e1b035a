"""ROUGE: published figures, the library, by hand; and its stemmer: Porter's examples, NLTK's stemmer."""

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
from tests.scoring.text_cases import EMPTY, TEXTS
from tests.support import SHARED, needs_shared

NOTHING = Overlap(precision=0.0, recall=0.0, f1=0.0)


@needs_shared
@pytest.mark.upstream
@pytest.mark.parametrize(
    ("name", "published"),
    [
        # Table 20 of DocLens, and the ACI-BENCH paper: mean F1 x 100 without stemming.
        (
            "bart-large-xsum-samsum_clinicalnlp_taskB_test1_full.csv",
            [40.87, 18.96, 34.6],
        ),
        (
            "BioBART_clinicalnlp_taskB_test1_division_combined.csv",
            [49.53, 22.47, 44.92],
        ),
    ],
)
def test_two_systems_have_their_published_figures(
    name: str, published: list[float]
) -> None:
    folder = SHARED / "data" / "aci_bench"
    references = _notes(folder / "challenge_data" / "clinicalnlp_taskB_test1.csv")
    predictions = _notes(folder / "predictions" / name)
    assert len(predictions) == len(references) == 40
    estimates, _ = score_texts(
        list(predictions.values()),
        [references[encounter] for encounter in predictions],
        ("rouge1", "rouge2", "rougeLsum"),
    )
    figures = [round(100 * estimate.value, 2) for estimate in estimates.values()]
    assert figures == published


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
def test_scores_equal_those_of_the_library(
    prediction: str, references: list[str], stem: bool
) -> None:
    pytest.importorskip("rouge_score")
    expected = _library(stem).score_multi(references, prediction)
    scores = rouge(prediction, references, variants=tuple(expected), stem=stem)
    for variant, figures in expected.items():
        assert astuple(scores[variant]) == pytest.approx(tuple(figures), abs=1e-12)


def test_words_in_order_by_hand() -> None:
    # a b c d against a c e: two common words of 4 and 3; no common pair; a c in order.
    scores = rouge("a b c d", "A, c; E!")
    assert astuple(scores["rouge1"]) == pytest.approx((2 / 4, 2 / 3, 4 / 7))
    assert scores["rouge2"] == NOTHING
    assert scores["rougeL"] == scores["rouge1"]


@pytest.mark.parametrize(
    ("separator", "f1"), [("\n", 1.0), (". ", 0.5), ("\r", 0.5), ("\u2028", 0.5)]
)
def test_lines_may_be_in_another_order(separator: str, f1: float) -> None:
    scores = rouge(f"red rash{separator}no fever", f"no fever{separator}red rash")
    assert scores["rougeLsum"].f1 == f1
    assert scores["rougeL"].f1 == 0.5


def test_tokens_by_hand() -> None:
    tokens = rouge_tokens("Sjögren’s: pH 7.35, X-RAY\n发烧")
    assert tokens == ["sj", "gren", "s", "ph", "7", "35", "x", "ray"]
    stems = rouge_tokens("rashes was treated days", stem=True)
    assert stems == ["rash", "was", "treat", "day"]


def test_texts_without_tokens_score_nothing() -> None:
    empty = dict.fromkeys(VARIANTS, NOTHING)
    for text, other in product(EMPTY[:4], [*EMPTY[:4], "a rash"]):
        assert rouge(text, other) == rouge(other, text) == empty
    assert rouge("发烧", "发烧") == empty


@pytest.mark.parametrize("variant", ["rouge", "rouge0", "rouge10", "rougel", "ROUGE1"])
def test_unknown_variants_are_refused(variant: str) -> None:
    message = f"variants must be out of .*; got '{variant}'"
    with pytest.raises(ValueError, match=message):
        rouge("a", "a", variants=[variant])


ENDINGS = (
    "s sses ies ss ed ing eed ied at bl iz y ational tional enci anci izer bli alli entli eli ousli ization ation ator alism "
    "iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible "
    "ant ement ment ent ion ou ism ate iti ous ive ize e ll ly"
).split()


# Porter (1980), the examples of his rules; NLTK's additions; words that are only an ending.
EXAMPLES = """
    caresses caress ponies poni cats cat feed feed agreed agre plastered plaster motoring motor sing sing conflated conflat
    sized size hopping hop falling fall hissing hiss filing file happy happi relational relat rational ration triplicate triplic
    hopeful hope adoption adopt replacement replac probate probat rate rate controll control
    ties tie dying die enjoy enjoy news news sky sky a a as as 2222 2222 ing ing ion ion ied i
""".split()


@pytest.mark.parametrize(
    ("word", "expected"), [("", ""), *zip(EXAMPLES[::2], EXAMPLES[1::2], strict=True)]
)
def test_stem_of_a_word(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(
    st.text(alphabet="aeiouybcdlstwxz2", max_size=6),
    st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join),
)
def test_stems_of_invented_words_equal_those_of_nltk(start: str, ending: str) -> None:
    assert stem(start + ending) == nltk_stem(start + ending)


def nltk_stem(word: str) -> str:
    stemmer = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    return str(stemmer.stem(word))


@needs_shared
@pytest.mark.upstream
def test_stems_of_all_words_of_real_notes_equal_those_of_nltk() -> None:
    path = SHARED / "data" / "aci_bench" / "challenge_data" / "train.csv"
    text = path.read_text(encoding="utf-8")
    words = set(re.findall("[a-z0-9]+", text.lower()))
    assert len(words) > 4000
    assert [word for word in words if stem(word) != nltk_stem(word)] == []


def test_long_words_exceed_no_recursion_limit() -> None:
    # Whether a y is a vowel depends on all letters before it.
    assert stem("y" * 100_000 + "ing") == "y" * 99_999 + "i"
