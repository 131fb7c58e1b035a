from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.spec import Item, TaskSpec


def load_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> list[Item]:
    return [
        Item(
            id=row["case_id"],
            fields=dict(row),
            groups={"level": row["level"]},
            cluster=f"patient {row['case_id']}",
        )
        for row in rows
    ]
