"""Small runs to compare, in memory and in folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.comparison.compared import Compared
from medical_tasks.comparison.comparing import compare_pairs
from medical_tasks.spec import MetricSpec, TaskSpec
from tests.case_tables import tables
from tests.support import NO_BENCHMARK, write_run

RIGHT = MetricSpec(name="right", kind="proportion", description="right")
HARM = MetricSpec(
    name="harm", kind="proportion", description="harm", higher_is_better=False
)
WORDS = MetricSpec(
    name="words",
    kind="mean",
    description="words",
    limits=(0.0, float("inf")),
    unit="number",
    judged=False,
)
SHARE = MetricSpec(name="share", kind="ratio", description="share")
TOP = MetricSpec(
    name="share_top",
    kind="ratio",
    description="share of the top",
    part=("section", "top"),
    whole="share",
)
COSTLY = MetricSpec(
    name="costly", kind="mean", description="needs weights", needs="weights"
)
BOTH = MetricSpec(
    name="both", kind="average", description="of two", of=("right", "share")
)

TASK = TaskSpec(
    name="toy",
    title="Toy",
    benchmark=NO_BENCHMARK,
    dataset="none",
    split="test",
    metrics=(RIGHT, HARM, WORDS, SHARE, TOP, COSTLY, BOTH),
    version="1-A",
    generation_size=8,
    groups=("kind",),
    cluster="note",
)
TASKS = {"toy": TASK}
RECIPE: dict[str, Any] = {
    "task_version": "1-A",
    "data": {"rows_sha256": "a" * 64},
    "metrics": {},
    "prompts": None,
}


def row(key: str, right: float | None, **more: Any) -> dict[str, Any]:
    """A row of `items.parquet`, every metric in it."""
    return {
        "task": "toy",
        "id": key,
        "cluster": key,
        "group_kind": "odd",
        "right": right,
        "harm": None if right is None else 1.0 - right,
        "words": right,
        "share": right,
        "share_of": None if right is None else 2.0,
        "share_top": right,
        "share_top_of": None if right is None else 1.0,
        "costly": right,
        "parsed": f"answer {key}",
        **more,
    }


def rows(values: Sequence[float | None], **more: Any) -> list[dict[str, Any]]:
    return [row(str(number), value, **more) for number, value in enumerate(values)]


def compared(
    of: Sequence[Mapping[str, Any]], label: str = "a", **recipe: Any
) -> Compared:
    names = dict.fromkeys(["toy", *(item["task"] for item in of)])
    entries: dict[str, Any] = {name: {"recipe": {**RECIPE, **recipe}} for name in names}
    return Compared(
        label=label, results={"schema_version": 1, "tasks": entries}, rows=of
    )


def folder(path: Path, of: Sequence[Mapping[str, Any]], **recipe: Any) -> Path:
    run = compared(of, **recipe)
    write_run(path, run.results, run.rows)
    return path


def cases(name: str) -> Any:
    """What `cases/NAME.json` holds."""
    return tables(__file__, name)


def compare_results(
    a: Compared, b: Compared, tasks: Mapping[str, TaskSpec], **more: Any
) -> dict[str, Any]:
    return dict(compare_pairs([a, b], tasks, **more)[0].tasks)
