"""Answers as they count: the checked ones, every way of citing that is met, the limit of words, and laws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.parsing import (
    EMPTY,
    MAX_RANGE,
    NO_CITATIONS,
    PROBLEMS,
    TOO_LONG,
    UNKNOWN_IDS,
    WRONG_FORM,
    Sentence,
    bracket_groups,
    pipe_groups,
    read_answer,
    read_ids,
)
from medical_tasks.benchmarks.archehr_qa.scoring import official_answer
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from tests.benchmarks.archehr_qa.fixture_cases import checked
from tests.support import needs_shared

KNOWN = ("1", "2", "3", "4", "5")


@pytest.mark.upstream
@needs_shared
def test_every_checked_form() -> None:
    units = checked()["parser_units"]
    assert len(units) == 26
    for unit in units:
        read = read_answer(unit["answer"], KNOWN)
        assert (read.text, sorted(read.citations)) == (unit["sane_answer"], unit["sane_citations"]), unit["answer"]


@pytest.mark.parametrize(
    ("line", "cited"),
    [
        ("A |1|", "1"),
        ("A. |1,2|", "1 2"),
        ("A. | 1 , 2 |", "1 2"),
        ("A. |2,1,2|", "2 1"),
        ("A. |1; 2 3|", "1 2 3"),
        ("A. |1 and 2 & 3|", "1 2 3"),
        ("A. |1||2| |3|", "1 2 3"),
        ("A. |1|2|3|", "1 2 3"),
        ("A. |2-4|", "2 3 4"),
        ("A. |1, 3 \u2013 5|", "1 3 4 5"),
        ("A. |S1, #2|", "1 2"),
        ("A. |'1'|", "1"),
        ("A. |01|", "1"),
        ("A. |1|.", "1"),
        ("A. |1|,", "1"),
        ("A |1|. ", "1"),
        ("A. |1, 2, 3, 4, and 5|", "1 2 3 4 5"),
        ("A. |1 to 3|", "1 2 3"),
        ("A. |1\uff0c2|", "1 2"),
        ("A. |[1], [2]|", "1 2"),
        ("A. (|1|)", "1"),
        ("A. **|1|**.", "1"),
        ("A. |1|**", "1"),
        ('A. |1|"', "1"),
        ("A. [[1, and 2]].", "1 2"),
        ("A. ||", ""),
        ("A. | |", ""),
        ("A [1]", "1"),
        ("A [1, 2].", "1 2"),
        ("A. [1][2]", "1 2"),
        ("A. [1], [2-3]", "1 2 3"),
        ("[1] A.", "1"),
        ("A. |9|", "9"),
        ("A. |4-2|", "4-2"),
        (f"A. |1-{MAX_RANGE + 1}|", f"1-{MAX_RANGE + 1}"),
        ("A. |none|", "none"),
    ],
)
def test_ways_to_cite(line: str, cited: str) -> None:
    read = read_answer(line, KNOWN)
    assert read.citations == tuple(cited.split())
    assert read.text == "A."
    assert (NO_CITATIONS in read.problems) == (not cited)
    assert (UNKNOWN_IDS in read.problems) == bool(set(cited.split()) - set(KNOWN))


@pytest.mark.parametrize(
    "prose",
    [
        "Sodium fell [8.2 -> 6.9].",
        "Seen on [**2150-1-1**] by [**Name**].",
        "Pressure was [120-80].",
        "Born in [1950].",
        "A dose of [2 mg].",
        "He walks, a|b|c, alone.",
        "5 mg (2, 3).",
        "Glucose was 250 [70-100], pain 5 [0-10].",
        "Doses | 5mg 3x 2x 10mg 2x 1x |",
        "| was given | a drug that helped him | and then he slept |",
    ],
)
def test_prose_is_no_citation(prose: str) -> None:
    read = read_answer(f"A. |1|\n{prose}", KNOWN)
    assert read.citations == ("1",)
    assert read.sentences[1].text.startswith(prose.rstrip("|."))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A. |1|\nB |2|", [("A.", "1"), ("B.", "2")]),
        ("A. |1| B! |2,3|", [("A.", "1"), ("B!", "2 3")]),
        ("A. |1| B.", [("A.", "1"), ("B.", "")]),
        ("He was |1| ill, then |2| well. |3|", [("He was ill, then well.", "1 2 3")]),
        ("A |1| b", [("A |1| b.", "")]),
        ("A. [1] B. [2, 3] C.", [("A.", "1"), ("B.", "2 3"), ("C.", "")]),
        ("He was ill [1], then well [2].", [("He was ill, then well.", "1 2")]),
        ("Was it [1]? Yes [2].", [("Was it?", "1"), ("Yes.", "2")]),
        ("A [1] |2|", [("A [1].", "2")]),
        ("A.\n|1|\n[2]\nB. |3|", [("A.", "1 2"), ("B.", "3")]),
        ("|1|\nA.", [("", "1"), ("A.", "")]),
        ('"A." |1|', [('"A.".', "1")]),
        ("\r\n A. |1|\r\n\r\n", [("A.", "1")]),
        ("Sure:\n```text\nA. |1|\n```\nBye", [("A.", "1")]),
        ("```\nA. |1|", [("A.", "1")]),
        ("```\n```\nA. |1|", [("A.", "1")]),
        ("<think>B |2|</think>\nA. |1|", [("A.", "1")]),
        ("B |2|</think>A. |1|", [("A.", "1")]),
        ("<think>B |2|", []),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[tuple[str, str]]) -> None:
    wanted = tuple(Sentence(text=said, citations=tuple(cited.split())) for said, cited in sentences)
    assert read_answer(text, KNOWN).sentences == wanted


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("A. |1|\nB. |2,3|", ()),
        ("A. |1|\n\nB has no citation.", ()),
        ("<think>hm</think>A. |1|", ()),
        ("A. |1,1|", ()),
        ("", (EMPTY, NO_CITATIONS)),
        ("|1|", (EMPTY, WRONG_FORM)),
        ("A.", (NO_CITATIONS,)),
        ("A. |9|", (UNKNOWN_IDS,)),
        ("A. [9]", (UNKNOWN_IDS, WRONG_FORM)),
        ("A. |1, 2|", (WRONG_FORM,)),
        ("A. |1-2|", (WRONG_FORM,)),
        ("A. |01|", (WRONG_FORM,)),
        ("A. |1|.", (WRONG_FORM,)),
        ("A. |1| B. |1|", (WRONG_FORM,)),
        ('A. |1|\n"- |1|', (WRONG_FORM,)),
        ("A. |1| b", (NO_CITATIONS, WRONG_FORM)),
        ("A [1]. |2|", (WRONG_FORM,)),
        ("A |1", (NO_CITATIONS, WRONG_FORM)),
        ("```\nA. |1|\n```", (WRONG_FORM,)),
        ("a " * WORD_LIMIT + "|1|", ()),
        ("a " * (WORD_LIMIT + 1) + "|1|", (TOO_LONG,)),
    ],
)
def test_problems(text: str, problems: tuple[str, ...]) -> None:
    assert read_answer(text, KNOWN).problems == problems


def test_beyond_the_limit_nothing_counts() -> None:
    lines = [f"{'a ' * 40}|1|", f"{'b ' * 35}|2|", "c |3|", "|9|"]
    read = read_answer("\n".join(lines), KNOWN)
    assert (read.citations, read.words) == (("1", "2"), 76)
    assert read.problems == (UNKNOWN_IDS, TOO_LONG, WRONG_FORM)  # what is written is judged whole
    assert len(read.text.split()) == WORD_LIMIT
    cut = read_answer(f"{'a ' * 74}|1|\nb c d |2|\ne |3|", KNOWN)
    assert [(each.text[-3:], each.citations) for each in cut.sentences] == [(" a.", ("1",)), ("b", ("2",))]
    assert official_answer("\n".join(lines)).citations == ("1", "2", "3", "9")


def test_ids_of_other_kinds() -> None:
    assert read_answer("A. |s-1,1-2|", ("s-1", "1-2")).citations == ("s-1", "1-2")
    assert read_ids("1-3, x", ("1-3",)) == ("1-3", "x")
    assert read_ids("", ()) == ()
    assert [group.ids for group in pipe_groups("A. |007|", ())] == [("7",)]
    assert [(group.start, group.end) for group in bracket_groups("A [1] [2] b [3]")] == [(2, 9), (12, 15)]


_IDS = st.lists(st.sampled_from(KNOWN), min_size=1, max_size=5, unique=True)
_WORDS = st.lists(st.sampled_from("he was not given 5 mg. of the 2.5 drug, a|b yet".split()), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(_WORDS, _IDS), min_size=1, max_size=4))
def test_the_official_form_is_read_as_officially(lines: list[tuple[list[str], list[str]]]) -> None:
    text = "\n".join(f"Then {' '.join(words)} |{','.join(ids)}|" for words, ids in lines)
    read, official = read_answer(text, KNOWN), official_answer(text)
    assert (read.citations, read.text) == (official.citations, official.text)
    assert read.problems == ()
    assert [each.citations for each in read.sentences] == [tuple(ids) for _, ids in lines]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from(["|", "1", "2-3", " ", ",", ";", "[", "]", "A.", "b", "\n", "```", "</think>", "\ud800"]))
)
def test_any_text_has_a_reading(pieces: list[str]) -> None:
    read = read_answer("".join(pieces), KNOWN)
    assert len(read.text.split()) <= WORD_LIMIT
    assert read.text == " ".join(each.text for each in read.sentences if each.text)
    assert set(read.citations) == {cited for each in read.sentences for cited in each.citations}
    assert [problem for problem in PROBLEMS if problem in read.problems] == list(read.problems)
    assert (NO_CITATIONS in read.problems) == (not read.citations)
    if not read.problems:  # of the official form: the script reads the same
        official = official_answer("".join(pieces).rpartition("</think>")[2])
        assert (read.text, set(read.citations)) == (official.text, set(official.citations))
    again = read_answer(read.text, KNOWN)
    assert again.words <= WORD_LIMIT
