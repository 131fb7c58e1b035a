from __future__ import annotations

import pytest

from medical_tasks.catalog import parse_task_names, tasks
from medical_tasks.errors import UsageError
from tests.case_tables import tabled


@pytest.mark.parametrize(
    "text",
    [
        "medcalc",
        "medical:medcalc",
        "medical|medcalc",
        "medcalc|0",
        "medical:medcalc|0",
        "medical|medcalc|0",
    ],
)
def test_all_spellings_name_the_same_task(text: str) -> None:
    assert [task.name for task in parse_task_names(text)] == ["medcalc"]


@pytest.mark.parametrize(
    "text",
    [
        "medcalc|1",
        "medical|medcalc|1",
        "medical:medcalc|1",
        "medcalc_one_shot",
        "medcalc_one_shot|1",
    ],
)
def test_a_number_of_examples_names_the_task_that_shows_them(text: str) -> None:
    assert [task.name for task in parse_task_names(text)] == ["medcalc_one_shot"]


def test_zero_after_a_task_with_examples_is_accepted() -> None:
    # The form in which lighteval prints it.
    assert [task.name for task in parse_task_names("medical:medcalc_one_shot|0")] == [
        "medcalc_one_shot"
    ]


def test_lists_keep_order_and_drop_repeats() -> None:
    names = [
        task.name
        for task in parse_task_names("medcalc_direct, medcalc|0,medical|medcalc_direct")
    ]
    assert names == ["medcalc_direct", "medcalc"]


def test_the_name_of_the_suite_selects_every_task() -> None:
    parsed = parse_task_names("medical")
    assert [task.name for task in parsed] == list(tasks())
    assert len(parsed) >= 3


@tabled("text", "message")
def test_bad_names_by_message(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_task_names(text)
