"""Submissions made of answers, and what is told of their problems."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.archehr_qa.official import official_answer
from medical_tasks.archehr_qa.parsing import read_answer
from medical_tasks.archehr_qa.spec import TASKS as ALL_TASKS
from medical_tasks.archehr_qa.submission import TASKS, Submission, make_submission
from medical_tasks.archehr_qa.submission_check import answer_problems, check_records
from medical_tasks.archehr_qa.submission_records import Record
from medical_tasks.spec import Item

KNOWN = ("1", "2", "3", "4", "5")
FORM = "; write it like: A sentence. |1,2|"
SILENT = "cites no sentence; the official scorer ends with an AssertionError on it and scores no case at all"
ODD = "has a | within a sentence, where no citation is read; write the sentence anew"
LONG = "has 80 words, of which the first 75 count; the limit is 75"


def item(case: str, ids: Sequence[str] = KNOWN) -> Item:
    return Item(id=case, fields={"sentence_ids": list(ids)}, groups={"source": "mimic-iv"}, cluster=case)


def made(answer: str) -> Submission:
    return make_submission([item("1")], {"1": answer})


def written(answer: str) -> str:
    (record,) = json.loads(made(answer).text)
    assert list(record) == ["case_id", "answer"]
    assert record["case_id"] == "1"
    return str(record["answer"])


def told(answer: str, ids: Sequence[str] = KNOWN) -> list[str]:
    return [str(problem) for problem in answer_problems("7", answer, ids)]


def test_the_tasks_are_those_that_answer_with_citations() -> None:
    assert TASKS[:3] == ("archehr_together", "archehr_answer_first", "archehr_evidence_first")
    assert set(TASKS) == {task.name for task in ALL_TASKS if "steps" in task.options}
    assert len(TASKS) < len(ALL_TASKS)


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("She slept. |1,2|\nShe ate. |3|", "She slept. |1,2|\nShe ate. |3|"),
        ("She slept | 1 , 2 |", "She slept. |1,2|"),
        ("She slept. |1||2|\r\n\r\nShe ate [4]\n", "She slept. |1,2|\nShe ate. |4|"),
        ("```\nShe slept. |1-3|\n```", "She slept. |1,2,3|"),
        ("<think>Which? |5|</think>She slept. |1| She ate. |2|", "She slept. |1|\nShe ate. |2|"),
        ("No citation here.\nShe ate! |2|", "No citation here.\nShe ate! |2|"),
        ("Rate it a|b|c today. |3|", "Rate it a|b|c today. |3|"),
        ("A table a|b|c\nShe ate. |2|", "A table a|b|c. ||\nShe ate. |2|"),  # else "b" would be a citation
        ("µg “quoted” 😀 |1|", "µg “quoted” 😀. |1|"),
    ],
)
def test_answers_are_written_in_the_official_form(answer: str, form: str) -> None:
    assert written(answer) == form
    meant, official = read_answer(answer, KNOWN), official_answer(form)
    assert (official.text, official.citations) == (meant.text, meant.citations)
    assert made(answer).text.isascii()


def test_half_of_a_pair_is_a_problem_and_does_no_harm() -> None:
    found = made("She \ud800 slept. |1|")
    assert [str(problem) for problem in found.problems] == [
        "case 1: has characters that are none (half of a pair); write it anew"
    ]
    assert "\\ud800" in found.text


def test_what_is_written_anew_is_told() -> None:
    answers = {"1": "She slept. |1, 2|", "2": "She slept. |1|", "3": "She slept |1|"}
    found = make_submission([item(case) for case in answers], answers)
    assert found.rewritten == ("1",)
    assert found.problems == ()
    assert found.answered == 3


def test_cases_keep_their_order_and_missing_ones_are_left_out_and_told() -> None:
    found = make_submission([item("9"), item("10"), item("1")], {"1": "A. |1|", "9": "B. |2|", "77": "C. |1|"})
    assert [record["case_id"] for record in json.loads(found.text)] == ["9", "1"]
    assert found.answered == 2
    (problem,) = found.problems
    assert str(problem) == "case 10: has no answer; the official scorer refuses the submission"
    assert problem.fatal


def test_a_long_answer_is_cut_where_the_score_ends() -> None:
    answer = f"{'word ' * 40}|1|\n{'more ' * 40}|2|\nTail. |3|"
    found = made(answer)
    assert [str(problem) for problem in found.problems] == [
        "case 1: has 81 words, of which the first 75 count; the limit is 75"
    ]
    official = official_answer(written(answer))
    assert official.citations == ("1", "2")
    assert len(official.text.split()) == 75
    assert written(answer).endswith(" more |2|")


@pytest.mark.parametrize(
    ("answer", "problems"),
    [
        ("She slept. |1,2|\nNothing is cited here.\nShe ate. |5|", []),
        ("She slept. |1|\r\nShe ate. |2| \n\n", []),
        ("Rate it a|b|c today. |3|", []),
        ("She slept. |1,1,2,|", []),  # what the official scorer makes of it is what is meant
        ("", ["has no words; the official scorer ends with an error on it"]),
        (" \n \n", ["has no words; the official scorer ends with an error on it"]),
        ("|1|", ["has no words; the official scorer ends with an error on it"]),
        ("She slept.", [SILENT]),
        ("She slept. |1,9,12|", ["cites 9, 12, which its note does not have (it has 1 to 5)"]),
        (
            "She slept. |1,SECRET|",
            [
                "cites 1 that is no number, which its note does not have (it has 1 to 5)",
            ],
        ),
        (f"{'word ' * 79}last. |1|", [LONG]),
        ("She slept. |1, 2|", [f"line 1 has spaces among the ids, which the official scorer takes for a part of them{FORM}"]),
        (
            "She slept. |1|\nA. |1| |2|\nB. |3||4|\nC. |1, 2|",
            [
                "line 2 has several groups of citations, of which the official scorer reads the last"
                f"{FORM} (lines 3, 4 too)"
            ],
        ),
        (
            "She slept. |1-3|\nShe ate. [2]",
            [
                "line 1 has something else than ids with commas between, which the official scorer takes for one id"
                f"{FORM} (line 2 too)"
            ],
        ),
        (
            "She slept. |1|\nShe ate. [2]",
            [f"line 2 has citations in square brackets, which the official scorer does not read{FORM}"],
        ),
        ("She slept. |1|\nShe ate. |2|.", [f"line 2 has text behind the last |, which the official scorer drops{FORM}"]),
        ("She slept. |1|\nShe ate. |2", [f"line 2 has one | alone, which is no citation{FORM}"]),
        ("|1|\nShe ate. |2|", [f"line 1 has citations without a sentence{FORM}"]),
        (
            "```\nShe ate. |2|\n```",
            [f"line 1 is a fence or reasoning, which the official scorer takes for a sentence{FORM} (line 3 too)"],
        ),
        ("She slept. |1|\nA table a|b|c ||", [ODD]),
        ("She slept \ud800 |1|", ["has characters that are none (half of a pair); write it anew"]),
        (
            f"{'word ' * 80}",
            [SILENT, LONG],
        ),
    ],
)  # fmt: skip
def test_problems_of_an_answer_are_told_without_a_word_of_it(answer: str, problems: list[str]) -> None:
    assert told(answer) == [f"case 7: {problem}" for problem in problems]
    assert all("SECRET" not in problem and "slept" not in problem for problem in told(answer))


def test_a_note_without_sentences_and_many_unknown_ids() -> None:
    answer = f"A. |{','.join(map(str, range(1, 14)))}|"
    (problem,) = told(answer, ())
    assert problem == (
        "case 7: cites 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3 more, which its note does not have (it has no sentences)"
    )


def record(number: int, case: str, answer: str = "A. |1|") -> Record:
    return Record(number=number, case_id=case, answer=answer)


def test_each_case_once_and_no_other() -> None:
    records = [record(1, "2"), record(2, "99"), record(3, "2", "B."), record(4, "of a SECRET kind")]
    found = check_records(records, {"1": KNOWN, "2": KNOWN})
    assert [str(problem) for problem in found] == [
        "case 1: has no answer; the official scorer refuses the submission",
        f"case 2: {SILENT}",
        "case 2: stands there 2 times (records 1, 3); the official scorer counts each",
        "case 99: is none of the 2 cases of this split; the official scorer refuses the submission",
        "case a text of 16 characters: is none of the 2 cases of this split; the official scorer refuses the submission",
    ]
    assert [problem.fatal for problem in found] == [True, True, False, True, True]


def test_a_sound_submission_has_no_problems() -> None:
    assert check_records([record(1, "2"), record(2, "1")], {"1": KNOWN, "2": KNOWN}) == []


PIECES = [
    "A word.",
    "b",
    "|",
    "|1|",
    "|1, 2|",
    "||",
    "[1]",
    "[1,2]",
    "\n",
    "```\n",
    "</think>",
    "<think>",
    " ",
    "\t",
    "1-3",
]
PIECES += [
    "|2-3|",
    "|9|",
    "|x|",
    "a|b|c",
    "?",
    "word " * 30,
    "\u2028",
    "\xa0",
    "and",
    "”",
    "\x00",
    "\r",
    "|1|.",
    "Dr. Smith",
]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map(" ".join))
def test_the_official_scorer_reads_what_was_scored_whatever_the_answer(answer: str) -> None:
    meant, official = read_answer(answer, KNOWN), official_answer(written(answer))
    cut = meant.words > 75 and not meant.text.endswith((".", "!", "?"))
    assert official.citations == meant.citations
    assert official.text == (f"{meant.text}." if cut else meant.text)
    assert not any("cannot be written" in problem.text for problem in made(answer).problems)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_an_answer_without_problems_is_read_alike_by_both(answer: str) -> None:
    if not told(answer):
        meant, official = read_answer(answer, KNOWN), official_answer(answer)
        assert (official.text, official.citations) == (meant.text, meant.citations)
        assert 0 < len(official.text.split()) <= 75
        assert set(official.citations) <= set(KNOWN)
