from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.comparison.comparing import compare_runs
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import write_run
from medical_tasks.spec import MetricSpec, TaskSpec
from tests.support import NO_BENCHMARK

TASK = TaskSpec(
    name="toy",
    title="Toy",
    benchmark=NO_BENCHMARK,
    dataset="none",
    split="test",
    metrics=(MetricSpec(name="right", kind="proportion", description="right"),),
    version="1-A",
    generation_size=8,
    cluster="note",
)
TASKS = {"toy": TASK}


def run(folder: Path, right: dict[str, float | None], *, task: str = "toy", **recipe: Any) -> Path:
    made = {"task_version": "1-A", "data": {"rows_sha256": "a"}, "metrics": {}, "prompts": None, **recipe}
    rows = [{"task": task, "id": key, "cluster": key, "right": value} for key, value in right.items()]
    write_run(folder, {"schema_version": 1, "tasks": {task: {"recipe": made}}}, rows)
    return folder


def many(pattern: str) -> dict[str, float | None]:
    return {str(number): float(letter) for number, letter in enumerate(pattern)}


def test_mcnemar_and_difference_by_hand(tmp_path: Path) -> None:
    # Of 16 items 1 is right in A only and 6 in B only: exact McNemar p = 2 (C(7,0) + C(7,1)) / 2^7 = 0.125.
    a = run(tmp_path / "a", many("1" + "0" * 6 + "1" * 5 + "0" * 4))
    b = run(tmp_path / "b", many("0" + "1" * 6 + "1" * 5 + "0" * 4))
    metric = compare_runs(a, b, TASKS)["toy"]["metrics"]["right"]
    assert metric["value_a"] == pytest.approx(6 / 16)
    assert metric["value_b"] == pytest.approx(11 / 16)
    assert metric["difference"] == pytest.approx(5 / 16)
    assert (metric["mcnemar"]["only_a"], metric["mcnemar"]["only_b"]) == (1, 6)
    assert metric["mcnemar"]["p_exact"] == pytest.approx(0.125)
    assert metric["ci_low"] < metric["difference"] < metric["ci_high"]
    assert metric["minimum_detectable_difference"] > 0


def test_swapping_the_runs_turns_the_difference_round(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", many("1100110011")), run(tmp_path / "b", many("1010101111"))
    one = compare_runs(a, b, TASKS)["toy"]["metrics"]["right"]
    other = compare_runs(b, a, TASKS)["toy"]["metrics"]["right"]
    assert one["difference"] == pytest.approx(-other["difference"])
    assert (one["ci_low"], one["ci_high"]) == pytest.approx((-other["ci_high"], -other["ci_low"]))
    assert one["mcnemar"]["p_exact"] == pytest.approx(other["mcnemar"]["p_exact"])


def test_a_run_against_itself_does_not_differ(tmp_path: Path) -> None:
    a = run(tmp_path / "a", many("110011"))
    metric = compare_runs(a, a, TASKS)["toy"]["metrics"]["right"]
    assert (metric["difference"], metric["p_value"], metric["mcnemar"]["p_exact"]) == (0.0, 1.0, 1.0)


def test_items_of_one_run_only_and_unscored_ones_are_left_out_and_said(tmp_path: Path) -> None:
    a = run(tmp_path / "a", {"1": 1.0, "2": 0.0, "3": None, "4": 1.0})
    b = run(tmp_path / "b", {"1": 1.0, "2": 1.0, "3": 1.0, "9": 1.0})
    entry = compare_runs(a, b, TASKS)["toy"]
    assert entry["n_items"] == 3
    assert entry["metrics"]["right"]["n"] == 2
    assert entry["warnings"] == [
        "2 items are in one run only and are left out",
        "1 items are not scored in both runs and are left out",
    ]


def test_another_prompt_is_compared_and_said(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", many("10")), run(tmp_path / "b", many("11"), prompts={"set": "official"})
    (told,) = compare_runs(a, b, TASKS)["toy"]["warnings"]
    assert told.startswith("the prompts differ: only the second run's model was asked by this suite (prompts official)")


@pytest.mark.parametrize("part", ["protocol", "baseline"])
def test_other_ways_of_answering_are_said(tmp_path: Path, part: str) -> None:
    recipes: list[dict[str, Any]] = [{part: {"tries": tries}} for tries in (1, 5)]
    a, b = (run(tmp_path / str(place), many("1100"), **recipe) for place, recipe in enumerate(recipes))
    (told,) = compare_runs(a, b, TASKS)["toy"]["warnings"]
    assert told.startswith(f"{part} differs: tries 1 and 5. ")


def test_the_same_rows_from_a_renamed_file_are_the_same_data(tmp_path: Path) -> None:
    a = run(tmp_path / "a", many("10"), data={"rows_sha256": "a", "source": {"test_data.csv": "1"}})
    b = run(tmp_path / "b", many("11"), data={"rows_sha256": "a", "source": {"test_data_v1.csv": "1"}})
    assert compare_runs(a, b, TASKS)["toy"]["metrics"]["right"]["difference"] == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": {"rows_sha256": "b"}}, "cannot be compared, their data differs"),
        ({"task_version": "2-A"}, "cannot be compared, their task version differs: '1-A' and '2-A'"),
    ],
)
def test_what_is_not_the_same_thing_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    a, b = run(tmp_path / "a", many("10")), run(tmp_path / "b", many("11"), **change)
    with pytest.raises(UsageError, match=message):
        compare_runs(a, b, TASKS)


def test_no_common_or_unknown_task(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", many("10")), run(tmp_path / "b", many("11"), task="other")
    with pytest.raises(UsageError, match="no task in common: .*a has toy; .*b has other"):
        compare_runs(a, b, TASKS)
    with pytest.raises(UsageError, match="task 'other' of both runs is not known"):
        compare_runs(b, b, TASKS)
