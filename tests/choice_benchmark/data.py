from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.spec import Item, TaskSpec


def keeps(task: TaskSpec, row: Mapping[str, Any]) -> bool:
    return str(row["level"]) == task.options["level"]


def load_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    return [
        Item(id=row["id"], fields=dict(row), groups={}, cluster=row["id"])
        for row in rows
        if keeps(task, row)
    ]
