"""What the sane reading takes as the answer, by form of reply."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.gold import MAX_REPLY
from medical_tasks.benchmarks.medcalc_bench.quantities import ages, dates, measurements, plain
from medical_tasks.benchmarks.medcalc_bench.reading import MAX_VALUE, read_answer
from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.benchmarks.medcalc_bench.statements import Subject

CLEARANCE = {"calculator_id": 2, "gold": "25.238", "lower": "23.9761", "upper": "26.4999"}
GAP = {"calculator_id": 63, "gold": "-5.5", "lower": "-5.775", "upper": "-5.225"}
OSMOLALITY = {"calculator_id": 30, "gold": "1234.5", "lower": "1172.775", "upper": "1296.225"}
SCORE = {"calculator_id": 4, "gold": "3", "lower": "3", "upper": "3"}
COMA = {"calculator_id": 21, "gold": "12", "lower": "12", "upper": "12"}
DUE = {"calculator_id": 13, "gold": "03/07/2021", "lower": "03/07/2021", "upper": "03/07/2021"}
AGE = {
    "calculator_id": 69,
    "gold": "('4 weeks', '3 days')",
    "lower": "('4 weeks', '3 days')",
    "upper": "('4 weeks', '3 days')",
}
FENA = {"calculator_id": 40, "gold": "0.842", "lower": "0.7999", "upper": "0.8841"}
RATIO = {"calculator_id": 64, "gold": "0.842", "lower": "0.7999", "upper": "0.8841"}


def _right(reply: str, row: dict[str, object]) -> bool:
    return decide(reply, **row).correct  # type: ignore[arg-type]


ROWS = {
    "CLEARANCE": CLEARANCE,
    "GAP": GAP,
    "OSMOLALITY": OSMOLALITY,
    "SCORE": SCORE,
    "COMA": COMA,
    "FENA": FENA,
    "RATIO": RATIO,
}
REPLIES: dict[str, Any] = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))


def numbers(kind: str) -> list[tuple[str, str]]:
    """Name of the row, and the answer."""
    return [(row, answer) for row, answers in REPLIES[kind].items() for answer in answers]


def test_the_replies_are_there() -> None:
    counts = {kind: len(found) for kind, found in REPLIES.items() if isinstance(found, list)}
    assert counts == {
        "right_places": 44,
        "wrong_places": 25,
        "right_dates": 26,
        "wrong_dates": 14,
        "right_ages": 28,
        "wrong_ages": 10,
    }
    assert (len(numbers("right_numbers")), len(numbers("wrong_numbers"))) == (63, 48)


@pytest.mark.parametrize("reply", REPLIES["right_places"])
def test_the_answer_is_found_where_it_stands(reply: str) -> None:
    assert _right(reply, CLEARANCE)


@pytest.mark.parametrize("reply", REPLIES["wrong_places"])
def test_no_answer_or_another_one(reply: str) -> None:
    assert not _right(reply, CLEARANCE)


@pytest.mark.parametrize(("row", "answer"), numbers("right_numbers"))
def test_right_numbers(row: str, answer: str) -> None:
    assert _right(json.dumps({"answer": answer}, ensure_ascii=False), ROWS[row])
    assert _right(json.dumps({"answer": answer}), ROWS[row])  # with \u escapes
    assert _right(f"The final answer is: {answer}\n", ROWS[row])


@pytest.mark.parametrize(("row", "answer"), numbers("wrong_numbers"))
def test_wrong_numbers(row: str, answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}, ensure_ascii=False), ROWS[row])


@pytest.mark.parametrize("answer", REPLIES["right_dates"])
def test_right_dates(answer: str) -> None:
    assert _right(json.dumps({"answer": answer}), DUE)
    assert _right(f"The final answer is {answer}", DUE)


@pytest.mark.parametrize("answer", REPLIES["wrong_dates"])
def test_wrong_dates(answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}), DUE)


@pytest.mark.parametrize("answer", REPLIES["right_ages"])
def test_right_ages(answer: str) -> None:
    assert _right(json.dumps({"answer": answer}), AGE)
    assert _right(f"The gestational age is {answer}.", AGE)


@pytest.mark.parametrize(
    "reply", ['{"answer": ["4 weeks", "3 days"]}', '{"answer": [4, 3]}', '{"answer": {"weeks": 4, "days": 3}}']
)
def test_ages_as_json(reply: str) -> None:
    assert _right(reply, AGE)


@pytest.mark.parametrize("answer", REPLIES["wrong_ages"])
def test_wrong_ages(answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}), AGE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**1{,}234.5**", "1,234.5"),
        ("10⁻⁴ m²", "10^-4 m^2"),
        ("$\\frac{1}{2}$", "  1/2  "),
        ("2**3", "2**3"),
        ("x >= 3 => 4", "x ≥ 3 → 4"),
        ("\\text{kg}", " kg "),
    ],
)
def test_plain_text(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_long_reply_is_read_from_its_end() -> None:
    assert _right("99 " * MAX_REPLY + '{"answer": "25.2"}', CLEARANCE)
    assert not _right('{"answer": "25.2"}' + " " * MAX_REPLY, CLEARANCE)


def test_a_long_field_is_running_text() -> None:
    """In a short field the first number plainly stated is the answer, in running text the last."""
    text = "The anion gap is 99. The clearance is 25.2."
    assert not _right(json.dumps({"answer": text}), CLEARANCE)
    assert _right(json.dumps({"answer": "word " * MAX_VALUE + text}), CLEARANCE)


@given(st.floats(min_value=-1e6, max_value=1e6, allow_nan=False).map(lambda value: round(value, 3)))
@settings(deadline=None, max_examples=200)
def test_a_number_is_read_as_it_was_written(value: float) -> None:
    for written in (
        f"{value}",
        f"{value:,}",
        f"{value:e}",
        f"**{value}**",
        f"{value} mg",
        f"Result: {value}",
        f"$\\boxed{{{value}}}$",
    ):
        (number,) = read_answer(written, Subject(scan=measurements)).stated
        assert number.value == pytest.approx(value, rel=1e-6)


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2069, 12, 31)))
@settings(deadline=None, max_examples=100)
def test_a_date_is_read_as_it_was_written(day: date) -> None:
    for form in ("%m/%d/%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%m/%d/%y", "%A, %B %d, %Y"):
        assert [each.value for each in dates(day.strftime(form))] == [day]


@given(st.integers(0, 45), st.integers(0, 6))
@settings(deadline=None, max_examples=100)
def test_an_age_is_read_as_it_was_written(weeks: int, days: int) -> None:
    for form in (
        "({} weeks, {} days)",
        "{}w{}d",
        "{} weeks and {} days",
        "({}, {})",
        "{}+{}",
        "{} {}/7",
        "GA {} wks {} d",
    ):
        assert [age.value for age in ages(form.format(weeks, days))] == [weeks * 7 + days]
    assert [age.value for age in ages(f"{weeks + days / 7:.2f} weeks")] == [weeks * 7 + days]
