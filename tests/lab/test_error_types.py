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


def sort(case: Mapping[str, Any], reply: str) -> Sorted:
    found = sort_error(case, reply)
    assert found is not None
    return found


PLANTED: dict[str, Any] = json_of(Path(__file__).parent / "planted_errors.json")
ROWS = {
    name: row(calculator_id, entities)
    for name, (calculator_id, entities) in PLANTED["rows"].items()
}
LDL, DUE, HAS_BLED = ROWS["LDL"], ROWS["DUE"], ROWS["HAS_BLED"]
# A: a constant that is missing, another formula, other points, a criterion that is not
# known. B: another value for an entity, the other sex, a finding that is there and said
# not to be. C: a calculation with another result than stated (paper, table 3), a sum,
# the calendar. Undetermined: no working, right steps with another answer, working that
# cannot be read.
CASES = [
    (each["type"], ROWS[each["row"]], each["reasoning"], each["answer"])
    for each in PLANTED["replies"]
]


@pytest.mark.parametrize(("wanted", "case", "reasoning", "answer"), CASES)
@pytest.mark.parametrize("form", ["json", "text"])
def test_constructed_replies(
    wanted: str, case: Mapping[str, Any], reasoning: str, answer: str, form: str
) -> None:
    reply = json.dumps({"step_by_step_thinking": reasoning, "answer": answer})
    found = sort(
        case, reply if form == "json" else f"{reasoning}\n\nFinal answer: {answer}"
    )
    assert found.error_type == wanted, found.reason
    assert found.reason
    assert "\n" not in found.reason


def test_there_are_cases_of_each_type() -> None:
    counts = Counter(wanted for wanted, *_ in CASES)
    assert set(counts) == set(TYPES) - {"D"}
    assert min(counts.values()) >= 8
    assert len({json.dumps(case) for _, case, *_ in CASES}) >= 12


@pytest.mark.parametrize(("reply", "reason"), TABLES["no_answer_is_another_error"])
def test_no_answer_is_another_error(reply: str, reason: str) -> None:
    found = sort(LDL, reply)
    assert found.error_type == "D"
    assert found.reason.startswith(reason)


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
def test_what_counts_as_a_wrong_calculation(text: str, wrong: list[str]) -> None:
    found = [each.text for each in read_working(text).equations if not each.right]
    assert found == wrong


WRITTEN = json_of(Path(__file__).parent / "written_scores.json")


def test_written_scores_and_doses() -> None:
    """Rules, weights and thresholds beside the patient's data.

    Short forms, and findings without points.
    """
    assert len(WRITTEN) == 35
    for each in WRITTEN:
        found = sort(row(each["calculator_id"], each["entities"]), each["reply"])
        assert found.error_type == each["type"], (each["reply"], found.reason)
    patch = row(
        49,
        {
            "FentANYL patch Dose": [25, "µg/h"],
            "OxyCODONE Dose": [10, "mg"],
            "OxyCODONE Dose Per Day": [3, "per day"],
        },
    )
    found = sort(
        patch, "25 × 2.4 = 60 and 10 × 3 × 1.5 = 45: 60 + 45 = 115. Answer: 155"
    )
    assert found.error_type == "undetermined"


def test_planted_errors_are_found_in_every_layout() -> None:
    """At least 80 of 100 planted errors of scores get their type, no more than 2 another."""
    counts = medcalc_errors.tally(medcalc_errors.replies(11, 110, "scores"))
    assert {layout for _, layout, _ in counts} == set(medcalc_errors.LAYOUTS)
    for truth, layout in itertools.product(
        medcalc_errors.TRUTHS, medcalc_errors.LAYOUTS
    ):
        own = {
            given: n
            for (planted, place, given), n in counts.items()
            if (planted, place) == (truth, layout)
        }
        total = sum(own.values())
        right = sum(
            n for kind, n in own.items() if medcalc_errors.is_right(truth, kind)
        )
        unsaid = 0 if truth == "none" else own.get("undetermined", 0)
        assert total >= 30
        assert right >= 0.8 * total, (truth, layout, own)
        assert total - right - unsaid <= 0.02 * total, (truth, layout, own)


@settings(max_examples=20)
@given(
    heart_rate=st.integers(91, 180),
    threshold=st.sampled_from(["> 90", "over 90", ">90 bpm", "above 90/min"]),
)
def test_a_threshold_is_never_the_patients_value(
    heart_rate: int, threshold: str
) -> None:
    """The rule's number stands in the label.

    The patient's stands elsewhere in the line, or not at all.
    """
    entities = {
        "Temperature": [37.0, "degrees celsius"],
        "Heart Rate or Pulse": [heart_rate, "beats per minute"],
        "respiratory rate": [18, "breaths per minute"],
        "White blood cell count": [9000, "µL"],
    }
    case = row(51, entities)
    rest = "Temperature 37 °C: 0 points\n{}\nRespiratory rate 18: 0 points\nWBC 9,000: 0 points\nTotal: 0"
    seen = rest.format(f"Heart rate {threshold}: the pulse is {heart_rate}, 0 points")
    assert sort(case, seen).error_type == "A"
    assert (
        sort(case, rest.format(f"Heart rate {threshold}: 0 points")).error_type
        == "undetermined"
    )


def test_hostile_texts_end() -> None:
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
            found = sort(case, text + '\n{"answer": "5"}')
            assert found.error_type in TYPES


@pytest.mark.upstream
@needs_shared
def test_on_our_own_steps_with_one_thing_wrong() -> None:
    """Where the type is known, a type that is given is the right one in more than 99 of 100."""
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
            found = sort_error(
                own, json.dumps({"steps": steps, "answer": answer_text(other.answer)})
            )
            if found is not None:
                counts["B", found.error_type] += 1
        if isinstance(result.answer, float):
            reply = {
                "steps": result.explanation.rpartition("\n")[0],
                "answer": f"{result.answer * 1.23 + 2:.5g}",
            }
            found = sort_error(own, json.dumps(reply))
            if found is not None:
                counts["C", found.error_type] += 1
    for truth, least in (("B", 1000), ("C", 250)):
        total = sum(n for (true, _), n in counts.items() if true == truth)
        given = total - counts[truth, "undetermined"]
        assert total > least
        assert given > 0.6 * total
        assert counts[truth, truth] >= 0.99 * given
