from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.output_tables import RunName, RunOutputs, join_outputs, read_runs, run_name
from medical_tasks.runs.results import write_run
from medical_tasks.spec import MetricSpec, TaskSpec
from tests.support import NO_BENCHMARK

TASKS = {
    name: TaskSpec(
        name=name,
        title="Toy",
        benchmark=NO_BENCHMARK,
        dataset="none",
        split="test",
        metrics=(
            MetricSpec(name="recall", kind="ratio", description="judged"),
            MetricSpec(name="overlap", kind="mean", description="not judged", judged=False),
            MetricSpec(name="words", kind="mean", description="fewer are better", judged=False, higher_is_better=False),
        ),
        version="1-A",
        generation_size=8,
        judge=True,
        groups=("section",),
        cluster="visit",
    )
    for name in ("toy", "toy_one_shot")
}
SCORES = {"v1/exam": (0.5, 0.25, 9.0), "v1/plan": (math.nan, 0.5, 7.0), "v2/exam": (None, 0.75, 5.0)}


def run(
    folder: Path, scores: Mapping[str, tuple[float | None, ...]] = SCORES, *, task: str = "toy", **recipe: Any
) -> Path:
    made = {"task_version": "1-A", "data": {"name": "d", "rows_sha256": "a", "source": {}}, **recipe}
    rows = [
        {
            "task": task,
            "id": key,
            "cluster": key.partition("/")[0],
            "group_section": key.partition("/")[2],
            **dict(zip(("recall", "overlap", "words"), values, strict=True)),
            "recall_of": 2.0,
            "why": "",
        }
        for key, values in scores.items()
    ]
    write_run(folder, {"schema_version": 1, "tasks": {task: {"recipe": made}}}, rows)
    return folder


def read(*names: RunName, task: str | None = None) -> RunOutputs:
    return read_runs(names, TASKS, task=task)


def test_a_run_is_a_system_and_its_metrics_are_columns(tmp_path: Path) -> None:
    found = read(RunName(folder=run(tmp_path / "a"), system="a"), RunName(folder=run(tmp_path / "b"), system="b"))
    table = join_outputs(found.rows, digests=found.digests, less_is_better=found.less_is_better)
    assert table.columns == ("recall", "overlap", "words")  # no denominators
    assert [(row.item, row.system, row.cluster) for row in table.rows[:4]] == [
        ("v1/exam", "a", "v1"),
        ("v1/plan", "a", "v1"),
        ("v2/exam", "a", "v2"),
        ("v1/exam", "b", "v1"),
    ]
    assert table.rows[1].labels == {"section": "plan"}
    # Neither a share without a denominator nor a verdict nobody reached is 0.
    assert [math.isnan(value) for value in table.column("recall")] == [False, True, True] * 2
    assert table.column("words")[:3] == [-9.0, -7.0, -5.0]
    assert found.tasks == {"a": "toy", "b": "toy"}
    assert set(found.digests) == {str(tmp_path / "a"), str(tmp_path / "b")}


def test_one_system_by_two_judges(tmp_path: Path) -> None:
    other = {key: (1.0, *values[1:]) for key, values in SCORES.items()}
    names = [
        RunName(folder=run(tmp_path / "big"), system="a", label="big"),
        RunName(folder=run(tmp_path / "small", other), system="a", label="small"),
    ]
    found = read(*names)
    table = join_outputs(found.rows, digests={})
    assert table.columns == ("recall@big", "overlap", "words", "recall@small")
    assert len(table.rows) == 3
    assert (table.column("recall@big")[0], table.column("recall@small")[0]) == (0.5, 1.0)
    # What no judge decides differs: these are not the same outputs.
    run(tmp_path / "small", {key: (1.0, 0.9, values[2]) for key, values in SCORES.items()})
    with pytest.raises(UsageError, match="column 'overlap' is 0.9 for item 'v1/exam' of system 'a', and 0.25 in"):
        join_outputs(read(*names).rows, digests={})


def test_runs_of_different_tasks_on_the_same_rows(tmp_path: Path) -> None:
    found = read(
        RunName(folder=run(tmp_path / "a"), system="a"),
        RunName(folder=run(tmp_path / "b", task="toy_one_shot", task_version="2-A"), system="b"),
    )
    assert found.tasks == {"a": "toy", "b": "toy_one_shot"}


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    a = RunName(folder=run(tmp_path / "a"), system="a")
    with pytest.raises(UsageError, match="two runs are named 'a'. Write SYSTEM=FOLDER"):
        read(a, a)
    other = run(tmp_path / "b", data={"name": "d", "rows_sha256": "b"})
    with pytest.raises(UsageError, match="its data are .*'rows_sha256': 'b'"):
        read(a, RunName(folder=other, system="b"))
    with pytest.raises(UsageError, match="its version of toy is 2-A, another run's 1-A"):
        read(a, RunName(folder=run(tmp_path / "c", task_version="2-A"), system="c"))
    with pytest.raises(UsageError, match="has no task 'toy_one_shot'; it has toy"):
        read(a, task="toy_one_shot")
    with pytest.raises(UsageError, match="its task 'new' is not known to this version"):
        read(RunName(folder=run(tmp_path / "d", task="new"), system="d"))
    (tmp_path / "e").mkdir()
    with pytest.raises(MissingError, match=r"no results\.json there"):
        read(RunName(folder=tmp_path / "e", system="e"))


def test_how_a_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("runs/m=1")
    folder.mkdir(parents=True)
    assert run_name("runs/m=1") == RunName(folder=folder, system="m=1")
    assert run_name("a=runs/m=1") == RunName(folder=folder, system="a")
    assert run_name("a@b@c=runs") == RunName(folder=Path("runs"), system="a", label="b@c")
    assert run_name("scores.csv") is None
    Path("a=b.csv").write_text("")
    assert run_name("a=b.csv") is None
    for text in ("=runs", "@b=runs", "a@=runs"):
        with pytest.raises(UsageError, match="a name is missing. Write SYSTEM=FOLDER"):
            run_name(text)
    with pytest.raises(UsageError, match="'nowhere' is no folder"):
        run_name("a=nowhere")
