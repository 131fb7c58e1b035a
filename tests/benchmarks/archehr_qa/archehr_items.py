"""Cases of a few sentences, the reference's cases in ../shared, and a hash of many scores."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.data import (
    demo_cases,
    read_case_rows,
    read_rows,
)
from medical_tasks.benchmarks.archehr_qa.prompts import gold_response
from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS, TASKS
from medical_tasks.spec import Item, Row
from tests.case_tables import json_of
from tests.support import SHARED

TASK = {task.name.removeprefix("archehr_"): task for task in TASKS}
ITEMS = (
    Path(__file__).with_name("cases").joinpath("items.json").read_text(encoding="utf-8")
)
SENTENCES: list[str] = json.loads(ITEMS)["case"]["sentences"]


HEURISTIC = TASK["heuristic"]


def case(id_: str = "7", **changes: Any) -> Item:
    """A case with a key and a clinician's answer."""
    fields: dict[str, Any] = json.loads(ITEMS.replace("@ID@", id_))["case"] | changes
    return Item(id=id_, fields=fields, groups={"source": fields["source"]}, cluster=id_)


FIXTURE = SHARED / "fixtures" / "archehr"


def checked() -> dict[str, Any]:
    """The reference's results for its cases."""
    return dict(json_of(FIXTURE / "expected.json"))


def checked_items() -> tuple[list[Item], list[str]]:
    """The reference's cases, and the answers submitted to them."""
    items = [item_of(row) for row in read_case_rows(FIXTURE / "archehr-qa.xml")]
    submitted = json_of(FIXTURE / "submission.json")
    answers = {record["case_id"]: record["answer"] for record in submitted}
    assert len(items) == len(answers) == 12
    return items, [answers[item.id] for item in items]


def demo_items() -> list[Item]:
    """The cases of the demo, all splits."""
    items = [
        item_of(row) for split in demo_cases() for row in read_rows("demo", split, {})
    ]
    assert len({item.id for item in items}) == len(items) >= 8
    return items


def item_of(row: Row) -> Item:
    """An item of a row."""
    return Item(
        id=row["id"], fields=row, groups={"source": row["source"]}, cluster=row["id"]
    )


def small_item(**changes: Any) -> Item:
    """Five sentences: 2 and 4 essential, 3 supplementary.

    The answer has three sentences, which cite 2; 3 and 4; nothing.
    """
    fields: dict[str, Any] = json.loads(ITEMS)["small"]
    return item_of(fields | changes)


def digest() -> str:
    """Hashes all numbers of partly right answers to the demo's cases."""
    items = demo_items()
    gold = [gold_response(ANSWER_TASKS[0], item) for item in items]
    scores = score_items(
        ANSWER_TASKS[0], items, [f"{text[:200]} |5,1-3,99|" for text in gold]
    )
    rows = [
        [
            score.id,
            score.parsed,
            sorted(score.values.items()),
            sorted(score.weights.items()),
        ]
        for score in scores
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
