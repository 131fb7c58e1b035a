"""Sentences of a question and their numbers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import read_meqsum_rows
from medical_tasks.benchmarks.doclens.pieces import numbered_question, split_question
from tests.support import SHARED, needs_shared

FOLDER = SHARED / "data" / "meqsum"


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("", []),
        (" \n", []),
        ("is it safe", ["is it safe"]),
        ("Is it safe? I am 61. ", ["Is it safe?", "I am 61."]),
        ("  It hurts!!! (Very much.) Why?", ["It hurts!!!", "(Very much.)", "Why?"]),
        ("SUBJECT: gout\nMESSAGE: Help. Now", ["SUBJECT: gout\nMESSAGE: Help.", "Now"]),
        # As in DocLens's files a number, an ellipsis, an initial and a title end nothing; capitals do not count.
        ("It was in 2019. it came back.", ["It was in 2019. it came back."]),
        ("It was in 2019. It came back.", ["It was in 2019. It came back."]),
        ("It hurts... Help me.", ["It hurts... Help me."]),
        ("Dr. A. Moll said so. Is it?", ["Dr. A. Moll said so.", "Is it?"]),
    ],
)
def test_sentences(question: str, sentences: list[str]) -> None:
    assert split_question(question) == sentences


def test_numbers_begin_at_zero() -> None:
    assert numbered_question(["Is it safe?", "I am 61."]) == "[0] Is it safe? [1] I am 61."
    assert numbered_question([]) == ""


PIECES = st.lists(st.sampled_from([*'aB.?! \n9)"…İΣß', "Dr. ", "it hurts. ", "..."]), max_size=40)


@given(PIECES.map("".join))
@settings(deadline=None, max_examples=200)
def test_no_text_is_lost_but_white_space(question: str) -> None:
    sentences = split_question(question)
    assert "".join("".join(sentences).split()) == "".join(question.split())
    assert all(sentence and sentence == sentence.strip() and sentence in question for sentence in sentences)
    # Capitals do not count, where there are as many small letters.
    if len(question.lower()) == len(question):
        assert [len(each) for each in split_question(question.lower())] == [len(each) for each in sentences]


@needs_shared
@pytest.mark.upstream
def test_numbers_are_those_of_doclens() -> None:
    """98 of its 100 questions, whose sentences it lists in small letters; the others are named here."""
    files = {"test": FOLDER / "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx"}
    rows = list(read_meqsum_rows("full", "test", files))
    released: list[dict[str, Any]] = json.loads((FOLDER / "doclens_meqsum-test_clean.json").read_text(encoding="utf-8"))
    assert len(rows) == 100
    assert [(row["id"], row["summary"]) for row in rows] == [
        (entry["example_id"], entry["reference"]) for entry in released
    ]

    def plain(text: str) -> str:
        return " ".join(text.lower().split())

    other = [
        row["id"]
        for row, entry in zip(rows, released, strict=True)
        if plain(numbered_question(row["sentences"])) != plain(entry["input"])
    ]
    # "ok." is no abbreviation here (173), and "e. w. [name]" ends behind the initials (313).
    assert other == ["173", "313"]
    assert all(re.match(r"\[0\] ", numbered_question(row["sentences"])) for row in rows)
