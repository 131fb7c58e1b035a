"""The sane decision and the scoring of items."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
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
from tests.benchmarks.medcalc_bench.official_csv import V1, gold_of, v1_cells
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared

TABLES: dict[str, Any] = tables(__file__)


def _item(
    calculator_id: int, gold: str, lower: str, upper: str, output_type: str = "decimal"
) -> Item:
    fields = {
        "calculator_id": calculator_id,
        "output_type": output_type,
        "ground_truth_answer": gold,
        "lower_limit": lower,
        "upper_limit": upper,
    }
    return Item(id=f"row-{calculator_id}", fields=fields, groups={}, cluster="")


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
def test_v1() -> None:
    """All of them, the policy choices included (fixtures/README.md)."""
    for (
        form,
        reply_of,
    ) in (
        FORMS.items()
    ):  # 1,047 of 1,047, also when the gold is only in the authors' explanation
        decided = (
            (row["Row Number"], decide(reply_of(row), **gold_of(row)))
            for row in v1_cells()
        )
        assert [pair for pair in decided if not pair[1].correct] == [], form
    cases = json_of(SHARED / "fixtures" / "metrics.json")["medcalc"]
    assert len(cases["raw_outputs"]) >= 142
    assert len(cases["direct_checks"]) >= 27
    for case in cases["raw_outputs"] + cases["direct_checks"]:
        reply = case["raw"] if "raw" in case else case["answer"] or ""
        decision = decide(
            reply,
            calculator_id=int(case["calid"]),
            gold=case["ground_truth"],
            lower=case["lower"],
            upper=case["upper"],
        )
        sane = OTHER_POLICY.get(reply, bool(case["sane"]))
        assert decision.correct == sane, (case, decision)
    # Who repeats the labels, and who follows the published rules: 839 rows are common
    # to both (docs/medcalc_audit.md).
    items = load_items(MEDCALC, list(read_rows("v1.0", "test", {"test": V1})))
    computed = [recompute_or_none(item.fields) for item in items]
    labels = [item.fields["ground_truth_answer"] for item in items]
    rules = [
        label if result is None else answer_text(result.answer)
        for label, result in zip(labels, computed, strict=True)
    ]
    means = {}
    for name, replies in (("labels", labels), ("rules", rules)):
        scores = score_items(
            MEDCALC, items, [json.dumps({"answer": reply}) for reply in replies]
        )
        for metric in ("accuracy", "accuracy_recomputed", "accuracy_agreed"):
            values = [
                score.values[metric]
                for score in scores
                if not math.isnan(score.values[metric])
            ]
            means[name, metric] = (sum(values), len(values))
    assert means == {
        ("labels", "accuracy"): (1047, 1047),
        ("labels", "accuracy_recomputed"): (839, 1025),
        ("labels", "accuracy_agreed"): (839, 839),
        ("rules", "accuracy"): (
            861,
            1047,
        ),  # 839, and the 22 labels that stand in where no rule has an answer
        ("rules", "accuracy_recomputed"): (1025, 1025),
        ("rules", "accuracy_agreed"): (839, 839),
    }


def test_replies_that_state_the_gold_and_replies_that_only_mention_it() -> None:
    """Generated families over all 55 calculators; the document shows what is counted here."""
    counts = medcalc_reading.counted()
    for side in (0, 1):
        assert sum(both[side].replies.total() for both in counts.values()) >= 5000
    for author, lost, accepted in TABLES[
        "replies_that_state_the_gold_and_replies_that_only_mention_it"
    ]:
        right, wrong = counts[author]
        assert right.sane.total() >= (1 - lost) * right.replies.total(), right.misses[
            :20
        ]
        assert wrong.sane.total() <= accepted * wrong.replies.total(), wrong.misses[:20]
    made, document = (
        medcalc_reading.table(counts),
        medcalc_reading.DOCUMENT.read_text(encoding="utf-8"),
    )
    assert medcalc_reading.document_with(made, document) == document, (
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
        _item(2, "25.238", "23.9761", "26.4999"),
        _item(4, "3", "3", "3", "integer"),
        _item(99, "7", "6.65", "7.35"),
    ]
    scores = score_items(
        MEDCALC, items, ['{"answer": "25.2"}', "The score is 3.", '{"answer": 7}']
    )
    assert [score.id for score in scores] == ["row-2", "row-4", "row-99"]
    assert [
        (score.values["accuracy"], score.values["accuracy_official"])
        for score in scores
    ] == [
        (1, 1),
        (1, 0),
        (1, 0),
    ]
    assert [score.parsed for score in scores] == ["25.2", "3", "7"]
    assert scores[0].why == "25.2 is within 23.9761 to 26.4999"
    assert scores[1].why == "3 is 3; official: the authors' reader finds no answer"
    assert not [score for score in scores if score.unscored is not None]
    with pytest.raises(UsageError, match="medcalc: 1 items but 2 responses"):
        score_items(MEDCALC, [_item(4, "3", "3", "3")], ["3", "3"])
    item = _item(21, "16", "16", "16", "integer")
    item = replace(
        item,
        fields={
            **item.fields,
            "relevant_entities": json.dumps(TABLES["views_of_the_label"][0][1]),
        },
    )
    (score,) = score_items(MEDCALC, [item], ["The final answer is 12."])
    assert score.why.endswith("; by the published rule: 12 is 12")
    (score,) = score_items(MEDCALC, [_item(2, "25", "23.75", "26.25")], ["25"])
    others = [
        task.name
        for task in BENCHMARK.tasks
        if {metric.name for metric in task.metrics if not metric.needs}
        != set(score.values)
    ]
    assert others == ["medcalc_tools", "medcalc_twins", "medcalc_fair"]


@pytest.mark.parametrize("response", ["", " \n", "hello", "\x00", "\ud800"])
def test_an_unreadable_reply_is_wrong_and_scored(response: str) -> None:
    (score,) = score_items(
        MEDCALC, [_item(2, "25.238", "23.9761", "26.4999")], [response]
    )
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
    """Limits in either order, 5 % where there are none, the gold as stated where they coincide; per cent."""
    assert [
        answer for answer in right + wrong if decide(answer, **row).correct
    ] == right


@pytest.mark.parametrize(
    ("row", "message"), TABLES["a_gold_that_cannot_be_read_is_told"]
)
def test_a_gold_that_cannot_be_read_is_told(row: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        decide("3 on 3/7/2021 at 4w3d", **row)


@pytest.mark.parametrize(
    ("calculator_id", "entities", "gold", "reply", "views"),
    TABLES["views_of_the_label"],
)
def test_views_of_the_label(
    calculator_id: int,
    entities: object,
    gold: str,
    reply: str,
    views: list[float | None],
) -> None:
    """Without a value where no rule has an answer, and `accuracy_agreed` where the label is wrong; the limit of 0 is 0."""
    decimal = answer_kind(calculator_id) == "decimal"
    low, high = (
        str(float(gold) * factor) if decimal else gold for factor in (0.95, 1.05)
    )
    item = _item(calculator_id, gold, low, high)
    item = replace(
        item, fields={**item.fields, "relevant_entities": json.dumps(entities)}
    )
    (score,) = score_items(MEDCALC, [item], [json.dumps({"answer": reply})])
    found = [
        score.values[name]
        for name in ("accuracy", "accuracy_recomputed", "accuracy_agreed")
    ]
    assert [None if math.isnan(value) else value for value in found] == views


def test_a_unit_of_another_dimension_is_noted() -> None:
    items = [
        _item(2, "25.2", "23.94", "26.46"),
        _item(2, "25.2", "23.94", "26.46"),
        _item(4, "3", "3", "3", "integer"),
    ]
    replies = ["25.2 mg/dL", "25.2 mL/min", "3%"]
    scores = score_items(
        MEDCALC, [replace(item, id=str(n)) for n, item in enumerate(items)], replies
    )
    assert [score.values["accuracy"] for score in scores] == [1, 1, 0]
    assert [score.notes for score in scores] == [
        ("unit_mismatch: mg/dL for mL/min",),
        (),
        ("unit_mismatch: in a unit that a score does not have (%)",),
    ]
    entry = summarise(
        MEDCALC,
        [
            replace(item, id=str(n), groups=dict.fromkeys(MEDCALC.groups, "x"))
            for n, item in enumerate(items)
        ],
        {score.id: score for score in scores},
        {},
        recipe={},
    )
    assert entry["notes"] == {"unit_mismatch": 2}
