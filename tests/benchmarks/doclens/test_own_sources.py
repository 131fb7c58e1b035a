from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.own_data import NumberingError, is_numbered, read_sources, source_sentences
from tests.support import SHARED, needs_shared


@pytest.mark.parametrize(
    ("source", "sentences"),
    [
        ("[0][doctor] hi .\n[1][patient] hello\nthere .", ["[doctor] hi .", "[patient] hello there ."]),
        ("[0] A stone. [1] It passed.", ["A stone.", "It passed."]),
        ("[0] Take [5] drops [1] at night", ["Take [5] drops", "at night"]),
        ("  [0] one\n[1]\n[2] three", ["one", "", "three"]),
        ("[0] Benefit was shown [12]. [1] Go on.", ["Benefit was shown [12].", "Go on."]),
        (
            "He has a stone of 2.5 mm. Dr. Lee saw him.\n\nNo fever",
            ["He has a stone of 2.5 mm.", "Dr. Lee saw him.", "No fever"],
        ),
        ("See the list.\n[1] Smith.\n[2] Jones.", ["See the list.", "[1] Smith.", "[2] Jones."]),
        ("A score of [0] was given.", ["A score of [0] was given."]),
        ("", []),
        (" \n ", []),
        ("[0]", [""]),
    ],
)
def test_sentences(source: str, sentences: list[str]) -> None:
    assert source_sentences(source) == sentences


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[1] SECRET one. [2] two.", r"begins with \[1\], the first number must be \[0\]"),
        ("[0] one.\n[2] SECRET", r"has \[2\] behind \[0\], where \[1\] comes next"),
        ("[0] one. [1] two. [3] SECRET", r"has \[3\] behind \[1\], where \[2\] comes next"),
        ("[0] one.\n[1] two\n[1] SECRET", r"has \[1\] behind \[1\], where \[2\] comes next"),
        ('[0] He said "no." [2] SECRET', r"has \[2\] behind \[0\]"),
        ("Dialogue of a visit: [0] SECRET [1] two", r"numbered from \[0\] on, but text stands before it"),
    ],
)
def test_numbers_that_are_not_the_places(source: str, message: str) -> None:
    with pytest.raises(NumberingError, match=message) as caught:
        source_sentences(source)
    assert "SECRET" not in str(caught.value)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(alphabet="ab .\n[]", min_size=1).map(lambda text: " ".join(text.split())), min_size=1))
def test_numbering_and_reading_give_the_sentences_back(sentences: list[str]) -> None:
    source = "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(sentences))
    assert is_numbered(source)
    assert source_sentences(source) == sentences


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="aB. \n()12", max_size=60))
def test_a_source_without_numbers_loses_no_word(source: str) -> None:
    assert " ".join(source_sentences(source)).split() == source.split()


@needs_shared
@pytest.mark.upstream
def test_the_authors_file_is_read_as_it_is() -> None:
    records = json.loads((SHARED / "data/doclens/ACI-Bench-TestSet-1_clean.json").read_text(encoding="utf-8"))
    found = [source_sentences(record["input"]) for record in records]
    assert (len(found), sum(map(len, found))) == (40, 2082)
    assert all(
        sentences == list(read_sources(record["input"]).values())
        for sentences, record in zip(found, records, strict=True)
    )
