"""Submissions from answers and from files, and their problems."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.scoring import official_answer, score_items
from medical_tasks.benchmarks.archehr_qa.submission import (
    Submission,
    answer_problems,
    make_submission,
    of_case,
    problems_of,
    read_records,
    recognised,
    submission_problems,
)
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.responses import LARGEST, read_responses
from tests.benchmarks.archehr_qa.archehr_items import TASK, case
from tests.case_tables import tables

CASES = tables(__file__, "submission")

KNOWN = ("1", "2", "3", "4", "5")
SILENT = "cites no sentence; the official scorer ends with an AssertionError on it and scores no case at all"


TOGETHER = TASK["together"]
REFUSED = "; the official scorer refuses the submission"


def submission_of(answer: str, task: str = "together") -> Submission:
    return make_submission(TASK[task], [case("1")], {"1": answer})


def written_answer(answer: str) -> str:
    (record,) = json.loads(submission_of(answer).text)
    assert list(record) == ["case_id", "answer"]
    assert record["case_id"] == "1"
    return str(record["answer"])


def problem_texts(answer: str, ids: Sequence[str] = KNOWN) -> list[str]:
    return [
        str(problem)
        for problem in answer_problems(case("7", sentence_ids=list(ids)), answer)
    ]


@pytest.mark.parametrize(
    ("answer", "form"), CASES["test_answers_are_written_in_the_official_form"]
)
def test_answers_are_written_in_the_official_form(answer: str, form: str) -> None:
    assert written_answer(answer) == form
    meant, official = read_answer(answer, KNOWN), official_answer(form)
    assert (official.text, official.citations) == (meant.text, meant.citations)
    assert submission_of(answer).text.isascii()


def test_changed_and_missing_answers_are_reported() -> None:
    submission = submission_of("She \ud800 slept. |1|")
    assert [str(problem) for problem in submission.problems] == [
        "case 1: has invalid characters (half of a surrogate pair); rewrite it"
    ]
    assert "\\ud800" in submission.text
    answers = {"1": "She slept. |1, 2|", "2": "She slept. |1|", "3": "She slept |1|"}
    submission = make_submission(TOGETHER, [case(id_) for id_ in answers], answers)
    assert submission.rewritten == ("1",)
    assert submission.problems == ()
    assert submission.answered == 3
    # Cases keep their order; missing ones are left out and reported.
    submission = make_submission(
        TOGETHER,
        [case("9"), case("10"), case("1")],
        {"1": "A. |1|", "9": "B. |2|", "77": "C. |1|"},
    )
    assert [record["case_id"] for record in json.loads(submission.text)] == ["9", "1"]
    assert submission.answered == 2
    (problem,) = submission.problems
    assert (
        str(problem)
        == "case 10: has no answer; the official scorer refuses the submission"
    )
    assert problem.fatal
    # A long answer is truncated at the limit of the scorer.
    answer = f"{'word ' * 40}|1|\n{'more ' * 40}|2|\nTail. |3|"
    submission = submission_of(answer)
    assert [str(problem) for problem in submission.problems] == [
        "case 1: has 81 words, of which the first 75 count; the limit is 75"
    ]
    official = official_answer(written_answer(answer))
    assert official.citations == ("1", "2")
    assert len(official.text.split()) == 75
    assert written_answer(answer).endswith(" more |2|")


@pytest.mark.parametrize(
    ("answer", "problems"),
    CASES["test_problems_of_an_answer_quote_no_word_of_it"],
)
def test_problems_of_an_answer_quote_no_word_of_it(
    answer: str, problems: list[str]
) -> None:
    assert problem_texts(answer) == [f"case 7: {problem}" for problem in problems]
    assert all(
        "SECRET" not in problem and "slept" not in problem
        for problem in problem_texts(answer)
    )


def record(name: Any, answer: Any = "A. |1|") -> dict[str, Any]:
    return {"case_id": name, "answer": answer}


def test_missing_repeated_and_unknown_cases_are_problems() -> None:
    records = [record("2"), record("99"), record("2", "B."), record("of a SECRET kind")]
    problems = problems_of(TOGETHER, [case("1"), case("2")], records)
    assert [str(problem) for problem in problems] == [
        "case 1: has no answer; the official scorer refuses the submission",
        f"case 2: {SILENT}",
        "case 2: stands there 2 times (records 1, 3); the official scorer counts each",
        "case 99: is none of the 2 cases of this split; the official scorer refuses the submission",
        "case a text of 16 characters: is none of the 2 cases of this split; the official scorer "
        "refuses the submission",
    ]
    assert [problem.fatal for problem in problems] == [True, True, False, True, True]
    assert (
        problems_of(TOGETHER, [case("1"), case("2")], [record("2"), record("1")]) == []
    )
    many = "cites 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3 more, which its note does not have (it has no sentences)"
    assert problem_texts(f"A. |{','.join(map(str, range(1, 14)))}|", ()) == [
        f"case 7: {many}"
    ]
    cases = (
        ("12", "12"),
        ("case-3", "'case-3'"),
        ("9" * 7, "'9999999'"),
        ("of three words", "a text of 14 characters"),
    )
    assert [of_case(name) for name, _ in cases] == [
        f"case {shown}" for _, shown in cases
    ]


PIECES = CASES["pieces"]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map(" ".join)
)
def test_the_official_scorer_reads_any_written_answer_as_we_do(
    answer: str,
) -> None:
    meant, official = (
        read_answer(answer, KNOWN),
        official_answer(written_answer(answer)),
    )
    cut = meant.words > 75 and not meant.text.endswith((".", "!", "?"))
    assert official.citations == meant.citations
    assert official.text == (f"{meant.text}." if cut else meant.text)
    assert not any(
        "cannot be written" in problem.text
        for problem in submission_of(answer).problems
    )


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_both_readers_agree_on_an_answer_without_problems(answer: str) -> None:
    if not problem_texts(answer):
        meant, official = read_answer(answer, KNOWN), official_answer(answer)
        assert (official.text, official.citations) == (meant.text, meant.citations)
        assert 0 < len(official.text.split()) <= 75
        assert set(official.citations) <= set(KNOWN)


LINKS = [
    {"answer_id": str(number), "evidence_id": ids}
    for number, ids in enumerate((["2"], [], ["5"]), start=1)
]
GOOD: dict[str, Any] = {
    "question": "Why?",
    "evidence": ["2", "3"],
    "answer": "A stone.",
    "alignment": LINKS,
}


def test_predictions_of_the_subtasks() -> None:
    for task, reply, prediction, notes in CASES["test_predictions_of_the_subtasks"]:
        submission = submission_of(reply, task)
        assert json.loads(submission.text) == [
            {"case_id": "1", "prediction": prediction}
        ]
        assert submission.problems == ()
        assert [str(note) for note in submission.notes] == [
            f"case 1: {note}" for note in notes
        ]
    # The ids of the answer's sentences are those of the row.
    item = case("1", answer_sentence_ids=["a", "b", "c"])
    submission = make_submission(TASK["alignment"], [item], {"1": "1: 2\n3: 5"})
    assert [
        link["answer_id"] for link in json.loads(submission.text)[0]["prediction"]
    ] == [
        "a",
        "b",
        "c",
    ]
    assert (
        submission_problems(TASK["alignment"], [item], json.loads(submission.text))
        == []
    )


REPLY_PIECES = [
    "1",
    "2: 3",
    "3-5",
    ",",
    "\n",
    "[1, 2]",
    "|4|",
    "9",
    "1: 2,3\n2:",
    "x",
    "Sentences",
]


@given(
    st.sampled_from(["evidence", "alignment"]),
    st.lists(st.sampled_from(REPLY_PIECES) | st.text(max_size=4)).map(" ".join),
)
def test_a_prediction_and_its_reply_have_the_same_score(task: str, reply: str) -> None:
    submission = make_submission(TASK[task], [case("1")], {"1": reply})
    assert (
        submission_problems(TASK[task], [case("1")], json.loads(submission.text)) == []
    )
    if not submission.notes:  # what was left out counted as wrong
        (prediction,) = read_responses(
            Path("s.json"), ["1"], content=submission.text.encode()
        ).values()
        (first,), (second,) = (
            score_items(TASK[task], [case("1")], [text]) for text in (reply, prediction)
        )
        assert repr(first.values) == repr(second.values)
        assert first.weights == second.weights


@pytest.mark.parametrize(("task", "prediction", "problem"), CASES["bad_predictions"])
def test_a_wrong_prediction_is_named_by_case_and_rule(
    task: str, prediction: Any, problem: str
) -> None:
    records = [
        {"case_id": "1", "prediction": prediction},
        {"case_id": "2", "prediction": GOOD[task]},
    ]
    problems = problems_of(TASK[task], [case("1"), case("2")], records)
    assert [str(item) for item in problems] == [f"case 1: {problem}"]
    assert problems[0].fatal == ("half of a surrogate pair" not in problem)


@pytest.mark.parametrize("task", GOOD)
def test_all_problems_of_a_submission_are_reported_at_once(task: str) -> None:
    good = {"case_id": "1", "prediction": GOOD[task]}
    value = GOOD[task]
    records: list[Any] = [
        good,
        "SECRET",
        None,
        [good],
        {"prediction": value},
        {"case_id": 3, "prediction": value},
    ]
    records += [
        {"case_id": ["1"], "prediction": value},
        {"case_id": "4"},
        good,
        {**good, "case_id": "99"},
    ]
    items = [case(name) for name in ("1", "2", "3", "4")]
    assert submission_problems(TASK[task], items, records) == CASES["all_problems"]
    assert (
        submission_problems(TASK[task], items[:1], [good, good | {"case_id": "1"}])[1:]
        == []
    )


def test_long_and_empty_texts_of_a_submission() -> None:
    records = [{"case_id": "1", "prediction": "word " * 80}]
    for task, limit in (("question", 15), ("answer", 75)):
        for reply in ("", " \n", "<think>Why?</think>", "```\n```"):
            assert [
                str(problem) for problem in submission_of(reply, task).problems
            ] == [f"case 1: has no words{REFUSED}"]
        (problem,) = problems_of(TASK[task], [case("1")], records)
        assert (
            str(problem)
            == f"case 1: has 80 words, of which the first {limit} count; the limit is {limit}"
        )
        assert problem.note
        assert submission_problems(TASK[task], [case("1")], records) == []


@pytest.mark.parametrize(
    ("task", "field", "other_field"),
    [("together", "answer", "prediction"), ("evidence", "prediction", "answer")],
)
def test_a_submission_in_the_form_of_the_other_year_is_one_problem(
    task: str, field: str, other_field: str
) -> None:
    records = [{"case_id": name, other_field: "A."} for name in "12"]
    assert submission_problems(TASK[task], [case("1"), case("2")], records) == [
        f"its 2 records: none has {field!r}, which a submission to archehr_{task} has beside "
        "'case_id'"
    ]


@pytest.mark.parametrize(("records", "task"), CASES["recognised"])
def test_a_task_is_recognised_if_only_one_has_that_form(
    records: list[Any], task: str
) -> None:
    assert recognised(Path("s.json"), records) == task


@pytest.mark.parametrize(("records", "message"), CASES["ambiguous"])
def test_an_ambiguous_form_must_be_named(records: list[Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        recognised(Path("s.json"), records)
    assert str(caught.value).endswith(message)


def file(folder: Path, content: bytes) -> Path:
    path = folder / "s.json"
    path.write_bytes(content)
    return path


def packed(
    content: bytes = b'[{"case_id": "1"}]',
    *names: str,
    method: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name in names or ("submission.json",):
            archive.writestr(name, content)
    return stream.getvalue()


def test_a_list_is_read_also_from_a_zip_file(tmp_path: Path) -> None:
    text = b'[{"case_id": "1"}]'
    extras = ("__MACOSX/._submission.json", ".DS_Store", "submission.json")
    zips = packed(), packed(text, *extras), packed(method=zipfile.ZIP_STORED)
    for content in (text, b"\xef\xbb\xbf \n" + text, *zips):
        assert read_records(file(tmp_path, content)) == ([{"case_id": "1"}], [])
    records, problems = read_records(
        file(tmp_path, packed(text, "mine/", "mine/submission.json"))
    )
    assert records == [{"case_id": "1"}]
    assert [(str(problem), problem.fatal) for problem in problems] == [
        (
            "submission.json: is in a folder of the zip file, where the official scorer does not "
            "look for it",
            True,
        )
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((text.encode(), message) for text, message in CASES["no_submission_texts"]),
        *((packed(b"[]", *names), message) for names, message in CASES["no_submission_zips"]),
        (b"[" * 100_000, "not JSON .nested too deeply"),
        (b'[{"case_id": ' + b"9" * 5000 + b"}]", "not JSON"),
        (b'[{"case_id": "1", "answer": "\xe9"}]', "not UTF-8 text .* at byte 29"),
        (b"[" + b" " * LARGEST + b"]", "has more than 10,000,000 bytes, the most that is read"),
        (packed(b" " * (LARGEST + 1)), "submission.json has more than 10,000,000 bytes in it"),
        (packed(method=zipfile.ZIP_LZMA), "is encrypted in it, or not compressed with deflate"),
        (packed()[:-30], "a damaged zip file .BadZipFile."),
        (packed(b"[1234567890]", method=zipfile.ZIP_STORED).replace(b"[1234567890]", b"[1234567891]"), "a damaged zip file"),
    ],
)  # fmt: skip
def test_files_that_are_not_submissions_are_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_records(file(tmp_path, content))
    assert "SECRET" not in str(caught.value)
    assert "s.json" in str(caught.value)
    with pytest.raises(
        MissingError, match=r"none.json: no such file. Give a JSON list of records like"
    ):
        read_records(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_records(tmp_path)
