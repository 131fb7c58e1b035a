"""What the sane reading takes as the answer, by form of reply."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.expression import formula_value
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


RIGHT_PLACES = [
    '{"answer": "25.2"}',
    '{"answer": 25.2}',
    '{"ANSWER": 25.2}',
    '{"Final Answer": "25.2"}',
    '{"final_answer": 25.2}',
    "{'answer': '25.2'}",
    "{answer: 25.2}",
    '{\\"answer\\": \\"25.2\\"}',
    '{"answer" : "25.2"}',
    '{\n  "answer":\n    "25.2"\n}',
    "{“answer”: “25.2”}",
    '```json\n{"answer": "25.2"}\n```',
    '"answer": "25.2"',
    "answer: 25.2",
    "Answer\n25.2",
    '{"answer": ["25.2"]}',
    '{"answer": {"value": 25.2, "unit": "mL/min"}}',
    '{"answer": "25.2", "unit": "mL/min/1.73m2", "stage": 4}',
    '{"answer": 25.2, "weight": 48}',
    '{"answer": 25.2 mL/min}',
    '{"answer": "the "estimated" clearance is 25.2"}',
    '{"answer": "99"}\n{"answer": "25.2"}',
    '{"answer": "25.2"}\n{"answer": "99',
    '{"answer": "99"}\nCorrection: the final answer is 25.2.',
    '{"answer": "25.2"}\n\nNote: the final answer is based on 2 values and the answer is sensitive to 48 kg.',
    '<think>maybe {"answer": "99"}</think>{"answer": "25.2"}',
    "<think>The answer is 99.</think>\nThe answer is 25.2.",
    "The final answer is 25.2.",
    "The final answer for the patient's clearance would be approximately 25.2 mL/min.",
    "**Final Answer:** 25.2 mL/min",
    "### Final answer\n\n25.2",
    "Final answer (mL/min): 25.2",
    "Final score: 25.2",
    "The answer is\n\n**25.2 mL/min** (rounded to one decimal).",
    "Some work with 48\n#### 25.2",
    "<answer>25.2</answer>",
    "\\[\\boxed{25.24\\ \\text{mL/min}}\\]",
    "The final answer is: $\\boxed{25.238}$.",
    "25.2",
    "Therefore, the creatinine clearance is approximately 25.2 mL/min. This indicates CKD stage 4.",
    "Creatinine clearance = 25.2 mL/min\n\nThis is consistent with stage 4 CKD.\n",
    "Step 1: 140-87=53\nStep 2: 53*48/(72*1.4)=25.24\n\nAnswer: 25.24",
    "The patient has stage 4 CKD with a clearance of 25.2 mL/min [1].",
    json.dumps({"answer": "Age is 87 and weight 48. " * 20 + "The clearance is 25.2 mL/min."}),
]


@pytest.mark.parametrize("reply", RIGHT_PLACES)
def test_the_answer_is_found_where_it_stands(reply: str) -> None:
    assert _right(reply, CLEARANCE)


@pytest.mark.parametrize(
    "reply",
    [
        *("", "   ", "\n", "N/A", "\x00", "{}", "[]", "no idea"),
        '{"answer": ""}',
        '{"answer": null}',
        '{"answer": true}',
        '{"answer": {}}',
        '{"answer": "N/A (weight 25.2 kg)"}',
        '{"answer": "X.XX"}',
        '{"answer": "25.2"',  # cut off
        '{"answer": "25.2',
        '{"step_by_step_thinking": "... so the answer is 25.2',
        "<think>The answer is 25.2",
        '{"answer": "25.2"}\n{"answer": "99"}',
        '{"answer": "25.2"}\nThe final answer is 99.',
        "The clearance cannot be determined.",
        "The weight is 25.2 kg.\nThe clearance cannot be calculated.",
        '{"answer": "cannot be determined; weight 25.2"}',
        "[25]",  # a reference
        "25.2 kg of weight give\n\\boxed{99}",
    ],
)
def test_no_answer_or_another_one(reply: str) -> None:
    assert not _right(reply, CLEARANCE)


RIGHT_NUMBERS = [
    (CLEARANCE, "25.238 mL/min/1.73 m²"),
    (CLEARANCE, "25.2 mL/min/1.73m^2 for 70 kg"),
    (CLEARANCE, "eGFR (mL/min/1.73 m²): 25.2"),
    (CLEARANCE, "Stage 4, CrCl 25.2"),
    (CLEARANCE, "Using a weight of 48 kg, the CrCl is 25.2"),
    (CLEARANCE, "CrCl = (140-87)*48/(72*1.4) = 25.24 mL/min"),
    (CLEARANCE, "CrCl: 25.2 mL/min (weight 48 kg)"),
    (CLEARANCE, "25.2 mL/min or 0.42 mL/s"),  # the same in another unit, and no choice
    (CLEARANCE, "25.2 to 25.3"),  # every value of the range is right
    (CLEARANCE, "25.2 ± 0.1"),
    (CLEARANCE, "On 03/07/2021 the CrCl was 25.2"),
    (CLEARANCE, "≈25.2"),
    (CLEARANCE, "025.2"),
    (CLEARANCE, "２５.２"),
    (CLEARANCE, "٢٥.٢"),
    (CLEARANCE, "2.52 × 10¹"),
    (CLEARANCE, "2.52 \\times 10^{1}"),
    (CLEARANCE, "2.52*10**1"),
    (CLEARANCE, "25 1/4"),
    (CLEARANCE, "101/4"),
    (CLEARANCE, "`25.2`"),
    (CLEARANCE, "<b>25.2</b>"),
    (CLEARANCE, "25.2%"),
    (GAP, "−5.5 mEq/L"),
    (GAP, "–5.5"),
    (GAP, "- 5.5"),
    (GAP, "minus 5.5"),
    (GAP, "6.5 - 12 = -5.5"),
    (GAP, "(-5.5)"),
    (GAP, "Delta gap: -5.5"),
    (GAP, "$-5.5$"),
    (OSMOLALITY, "1,234.5"),
    (OSMOLALITY, "1 234.5"),
    (OSMOLALITY, "1\u202f234.5"),
    (OSMOLALITY, "1{,}234.5"),
    (OSMOLALITY, "12.345E2"),
    (SCORE, "3/9"),
    (SCORE, "3 of 9"),
    (SCORE, "3 points out of 9 points"),
    (SCORE, "3 (range 0-10)"),
    (SCORE, "CHA₂DS₂-VASc = 3"),
    (SCORE, "CHA2DS2-VASc score: 3"),
    (SCORE, "CURB-65: 3"),
    (SCORE, "Score: 3 (moderate risk, 3.2% per year)"),
    (SCORE, "3 points, 30-day mortality 14%"),
    (SCORE, "1+1+1 = 3"),
    (SCORE, "Class IV, 3 points"),
    (SCORE, "3 - moderate risk"),
    (SCORE, "Low risk (3 points)"),
    (SCORE, "Three points"),
    (SCORE, "The total score is three."),
    (SCORE, "3.0"),
    (SCORE, "003"),
    (SCORE, "3rd"),
    (COMA, "E4V3M5 (12)"),
    (COMA, "E4 V3 M5 = 12"),
    (COMA, "12 = E4 + V3 + M5"),
    (COMA, "E4V3M5, total 12"),
    (COMA, "GCS 12, 4, 3, 5"),
    (FENA, "0.842%"),
    (FENA, "FENa is 0.842% (<1%)"),
    (RATIO, "84.2%"),
    (RATIO, ".842"),
]


@pytest.mark.parametrize(("row", "answer"), RIGHT_NUMBERS)
def test_right_numbers(row: dict[str, object], answer: str) -> None:
    assert _right(json.dumps({"answer": answer}, ensure_ascii=False), row)
    assert _right(json.dumps({"answer": answer}), row)  # with \u escapes
    assert _right(f"The final answer is: {answer}\n", row)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        *(
            (CLEARANCE, text)
            for text in (
                "25,238",
                "-25.2",
                "252.38",
                "25.2 or 99",
                "25.2 ± 9",
                "25.2; 1",
                "25 to 30",
                "<26",
                "> 25",
                "≤ 25.2",
            )
        ),
        *(
            (CLEARANCE, text)
            for text in ("140-87", "25.2*2", "25.2/2", "25.24 = 53*48/(100.8)", "stage 25", "025_2", "0x19", "25e400")
        ),
        *((CLEARANCE, text) for text in ("NaN", "inf", "2523.8%", "1/0", "25.2^2")),
        *((GAP, text) for text in ("5.5", "12-17.5", "12 - 17.5")),
        *((OSMOLALITY, text) for text in ("1'234.5", "1.234", "1,2345")),
        *(
            (SCORE, text)
            for text in (
                "2-3",
                "3-4",
                "3 or 4",
                "between 3 and 4",
                "3.4",
                "2.51",
                "-3",
                "13",
                ">=3",
                "III",
                "3+1",
                "1, 1, 1",
            )
        ),
        *((SCORE, text) for text in ("none", "1,003", "4 points or 3 points", "[1, 1, 1]")),
        *((FENA, text) for text in ("84.2%", "<1%", "0.00842")),
    ],
)
def test_wrong_numbers(row: dict[str, object], answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}, ensure_ascii=False), row)


@pytest.mark.parametrize(
    "answer",
    [
        *("3/7/2021", "03/07/2021", "03-07-2021", "03.07.2021", "3 / 7 / 2021", "3/7/21", "03/07/2021."),
        *("2021-03-07", "2021/3/7", "2021-03-07T00:00:00", "20210307"),
        *(
            "March 7, 2021",
            "Mar 7 2021",
            "Sunday, March 7th, 2021",
            "March the 7th, 2021",
            "7 March 2021",
            "7-Mar-2021",
            "7th of March 2021",
        ),
        *(
            "2021 March 7",
            "EDD: 03/07/2021 (LMP 05/31/2020)",
            "LMP 05/31/2020, EDD 03/07/2021",
            "due on 3/7/2021",
            "**03/07/2021**",
        ),
        *("$03/07/2021$", "05/31/2020 + 280 days = 03/07/2021", "\\text{03/07/2021}"),
    ],
)
def test_right_dates(answer: str) -> None:
    assert _right(json.dumps({"answer": answer}), DUE)
    assert _right(f"The final answer is {answer}", DUE)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "07/03/2021",
            "2021-07-03",
            "03/07/2022",
            "03/07/20211",
            "02/30/2021",
            "03/32/2021",
            "13/07/2021",
            "March 2021",
            "03/07",
            "2021",
        ),
        *("03/07/2021 or 03/08/2021", "between 03/07/2021 and 03/14/2021", "unknown", ""),
    ],
)
def test_wrong_dates(answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}), DUE)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "(4 weeks, 3 days)",
            "4 weeks 3 days",
            "4 weeks and 3 days",
            "4 weeks; 3 days",
            "4 weeks plus 3 days",
            "4 weeks , 3 days",
        ),
        *(
            "4 wks 3 days",
            "4w3d",
            "4w 3d",
            "4+3",
            "4 3/7",
            "4 3/7 weeks",
            "4, 3",
            "(04, 03)",
            "(04 weeks, 03 days)",
            "4.43 weeks",
        ),
        *(
            "31 days",
            "4 weeks, 3 days (31 days)",
            "four weeks and three days",
            "4 Weeks, 3 Days",
            "{4 weeks, 3 days}",
            "4 week, 3 day",
        ),
        *(
            "at 1/2/2020, 4 weeks, 3 days",
            "4 weeks, 3 days at 1/2/2020",
            "**4 weeks 3 days**",
            "week 4, day 3",
            "('4 weeks', '3 days')",
            "3 weeks 10 days",
        ),
    ],
)
def test_right_ages(answer: str) -> None:
    assert _right(json.dumps({"answer": answer}), AGE)
    assert _right(f"The gestational age is {answer}.", AGE)


@pytest.mark.parametrize(
    "reply", ['{"answer": ["4 weeks", "3 days"]}', '{"answer": [4, 3]}', '{"answer": {"weeks": 4, "days": 3}}']
)
def test_ages_as_json(reply: str) -> None:
    assert _right(reply, AGE)


@pytest.mark.parametrize(
    "answer",
    [
        "4 weeks",
        "3 days",
        "43",
        "4",
        "4.3",
        "3 weeks 4 days",
        "-4 weeks, 3 days",
        "4 weeks, -3 days",
        "4 weeks 2 days or 4 weeks 3 days",
        "",
    ],
)
def test_wrong_ages(answer: str) -> None:
    assert not _right(json.dumps({"answer": answer}), AGE)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("(140-87)*48/(72*1.4)", 25.238095238095237),
        ("(140-87)*48/(72*1.4))", 25.238095238095237),
        ("round((140 - 87) * 48 / (72 * 1.4), 2", 25.24),
        ("5^2 + 0.238", 25.238),
        ("25.238 # (a comment)", 25.238),
        ("180 mg/dL / 18 + 140 mEq/L", 150.0),
        ("max(3, ln(e))", 3.0),
        ("log10(1000) × 2", 6.0),
        ("140 - age", None),
        ("", None),
        ("1/0", None),
        ("9**9**9", None),
        ("True", None),
        ("sqrt(-1)", None),
    ],
)
def test_formulas(formula: str, value: float | None) -> None:
    assert formula_value(formula) == (None if value is None else pytest.approx(value, rel=1e-12))


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
