"""Results computed from scored items, and their files."""

from __future__ import annotations

import json
import math
import multiprocessing
import resource
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.runs.finishing import _unanswered_limits
from medical_tasks.runs.results import (
    Results,
    in_order,
    item_rows,
    read_items,
    read_results,
    read_sound_results,
)
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, ItemScore, MetricSpec
from tests.case_tables import cases, tabled
from tests.support import toy_task, write_run

NAN = float("nan")
TASK = toy_task(
    MetricSpec(name="right", kind="proportion", description="right"),
    MetricSpec(name="share", kind="mean", description="share"),
    groups=("kind",),
)


def item(identifier: str, kind: str = "a", cluster: str | None = None) -> Item:
    return Item(
        id=identifier, fields={}, groups={"kind": kind}, cluster=cluster or identifier
    )


def scored(identifier: str, right: float) -> ItemScore:
    return ItemScore(
        id=identifier, values={"right": right, "share": 0.5}, parsed="p", why="w"
    )


def test_counts_values_and_wilson_interval() -> None:
    # 15 of 148: Wilson 0.0624-0.1605 (Newcombe 1998, Statistics in Medicine 17:857-872,
    # table I, method 3).
    items = [item(str(n)) for n in range(148)]
    scores = {str(n): scored(str(n), float(n < 15)) for n in range(148)}
    entry = summarise(TASK, items, scores, {}, recipe={"r": 1})
    metric = entry["metrics"]["right"]
    assert metric["value"] == pytest.approx(15 / 148)
    assert metric["ci_low"] == pytest.approx(0.0624, abs=5e-5)
    assert metric["ci_high"] == pytest.approx(0.1605, abs=5e-5)
    assert metric["n"] == 148
    assert metric["std"] == pytest.approx(math.sqrt(15 / 148 * 133 / 148 / 148))
    assert metric["bound_low"] == metric["bound_high"] == pytest.approx(15 / 148)
    assert entry["coverage"] == {
        "asked": 148,
        "answered": 148,
        "scored": 148,
        "unscored": {},
        "unclear": {},
    }
    assert entry["recipe"] == {"r": 1}


def test_a_group_too_small_for_its_distance_from_all_items_is_marked() -> None:
    kinds = ["big"] * 400 + ["none right"] * 40 + ["near"] * 40 + ["small"] * 9
    items = [item(f"{n}", kind) for n, kind in enumerate(kinds)]
    half_right = ("big", "near")
    scores = {
        str(n): scored(str(n), float(n % 2) if kind in half_right else 0.0)
        for n, kind in enumerate(kinds)
    }
    groups = summarise(TASK, items, scores, {}, recipe={})["breakdown"]["kind"]
    # 45 % of all are right. 40 items detect a group with none right, but not a
    # difference of 5 points; 9 are fewer than 10.
    marked = [
        name for name, metrics in groups.items() if metrics["right"].get("too_few")
    ]
    assert marked == ["near", "small"]


@tabled("case", "task", "item_scores", "unanswered", "limits", "expected")
def test_by_hand(
    case: str,
    task: str,
    item_scores: dict[str, Any],
    unanswered: dict[str, str],
    limits: Any,
    expected: dict[str, Any],
) -> None:
    """`expected` has values by their path in the entry; null also where the path does not exist."""
    metrics = [
        MetricSpec(description="", **fields)
        for fields in cases(__file__, "tasks")[task]
    ]
    scores = {name: ItemScore(id=name, **score) for name, score in item_scores.items()}
    entry = summarise(
        toy_task(*metrics), [item(name) for name in (*scores, *unanswered)], scores, unanswered,
        recipe={}, unanswered_limits=(lambda question: limits) if limits else None,
    )  # fmt: skip
    for path, value in expected.items():
        actual: Any = entry
        for key in path.split("."):
            actual = actual.get(key)
        if isinstance(value, float):
            assert actual == pytest.approx(value), (case, path)
        else:
            assert actual == value, (case, path)


def test_breakdown_adds_up_and_rows_carry_scores_and_reasons() -> None:
    items = [item("0", "b"), item("1", "a"), item("2", "b")]
    scores = {"0": scored("0", 1.0), "1": scored("1", 0.0), "2": scored("2", 0.0)}
    groups = summarise(TASK, items, scores, {}, recipe={})["breakdown"]["kind"]
    assert list(groups) == ["a", "b"]
    assert groups["b"]["right"]["value"] == 0.5
    assert sum(group["right"]["n"] for group in groups.values()) == 3
    scores = {
        "0": scored("0", 1.0),
        "1": ItemScore(id="1", values={}, unscored="unreadable"),
    }
    rows = item_rows(
        TASK, items, scores, {"2": "timeout"}, sources={"1": ("a.txt#2", "b.txt#1")}
    )
    assert [row.pop("sources") for row in rows] == ["", "a.txt#2\nb.txt#1", ""]
    assert [row["right"] for row in rows] == [1.0, None, None]
    assert [row["unscored"] for row in rows] == [
        None,
        "unreadable",
        "no answer: timeout",
    ]
    assert rows[0] == {
        "task": "toy", "id": "0", "cluster": "0", "group_kind": "b", "right": 1.0, "share": 0.5, "parsed": "p", "why": "w",
        "unscored": None, "unclear": "",
    }  # fmt: skip


def test_groups_are_in_numerical_order() -> None:
    in_order_of_reading = [
        "under 2", "2", "3 to 4", "5 or more", "10", "10.5+", "renal", "yes", "none",
        "other",
    ]  # fmt: skip
    assert in_order(sorted(in_order_of_reading)) == in_order_of_reading
    kinds = ("5 or more", "10", "up to 2")
    items = [item(str(number), kind) for number, kind in enumerate(kinds)]
    scores = {question.id: scored(question.id, 1.0) for question in items}
    groups = summarise(TASK, items, scores, {}, recipe={})["breakdown"]["kind"]
    assert list(groups) == ["up to 2", "5 or more", "10"]


def test_shared_notes_widen_the_interval() -> None:
    values = [1.0] * 30 + [0.0] * 30
    apart = [item(str(n)) for n in range(60)]
    shared = [item(str(n), cluster=f"note {n // 10}") for n in range(60)]
    scores = {str(n): scored(str(n), value) for n, value in enumerate(values)}
    clustered = replace(TASK, cluster="note")
    alone = summarise(TASK, apart, scores, {}, recipe={})["metrics"]["right"]
    together = summarise(clustered, shared, scores, {}, recipe={})["metrics"]["right"]
    assert together["value"] == alone["value"]
    assert together["ci_high"] - together["ci_low"] > 1.5 * (
        alone["ci_high"] - alone["ci_low"]
    )


def run_of(value: float) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "tasks": {"toy": {"recipe": {}, "metrics": {"right": {"value": value}}}},
    }


def without_hash(results: Results) -> Results:
    assert len(results.pop("items_sha256")) == 64
    return results


def test_written_files_are_read_back(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        write_run(tmp_path, run_of(NAN), [])
    assert list(tmp_path.iterdir()) == []
    rows: list[dict[str, Any]] = [
        {"task": "toy", "id": "0", "right": 1.0, "parsed": "µ"},
        {"task": "toy", "id": "1", "right": None, "parsed": ""},
    ]
    write_run(tmp_path, run_of(0.5), rows)
    assert without_hash(read_results(tmp_path)) == run_of(0.5)
    assert read_items(tmp_path) == rows
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "items.parquet",
        "results.json",
    ]
    # Verdicts are written into a file of their own.
    rows = item_rows(TASK, [item("0")], {}, {"0": "timeout"})
    verdicts = [{"id": "0/must/0", "value": "neutral"}, {"id": "x", "text": "\ud800"}]
    write_run(tmp_path, {"tasks": {}}, rows, verdicts=verdicts)
    lines = (tmp_path / "verdicts.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["0/must/0", "x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "items.parquet",
        "results.json",
        "verdicts.jsonl",
    ]


def test_missing_damaged_and_newer_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"no results\.json there"):
        read_results(tmp_path)
    with pytest.raises(MissingError, match=r"no items\.parquet there"):
        read_items(tmp_path)
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(UsageError, match="not valid JSON"):
        read_results(tmp_path)
    (tmp_path / "results.json").write_text(
        json.dumps({"schema_version": 7, "tasks": {}})
    )
    with pytest.raises(UsageError, match="schema_version 7, expected 1"):
        read_results(tmp_path)
    (tmp_path / "results.json").write_text(
        json.dumps({"schema_version": 1, "tasks": {"toy": {}}})
    )
    with pytest.raises(UsageError, match="not results that this version reads"):
        read_results(tmp_path)
    damaged: list[Any] = [
        {"recipe": "x"},
        {"recipe": {}, "n_items": "many"},
        {"recipe": {}, "coverage": {"asked": 0, "scored": 5}},
        {"recipe": {}, "coverage": {"asked": "5", "scored": 5}},
        {"recipe": {}, "breakdown": []},
        {"recipe": {}, "breakdown": {"category": {"lab": [1]}}},
        {"recipe": {}, "metrics": [1]},
        {"recipe": {}, "metrics": {"accuracy": 0.5}},
        {"recipe": {}, "metrics": {"accuracy": {"value": "0.5"}}},
        {"recipe": {}, "metrics": {"accuracy": {"value": 0.5, "ci_low": math.nan}}},
        {"recipe": {}, "metrics": {"accuracy": {"value": 0.5, "ci_low": True}}},
    ]
    for entry in damaged:
        text = json.dumps({"schema_version": 1, "tasks": {"toy": entry}})
        (tmp_path / "results.json").write_text(text)
        with pytest.raises(
            UsageError, match="the results of toy lack a recipe, counts or"
        ):
            read_sound_results(tmp_path)
    write_run(tmp_path, run_of(0.5), [{"id": "a"}])
    (tmp_path / "items.parquet").write_text("no parquet")
    with pytest.raises(UsageError, match="is not of the same run as results.json"):
        read_items(tmp_path)


def test_columns_keep_their_type_whatever_is_missing(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = [
        {"task": "a", "id": "1", "one": None, "unscored": None},
        {"task": "b", "id": "2", "two": 1.0},
    ]
    write_run(tmp_path, run_of(0.5), rows)
    schema = pq.read_schema(tmp_path / "items.parquet")
    assert {name: str(schema.field(name).type) for name in schema.names} == {
        "task": "string", "id": "string", "one": "double", "unscored": "string", "two": "double",
    }  # fmt: skip
    assert read_items(tmp_path)[1]["two"] == 1.0


def _write_with_little_space(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    rows = [{"id": str(n), "parsed": str(hash((n, "salt"))) * 20} for n in range(5000)]
    try:
        write_run(folder, run_of(0.9), rows)
    except IncompleteError as error:
        (folder / "message").write_text(str(error))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of file size")
def test_a_full_disk_leaves_the_older_results_whole(tmp_path: Path) -> None:
    write_run(tmp_path, run_of(0.1), [{"id": "old"}])
    process = multiprocessing.get_context("fork").Process(
        target=_write_with_little_space, args=(tmp_path,)
    )
    process.start()
    process.join(60)
    assert (
        "results could not be written (File too large)"
        in (tmp_path / "message").read_text()
    )
    assert without_hash(read_results(tmp_path)) == run_of(0.1)
    assert read_items(tmp_path) == [{"id": "old"}]
    assert not list(tmp_path.glob(".*.part"))


def test_a_missing_answer_that_may_abstain_does_not_bound_the_mean_of_the_answered() -> (
    None
):
    groups = dict.fromkeys(KQA.groups, "all")
    items = [
        Item(
            id=f"{size}",
            fields={"must_have": ("s",) * size, "nice_to_have": ()},
            groups=groups,
            cluster=f"{size}",
        )
        for size in (8, 2)
    ]
    values = {"hallucination_rate": 8.0, "hallucination_rate_answered": 8.0}
    scores = {"8": ItemScore(id="8", values=values)}
    entry = summarise(
        KQA,
        items,
        scores,
        {"2": "timeout"},
        recipe={},
        unanswered_limits=_unanswered_limits(KQA, items),
    )
    # If the other answer is an abstention, the mean of the answered stays at 8; the mean
    # of all falls to 5 at most.
    for name, high in (
        ("hallucination_rate_answered", 8.0),
        ("hallucination_rate", 5.0),
    ):
        assert [entry["metrics"][name][end] for end in ("bound_low", "bound_high")] == [
            4.0,
            high,
        ]
