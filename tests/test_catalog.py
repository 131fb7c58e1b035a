from __future__ import annotations

import pytest

from medical_tasks.catalog import parse_task_names, tasks
from medical_tasks.errors import UsageError
from tests.case_tables import tabled


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("medcalc", ["medcalc"]),
        ("medical:medcalc", ["medcalc"]),
        ("medical|medcalc", ["medcalc"]),
        ("medcalc|0", ["medcalc"]),
        ("medical:medcalc|0", ["medcalc"]),
        # A number of examples names the task that shows them.
        ("medcalc|1", ["medcalc_one_shot"]),
        ("medical:medcalc|1", ["medcalc_one_shot"]),
        ("medcalc_one_shot", ["medcalc_one_shot"]),
        ("medcalc_one_shot|1", ["medcalc_one_shot"]),
        # The form in which lighteval prints such a task.
        ("medical:medcalc_one_shot|0", ["medcalc_one_shot"]),
        # Lists keep their order and drop repeats.
        (
            "medcalc_direct, medcalc|0,medical|medcalc_direct",
            ["medcalc_direct", "medcalc"],
        ),
    ],
)
def test_names_of_tasks_are_read_in_every_form(text: str, names: list[str]) -> None:
    assert [task.name for task in parse_task_names(text)] == names


def test_the_name_of_the_suite_selects_every_task() -> None:
    parsed = parse_task_names("medical")
    assert [task.name for task in parsed] == list(tasks())
    assert len(parsed) >= 3


@tabled("text", "message")
def test_bad_names_by_message(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_task_names(text)
