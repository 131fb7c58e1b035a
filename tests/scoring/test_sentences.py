"""Sentences by both sets of rules."""

from __future__ import annotations

import itertools
import random
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
def test_rules_of_notes(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_rules_have_names_and_plain_words() -> None:
    for words in (NEVER_LAST, OFTEN_LAST, BEFORE_NUMBERS):
        assert len(words) > 10
        assert all(word == word.lower().strip(". ") for word in words)
    assert not NEVER_LAST & OFTEN_LAST
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
    found = split_sentences(text, rules=rules)
    assert all(sentence.strip() for sentence in found)
    assert "".join("".join(found).split()) == "".join(text.split())
    spans = sentence_spans(text, rules=rules)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    assert [text[start:end] for start, end in spans] == found


@given(text=TEXTS)
def test_white_space_around_a_text_plays_no_part(text: str) -> None:
    assert split_sentences(f" \n {text}\n ") == split_sentences(text)


def sentences(text: str, punkt: Punkt = UNTRAINED) -> list[str]:
    return [text[start:end] for start, end in punkt_spans(text, punkt)]


# untrained, it knows no abbreviation
# initials; numbers before small letters
# an ellipsis ends nothing
@pytest.mark.parametrize(("text", "expected"), CASES["untrained"])
def test_untrained(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(text=TEXTS)
def test_the_library_untrained(text: str) -> None:
    nltk = pytest.importorskip("nltk.tokenize.punkt")
    assert punkt_spans(text) == list(nltk.PunktSentenceTokenizer().span_tokenize(text))


def test_the_library_with_parameters(tmp_path: Path) -> None:
    nltk = pytest.importorskip("nltk.tokenize.punkt")
    parameters = nltk.PunktParameters()
    parameters.abbrev_types = set(TRAINED.abbreviations)
    parameters.collocations = set(TRAINED.collocations)
    parameters.sent_starters = set(TRAINED.starters)
    parameters.ortho_context.update(TRAINED.cases)
    nltk.save_punkt_params(parameters, str(tmp_path))
    read = read_punkt(tmp_path)
    assert (read.abbreviations, read.collocations, read.starters, read.cases) == (
        TRAINED.abbreviations,
        TRAINED.collocations,
        TRAINED.starters,
        TRAINED.cases,
    )
    assert read.name.startswith("punkt_tab ")
    theirs = nltk.PunktSentenceTokenizer(parameters)
    draw = random.Random(5)
    for _ in range(1500):
        text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(30)))
        assert punkt_spans(text, read) == list(theirs.span_tokenize(text)), text


def test_files_that_are_not_there_or_damaged_and_long_runs(tmp_path: Path) -> None:
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
    for text in (
        "!" * 100_000,
        "a." * 50_000,
        '."' * 50_000,
        "\u00a0." * 50_000,
        ". " * 20_000,
    ):
        assert punkt_spans(text)
