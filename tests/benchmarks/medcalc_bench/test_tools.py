"""`medcalc_tools`: the tools that are offered, the results of calls, and the scores of a conversation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import load_items, read_rows
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows
from medical_tasks.benchmarks.medcalc_bench.gold import (
    label_agrees,
    recompute_or_none,
)
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK, MEDCALC_TOOLS
from medical_tasks.benchmarks.medcalc_bench.tool_protocol import ToolProtocol
from medical_tasks.benchmarks.medcalc_bench.tool_scoring import (
    OUTCOMES,
    outcome_table,
    score_tool_items,
)
from medical_tasks.calculators import CALCULATORS
from medical_tasks.errors import UsageError
from medical_tasks.spec import (
    Answer,
    Ask,
    Asking,
    Dialogue,
    Done,
    Item,
    ItemScore,
    Message,
    ToolCall,
)
from tests.benchmarks.medcalc_bench.official_csv import V1
from tests.support import needs_shared
from tests.tool_server import Caller, Error, right_arguments, right_tool

ITEMS = load_items(MEDCALC_TOOLS, demo_rows())
OPENING: tuple[Message, ...] = ({"role": "user", "content": "question"},)
STEPS = (
    "called",
    "right_tool",
    "arguments_right",
    "all_arguments_right",
    "result_used",
)


def item_of(slug: str) -> Item:
    return next(item for item in ITEMS if right_tool(item).slug == slug)


BMI = item_of("body_mass_index")


def prompts(**arguments: str) -> Any:
    return BENCHMARK.load_prompts(MEDCALC_TOOLS, Asking(arguments=arguments))


@pytest.mark.parametrize(
    ("arguments", "count"), [({}, 10), ({"tools": "3"}, 3), ({"tools": "all"}, 55)]
)
def test_the_right_tool_is_among_those_offered(
    arguments: Mapping[str, str], count: int
) -> None:
    first, second = prompts(**arguments), prompts(**arguments)
    assert first.settings == second.settings
    positions = set()
    for item in ITEMS:
        names = [tool.name for tool in first.tools(item)]
        assert names == [tool.name for tool in second.tools(item)]
        assert len({*names}) == len(names) == count
        positions.add(names.index(right_tool(item).slug))
    assert len(positions) > 1  # its position does not give it away


@pytest.mark.parametrize("tools", ["0", "many"])
def test_a_wrong_number_of_tools_is_refused(tools: str) -> None:
    message = f"all or a whole number from 1 to 55 is expected, got '{tools}'"
    with pytest.raises(UsageError, match=message):
        prompts(tools=tools)


def test_a_wrong_number_of_turns_is_refused() -> None:
    asking = Asking(arguments={"turns": "51"})
    with pytest.raises(UsageError, match="a whole number from 1 to 50 is expected"):
        BENCHMARK.open_protocol(MEDCALC_TOOLS, asking)


def test_the_task_has_no_official_prompts() -> None:
    with pytest.raises(UsageError, match="a model with calculators as tools"):
        BENCHMARK.load_prompts(MEDCALC_TOOLS, Asking(prompts="official"))


def turn(*replies: tuple[str, Sequence[ToolCall]], turns: int = 5) -> Ask | Done:
    dialogue = Dialogue(
        item=BMI,
        opening=OPENING,
        answers=tuple(text for text, _ in replies),
        calls=tuple(tuple(calls) for _, calls in replies),
    )
    (next_turn,) = ToolProtocol(turns=turns).next_turns([dialogue], {})  # type: ignore[arg-type]
    return next_turn


def call(
    name: str = "body_mass_index", number: int = 1, **arguments: object
) -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, arguments=arguments)


def test_every_call_of_a_reply_gets_a_result() -> None:
    calls = [
        call(weight_kg=70, height_cm=175),
        call(number=2, weight_kg=70),
        call("no_such_tool", number=3),
        ToolCall(id="c4", name="body_mass_index", arguments={}, raw="{'weight_kg': 70"),
    ]
    request = turn(("Let me see.", calls))
    assert isinstance(request, Ask)
    opening, reply, *results = request.messages
    assert opening == OPENING[0]
    assert (reply["content"], list(reply["tool_calls"])) == ("Let me see.", calls)
    assert [result["tool_call_id"] for result in results] == ["c1", "c2", "c3", "c4"]
    texts = [result["content"] for result in results]
    assert texts[0] == "Body Mass Index (BMI) = 22.8571 kg/m^2"
    assert "missing required input: height" in texts[1]
    assert texts[2].startswith("Error: there is no tool 'no_such_tool'. Tools: ")
    assert "no JSON object" in texts[3]
    assert len(request.tools) == 10


def test_a_calculator_that_was_not_offered_is_no_tool() -> None:
    offered = {tool.name for tool in prompts().tools(BMI)}
    other = next(entry.slug for entry in CALCULATORS if entry.slug not in offered)
    request = turn(("", [call(other)]))
    assert isinstance(request, Ask)
    assert f"there is no tool {other!r}" in request.messages[-1]["content"]


def test_turns_are_bounded_and_a_reply_without_calls_is_final() -> None:
    calls = [call(weight_kg=70, height_cm=175)]
    reply = ("", calls)
    assert isinstance(turn(reply, reply, turns=3), Ask)
    assert turn(reply, reply, ("24.2", []), turns=5) == Done("24.2")
    assert turn(reply, reply, ("so far", calls), turns=3) == Done("so far")


def scores_of(items: Sequence[Item], answers: Sequence[Answer]) -> list[ItemScore]:
    return score_tool_items(MEDCALC_TOOLS, items, answers)


def test_gold_scores_full_marks_on_the_demo() -> None:
    golds = [BENCHMARK.gold_answer(MEDCALC_TOOLS, item) for item in ITEMS]
    for score in scores_of(ITEMS, golds):
        assert [score.values[name] for name in STEPS] == pytest.approx([1.0] * 5)
        assert score.values["accuracy"] == 1.0
        assert score.notes == ("right_call",)


@needs_shared
@pytest.mark.upstream
def test_gold_scores_full_marks_on_every_row_of_v1_whose_arguments_are_known() -> None:
    items = load_items(MEDCALC_TOOLS, list(read_rows("v1.0", "test", {"test": V1})))
    golds = [BENCHMARK.gold_answer(MEDCALC_TOOLS, item) for item in items]
    rows_with_arguments = 0
    for item, score in zip(items, scores_of(items, golds), strict=True):
        rule = recompute_or_none(item.fields)
        expected = {"accuracy", "called", "right_tool"}
        if rule is not None:
            rows_with_arguments += 1
            expected.add("all_arguments_right")
            if score.weights["arguments_right"]:
                expected.add("arguments_right")
            if label_agrees(item.fields, rule.answer):
                expected.add("result_used")
        metrics = (*STEPS, "accuracy")
        assert {name for name in metrics if score.values[name] == 1} == expected
        assert 0.0 not in [score.values[name] for name in STEPS]
    assert rows_with_arguments == 1025  # of 1,047 (docs/medcalc_tools.md)


@pytest.mark.parametrize(
    ("error", "values", "notes"),
    [
        ("no_call", {"called": 0, "right_tool": 0}, ["no_call"]),
        ("tool", {"called": 1, "right_tool": 0}, ["wrong_tool"]),
        (
            "value",
            {"right_tool": 1, "arguments_right": 0.5, "all_arguments_right": 0},
            ["wrong_argument", "argument_value: "],
        ),
        (
            "missing",
            {"right_tool": 1, "arguments_right": 0.5, "all_arguments_right": 0},
            ["wrong_argument", "argument_missing: "],
        ),
        (
            "extra",
            {"right_tool": 1, "arguments_right": 2 / 3, "all_arguments_right": 0},
            ["wrong_argument", "argument_extra: shoe_size"],
        ),
        (
            "unused",
            {"all_arguments_right": 1, "result_used": 0, "accuracy": 0},
            ["result_not_used"],
        ),
    ],
)
def test_an_error_is_attributed_to_its_step(
    error: Error, values: Mapping[str, float], notes: Sequence[str]
) -> None:
    caller = Caller([BMI], {BMI.id: error})
    (score,) = scores_of([BMI], [caller.conversation(BMI)])
    assert {name: score.values[name] for name in values} == pytest.approx(values)
    assert len(score.notes) == len(notes)
    assert all(map(str.startswith, score.notes, notes))
    if not values.get("right_tool", 1):  # arguments of another tool have no score
        assert math.isnan(score.values["all_arguments_right"])
        assert score.weights["arguments_right"] == 0


def test_the_last_call_of_the_right_tool_counts_and_its_last_result() -> None:
    right = right_arguments(BMI)
    wrong = {**right, "height_cm": 20.0}
    first = ToolCall(id="c1", name="body_mass_index", arguments=wrong)
    last = ToolCall(id="c2", name="body_mass_index", arguments=right)
    gold = BMI.fields["ground_truth_answer"]
    answer = Answer(
        text=json.dumps({"answer": gold}),
        conversation=(
            {"role": "assistant", "content": "", "tool_calls": [first]},
            {"role": "assistant", "content": "", "tool_calls": [last]},
            {"role": "assistant", "content": gold},
        ),
    )
    (score,) = scores_of([BMI], [answer])
    assert all(score.values[name] == 1 for name in STEPS)


def test_an_answer_without_its_conversation_has_no_calls_to_score() -> None:
    text = BENCHMARK.gold_response(MEDCALC_TOOLS, BMI)
    (score,) = scores_of([BMI], [Answer(text=text)])
    assert score.values["accuracy"] == 1
    assert all(math.isnan(score.values[name]) for name in STEPS)
    assert score.notes == ("calls_unknown",)


def test_the_table_of_outcomes() -> None:
    notes = {"no_call": 1, "wrong_argument": 2, "argument_unit": 2, "right_call": 5}
    table = outcome_table(notes)
    assert table is not None
    assert [(row[0], *row[1:]) for row in table.rows] == [
        (OUTCOMES["no_call"], "1", "12.5 %"),
        (OUTCOMES["wrong_argument"], "2", "25.0 %"),
        ("- an argument is in another unit", "2", "25.0 %"),
        (OUTCOMES["right_call"], "5", "62.5 %"),
    ]
    assert outcome_table({"calls_unknown": 3}) is None
