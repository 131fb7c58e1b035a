"""What the suite's own reader takes as the answer, by form of reply."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.benchmarks.medcalc_bench.subjects import subject_of
from medical_tasks.scoring.normal_form import MAX_REPLY
from medical_tasks.scoring.numbers.quantities import (
    ages,
    dates,
    measurements,
    plain,
)
from medical_tasks.scoring.numbers.reading import read_answer
from medical_tasks.scoring.numbers.subject import Subject
from tests.case_tables import json_of, tables

TABLES: dict[str, Any] = tables(__file__)

ROWS: dict[str, dict[str, object]] = TABLES["rows"]
CLEARANCE = ROWS["CLEARANCE"]


def is_correct(reply: str, row: dict[str, object]) -> bool:
    return decide(reply, **row).correct  # type: ignore[arg-type]


REPLIES: dict[str, Any] = json_of(Path(__file__).with_name("answers.json"))


def answers(side: str) -> list[tuple[str, str]]:
    """Returns the name of the row and the answer, for each right or wrong answer."""
    numbers = [
        (row, answer)
        for row, answers in REPLIES[f"{side}_numbers"].items()
        for answer in answers
    ]
    return [
        *numbers,
        *(("DUE", day) for day in REPLIES[f"{side}_dates"]),
        *(("AGE", age) for age in REPLIES[f"{side}_ages"]),
    ]


def test_number_of_replies() -> None:
    counts = {
        kind: len(replies)
        for kind, replies in REPLIES.items()
        if isinstance(replies, list)
    }
    assert counts == TABLES["number_of_replies"]
    assert (len(answers("right")), len(answers("wrong"))) == (
        65 + 26 + 28,
        46 + 14 + 10,
    )


@pytest.mark.parametrize(
    ("side", "reply"),
    [
        (side, reply)
        for side in ("right", "wrong")
        for reply in REPLIES[f"{side}_places"]
    ],
)
def test_the_answer_is_found_wherever_the_reply_states_it(
    side: str, reply: str
) -> None:
    assert is_correct(reply, CLEARANCE) is (side == "right")


@pytest.mark.parametrize("dash", ["-", "–"])
def test_a_dash_after_a_list_number_is_no_minus_sign(dash: str) -> None:
    assert is_correct(f"CHA2DS2-VASc score\n1. {dash} 3", ROWS["SCORE"])


@pytest.mark.parametrize(("row", "answer"), answers("right"))
def test_right_answers(row: str, answer: str) -> None:
    assert is_correct(json.dumps({"answer": answer}, ensure_ascii=False), ROWS[row])
    assert is_correct(json.dumps({"answer": answer}), ROWS[row])  # with \u escapes
    assert is_correct(f"The final answer is: {answer}\n", ROWS[row])
    assert row != "AGE" or is_correct(f"The gestational age is {answer}.", ROWS[row])


@pytest.mark.parametrize(("row", "answer"), answers("wrong"))
def test_wrong_answers(row: str, answer: str) -> None:
    assert not is_correct(json.dumps({"answer": answer}, ensure_ascii=False), ROWS[row])


@pytest.mark.parametrize(("text", "expected"), TABLES["plain_text"])
def test_plain_text_of_marked_up_text(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_long_replies_and_long_fields() -> None:
    assert is_correct("99 " * MAX_REPLY + '{"answer": "25.2"}', CLEARANCE)
    assert not is_correct('{"answer": "25.2"}' + " " * MAX_REPLY, CLEARANCE)
    text = "The anion gap is 99. The clearance is 25.2."
    assert is_correct(json.dumps({"answer": text}), CLEARANCE)
    assert is_correct(json.dumps({"answer": "word " * 300 + text}), CLEARANCE)
    for answer in (["4 weeks", "3 days"], [4, 3], {"weeks": 4, "days": 3}):
        assert is_correct(json.dumps({"answer": answer}), ROWS["AGE"])


@given(
    st.floats(min_value=-1e6, max_value=1e6, allow_nan=False).map(
        lambda value: round(value, 3)
    )
)
def test_a_number_is_read_as_it_was_written(value: float) -> None:
    for text in (
        f"{value}",
        f"{value:,}",
        f"{value:e}",
        f"**{value}**",
        f"{value} mg",
        f"Result: {value}",
        f"$\\boxed{{{value}}}$",
    ):
        (number,) = read_answer(text, Subject(scan=measurements)).stated
        assert number.value == pytest.approx(value, rel=1e-6)


def test_a_letter_whose_lower_case_is_longer_moves_no_name() -> None:
    bmi = subject_of(6, "decimal")
    assert bmi.masked("İbrahim: the BMI is 24.7.", "@") == "İbrahim: the @ is 24.7."


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2069, 12, 31)))
def test_a_date_is_read_as_it_was_written(day: date) -> None:
    for form in (
        "%m/%d/%Y",
        "%Y-%m-%d",
        "%B %d, %Y",
        "%d %b %Y",
        "%m/%d/%y",
        "%A, %B %d, %Y",
    ):
        assert [match.value for match in dates(day.strftime(form))] == [day]


@given(st.integers(0, 45), st.integers(0, 6))
def test_an_age_is_read_as_it_was_written(weeks: int, days: int) -> None:
    for form in TABLES["an_age_is_read_as_it_was_written"]:
        assert [age.value for age in ages(form.format(weeks, days))] == [
            weeks * 7 + days
        ]
    assert [age.value for age in ages(f"{weeks + days / 7:.2f} weeks")] == [
        weeks * 7 + days
    ]
