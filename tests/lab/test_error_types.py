from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurements import medcalc_errors
from medical_tasks.benchmarks.medcalc_bench.data import read_rows
from medical_tasks.benchmarks.medcalc_bench.gold import (
    answer_kind,
    answer_text,
    entities_of,
    label_agrees,
    recompute_or_none,
)
from medical_tasks.calculators import CalculatorInputError, find
from medical_tasks.lab.error_types import TYPES, Sorted, sort_error
from medical_tasks.lab.working import read_working
from tests.benchmarks.medcalc_bench.official_csv import V1
from tests.case_tables import json_of, tables
from tests.support import needs_shared

TABLES: dict[str, Any] = tables(__file__)


def row(
    calculator_id: int, entities: Mapping[str, Any], **cells: Any
) -> dict[str, Any]:
    answer = answer_text(find(calculator_id).calculate(entities).answer)
    limits = dict.fromkeys(("lower_limit", "upper_limit"), answer)
    if answer_kind(calculator_id) == "decimal" and calculator_id not in (8, 23):
        limits = {
            "lower_limit": repr(float(answer) * 0.95),
            "upper_limit": repr(float(answer) * 1.05),
        }
    return {
        "row_number": 1,
        "calculator_id": calculator_id,
        "relevant_entities": json.dumps(entities),
        "ground_truth_answer": answer,
        **limits,
        **cells,
    }


def classify(case: Mapping[str, Any], reply: str) -> Sorted:
    sorted_error = sort_error(case, reply)
    assert sorted_error is not None
    return sorted_error


PLANTED: dict[str, Any] = json_of(Path(__file__).parent / "planted_errors.json")
ROWS = {
    name: row(calculator_id, entities)
    for name, (calculator_id, entities) in PLANTED["rows"].items()
}
LDL, DUE, HAS_BLED = ROWS["LDL"], ROWS["DUE"], ROWS["HAS_BLED"]
# A: a missing constant, another formula, other points, an unknown criterion. B: another
# value of an entity, the other sex, a present finding that is denied. C: a calculation
# whose stated result is wrong (paper, table 3), a sum, a date. Undetermined: no working,
# right steps with another answer, unreadable working.
CASES = [
    (reply["type"], ROWS[reply["row"]], reply["reasoning"], reply["answer"])
    for reply in PLANTED["replies"]
]


@pytest.mark.parametrize(("error_type", "case", "reasoning", "answer"), CASES)
@pytest.mark.parametrize("form", ["json", "text"])
def test_constructed_replies(
    error_type: str, case: Mapping[str, Any], reasoning: str, answer: str, form: str
) -> None:
    reply = json.dumps({"step_by_step_thinking": reasoning, "answer": answer})
    sorted_error = classify(
        case, reply if form == "json" else f"{reasoning}\n\nFinal answer: {answer}"
    )
    assert sorted_error.error_type == error_type, sorted_error.reason
    assert sorted_error.reason
    assert "\n" not in sorted_error.reason


def test_each_type_has_cases() -> None:
    counts = Counter(error_type for error_type, *_ in CASES)
    assert set(counts) == set(TYPES) - {"D"}
    assert min(counts.values()) >= 8
    assert len({json.dumps(case) for _, case, *_ in CASES}) >= 12


@pytest.mark.parametrize(("reply", "reason"), TABLES["no_answer_is_another_error"])
def test_no_answer_is_another_error(reply: str, reason: str) -> None:
    sorted_error = classify(LDL, reply)
    assert sorted_error.error_type == "D"
    assert sorted_error.reason.startswith(reason)


def test_rows_without_a_type() -> None:
    assert sort_error(LDL, '{"answer": "128"}') is None
    assert (
        sort_error(
            LDL, '{"step_by_step_thinking": "215 - 10 - 77 = 999", "answer": "128"}'
        )
        is None
    )
    assert sort_error(DUE, '{"answer": "12/15/2023"}') is None
    assert sort_error(HAS_BLED, '{"answer": "3"}') is None
    assert (
        sort_error(
            {
                **LDL,
                "ground_truth_answer": "90",
                "lower_limit": "85",
                "upper_limit": "95",
            },
            "142",
        )
        is None
    )
    assert sort_error({**LDL, "relevant_entities": "{}"}, "142") is None


@pytest.mark.parametrize(("text", "wrong"), PLANTED["calculations"])
def test_wrong_calculations(text: str, wrong: list[str]) -> None:
    actual = [
        equation.text for equation in read_working(text).equations if not equation.right
    ]
    assert actual == wrong


WRITTEN = json_of(Path(__file__).parent / "written_scores.json")


def test_written_scores_and_doses() -> None:
    """Rules, weights and thresholds beside the patient's data, short forms, and findings without points."""
    assert len(WRITTEN) == 35
    for case in WRITTEN:
        sorted_error = classify(
            row(case["calculator_id"], case["entities"]), case["reply"]
        )
        assert sorted_error.error_type == case["type"], (
            case["reply"],
            sorted_error.reason,
        )
    patch = row(
        49,
        {
            "FentANYL patch Dose": [25, "µg/h"],
            "OxyCODONE Dose": [10, "mg"],
            "OxyCODONE Dose Per Day": [3, "per day"],
        },
    )
    sorted_error = classify(
        patch, "25 × 2.4 = 60 and 10 × 3 × 1.5 = 45: 60 + 45 = 115. Answer: 155"
    )
    assert sorted_error.error_type == "undetermined"


def test_planted_errors_in_every_layout() -> None:
    """At least 80 of 100 planted errors of scores get their type, no more than 2 another."""
    counts = medcalc_errors.tally(medcalc_errors.replies(11, 110, "scores"))
    assert {layout for _, layout, _ in counts} == set(medcalc_errors.LAYOUTS)
    for truth, layout in itertools.product(
        medcalc_errors.TRUTHS, medcalc_errors.LAYOUTS
    ):
        own = {
            error_type: n
            for (planted, other_layout, error_type), n in counts.items()
            if (planted, other_layout) == (truth, layout)
        }
        total = sum(own.values())
        right = sum(
            n for kind, n in own.items() if medcalc_errors.is_right(truth, kind)
        )
        undetermined = 0 if truth == "none" else own.get("undetermined", 0)
        assert total >= 30
        assert right >= 0.8 * total, (truth, layout, own)
        assert total - right - undetermined <= 0.02 * total, (truth, layout, own)


@settings(max_examples=20)
@given(
    heart_rate=st.integers(91, 180),
    threshold=st.sampled_from(["> 90", "over 90", ">90 bpm", "above 90/min"]),
)
def test_a_threshold_is_never_the_patients_value(
    heart_rate: int, threshold: str
) -> None:
    """The rule's number is in the label; the patient's is elsewhere in the line, or missing."""
    entities = {
        "Temperature": [37.0, "degrees celsius"],
        "Heart Rate or Pulse": [heart_rate, "beats per minute"],
        "respiratory rate": [18, "breaths per minute"],
        "White blood cell count": [9000, "µL"],
    }
    case = row(51, entities)
    rest = "Temperature 37 °C: 0 points\n{}\nRespiratory rate 18: 0 points\nWBC 9,000: 0 points\nTotal: 0"
    seen = rest.format(f"Heart rate {threshold}: the pulse is {heart_rate}, 0 points")
    assert classify(case, seen).error_type == "A"
    assert (
        classify(case, rest.format(f"Heart rate {threshold}: 0 points")).error_type
        == "undetermined"
    )


def test_hostile_texts_terminate() -> None:
    for text in (
        "(" * 9000,
        "9^" * 5000,
        "= " * 8000,
        "1+" * 8000 + "1 = 2",
        "sodium is " * 1500,
        "\\frac{" * 3000,
        "1 point, " * 2000,
    ):
        for case in (LDL, HAS_BLED):
            sorted_error = classify(case, text + '\n{"answer": "5"}')
            assert sorted_error.error_type in TYPES


@pytest.mark.upstream
@needs_shared
def test_own_steps_with_one_error() -> None:
    """Where the true type is known, at least 99 of 100 determined types are right."""
    counts: Counter[tuple[str, str]] = Counter()
    for own in itertools.islice(read_rows("v1.0", "test", {"test": V1}), None, None, 2):
        result = recompute_or_none(own)
        if result is None or not label_agrees(own, result.answer):
            continue
        entities = entities_of(own)
        for name, value in entities.items():
            if isinstance(value, bool):
                changed: Any = not value
            elif isinstance(value, list) and isinstance(value[0], int | float):
                changed = [round(value[0] * 1.37, 3), *value[1:]]
            else:
                continue
            try:
                other = find(own["calculator_id"]).calculate(
                    {**entities, name: changed}
                )
            except CalculatorInputError:
                continue
            steps = other.explanation.rpartition("\n")[0]
            sorted_error = sort_error(
                own, json.dumps({"steps": steps, "answer": answer_text(other.answer)})
            )
            if sorted_error is not None:
                counts["B", sorted_error.error_type] += 1
        if isinstance(result.answer, float):
            reply = {
                "steps": result.explanation.rpartition("\n")[0],
                "answer": f"{result.answer * 1.23 + 2:.5g}",
            }
            sorted_error = sort_error(own, json.dumps(reply))
            if sorted_error is not None:
                counts["C", sorted_error.error_type] += 1
    for truth, least in (("B", 1000), ("C", 250)):
        total = sum(n for (true, _), n in counts.items() if true == truth)
        typed = total - counts[truth, "undetermined"]
        assert total > least
        assert typed > 0.6 * total
        assert counts[truth, truth] >= 0.99 * typed
