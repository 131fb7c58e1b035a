"""Which recipes can be compared, and the warnings for those that differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from medical_tasks.runs.recipes import differing, one_line, recipe_differences, short
from tests.case_tables import cases, tabled
from tests.comparison.comparison_cases import (
    COSTLY,
    RIGHT,
    TASK,
    compare_results,
    compared,
    rows,
)

ONE, TWO = "1" * 64, "2" * 64
BASE: dict[str, Any] = cases(__file__, "BASE")


def differences(change: dict[str, Any], **base: Any) -> tuple[list[str], list[str]]:
    first = {**BASE, **base}
    result = recipe_differences("toy", first, {**first, **change})
    return result.refused, [warning.text for warning in result.warned]


def test_the_same_recipe_has_no_differences() -> None:
    assert differences({}) == ([], [])
    result = recipe_differences("toy", {}, {})
    assert (result.refused, result.warned, result.left_out) == ([], [], {})


@tabled("change", "sentence")
def test_differences_that_forbid_a_comparison(
    change: dict[str, Any], sentence: str
) -> None:
    refused, warned = differences(change)
    assert [
        text.startswith(f"the runs cannot be compared, {sentence}") for text in refused
    ] == [True], refused
    assert warned == []


@tabled("change", "sentence")
def test_differences_that_give_a_warning(change: dict[str, Any], sentence: str) -> None:
    refused, warned = differences(change)
    assert refused == []
    assert [text.startswith(sentence) for text in warned] == [True], warned


@tabled("change")
def test_differences_without_a_warning(change: dict[str, Any]) -> None:
    assert differences(change) == ([], [])


def test_different_files_of_verdicts_give_a_warning() -> None:
    recorded = {
        "backend": "recorded",
        "name": "recorded/a",
        "sha256": ONE,
        "comparable": True,
    }
    _, warned = differences(
        {"judge": {**recorded, "name": "recorded/b", "sha256": TWO}}, judge=recorded
    )
    assert [
        text.startswith("the verdicts of both runs were read from files")
        for text in warned
    ] == [True]


def test_metrics_that_need_a_different_setting_are_left_out() -> None:
    first, second = (
        {**BASE, "scoring": {"weights": {"sha256": digest}}} for digest in (ONE, TWO)
    )
    assert recipe_differences("toy", first, second).refused != []
    result = recipe_differences("toy", first, second, metrics=(RIGHT, COSTLY))
    assert (result.refused, result.warned) == ([], [])
    assert result.left_out["weights"].startswith(
        "its setting differs (weights.sha256 11111111 and 22222222), so that it is another"
    )
    a, b = (
        compared(rows([1.0]), scoring=recipe["scoring"]) for recipe in (first, second)
    )
    average = replace(
        TASK,
        metrics=(*TASK.metrics[:-1], replace(TASK.metrics[-1], of=("right", "costly"))),
    )
    toy = compare_results(a, b, {"toy": average})["toy"]
    assert list(toy["metrics"]) == ["right", "harm", "words", "share"]
    assert toy["warnings"][0].startswith(
        "costly cannot be compared: its setting differs"
    )
    assert toy["warnings"][1] == "both is left out: costly in it cannot be compared"
    # Without the setting in one of the runs, only the other has these metrics.
    off, on = ({**BASE, "scoring": {"weights": value}} for value in (False, True))
    result = recipe_differences("toy", off, on, metrics=(RIGHT, COSTLY))
    assert (result.refused, dict(result.left_out)) == ([], {})
    assert [warning.text.partition(",")[0] for warning in result.warned] == [
        "only the second run was scored with weights"
    ]
    assert (
        recipe_differences(
            "toy", off, {**BASE, "scoring": {}}, metrics=(RIGHT, COSTLY)
        ).warned
        == []
    )


def test_long_values_are_shortened() -> None:
    long = {"settings": {f"k{number}": {"deep": "x" * 500} for number in range(50)}}
    other = {
        "settings": {f"k{number}": {"deep": "y\n\x1b[2J" * 500} for number in range(50)}
    }
    for text in (
        *differences({"prompts": {**long}}, prompts=other)[1],
        *differences({"data": long}, data=other)[0],
    ):
        assert len(text) < 700
        assert text.isprintable()
        assert "{" not in text
    assert "{" not in differences({"task_version": {"a": "b"}})[0][0]


@tabled("value", "text")
def test_short_values(value: Any, text: str) -> None:
    assert short(value) == text


def test_readable_differences_are_listed_before_hashes() -> None:
    first, second = (
        {"a": {"sha256": ONE, "n": 1}, "b": 2, "c": 3, "d": 4},
        {"a": {"sha256": TWO, "n": 2}, "b": 3, "d": 5},
    )
    assert differing(first, second) == "a.n 1 and 2; b 2 and 3; c 3 and none; 2 more"
    assert differing({"a": None}, {}) == "what one leaves out is nothing in the other"
    assert one_line("a b\tc\n d", 20) == "a b c d"
    assert len(one_line("word " * 1000, 20)) == 20


@pytest.mark.parametrize(
    ("name", "warns"), [("baseline/random", False), ("responses/answers.jsonl", True)]
)
def test_a_baseline_without_prompts_gives_no_warning(name: str, warns: bool) -> None:
    prompted = BASE | {"prompts": {"set": "own", "sha256": "a" * 64}}
    other = BASE | {"prompts": None, "model": {"name": name}}
    for pair in ((prompted, other), (other, prompted)):
        warned = recipe_differences("t", *pair).warned
        assert any("prompts differ" in warning.text for warning in warned) is warns
