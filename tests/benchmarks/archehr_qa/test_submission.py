"""Submissions made of answers, read from files, and what is told of their problems."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.scoring import official_answer, score_items
from medical_tasks.benchmarks.archehr_qa.submission import (
    TASKS,
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
from tests.benchmarks.archehr_qa.asked_items import case, task_of

KNOWN = ("1", "2", "3", "4", "5")
FORM = "; write it like: A sentence. |1,2|"
SILENT = "cites no sentence; the official scorer ends with an AssertionError on it and scores no case at all"
ODD = "has a | within a sentence, where no citation is read; write the sentence anew"
LONG = "has 80 words, of which the first 75 count; the limit is 75"


TOGETHER = task_of("together")
REFUSED = "; the official scorer refuses the submission"


def made(answer: str, task: str = "together") -> Submission:
    return make_submission(task_of(task), [case("1")], {"1": answer})


def written(answer: str) -> str:
    (record,) = json.loads(made(answer).text)
    assert list(record) == ["case_id", "answer"]
    assert record["case_id"] == "1"
    return str(record["answer"])


def told(answer: str, ids: Sequence[str] = KNOWN) -> list[str]:
    return [str(problem) for problem in answer_problems(case("7", sentence_ids=list(ids)), answer)]


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
    found = make_submission(TOGETHER, [case(each) for each in answers], answers)
    assert found.rewritten == ("1",)
    assert found.problems == ()
    assert found.answered == 3


def test_cases_keep_their_order_and_missing_ones_are_left_out_and_told() -> None:
    found = make_submission(
        TOGETHER, [case("9"), case("10"), case("1")], {"1": "A. |1|", "9": "B. |2|", "77": "C. |1|"}
    )
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


def record(name: Any, answer: Any = "A. |1|") -> dict[str, Any]:
    return {"case_id": name, "answer": answer}


def test_each_case_once_and_no_other() -> None:
    records = [record("2"), record("99"), record("2", "B."), record("of a SECRET kind")]
    found = problems_of(TOGETHER, [case("1"), case("2")], records)
    assert [str(problem) for problem in found] == [
        "case 1: has no answer; the official scorer refuses the submission",
        f"case 2: {SILENT}",
        "case 2: stands there 2 times (records 1, 3); the official scorer counts each",
        "case 99: is none of the 2 cases of this split; the official scorer refuses the submission",
        "case a text of 16 characters: is none of the 2 cases of this split; the official scorer refuses the submission",
    ]
    assert [problem.fatal for problem in found] == [True, True, False, True, True]


def test_a_sound_submission_has_no_problems() -> None:
    assert problems_of(TOGETHER, [case("1"), case("2")], [record("2"), record("1")]) == []


PIECES = [
    "A word.", "b", "|", "|1|", "|1, 2|", "||", "[1]", "[1,2]", "\n", "```\n", "</think>", "<think>", " ", "\t", "1-3",
]  # fmt: skip
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


WORDS = [f"w{number}" for number in range(80)]
LINKS = [
    {"answer_id": "1", "evidence_id": ["2"]},
    {"answer_id": "2", "evidence_id": []},
    {"answer_id": "3", "evidence_id": ["5"]},
]
GOOD: dict[str, Any] = {"question": "Why?", "evidence": ["2", "3"], "answer": "A stone.", "alignment": LINKS}


@pytest.mark.parametrize(
    ("task", "reply", "prediction", "notes"),
    [
        ("question", "<think>Hm.</think>\n```\nWhy was\nshe ill?\n```", "Why was she ill?", []),
        ("question", " ".join(WORDS), " ".join(WORDS[:15]), ["has 80 words, of which the first 15 count; the limit is 15"]),
        ("evidence", "Essential sentences: 5, 2-3", ["2", "3", "5"], []),
        ("evidence", "None", [], []),
        ("evidence", "3, 9, 12", ["3"], ["cites 9, 12, which its note does not have (it has 1 to 5); that is left out"]),
        ("evidence", "SECRET", [], ["no ids found"]),
        ("answer", "A stone |2|.\nIt was taken out", "A stone. It was taken out.", []),
        (
            "answer",
            " ".join(WORDS),
            " ".join(WORDS[:75]),
            ["has 80 words, of which the first 75 count; the limit is 75"],
        ),
        ("alignment", "1: 2\n3: 5", LINKS, []),
        ("alignment", json.dumps(LINKS), LINKS, []),
        (
            "alignment",
            "1: 2,9\n3: 5\n4: 1",
            LINKS,
            [
                "cites 9, which its note does not have (it has 1 to 5); that is left out",
                "cites 4, which its answer does not have (it has 1 to 3); that is left out",
            ],
        ),
    ],
)  # fmt: skip
def test_predictions_are_what_was_scored(task: str, reply: str, prediction: Any, notes: list[str]) -> None:
    found = made(reply, task)
    assert json.loads(found.text) == [{"case_id": "1", "prediction": prediction}]
    assert found.problems == ()
    assert [str(note) for note in found.notes] == [f"case 1: {note}" for note in notes]


def test_answer_ids_are_those_of_the_row() -> None:
    asked = case("1", answer_sentence_ids=["a", "b", "c"])
    found = make_submission(task_of("alignment"), [asked], {"1": "1: 2\n3: 5"})
    assert [link["answer_id"] for link in json.loads(found.text)[0]["prediction"]] == ["a", "b", "c"]
    assert submission_problems(task_of("alignment"), [asked], json.loads(found.text)) == []


@pytest.mark.parametrize("task", ["question", "answer"])
@pytest.mark.parametrize("reply", ["", " \n", "<think>Why?</think>", "```\n```"])
def test_an_empty_text_is_a_problem(task: str, reply: str) -> None:
    assert [str(problem) for problem in made(reply, task).problems] == [f"case 1: has no words{REFUSED}"]


REPLY_PIECES = ["1", "2: 3", "3-5", ",", "\n", "[1, 2]", "|4|", "9", "1: 2,3\n2:", "x", "Sentences"]


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(["evidence", "alignment"]),
    st.lists(st.sampled_from(REPLY_PIECES) | st.text(max_size=4)).map(" ".join),
)
def test_a_prediction_has_the_score_of_its_reply(task: str, reply: str) -> None:
    found = make_submission(task_of(task), [case("1")], {"1": reply})
    assert submission_problems(task_of(task), [case("1")], json.loads(found.text)) == []
    if not found.notes:  # what was left out counted as wrong
        (prediction,) = read_responses(Path("s.json"), ["1"], content=found.text.encode()).values()
        (first,), (second,) = (score_items(task_of(task), [case("1")], [text]) for text in (reply, prediction))
        assert repr(first.values) == repr(second.values)
        assert first.weights == second.weights


VALUES: tuple[tuple[Any, str], ...] = (
    (None, "null"),
    (5, "a number"),
    (True, "true or false"),
    ("1", "a text of 1 characters"),
    (["1"], "a list of 1"),
    ({}, "an object of 0"),
)
FIELD = "its 'prediction'"
OBJECT = f"object 1 of {FIELD}"
KEYS = "must be an object with 'answer_id' and 'evidence_id', got"
IDS = 'must have ids as texts, like "1", got'
NOTE = "which its note does not have (it has 1 to 5)"


def others(kind: type) -> list[tuple[Any, str]]:
    """Values of every other type, and their names."""
    return [(value, said) for value, said in VALUES if not isinstance(value, kind)]


def link(answer_id: Any, evidence_id: Any) -> list[dict[str, Any]]:
    return [{"answer_id": answer_id, "evidence_id": evidence_id}]


BAD: list[tuple[str, Any, str]] = [
    *((task, value, f"{FIELD} must be a text, got {said}") for task in ("question", "answer") for value, said in others(str)),
    *((task, value, f"has no words{REFUSED}") for task in ("question", "answer") for value in ("", " \n")),
    ("answer", "<skipped>", f"has no words{REFUSED}"),
    ("question", "a \ud800", "has characters that are none (half of a pair); write it anew"),
    *(("evidence", value, f"{FIELD} must be a list of sentence ids, got {said}{REFUSED}") for value, said in others(list)),
    *(("evidence", ["1", value], f"{FIELD} {IDS} {said}{REFUSED}") for value, said in others(str)),
    ("evidence", [1, 2, "3"], f"{FIELD} {IDS} a number and 1 more that are no text{REFUSED}"),
    ("evidence", ["1", "9", "9", "0"], f"{FIELD} cites 9, 0, {NOTE}{REFUSED}"),
    ("evidence", ["1 ", "SECRET"], f"{FIELD} cites 2 that are no number, {NOTE}{REFUSED}"),
    *(("alignment", value, f"{FIELD} must be a list of objects, got {said}{REFUSED}") for value, said in others(list)),
    *(("alignment", [value], f"{OBJECT} {KEYS} {said}{REFUSED}") for value, said in others(dict)),
    *(("alignment", [{name: "1"}], f"{OBJECT} {KEYS} keys ['{name}']{REFUSED}") for name in ("answer_id", "evidence_id")),
    *(
        ("alignment", link(value, []), f"{OBJECT}: its 'answer_id' must be a text, got {said}{REFUSED}")
        for value, said in others(str)
    ),
    *(
        ("alignment", link("1", value), f"{OBJECT}: its 'evidence_id' must be a list of sentence ids, got {said}{REFUSED}")
        for value, said in others(list)
    ),
    *(("alignment", link("1", [value]), f"{OBJECT}: its 'evidence_id' {IDS} {said}{REFUSED}") for value, said in others(str)),
    ("alignment", link("4", []), f"{OBJECT} cites 4, which its answer does not have (it has 1 to 3){REFUSED}"),
    ("alignment", link("1", ["6"]), f"{OBJECT}: its 'evidence_id' cites 6, {NOTE}{REFUSED}"),
]  # fmt: skip


@pytest.mark.parametrize(("task", "prediction", "problem"), BAD)
def test_a_bad_prediction_is_told_by_case_and_rule(task: str, prediction: Any, problem: str) -> None:
    records = [{"case_id": "1", "prediction": prediction}, {"case_id": "2", "prediction": GOOD[task]}]
    found = problems_of(task_of(task), [case("1"), case("2")], records)
    assert [str(each) for each in found] == [f"case 1: {problem}"]
    assert found[0].fatal == ("half of a pair" not in problem)


@pytest.mark.parametrize("task", GOOD)
def test_all_problems_of_a_submission_are_told_at_once(task: str) -> None:
    good = {"case_id": "1", "prediction": GOOD[task]}
    records: list[Any] = [
        good,
        "SECRET",
        None,
        [good],
        {"prediction": GOOD[task]},
        {"case_id": 3, "prediction": GOOD[task]},
    ]
    records += [{"case_id": ["1"], "prediction": GOOD[task]}, {"case_id": "4"}, good, {**good, "case_id": "99"}]
    items = [case(name) for name in ("1", "2", "3", "4")]
    wanted = "must be an object with 'case_id' and 'prediction', got"
    assert submission_problems(task_of(task), items, records) == [
        "case 1: stands there 2 times (records 1, 9); the official scorer counts each",
        f"case 2: has no answer{REFUSED}",
        "case 3: its 'case_id' must be a text, got a number",
        "case 4: its 'prediction' is missing",
        f"record 2: {wanted} a text of 6 characters",
        f"record 3: {wanted} null",
        f"record 4: {wanted} a list of 1",
        "record 5: its 'case_id' must be a text, there is none",
        "record 7: its 'case_id' must be a text, got a list of 1",
        f"case 99: is none of the 4 cases of this split{REFUSED}",
    ]
    assert submission_problems(task_of(task), items[:1], [good, good | {"case_id": "1"}])[1:] == []


def test_a_long_text_is_a_note_and_no_problem() -> None:
    records = [{"case_id": "1", "prediction": " ".join(WORDS)}]
    for task, limit in (("question", 15), ("answer", 75)):
        (found,) = problems_of(task_of(task), [case("1")], records)
        assert str(found) == f"case 1: has 80 words, of which the first {limit} count; the limit is {limit}"
        assert found.note
        assert submission_problems(task_of(task), [case("1")], records) == []


def test_a_submission_of_the_other_year_is_told_once() -> None:
    for task, field, value in (
        ("together", "answer", {"prediction": "A."}),
        ("evidence", "prediction", {"answer": "A."}),
    ):
        records = [{"case_id": name} | value for name in "12"]
        assert submission_problems(task_of(task), [case("1"), case("2")], records) == [
            f"its 2 records: none has {field!r}, which a submission to archehr_{task} has beside 'case_id'"
        ]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([{"answer": "A. |1|"}, {"answer": 5}], TASKS[0]),
        ([{"prediction": []}, {"prediction": ["1"]}, {"prediction": 5}], "archehr_evidence"),
        ([{"prediction": [{"answer_id": "1"}]}, None], "archehr_alignment"),
        ([{"prediction": "A."}], "Say it with --task: archehr_question or archehr_answer."),
        ([{"prediction": "A."}, {"prediction": ["1"]}], f"Say it with --task: {', '.join(TASKS)}."),
        ([{"prediction": []}, 5], f"Say it with --task: {', '.join(TASKS)}."),
    ],
)
def test_a_task_is_recognised_where_only_one_has_that_form(values: list[Any], task: str) -> None:
    if " " not in task:
        assert recognised(Path("s.json"), values) == task
    else:
        with pytest.raises(UsageError) as caught:
            recognised(Path("s.json"), values)
        assert str(caught.value).endswith(task)


def file(folder: Path, content: Any) -> Path:
    path = folder / "s.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def packed(content: bytes = b'[{"case_id": "1"}]', *names: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name in names or ("submission.json",):
            archive.writestr(name, content)
    return made.getvalue()


def test_reads_a_list_or_the_one_in_a_zip_file(tmp_path: Path) -> None:
    text = b'[{"case_id": "1"}]'
    extras = ("__MACOSX/._submission.json", ".DS_Store", "submission.json")
    for content in (
        text,
        b"\xef\xbb\xbf \n" + text,
        packed(),
        packed(text, *extras),
        packed(method=zipfile.ZIP_STORED),
    ):
        assert read_records(file(tmp_path, content)) == ([{"case_id": "1"}], [])
    records, problems = read_records(file(tmp_path, packed(text, "mine/", "mine/submission.json")))
    assert records == [{"case_id": "1"}]
    assert [(str(each), each.fatal) for each in problems] == [
        ("submission.json: is in a folder of the zip file, where the official scorer does not look for it", True)
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"SECRET", "not JSON"),
        (b'[{"case_id": "1", "answer": "SECRET"', "not JSON"),
        (b"[" * 100_000, "not JSON .nested too deeply"),
        ({"1": "SECRET"}, "a list of records is needed, got an object of 1"),
        ([], "a list of records is needed, got a list of 0"),
        (b"NaN", "a list of records is needed, got a number"),
        (b'[{"case_id": "1", "answer": "SECRET", "answer": "B."}]', "a name stands twice in one object"),
        (b'[{"case_id": ' + b"9" * 5000 + b"}]", "not JSON"),
        (b'[{"case_id": "1", "answer": "\xe9"}]', "not UTF-8 text .* at byte 29"),
        (b"[" + b" " * LARGEST + b"]", "has more than 10,000,000 bytes, the most that is read"),
        (packed(b"[]"), "a list of records is needed, got a list of 0"),
        (packed(b"[]", "submission.json", "other.json"), "holds 'submission.json', 'other.json', and must hold submission.json"),
        (packed(b"[]", "answers.json"), "holds 'answers.json', and must hold submission.json alone. Zip submission.json again"),
        (packed(b"[]", "a/submission.json", "b/submission.json"), "holds 'a/submission.json', 'b/submission.json', and"),
        (packed(b"[]", "folder/"), "holds no files, and must hold"),
        (packed(b" " * (LARGEST + 1)), "submission.json has more than 10,000,000 bytes in it"),
        (packed(method=zipfile.ZIP_LZMA), "is encrypted in it, or packed otherwise than deflated"),
        (packed()[:-30], "a damaged zip file .BadZipFile."),
        (packed(b"[1234567890]", method=zipfile.ZIP_STORED).replace(b"[1234567890]", b"[1234567891]"), "a damaged zip file"),
        (b"PK", "a damaged zip file"),
    ],
)  # fmt: skip
def test_files_that_are_no_submission(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_records(file(tmp_path, content))
    assert "SECRET" not in str(caught.value)
    assert "s.json" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"none.json: no such file. Give a JSON list of records like"):
        read_records(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_records(tmp_path)


def test_a_case_is_named_by_what_can_be_no_text_of_a_note() -> None:
    assert of_case("12") == "case 12"
    assert of_case("case-3") == "case 'case-3'"
    assert of_case("9" * 7) == "case '9999999'"
    assert of_case("of three words") == "case a text of 14 characters"
