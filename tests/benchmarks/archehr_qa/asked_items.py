"""Cases of a few sentences, for the tests of questions and protocols."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.spec import TASKS
from medical_tasks.spec import Item, TaskSpec

__all__ = ["HEURISTIC", "SENTENCES", "case", "task_of"]

ITEMS = Path(__file__).with_name("cases").joinpath("items.json").read_text(encoding="utf-8")
SENTENCES: list[str] = json.loads(ITEMS)["asked"]["sentences"]


def task_of(name: str) -> TaskSpec:
    """The task `archehr_<name>`."""
    (task,) = [task for task in TASKS if task.name == f"archehr_{name}"]
    return task


HEURISTIC = task_of("heuristic")


def case(id_: str = "7", **changes: Any) -> Item:
    """A case with a key and a clinician's answer."""
    fields: dict[str, Any] = json.loads(ITEMS.replace("@ID@", id_))["asked"] | changes
    return Item(id=id_, fields=fields, groups={"source": fields["source"]}, cluster=id_)
