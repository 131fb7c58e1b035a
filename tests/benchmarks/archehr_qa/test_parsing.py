"""The reading of replies: answers with citations, ids and pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.benchmarks.archehr_qa.parsing import (
    NO_CITATIONS,
    NO_IDS,
    PROBLEMS,
    TOO_LONG,
    UNKNOWN_IDS,
    WRONG_FORM,
    Sentence,
    bracket_groups,
    pipe_groups,
    read_alignment,
    read_answer,
    read_evidence,
    read_ids,
)
from medical_tasks.benchmarks.archehr_qa.scoring import official_answer
from tests.case_tables import tables

CASES = tables(__file__, "parsing")

KNOWN = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(("line", "cited"), CASES["test_forms_of_citations"])
def test_forms_of_citations(line: str, cited: str) -> None:
    read = read_answer(line, KNOWN)
    assert read.citations == tuple(cited.split())
    assert read.text == "A."
    assert (NO_CITATIONS in read.problems) == (not cited)
    assert (UNKNOWN_IDS in read.problems) == bool(set(cited.split()) - set(KNOWN))


def test_prose_sentences_and_problems_of_an_answer() -> None:
    for prose in CASES["prose"]:
        read = read_answer(f"A. |1|\n{prose}", KNOWN)
        assert read.citations == ("1",), prose
        assert read.sentences[1].text.startswith(prose.rstrip("|."))
    for text, sentences in CASES["sentences"]:
        expected = tuple(
            Sentence(text=sentence, citations=tuple(cited.split()))
            for sentence, cited in sentences
        )
        assert read_answer(text, KNOWN).sentences == expected, text
    for text, problems in CASES["problems"]:
        assert list(read_answer(text, KNOWN).problems) == problems, text


def test_words_and_citations_beyond_the_limit_do_not_count() -> None:
    lines = [f"{'a ' * 40}|1|", f"{'b ' * 35}|2|", "c |3|", "|9|"]
    read = read_answer("\n".join(lines), KNOWN)
    assert (read.citations, read.words) == (("1", "2"), 76)
    # Problems are those of the whole answer.
    assert read.problems == (UNKNOWN_IDS, TOO_LONG, WRONG_FORM)
    assert len(read.text.split()) == WORD_LIMIT
    cut = read_answer(f"{'a ' * 74}|1|\nb c d |2|\ne |3|", KNOWN)
    assert [(sentence.text[-3:], sentence.citations) for sentence in cut.sentences] == [
        (" a.", ("1",)),
        ("b", ("2",)),
    ]
    assert official_answer("\n".join(lines)).citations == ("1", "2", "3", "9")
    # Ids of other forms.
    assert read_answer("A. |s-1,1-2|", ("s-1", "1-2")).citations == ("s-1", "1-2")
    assert read_ids("1-3, x", ("1-3",)) == ("1-3", "x")
    assert read_ids("", ()) == ()
    assert [group.ids for group in pipe_groups("A. |007|", ())] == [("7",)]
    assert [
        (group.start, group.end) for group in bracket_groups("A [1] [2] b [3]")
    ] == [
        (2, 9),
        (12, 15),
    ]


_IDS = st.lists(st.sampled_from(KNOWN), min_size=1, max_size=5, unique=True)
_WORDS = st.lists(
    st.sampled_from("he was not given 5 mg. of the 2.5 drug, a|b yet".split()),
    min_size=1,
    max_size=12,
)


@given(st.lists(st.tuples(_WORDS, _IDS), min_size=1, max_size=4))
def test_the_official_form_is_read_as_by_the_script(
    lines: list[tuple[list[str], list[str]]],
) -> None:
    text = "\n".join(
        f"Then {' '.join(words)} |{','.join(ids)}|" for words, ids in lines
    )
    read, official = read_answer(text, KNOWN), official_answer(text)
    assert (read.citations, read.text) == (official.citations, official.text)
    assert read.problems == ()
    assert [sentence.citations for sentence in read.sentences] == [
        tuple(ids) for _, ids in lines
    ]


@given(
    st.lists(
        st.sampled_from(
            [
                "|",
                "1",
                "2-3",
                " ",
                ",",
                ";",
                "[",
                "]",
                "A.",
                "b",
                "\n",
                "```",
                "</think>",
                "\ud800",
            ]
        )
    )
)
def test_any_answer_can_be_read(pieces: list[str]) -> None:
    read = read_answer("".join(pieces), KNOWN)
    assert len(read.text.split()) <= WORD_LIMIT
    assert read.text == " ".join(
        sentence.text for sentence in read.sentences if sentence.text
    )
    assert set(read.citations) == {
        cited for sentence in read.sentences for cited in sentence.citations
    }
    assert [problem for problem in PROBLEMS if problem in read.problems] == list(
        read.problems
    )
    assert (NO_CITATIONS in read.problems) == (not read.citations)
    if not read.problems:  # in the official form: the script reads the same
        official = official_answer("".join(pieces).rpartition("</think>")[2])
        assert (read.text, set(read.citations)) == (
            official.text,
            set(official.citations),
        )
    again = read_answer(read.text, KNOWN)
    assert again.words <= WORD_LIMIT


def test_evidence_and_alignment() -> None:
    for reply, ids in CASES["evidence"]:
        read = read_evidence(reply, KNOWN)
        assert (read.cited, read.problems) == (tuple(ids.split()), ()), reply
    for reply, pairs in CASES["alignment"]:
        alignment = read_alignment(reply, KNOWN)
        assert [
            f"{number}-{cited}" for number, cited in alignment.cited
        ] == pairs.split(), reply
        assert alignment.problems == ()
    # Replies without ids have none.
    for reply in CASES["no_evidence"]:
        read = read_evidence(reply, KNOWN)
        assert (read.cited, read.problems) == ((), (NO_IDS,)), reply
    for reply in ("The first rests on 2.", "2, 3", '{"a": ["2"]}', "[true]"):
        none = read_alignment(reply, KNOWN)
        assert (none.cited, none.problems) == ((), (NO_IDS,))
    # The answer's sentences are named by id or by position.
    lines, record = "1: 2\n02: 3\n3: 4", '[{"answer_id": "b", "evidence_id": ["2"]}]'
    assert read_alignment(lines, KNOWN, ("a", "b")).cited == (
        ("a", "2"),
        ("b", "3"),
        ("3", "4"),
    )
    assert read_alignment(lines, KNOWN, ("0", "1")).cited == (
        ("1", "2"),
        ("1", "3"),
        ("3", "4"),
    )
    assert read_alignment(record, KNOWN, ("a", "b")).cited == (("b", "2"),)


@given(st.text(alphabet='0123456789|[]{}":,;-. \nabSn`é\ud800', max_size=40))
def test_any_reply_can_be_read(reply: str) -> None:
    ids, pairs = read_evidence(reply, KNOWN), read_alignment(reply, KNOWN)
    assert len(set(ids.cited)) == len(ids.cited)
    assert len(set(pairs.cited)) == len(pairs.cited)
    assert all(name.isdecimal() for name, _ in pairs.cited)


@given(
    st.lists(st.sampled_from(KNOWN), unique=True),
    st.sampled_from([",", ", ", " ", "\n", "; "]),
)
def test_written_lists_are_read_back(ids: list[str], separator: str) -> None:
    assert read_evidence(separator.join(ids), KNOWN).cited == tuple(ids)
    assert read_evidence(f"|{','.join(ids)}|", KNOWN).cited == tuple(ids)
    lines = "\n".join(
        f"{number}: {separator.strip() or ','}".replace(": ", f": {','.join(ids)} ")
        for number in (1, 2)
    )
    assert read_alignment(lines, KNOWN).cited == tuple(
        (name, id_) for name in "12" for id_ in ids
    )
