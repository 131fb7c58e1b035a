"""The authors' decision, bug for bug: on their recorded answers, and on forms that their script misreads."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.gold import known_kind
from medical_tasks.benchmarks.medcalc_bench.official import (
    official_answer,
    official_check,
    official_code_decision,
    official_decision,
)
from medical_tasks.scoring.normal_form import MAX_REPLY
from tests.benchmarks.medcalc_bench.official_csv import gold_of, gold_of_case, v1_cells
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared

TABLES: dict[str, Any] = tables(__file__)

RECORDED = SHARED / "data" / "medcalc" / "recorded"
AGE = "('4 weeks', '3 days')"
CLEARANCE: dict[str, Any] = {
    "calculator_id": 2,
    "gold": "25.238",
    "lower": "23.9761",
    "upper": "26.4999",
}


@pytest.mark.upstream
@needs_shared
def test_recorded_decisions_and_the_authors_table() -> None:
    golds = {row["Row Number"]: gold_of(row) for row in v1_cells()}
    path = RECORDED / "gpt-4o-mini_direct_answer.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        recorded = list(csv.DictReader(lines))
    assert len(recorded) == len(golds) == 1047
    groups: dict[str, list[bool]] = defaultdict(list)
    for row in recorded:
        decision = official_check(row["LLM Answer"], **golds[row["Row Number"]])
        assert decision.correct == (row["Result"] == "Correct"), (row, decision)
        groups[row["Category"]].append(decision.correct)
        groups["overall"].append(decision.correct)
    table = {name: mean_and_error(group) for name, group in groups.items()}
    assert table == json_of(RECORDED / "gpt-4o-mini_direct_answer.results.json")


def mean_and_error(decisions: list[bool]) -> dict[str, float]:
    """Returns the figures of results.json, rounded by scaling as NumPy and so the authors do."""
    p = sum(decisions) / len(decisions)
    error = math.sqrt(p * (1 - p) / len(decisions))
    return {"average": round(p * 1e4) / 100, "std": round(error * 100) / 100}


@pytest.mark.upstream
@needs_shared
def test_decisions_and_answers_on_invented_replies() -> None:
    """As the authors' script gave them (fixtures/README.md)."""
    cases = json_of(SHARED / "fixtures" / "metrics.json")["medcalc"]["raw_outputs"]
    assert len(cases) >= 142
    for case in cases:
        decision = official_decision(case["raw"], **gold_of_case(case))
        reference = case["reference"]
        assert decision.correct == bool(reference["decision"]), (case, decision)
        kind = known_kind(int(case["calid"]))
        assert kind is not None
        if "extracted" in reference:
            assert official_answer(case["raw"], kind) == reference["extracted"]
        else:
            with pytest.raises(ValueError, match="no two numbers"):
                official_answer(case["raw"], kind)


@pytest.mark.upstream
@needs_shared
def test_decisions_on_invented_answers() -> None:
    cases = json_of(SHARED / "fixtures" / "metrics.json")["medcalc"]["direct_checks"]
    assert len(cases) >= 27
    for case in cases:
        decision = official_check(case["answer"], **gold_of_case(case))
        assert decision.correct == bool(case["reference"]["decision"]), case


@pytest.mark.upstream
@needs_shared
def test_the_gold_answers_of_v1_are_right() -> None:
    for row in v1_cells():
        reply = {
            "step_by_step_thinking": row["Ground Truth Explanation"],
            "answer": row["Ground Truth Answer"],
        }
        decision = official_decision(json.dumps(reply), **gold_of(row))
        assert decision.correct, (row["Row Number"], decision)


@pytest.mark.parametrize(("reply", "kind", "answer"), TABLES["what_is_read"])
def test_the_answer_that_the_authors_patterns_capture(
    reply: str, kind: Any, answer: str
) -> None:
    """Worked out by hand from the patterns in their run.py."""
    assert official_answer(reply, kind) == answer


@given(
    st.lists(
        st.sampled_from([" ", "\n", "\t", "\r\n", "\u00a0", "\x1f"]),
        min_size=5,
        max_size=5,
    )
)
def test_white_space_becomes_single_spaces_before_a_reply_is_read(
    gaps: list[str],
) -> None:
    """As in their client (llm_inference.py), so that JSON over several lines is read."""
    pieces = ["{", '"answer":', '"25.238', "mg", '"', "}"]
    reply = "".join(
        piece + gap for piece, gap in zip(pieces, [*gaps, "\n"], strict=True)
    )
    assert official_decision(reply, **CLEARANCE).correct


@pytest.mark.parametrize(("reply", "correct"), TABLES["code_answers"])
def test_the_answer_of_a_code_dialogue_is_checked_as_it_is(
    reply: str, correct: bool
) -> None:
    """The call that should read the answer lacks an argument there: the text itself is checked."""
    assert official_code_decision(reply, **CLEARANCE).correct is correct


def test_dates_and_ages_of_a_code_dialogue_are_checked_as_they_are() -> None:
    day: dict[str, Any] = {
        "calculator_id": 13,
        "gold": "05/04/2021",
        "lower": "",
        "upper": "",
    }
    assert official_code_decision("5/4/2021", **day).correct
    # The reader of other dialogues takes this answer.
    assert not official_code_decision("5/4/2021 or so", **day).correct
    assert official_decision('{"answer": "5/4/2021 or so"}', **day).correct
    age: dict[str, Any] = {"calculator_id": 69, "gold": AGE, "lower": "", "upper": ""}
    assert official_code_decision("(4 weeks, 3 days)", **age).correct


def test_answers_of_an_unknown_calculator_are_wrong() -> None:
    decision = official_decision(
        '{"answer": "3"}', calculator_id=99, gold="3", lower="3", upper="3"
    )
    assert not decision.correct
    assert "no calculator 99" in decision.why


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "03"}',
        '{"answer": "-05"}',
        '{"answer": "٣"}',
        '{"answer": "' + "9" * 5000 + '"}',
    ],
)
def test_numbers_that_python_does_not_parse_are_wrong(reply: str) -> None:
    with pytest.raises(ValueError):
        official_answer(reply, "decimal")
    decision = official_decision(reply, calculator_id=2, gold="3", lower="0", upper="9")
    assert (decision.correct, decision.parsed) == (False, "")


@pytest.mark.parametrize(
    ("calculator_id", "answer", "gold", "lower", "upper", "correct"), TABLES["checks"]
)
def test_checks_of_an_answer(
    calculator_id: int,
    answer: object,
    gold: object,
    lower: str,
    upper: str,
    correct: bool,
) -> None:
    """Integers are rounded half to even, limits are inclusive and in order, and an answer that raises in their script is wrong."""
    decision = official_check(
        answer, calculator_id=calculator_id, gold=gold, lower=lower, upper=upper
    )
    assert decision.correct is correct


def test_a_long_reply_is_read_from_its_last_answer() -> None:
    row = {"gold": "3", "lower": "3", "upper": "3"}
    assert official_decision(
        "x" * MAX_REPLY + '{"answer": "3"}', calculator_id=4, **row
    ).correct
    assert official_decision(
        '{"answer": "3"}' + "x" * 2 * MAX_REPLY, calculator_id=4, **row
    ).correct
    assert not official_decision("x" * 2 * MAX_REPLY, calculator_id=4, **row).correct


@pytest.mark.parametrize("expression", ["float(lower_limit)", "12.5+12.5"])
def test_the_answer_is_evaluated_among_the_variables_of_their_check(
    expression: str,
) -> None:
    reply = f"{{\"answer\": str('{expression}')}}"
    assert official_decision(reply, **CLEARANCE).correct


@given(
    st.lists(
        st.sampled_from(
            [
                *"0123456789.-% ,()[]'\"/",
                "weeks",
                "days",
                "mL/min/1.73",
                " out of",
                "str(",
                "answer",
                "\n",
                "}",
            ]
        ),
        max_size=12,
    ),
    st.sampled_from(["decimal", "integer", "date", "gestational_age"]),
)
def test_reading_raises_no_error_but_of_value_or_arithmetic(
    pieces: list[str], kind: Any
) -> None:
    try:
        answer = official_answer('{"answer": ' + "".join(pieces) + "}", kind)
    except (ValueError, ArithmeticError):
        return
    assert isinstance(answer, str)
    assert answer


@given(st.floats(min_value=-1e9, max_value=1e9).map(lambda value: round(value, 4)))
def test_a_plain_number_is_read_as_it_is(value: float) -> None:
    assert official_answer(f'{{"answer": "{value:.4f}"}}', "decimal") == str(
        float(f"{value:.4f}")
    )
    assert official_answer(f'{{"answer": "{value:.4f}"}}', "integer") == f"{value:.4f}"
