"""Replies that are ids: every way of listing that is met, strictly read pairs, and any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.parsing import NO_IDS, read_alignment, read_evidence

KNOWN = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("reply", "ids"),
    [
        ("1, 3", "1 3"),
        ("1 3", "1 3"),
        ("3,1,3", "3 1"),
        ("1-3, 5.", "1 2 3 5"),
        ("1\n3\n", "1 3"),
        ("- 1\n- 3", "1 3"),
        ("|1,3|", "1 3"),
        ("[1, 3]", "1 3"),
        ('["1", "3"]', "1 3"),
        ("[1][3-4]", "1 3 4"),
        ('{"sentences": [1, "3"]}', "1 3"),
        ('[{"sentence_id": "1", "relevance": "essential"}, {"sentence_id": 3}]', "1 3"),
        ("```json\n[1, 3]\n```", "1 3"),
        ("<think>2?</think>1, 3", "1 3"),
        ("Essential sentences: 1, 3 and 5", "1 3 5"),
        ("The sentences needed are 1 and 3.", "1 3"),
        ("Sentence 1", "1"),
        ("I would take these: [1], [3].", "1 3"),
        ("1: a stone blocked the duct\n3. it was 5 mm wide", "1 3"),
        ("S1, S9", "1 9"),
        ("(1), (3)", "1 3"),
        ("**1, 3**", "1 3"),
        ("Sentence 1, Sentence 3", "1 3"),
        ("1, 3 (essential)", "1 3"),
        ("1,3\n\nThese tell of the cause.", "1 3"),
        ("Essential: 1, 3\nSupplementary: 2", "1 3"),
        ("1: essential\n2: not-relevant\n3: supplementary", "1"),
        ('{"essential": ["1"], "supplementary": ["2"]}', "1"),
        ('[{"sentence_id": "1", "relevance": "essential"}, {"sentence_id": "2", "relevance": "not-relevant"}]', "1"),
        ('{"ids": []}', ""),
        ("[]", ""),
        ("", ""),
        ("none", ""),
        ("None.", ""),
        ("<think>1", ""),
    ],
)
def test_evidence(reply: str, ids: str) -> None:
    read = read_evidence(reply, KNOWN)
    assert (read.ids, read.problems) == (tuple(ids.split()), ())


@pytest.mark.parametrize(
    "reply",
    ["He had 3 stones, of 5 mm.", "3 stones of\n5 mm.", "1 | 3", "I cannot tell.", '{"a": [1], "b": [2]}', "[true]"],
)
def test_no_evidence_is_made_up(reply: str) -> None:
    read = read_evidence(reply, KNOWN)
    assert (read.ids, read.problems) == ((), (NO_IDS,))


@pytest.mark.parametrize(
    ("reply", "pairs"),
    [
        ("1: 2,3\n2: 4", "1-2 1-3 2-4"),
        ("2: 4\n1: |2| \n", "2-4 1-2"),
        ("1. [2, 3]\n3) 4-5", "1-2 1-3 3-4 3-5"),
        ("Sentence 1: 2\nSentence 2: none\n3:", "1-2"),
        ("1: A stone blocked it. |2|\n2: It was taken out.", "1-2"),
        ("|2,3|\n||\n|4|", "1-2 1-3 3-4"),
        ("A stone blocked it. |2|\nShe is well. ||\nIt was taken out. |4|", "1-2 3-4"),
        ("[2]\n[4]", "1-2 2-4"),
        ('{"1": ["2", 3], "2": "4"}', "1-2 1-3 2-4"),
        ("[[2, 3], [], [4]]", "1-2 1-3 3-4"),
        ("```\n1: 2,2\n```", "1-2"),
        ("1: 9", "1-9"),
        ("[1]: 2,3\n**2**: 4", "1-2 1-3 2-4"),
        ("Answer sentence 1: sentences 2 and 3", "1-2 1-3"),
        ("1: (2, 3)\n2: 4 (the stone)", "1-2 1-3 2-4"),
        ("A stone of\n2.5 mm was seen. |2|", "1-2"),
        ('[{"answer_id": "1", "evidence_id": ["2", "3"]}, {"answer_id": "2", "evidence_id": []}]', "1-2 1-3"),
        ("", ""),
        ("none", ""),
    ],
)
def test_alignment(reply: str, pairs: str) -> None:
    read = read_alignment(reply, KNOWN)
    assert [f"{number}-{cited}" for number, cited in read.pairs] == pairs.split()
    assert read.problems == ()


def test_the_answers_sentences_are_named_by_id_or_by_place() -> None:
    lines, record = "1: 2\n02: 3\n3: 4", '[{"answer_id": "b", "evidence_id": ["2"]}]'
    assert read_alignment(lines, KNOWN, ("a", "b")).pairs == (("a", "2"), ("b", "3"), ("3", "4"))
    assert read_alignment(lines, KNOWN, ("0", "1")).pairs == (("1", "2"), ("1", "3"), ("3", "4"))
    assert read_alignment(record, KNOWN, ("a", "b")).pairs == (("b", "2"),)


@pytest.mark.parametrize("reply", ["The first rests on 2.", "2, 3", '{"a": ["2"]}', "[true]"])
def test_no_pairs_are_made_up(reply: str) -> None:
    read = read_alignment(reply, KNOWN)
    assert (read.pairs, read.problems) == ((), (NO_IDS,))


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet='0123456789|[]{}":,;-. \nabSn`é\ud800', max_size=40))
def test_any_text_has_a_reading(reply: str) -> None:
    ids, pairs = read_evidence(reply, KNOWN), read_alignment(reply, KNOWN)
    assert len(set(ids.ids)) == len(ids.ids)
    assert len(set(pairs.pairs)) == len(pairs.pairs)
    assert all(name.isdecimal() for name, _ in pairs.pairs)


@given(st.lists(st.sampled_from(KNOWN), unique=True), st.sampled_from([",", ", ", " ", "\n", "; "]))
@settings(deadline=None, max_examples=50)
def test_lists_come_back(ids: list[str], between: str) -> None:
    assert read_evidence(between.join(ids), KNOWN).ids == tuple(ids)
    assert read_evidence(f"|{','.join(ids)}|", KNOWN).ids == tuple(ids)
    lines = "\n".join(f"{number}: {between.strip() or ','}".replace(": ", f": {','.join(ids)} ") for number in (1, 2))
    assert read_alignment(lines, KNOWN).pairs == tuple((name, each) for name in "12" for each in ids)
