"""Words to search by, and documents cut into passages."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.documents import Document, chunk_documents
from medical_tasks.benchmarks.kqa.retrieval import search_words


def document(text: str, name: str = "d") -> Document:
    return Document(name=name, title="", text=text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is Athlete's foot?", ["athlete", "foot"]),  # the s of a genitive goes with that of a plural
        ("Tablets, TABLET tablet's", ["tablet", "tablet", "tablet"]),
        ("allergies; virus abscess arthritis gas", ["allergy", "virus", "abscess", "arthritis", "gas"]),
        ("HbA1c of 6.0 (B12, 1,200 mg)", ["hba1c", "6.0", "b12", "1,200", "mg"]),
        ("ﬁever_x Ünder", ["fiever", "x", "ünder"]),
        ("don't do it", []),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert search_words(text) == words


def passages(text: str, size: int) -> list[str]:
    return [chunk.text for chunk in chunk_documents([document(text)], size)]


def test_a_short_document_is_one_passage() -> None:
    assert passages("  one two\n\nthree ", 20) == ["one two\n\nthree"]
    assert passages(" \n", 20) == []


def test_passages_end_at_paragraphs() -> None:
    paragraphs = [" ".join(f"p{number}w{place}" for place in range(15)) for number in range(4)]
    # Twenty words hold one paragraph of 15 and a part of the next; the border after 15 is in the second half.
    assert passages("\n\n".join(paragraphs), 20) == paragraphs


def test_a_long_paragraph_is_cut_with_overlap() -> None:
    words = [f"w{number}" for number in range(50)]
    assert passages(" ".join(words), 20) == [" ".join(words[start : start + 20]) for start in (0, 16, 32)]


def test_a_border_in_the_first_half_is_too_early() -> None:
    words = [f"w{number}" for number in range(30)]
    assert passages(" ".join(words[:5]) + "\n\n" + " ".join(words[5:]), 20)[0].split() == words[:20]


def test_a_short_paragraph_is_repeated_whole() -> None:
    first, second, third = (["a"] * 14, ["b"] * 3, ["c"] * 18)
    text = "\n\n".join(" ".join(part) for part in (first, second, third))
    assert [part.split() for part in passages(text, 20)] == [first + second, second + third[:17], third[13:]]


def test_ids_name_document_and_place() -> None:
    chunks = list(chunk_documents([document("w " * 50, "f/a.txt"), document("x", "b.jsonl:3")], 20))
    assert [chunk.id for chunk in chunks] == ["f/a.txt#1", "f/a.txt#2", "f/a.txt#3", "b.jsonl:3#1"]


def test_text_without_spaces_is_cut() -> None:
    parts = passages("x" * 10_000, 20)
    assert max(map(len, parts)) == 800
    assert len(parts) == math.ceil((250 - 20) / 16) + 1


@given(st.lists(st.sampled_from(["a", "b", "\n\n", "\n", " "]), max_size=200), st.integers(min_value=20, max_value=30))
@settings(deadline=None, max_examples=150)
def test_laws_of_passages(pieces: list[str], size: int) -> None:
    numbered = [f"{piece}{place}" if piece in "ab" else piece for place, piece in enumerate(pieces)]
    text = " ".join(numbered)
    cut = [part.split() for part in passages(text, size)]
    assert all(0 < len(part) <= size for part in cut)
    # Every word in order, and no more repeated than the overlap.
    rebuilt: list[str] = []
    for part in cut:
        repeated = rebuilt.index(part[0]) if part[0] in rebuilt else len(rebuilt)
        assert len(rebuilt) - repeated <= size // 5
        rebuilt[repeated:] = part
    assert rebuilt == text.split()
