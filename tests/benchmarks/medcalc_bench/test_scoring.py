"""The suite's own decision about a reply, and the scores of items."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from measurements import medcalc_reading
from medical_tasks.benchmarks.medcalc_bench.data import load_items, read_rows
from medical_tasks.benchmarks.medcalc_bench.gold import (
    answer_kind,
    answer_text,
    recompute_or_none,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide, score_items
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK, MEDCALC
from medical_tasks.calculators import CALCULATORS
from medical_tasks.errors import UsageError
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item
from tests.benchmarks.medcalc_bench.official_csv import (
    V1,
    gold_of,
    gold_of_case,
    v1_cells,
)
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared

TABLES: dict[str, Any] = tables(__file__)


def _item(
    calculator_id: int,
    gold: str,
    lower: str,
    upper: str,
    output_type: str = "decimal",
    **more: object,
) -> Item:
    fields = {
        "calculator_id": calculator_id,
        "output_type": output_type,
        "ground_truth_answer": gold,
        "lower_limit": lower,
        "upper_limit": upper,
        **more,
    }
    return Item(id=f"row-{calculator_id}", fields=fields, groups={}, cluster="")


CLEARANCE = _item(2, "25.238", "23.9761", "26.4999")
COMA_ENTITIES = {
    "Best eye response": "eye opening to verbal command",
    "Best verbal response": "confused",
    "Best motor response": "localizes pain",
}
FORMS: dict[str, Callable[[dict[str, str]], str]] = {
    "verbatim": lambda row: row["Ground Truth Answer"],
    "json": lambda row: json.dumps({"answer": row["Ground Truth Answer"]}),
    "json with reasoning": lambda row: json.dumps(
        {
            "step_by_step_thinking": row["Ground Truth Explanation"],
            "answer": row["Ground Truth Answer"],
        }
    ),
    "prose": lambda row: f"The final answer is {row['Ground Truth Answer']}.",
    "other prose": lambda row: f"So the result is {row['Ground Truth Answer']}.",
    "explanation alone": lambda row: row["Ground Truth Explanation"],
}


OTHER_POLICY = {
    # A share of something is no number of points.
    '{"answer": "3%"}': False,
    # A person reads the value that its working follows, a whole value whose object
    # lacks its last brace, and a Swiss thousand.
    '{"answer": "25.24 = 53*48/(100.8)"}': True,
    '{"answer": "25.238"': True,
    """{"answer": "1'234.5"}""": True,
}
"""Replies that are decided otherwise than in `fixtures/metrics.json`, with the reason."""


@pytest.mark.upstream
@needs_shared
@pytest.mark.parametrize("form", FORMS)
def test_every_gold_of_v1_is_right(form: str) -> None:
    decisions = [
        (row["Row Number"], decide(FORMS[form](row), **gold_of(row)))
        for row in v1_cells()
    ]
    assert [pair for pair in decisions if not pair[1].correct] == []


@pytest.mark.upstream
@needs_shared
def test_decisions_on_invented_replies() -> None:
    """Policy choices included (fixtures/README.md)."""
    cases = json_of(SHARED / "fixtures" / "metrics.json")["medcalc"]
    assert len(cases["raw_outputs"]) >= 142
    assert len(cases["direct_checks"]) >= 27
    for case in cases["raw_outputs"] + cases["direct_checks"]:
        reply = case["raw"] if "raw" in case else case["answer"] or ""
        decision = decide(reply, **gold_of_case(case))
        expected = OTHER_POLICY.get(reply, bool(case["sane"]))
        assert decision.correct == expected, (case, decision)


@pytest.mark.upstream
@needs_shared
def test_labels_and_published_rules_agree_on_839_rows_of_v1() -> None:
    """As `docs/medcalc_audit.md` says."""
    items = load_items(MEDCALC, list(read_rows("v1.0", "test", {"test": V1})))
    computed = [recompute_or_none(item.fields) for item in items]
    labels = [item.fields["ground_truth_answer"] for item in items]
    answers_by_rule = [
        label if result is None else answer_text(result.answer)
        for label, result in zip(labels, computed, strict=True)
    ]
    assert right_and_all(items, labels) == {
        "accuracy": (1047, 1047),
        "accuracy_recomputed": (839, 1025),
        "accuracy_agreed": (839, 839),
    }
    assert right_and_all(items, answers_by_rule) == {
        # 839, and the 22 labels that stand in where no rule has an answer
        "accuracy": (861, 1047),
        "accuracy_recomputed": (1025, 1025),
        "accuracy_agreed": (839, 839),
    }


def right_and_all(
    items: Sequence[Item], answers: Sequence[str]
) -> dict[str, tuple[float, int]]:
    """Counts right answers and scored ones, by metric."""
    replies = [json.dumps({"answer": answer}) for answer in answers]
    scores = score_items(MEDCALC, items, replies)
    counts = {}
    for metric in ("accuracy", "accuracy_recomputed", "accuracy_agreed"):
        values = [score.values[metric] for score in scores]
        scored = [value for value in values if not math.isnan(value)]
        counts[metric] = (sum(scored), len(scored))
    return counts


def test_replies_that_state_the_gold_and_replies_that_only_mention_it() -> None:
    """Generated families over all 55 calculators; the document shows what is counted here."""
    counts = medcalc_reading.counted()
    for side in (0, 1):
        assert sum(sides[side].replies.total() for sides in counts.values()) >= 5000
    for author, lost, accepted in TABLES["shares_misread_at_most"]:
        right, wrong = counts[author]
        least = (1 - lost) * right.replies.total()
        most = accepted * wrong.replies.total()
        assert right.sane.total() >= least, right.misses[:20]
        assert wrong.sane.total() <= most, wrong.misses[:20]
    table = medcalc_reading.table(counts)
    document = medcalc_reading.DOCUMENT.read_text(encoding="utf-8")
    assert medcalc_reading.document_with(table, document) == document, (
        "run measurements/medcalc_reading.py --write"
    )


def test_kinds_are_those_of_the_55_calculators() -> None:
    kinds = Counter(answer_kind(entry.id, "integer") for entry in CALCULATORS)
    assert kinds == {"decimal": 34, "integer": 18, "date": 2, "gestational_age": 1}
    assert [answer_kind(99, kind) for kind in ("integer", "decimal", "date")] == [
        "integer",
        "decimal",
        "date",
    ]
    with pytest.raises(UsageError, match=r"calculator 99 .* output type is 'text'"):
        answer_kind(99, "text")


def test_items_are_scored() -> None:
    items = [
        CLEARANCE,
        _item(4, "3", "3", "3", "integer"),
        _item(99, "7", "6.65", "7.35"),
    ]
    replies = ['{"answer": "25.2"}', "The score is 3.", '{"answer": 7}']
    scores = score_items(MEDCALC, items, replies)
    assert [score.id for score in scores] == ["row-2", "row-4", "row-99"]
    assert [score.values["accuracy"] for score in scores] == [1, 1, 1]
    assert [score.values["accuracy_official"] for score in scores] == [1, 0, 0]
    assert [score.parsed for score in scores] == ["25.2", "3", "7"]
    assert scores[0].why == "25.2 is within 23.9761 to 26.4999"
    assert scores[1].why == "3 is 3; official: the authors' reader finds no answer"
    assert not [score for score in scores if score.unscored is not None]
    with pytest.raises(UsageError, match="medcalc: 3 items but 2 responses"):
        score_items(MEDCALC, items, replies[:2])


def test_the_reason_compares_with_the_published_rule_where_the_label_is_wrong() -> None:
    entities = json.dumps(COMA_ENTITIES)
    item = _item(21, "16", "16", "16", "integer", relevant_entities=entities)
    (score,) = score_items(MEDCALC, [item], ["The final answer is 12."])
    assert score.why.endswith("; by the published rule: 12 is 12")


def test_tasks_with_further_metrics() -> None:
    (score,) = score_items(MEDCALC, [CLEARANCE], ["25"])
    others = [
        task.name
        for task in BENCHMARK.tasks
        if {metric.name for metric in task.metrics if not metric.needs}
        != set(score.values)
    ]
    assert others == ["medcalc_tools", "medcalc_twins", "medcalc_fair"]


@pytest.mark.parametrize("response", ["", " \n", "hello", "\x00", "\ud800"])
def test_an_unreadable_reply_is_wrong_and_scored(response: str) -> None:
    (score,) = score_items(MEDCALC, [CLEARANCE], [response])
    assert (score.values["accuracy"], score.values["accuracy_official"]) == (0.0, 0.0)
    assert (score.parsed, score.unscored) == ("", None)
    assert score.why == "no final number found"


@pytest.mark.parametrize(("reply", "row", "reason"), TABLES["reasons"])
def test_the_reason_says_what_was_read(
    reply: str, row: dict[str, Any], reason: str
) -> None:
    assert decide(reply, **row).why == reason


@pytest.mark.parametrize(("row", "right", "wrong"), TABLES["tolerance"])
def test_tolerance(row: dict[str, Any], right: list[str], wrong: list[str]) -> None:
    """Limits in either order, 5 % where there are none, rounding where both are the gold, and per cent."""
    correct = [answer for answer in right + wrong if decide(answer, **row).correct]
    assert correct == right


@pytest.mark.parametrize(("row", "message"), TABLES["golds_that_are_refused"])
def test_a_gold_that_cannot_be_read_is_refused(
    row: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        decide("3 on 3/7/2021 at 4w3d", **row)


@pytest.mark.parametrize(
    ("calculator_id", "entities", "gold", "reply", "expected"),
    TABLES["accuracy_by_label_and_rule"],
)
def test_accuracy_by_label_by_rule_and_where_both_agree(
    calculator_id: int,
    entities: object,
    gold: str,
    reply: str,
    expected: list[float | None],
) -> None:
    """Without a value where no rule has an answer, and `accuracy_agreed` where the label is wrong; the limit of 0 is 0."""
    decimal = answer_kind(calculator_id) == "decimal"
    low, high = (
        str(float(gold) * factor) if decimal else gold for factor in (0.95, 1.05)
    )
    text = json.dumps(entities)
    item = _item(calculator_id, gold, low, high, relevant_entities=text)
    (score,) = score_items(MEDCALC, [item], [json.dumps({"answer": reply})])
    values = [
        score.values[name]
        for name in ("accuracy", "accuracy_recomputed", "accuracy_agreed")
    ]
    assert [None if math.isnan(value) else value for value in values] == expected


def test_a_unit_of_another_dimension_is_noted() -> None:
    score_item = _item(4, "3", "3", "3", "integer")
    groups = dict.fromkeys(MEDCALC.groups, "x")
    items = [
        replace(item, id=str(number), groups=groups)
        for number, item in enumerate([CLEARANCE, CLEARANCE, score_item])
    ]
    replies = ["25.2 mg/dL", "25.2 mL/min", "3%"]
    scores = score_items(MEDCALC, items, replies)
    assert [score.values["accuracy"] for score in scores] == [1, 1, 0]
    assert [score.notes for score in scores] == [
        ("unit_mismatch: mg/dL for mL/min",),
        (),
        ("unit_mismatch: in a unit that a score does not have (%)",),
    ]
    scores_by_id = {score.id: score for score in scores}
    entry = summarise(MEDCALC, items, scores_by_id, {}, recipe={})
    assert entry["notes"] == {"unit_mismatch": 2}
