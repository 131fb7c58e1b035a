"""Sentences by our rules for notes and by those of Punkt."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.scoring.sentences import (
    BEFORE_NUMBERS,
    MEDICAL,
    NEVER_LAST,
    OFTEN_LAST,
    UNTRAINED,
    Punkt,
    punkt_spans,
    read_punkt,
    rules_name,
    sentence_spans,
    split_sentences,
)
from tests.case_tables import tables

CASES = tables(__file__, "sentences")

PIECES = [
    *("Dr mg e.g the The A b J 5 1,200.5 -3 x No pre-op vs é É _ # & `").split(),
    *(". .. ... ? ! , ; : ( ) [ ] ' \" -- - { } * @").split(),
    *(" ", " ", " ", ". ", ". ", "? ", "\n", "\n\n", "\t", "\u00a0", "\x1c"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
TRAINED = Punkt(
    abbreviations=frozenset(["dr", "e.g", "op", "mg", "vs"]),
    collocations=frozenset([("##number##", "the"), ("b", "j"), ("vs", "the")]),
    starters=frozenset(["the", "no"]),
    cases={"the": 2 + 64, "no": 4 + 32, "x": 16, "b": 64, "j": 8, "dr": 2},
    name="invented",
)


@pytest.mark.parametrize(("text", "expected"), CASES["rules_of_notes"])
def test_sentences_of_notes(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_words_of_the_rules_are_in_lower_case_without_dots() -> None:
    for words in (NEVER_LAST, OFTEN_LAST, BEFORE_NUMBERS):
        assert len(words) > 10
        assert all(word == word.lower().strip(". ") for word in words)
    assert not NEVER_LAST & OFTEN_LAST


def test_rules_are_chosen_by_name_or_by_parameters_of_punkt() -> None:
    assert (rules_name("medical"), rules_name("punkt")) == (MEDICAL, "punkt untrained")
    assert rules_name(Punkt(name="punkt_tab 12")) == "punkt_tab 12"
    assert split_sentences("Dr. Lee", rules="punkt") == ["Dr.", "Lee"]
    assert split_sentences("Dr. Lee", rules=Punkt(abbreviations=frozenset(["dr"]))) == [
        "Dr. Lee"
    ]
    with pytest.raises(
        ValueError,
        match="rules must be medical, punkt, or parameters of Punkt; got 'nltk'",
    ):
        split_sentences("a", rules="nltk")
    with pytest.raises(ValueError, match="rules must be"):
        rules_name("nltk")


@given(
    text=st.one_of(TEXTS, st.text(max_size=60)),
    rules=st.sampled_from(["medical", "punkt", TRAINED]),
)
def test_no_text_is_lost_or_doubled(text: str, rules: str | Punkt) -> None:
    split = split_sentences(text, rules=rules)
    assert all(sentence.strip() for sentence in split)
    assert "".join("".join(split).split()) == "".join(text.split())
    spans = sentence_spans(text, rules=rules)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert [text[start:end] for start, end in spans] == split


@given(text=TEXTS)
def test_white_space_around_a_text_does_not_matter(text: str) -> None:
    assert split_sentences(f" \n {text}\n ") == split_sentences(text)


# No abbreviations; initials; numbers before small letters; an ellipsis ends no sentence.
@pytest.mark.parametrize(("text", "expected"), CASES["untrained"])
def test_sentences_of_untrained_punkt(text: str, expected: list[str]) -> None:
    assert split_sentences(text, rules=UNTRAINED) == expected


@given(text=TEXTS)
def test_untrained_spans_equal_those_of_nltk(text: str) -> None:
    nltk = pytest.importorskip("nltk.tokenize.punkt")
    assert punkt_spans(text) == list(nltk.PunktSentenceTokenizer().span_tokenize(text))


def test_spans_with_parameters_equal_those_of_nltk(tmp_path: Path) -> None:
    nltk = pytest.importorskip("nltk.tokenize.punkt")
    parameters = nltk.PunktParameters()
    parameters.abbrev_types = set(TRAINED.abbreviations)
    parameters.collocations = set(TRAINED.collocations)
    parameters.sent_starters = set(TRAINED.starters)
    parameters.ortho_context.update(TRAINED.cases)
    nltk.save_punkt_params(parameters, str(tmp_path))
    punkt = read_punkt(tmp_path)
    assert punkt.name.startswith("punkt_tab ")
    assert replace(punkt, name=TRAINED.name) == TRAINED
    tokenizer = nltk.PunktSentenceTokenizer(parameters)
    generator = random.Random(5)
    for _ in range(1500):
        text = "".join(generator.choices(PIECES, k=generator.randrange(30)))
        assert punkt_spans(text, punkt) == list(tokenizer.span_tokenize(text)), text


def test_parameter_files_that_are_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(
        MissingError,
        match=r"abbrev_types.txt: No such file.*curl -O https://\S+/punkt_tab\.zip",
    ):
        read_punkt(tmp_path)
    for name in ("abbrev_types.txt", "sent_starters.txt", "collocations.tab"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "ortho_context.tab").write_text("the\tmany\n", encoding="utf-8")
    with pytest.raises(UsageError, match="of two columns each are expected"):
        read_punkt(tmp_path)
    (tmp_path / "ortho_context.tab").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="ortho_context.tab: not UTF-8"):
        read_punkt(tmp_path)


# Quadratic work on these would take minutes.
@pytest.mark.parametrize(
    ("piece", "times"),
    [
        ("!", 100_000),
        ("a.", 50_000),
        ('."', 50_000),
        ("\u00a0.", 50_000),
        (". ", 20_000),
    ],
)
def test_long_repetitions_take_no_quadratic_time(piece: str, times: int) -> None:
    assert punkt_spans(piece * times)
