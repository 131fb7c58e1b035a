"""Verifying: are these the rows here, and are the items those of the split?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.data.task_data import TaskData
from medical_tasks.leaderboard.submission_package.problems import shown
from medical_tasks.leaderboard.submission_package.verification import Check
from medical_tasks.spec import Item, TaskSpec

__all__ = ["check_data", "check_items"]

_SHOWN: Final = 3


def check_data(name: str, recipe: Mapping[str, Any], data: TaskData | None, missing: str) -> Check:
    """Compares the data of a recipe with those here.

    Args:
        name: of the task.
        recipe: of the package.
        data: as they are here; None where they are not.
        missing: why they are not.
    """
    title, ran = f"{name}: data", recipe["data"]
    if data is None:
        return Check(name=title, outcome="not checked", detail=missing)
    here = data.revision
    wrong = [
        f"{part} {shown(ran[part])} in the package, {shown(here[part])} here"
        for part in ("version", "rows_sha256")
        if ran[part] != here[part]
    ]
    where = f"{here['name']}/{here['config']}, split {here['split']}"
    if wrong:
        return Check(name=title, outcome="mismatch", detail=f"{where}: another revision: {'; '.join(wrong)}")
    return Check(name=title, outcome="match", detail=f"{where}, rows_sha256 {here['rows_sha256'][:16]}")


def check_items(task: TaskSpec, rows: Sequence[Mapping[str, Any]], items: Sequence[Item]) -> Check:
    """Compares a package's items with those that the split has.

    Args:
        task: the task.
        rows: of the package.
        items: that are asked of this split.
    """
    said, here = {row["id"]: row for row in rows}, {item.id: item for item in items}
    wrong = [
        f"{len(ids)} {what}: {', '.join(shown(each) for each in ids[:_SHOWN])}"
        for what, ids in (
            ("added", [each for each in said if each not in here]),
            ("missing", [each for each in here if each not in said]),
            (
                "in another cluster",
                [each for each in here if each in said and said[each]["cluster"] != here[each].cluster],
            ),
            (
                "in another group",
                [each for each in here if each in said and not _same_groups(task, said[each], here[each])],
            ),
        )
        if ids
    ]
    if not wrong and list(said) != list(here):
        wrong = ["they stand in another order"]
    title = f"{task.name}: items"
    if wrong:
        return Check(name=title, outcome="mismatch", detail="; ".join(wrong))
    return Check(name=title, outcome="match", detail=f"all {len(here):,} items asked, their groups and clusters")


def _same_groups(task: TaskSpec, row: Mapping[str, Any], item: Item) -> bool:
    for by in task.groups:
        groups = item.groups[by]
        if row[f"group_{by}"] != (groups if isinstance(groups, str) else " ".join(groups)):
            return False
    return True
