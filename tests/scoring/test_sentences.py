from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.sentences import (
    BEFORE_NUMBERS,
    MEDICAL,
    NEVER_LAST,
    OFTEN_LAST,
    Punkt,
    rules_name,
    sentence_spans,
    split_sentences,
)
from tests.scoring.test_punkt import TEXTS
from tests.support import SHARED, needs_shared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("No fever", ["No fever"]),
        ("No fever. Rash gone! Why? Unknown.", ["No fever.", "Rash gone!", "Why?", "Unknown."]),
        ("Seen by Dr. Lee. He improved.", ["Seen by Dr. Lee.", "He improved."]),
        ("Given 5 mg. p.o. b.i.d. He improved.", ["Given 5 mg. p.o. b.i.d.", "He improved."]),
        ("Lasix 40 mg. IV, then 20 mg. daily.", ["Lasix 40 mg. IV, then 20 mg. daily."]),
        ("Diuretics, e.g. Lasix vs. Bumex, i.e. loops.", ["Diuretics, e.g. Lasix vs. Bumex, i.e. loops."]),
        ("Aspirin, etc. The rest was held.", ["Aspirin, etc.", "The rest was held."]),
        ("Seen by Dr. J. R. Lee. Home.", ["Seen by Dr. J. R. Lee.", "Home."]),
        ("She has hepatitis B. The liver was normal.", ["She has hepatitis B.", "The liver was normal."]),
        ("K was 4.1. Na 140. On Jan. 5 it fell.", ["K was 4.1.", "Na 140.", "On Jan. 5 it fell."]),
        ("Fever? No. 5 days ago? no. He left.", ["Fever?", "No. 5 days ago?", "no.", "He left."]),
        ("1. Aspirin 81 mg.\n2. Warfarin 5 mg\n- no ice", ["1. Aspirin 81 mg.", "2. Warfarin 5 mg", "- no ice"]),
        ("wrapped\nline. Next\n\nparagraph", ["wrapped\nline.", "Next", "paragraph"]),
        ("pt. stable. afebrile. home today.", ["pt. stable.", "afebrile.", "home today."]),
        ('He asked "Why?" (See Fig. 3.) Done.', ['He asked "Why?"', "(See Fig. 3.)", "Done."]),
        ("He was... better. Then... Home.", ["He was... better.", "Then...", "Home."]),
    ],
)
def test_rules_of_notes(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_lists_of_abbreviations_are_plain_words() -> None:
    for words in (NEVER_LAST, OFTEN_LAST, BEFORE_NUMBERS):
        assert len(words) > 10
        assert all(word == word.lower().strip(". ") for word in words)
    assert not NEVER_LAST & OFTEN_LAST


@settings(deadline=None, max_examples=300)
@given(text=st.one_of(TEXTS, st.text(max_size=60)), rules=st.sampled_from(["medical", "punkt"]))
def test_no_text_is_lost_or_doubled(text: str, rules: str) -> None:
    found = split_sentences(text, rules=rules)
    assert all(sentence.strip() for sentence in found)
    assert "".join("".join(found).split()) == "".join(text.split())
    spans = sentence_spans(text, rules=rules)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    assert [text[start:end] for start, end in spans] == found


@given(text=TEXTS)
@settings(deadline=None, max_examples=200)
def test_white_space_around_a_text_plays_no_part(text: str) -> None:
    assert split_sentences(f" \n {text}\n ") == split_sentences(text)


def test_rules_have_names_and_others_are_refused() -> None:
    assert (rules_name("medical"), rules_name("punkt")) == (MEDICAL, "punkt untrained")
    assert rules_name(Punkt(name="punkt_tab 12")) == "punkt_tab 12"
    assert split_sentences("Dr. Lee", rules="punkt") == ["Dr.", "Lee"]
    assert split_sentences("Dr. Lee", rules=Punkt(abbreviations=frozenset(["dr"]))) == ["Dr. Lee"]
    with pytest.raises(ValueError, match="rules must be medical, punkt, or parameters of Punkt; got 'nltk'"):
        split_sentences("a", rules="nltk")
    with pytest.raises(ValueError, match="rules must be"):
        rules_name("nltk")


@pytest.mark.upstream
@needs_shared
def test_the_recorded_sentences() -> None:
    file = SHARED / "fixtures" / "alignscore" / "expected.json"
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    assert len(cases) >= 11
    for case in cases:
        for rules in ("punkt", "medical"):  # these texts have no abbreviations: both agree
            assert split_sentences(case["context"], rules=rules) == case["context_sentences"]
            assert split_sentences(case["claim"], rules=rules) == case["claim_sentences"]
