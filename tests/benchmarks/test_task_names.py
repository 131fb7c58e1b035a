from __future__ import annotations

import pytest

from medical_tasks.benchmarks.catalog import parse_task_names, tasks
from medical_tasks.errors import UsageError


@pytest.mark.parametrize(
    "text", ["medcalc", "medical:medcalc", "medical|medcalc", "medcalc|0", "medical:medcalc|0", "medical|medcalc|0"]
)
def test_all_spellings_mean_the_same(text: str) -> None:
    assert [task.name for task in parse_task_names(text)] == ["medcalc"]


@pytest.mark.parametrize(
    "text", ["medcalc|1", "medical|medcalc|1", "medical:medcalc|1", "medcalc_one_shot", "medcalc_one_shot|1"]
)
def test_a_number_of_examples_names_the_task_that_shows_them(text: str) -> None:
    assert [task.name for task in parse_task_names(text)] == ["medcalc_one_shot"]


def test_zero_behind_a_task_with_examples_means_the_task() -> None:
    # The form in which lighteval prints it.
    assert [task.name for task in parse_task_names("medical:medcalc_one_shot|0")] == ["medcalc_one_shot"]


def test_lists_keep_order_and_drop_repeats() -> None:
    names = [task.name for task in parse_task_names("medcalc_direct, medcalc|0,medical|medcalc_direct")]
    assert names == ["medcalc_direct", "medcalc"]


def test_the_suite_alone_is_every_task() -> None:
    found = parse_task_names("medical")
    assert [task.name for task in found] == list(tasks())
    assert len(found) >= 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty task name"),
        ("medcalc,", "empty task name"),
        ("medcalk", r"unknown task 'medcalk'. Did you mean 'medcalc'. Tasks: medcalc, .*medical-tasks list"),
        ("other|medcalc|0", "is not of the form|unknown task"),
        ("medical|medcalc|x", "is not of the form"),
        ("medical|medcalc|0|0", "is not of the form"),
        ("medcalc_direct|1", r"1 worked examples are not offered; medcalc_direct has 0"),
        ("medcalc|5", r"5 worked examples are not offered; medcalc has 0, 1"),
        ("medcalc|²", "is not of the form"),
    ],
)
def test_bad_names_by_message(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_task_names(text)
