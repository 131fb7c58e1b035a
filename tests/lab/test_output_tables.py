"""Tables of outputs, from files and from runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.lab.output_tables import (
    OutputTable,
    RunName,
    RunOutputs,
    join_outputs,
    read_outputs,
    read_preferences,
    read_runs,
    run_name,
    votes_of,
)
from medical_tasks.lab.preferences import output_pairs
from medical_tasks.spec import MetricSpec
from tests.case_tables import tabled
from tests.support import toy_task, write_run

GOOD = "item,system,cluster,section,a,b\nv1,x,p1,exam,1,0.5\nv1,y,p1,exam,2,\nv2,x,p1,plan,-3e1,n/a\n"
HEADER = "item,system_a,system_b,annotator,preferred\n"


def read_tables(folder: Path, *texts: str) -> OutputTable:
    sources, digests = [], {}
    for number, text in enumerate(texts):
        path = folder / f"{number}.csv"
        path.write_bytes(text.encode())
        rows, digests[path.name] = read_outputs(path)
        sources.append(rows)
    return join_outputs(sources, digests=digests)


def test_a_table(tmp_path: Path) -> None:
    table = read_tables(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n"))
    assert [f"{row.item} {row.system} {row.cluster}" for row in table.rows] == [
        "v1 x p1",
        "v1 y p1",
        "v2 x p1",
    ]
    assert table.columns == ("a", "b")
    assert table.column("a") == [1.0, 2.0, -30.0]
    assert [math.isnan(value) for value in table.column("b")] == [False, True, True]
    assert table.rows[2].labels == {"section": "plan"}
    assert table.sources == {
        "0.csv": hashlib.sha256(
            ("\ufeff" + GOOD.replace("\n", "\r\n")).encode()
        ).hexdigest()
    }


def test_sources_are_joined_by_item_and_system(tmp_path: Path) -> None:
    table = read_tables(
        tmp_path,
        GOOD,
        "system,item,human\ny,v1,50\nx,v3,40\n",
        "item,system,a\nv1,x,1.0\n",
    )
    assert [(row.item, row.system) for row in table.rows] == [
        ("v1", "x"),
        ("v1", "y"),
        ("v2", "x"),
        ("v3", "x"),
    ]
    assert table.rows[1].scores == {"a": 2.0, "human": 50.0}
    # an item without a cluster is its own cluster
    assert [row.cluster for row in table.rows] == ["p1", "p1", "p1", "v3"]
    with pytest.raises(
        UsageError,
        match="column 'a' is 9 for item 'v1' of system 'x', and 1 in .*0.csv, row 2",
    ):
        read_tables(tmp_path, GOOD, "item,system,a\nv1,x,9\n")


@tabled("text", "message")
def test_invalid_tables(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_tables(tmp_path, text)
    assert message in str(raised.value)


def test_messages_quote_no_sentence(tmp_path: Path) -> None:
    note = "The patient in bed four is a singer."
    for text in (
        f"item,system,a\nv,x,1\nw,x,{note}\n",
        f"item,system,{note},{note}\nv,x,1,1\n",
    ):
        with pytest.raises(UsageError) as raised:
            read_tables(tmp_path, text)
        assert "bed four" not in str(raised.value)
        assert f"a text of {len(note)} characters" in str(raised.value)
    with pytest.raises(MissingError, match="no such file. Give a table"):
        read_outputs(tmp_path / "none.csv")


def preferences_file(folder: Path, text: str) -> Path:
    path = folder / "preferences.csv"
    path.write_text(HEADER + text)
    return path


def test_votes_of_pairs(tmp_path: Path) -> None:
    table = read_tables(tmp_path, "item,system,a\nv,x,1\nv,y,2\nv,z,3\n")
    rows = (
        "v,x,y,ann,x\nv,y,x,ben,x\nv,x,y,cy,tie\nv,z,x,ann,\nv,z,y,ann,z\nw,x,y,ann,x\n"
    )
    preferences = read_preferences(preferences_file(tmp_path, rows))
    assert (preferences.annotators, len(preferences.stated), preferences.blank) == (
        ("ann", "ben", "cy"),
        5,
        1,
    )
    votes, elsewhere = votes_of(preferences, table, output_pairs(["v"] * 3))
    # Pairs x-y, x-z, y-z: the first output is the table's, whichever output the row of
    # preferences names first.
    assert (votes, elsewhere) == ([["first", "first", "tie"], [], ["second"]], 1)
    others = read_preferences(preferences_file(tmp_path, "V,x,y,ann,x\n"))
    with pytest.raises(
        UsageError,
        match="none of its pairs is among the compared outputs; it begins with item 'V'",
    ):
        votes_of(others, table, output_pairs(["v"] * 3))


@tabled("text", "message")
def test_invalid_preferences(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_preferences(preferences_file(tmp_path, text))
    assert message in str(raised.value)


TASKS = {
    name: toy_task(
        MetricSpec(name="recall", kind="ratio", description="judged"),
        MetricSpec(name="overlap", kind="mean", description="not judged", judged=False),
        MetricSpec(
            name="words",
            kind="mean",
            description="fewer are better",
            judged=False,
            higher_is_better=False,
        ),
        name=name,
        judge=True,
        groups=("section",),
        cluster="visit",
    )
    for name in ("toy", "toy_one_shot")
}
SCORES = {
    "v1/exam": (0.5, 0.25, 9.0),
    "v1/plan": (math.nan, 0.5, 7.0),
    "v2/exam": (None, 0.75, 5.0),
}


def write_toy_run(
    folder: Path,
    scores: Mapping[str, tuple[float | None, ...]] = SCORES,
    *,
    task: str = "toy",
    **recipe: Any,
) -> Path:
    run_recipe = {
        "task_version": "1-A",
        "data": {"name": "d", "rows_sha256": "a", "source": {}},
        **recipe,
    }
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
    write_run(
        folder, {"schema_version": 1, "tasks": {task: {"recipe": run_recipe}}}, rows
    )
    return folder


def read_toy_runs(*names: RunName, task: str | None = None) -> RunOutputs:
    return read_runs(names, TASKS, task=task)


def test_a_run_is_a_system_and_its_metrics_are_columns(tmp_path: Path) -> None:
    runs = read_toy_runs(
        *(RunName(folder=write_toy_run(tmp_path / name), system=name) for name in "ab")
    )
    table = join_outputs(
        runs.rows, digests=runs.digests, less_is_better=runs.less_is_better
    )
    assert table.columns == ("recall", "overlap", "words")  # no denominators
    named = [f"{row.item} {row.system} {row.cluster}" for row in table.rows]
    assert named[:4] == ["v1/exam a v1", "v1/plan a v1", "v2/exam a v2", "v1/exam b v1"]
    assert table.rows[1].labels == {"section": "plan"}
    # Neither a share without a denominator nor a missing verdict is 0.
    assert [math.isnan(value) for value in table.column("recall")] == [
        False,
        True,
        True,
    ] * 2
    assert table.column("words")[:3] == [-9.0, -7.0, -5.0]
    assert runs.tasks == {"a": "toy", "b": "toy"}
    assert set(runs.digests) == {str(tmp_path / "a"), str(tmp_path / "b")}
    # Runs may be of different tasks on the same rows.
    shot = RunName(
        folder=write_toy_run(tmp_path / "b", task="toy_one_shot", task_version="2-A"),
        system="b",
    )
    assert read_toy_runs(RunName(folder=tmp_path / "a", system="a"), shot).tasks == {
        "a": "toy",
        "b": "toy_one_shot",
    }


def test_one_system_with_two_judges(tmp_path: Path) -> None:
    other = {key: (1.0, *values[1:]) for key, values in SCORES.items()}
    names = [
        RunName(folder=write_toy_run(tmp_path / "big"), system="a", label="big"),
        RunName(
            folder=write_toy_run(tmp_path / "small", other), system="a", label="small"
        ),
    ]
    runs = read_toy_runs(*names)
    table = join_outputs(runs.rows, digests={})
    assert table.columns == ("recall@big", "overlap", "words", "recall@small")
    assert len(table.rows) == 3
    assert (table.column("recall@big")[0], table.column("recall@small")[0]) == (
        0.5,
        1.0,
    )
    # Metrics without a judge differ: these are not the same outputs.
    write_toy_run(
        tmp_path / "small",
        {key: (1.0, 0.9, values[2]) for key, values in SCORES.items()},
    )
    with pytest.raises(
        UsageError,
        match="column 'overlap' is 0.9 for item 'v1/exam' of system 'a', and 0.25 in",
    ):
        join_outputs(read_toy_runs(*names).rows, digests={})


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    a = RunName(folder=write_toy_run(tmp_path / "a"), system="a")
    with pytest.raises(UsageError, match="two runs are named 'a'. Write SYSTEM=FOLDER"):
        read_toy_runs(a, a)
    other = write_toy_run(tmp_path / "b", data={"name": "d", "rows_sha256": "b"})
    with pytest.raises(UsageError, match="its data are .*'rows_sha256': 'b'"):
        read_toy_runs(a, RunName(folder=other, system="b"))
    with pytest.raises(
        UsageError, match="its version of toy is 2-A, but that of another run is 1-A"
    ):
        read_toy_runs(
            a,
            RunName(
                folder=write_toy_run(tmp_path / "c", task_version="2-A"), system="c"
            ),
        )
    with pytest.raises(UsageError, match="has no task 'toy_one_shot'; it has toy"):
        read_toy_runs(a, task="toy_one_shot")
    with pytest.raises(UsageError, match="its task 'new' is not known to this version"):
        read_toy_runs(
            RunName(folder=write_toy_run(tmp_path / "d", task="new"), system="d")
        )
    (tmp_path / "e").mkdir()
    with pytest.raises(MissingError, match=r"no results\.json there"):
        read_toy_runs(RunName(folder=tmp_path / "e", system="e"))


def test_names_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("runs/m=1")
    folder.mkdir(parents=True)
    assert run_name("runs/m=1") == RunName(folder=folder, system="m=1")
    assert run_name("a=runs/m=1") == RunName(folder=folder, system="a")
    assert run_name("a@b@c=runs") == RunName(
        folder=Path("runs"), system="a", label="b@c"
    )
    assert run_name("scores.csv") is None
    Path("a=b.csv").write_text("")
    assert run_name("a=b.csv") is None
    for text in ("=runs", "@b=runs", "a@=runs"):
        with pytest.raises(UsageError, match="a name is missing. Write SYSTEM=FOLDER"):
            run_name(text)
    with pytest.raises(UsageError, match="'nowhere' is not a folder"):
        run_name("a=nowhere")
