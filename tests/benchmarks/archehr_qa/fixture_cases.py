"""The checked cases of ../shared as items, and small items by hand."""

from __future__ import annotations

import json
from typing import Any

from medical_tasks.benchmarks.archehr_qa.data import demo_cases, read_case_rows, read_rows
from medical_tasks.benchmarks.archehr_qa.spec import TASKS
from medical_tasks.spec import Item
from tests.benchmarks.archehr_qa.asked_items import ITEMS
from tests.support import SHARED

__all__ = ["FIXTURE", "TASK", "checked", "checked_items", "demo_items", "item_of", "small_item"]

FIXTURE = SHARED / "fixtures" / "archehr"
TASK = {task.name.removeprefix("archehr_"): task for task in TASKS}


def checked() -> dict[str, Any]:
    """What the reference makes of its cases."""
    return dict(json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8")))


def checked_items() -> tuple[list[Item], list[str]]:
    """The cases, and the answers submitted to them."""
    items = [item_of(row) for row in read_case_rows(FIXTURE / "archehr-qa.xml")]
    submitted = json.loads((FIXTURE / "submission.json").read_text(encoding="utf-8"))
    answers = {record["case_id"]: record["answer"] for record in submitted}
    assert len(items) == len(answers) == 12
    return items, [answers[item.id] for item in items]


def demo_items() -> list[Item]:
    """The cases of the demo, all splits."""
    items = [item_of(row) for split in demo_cases() for row in read_rows("demo", split, {})]
    assert len({item.id for item in items}) == len(items) >= 8
    return items


def item_of(row: dict[str, Any]) -> Item:
    """A row as an item."""
    return Item(id=row["id"], fields=row, groups={"source": row["source"]}, cluster=row["id"])


def small_item(**changes: Any) -> Item:
    """Five sentences: 2 and 4 essential, 3 supplementary; an answer of three, citing 2; 3 and 4; nothing."""
    fields: dict[str, Any] = json.loads(ITEMS)["small"]
    return item_of(fields | changes)
