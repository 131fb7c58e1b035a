"""What is computed from scored items, and the files it is written to."""

from __future__ import annotations

import json
import math
import multiprocessing
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.errors import IncompleteError, MissingError, UsageError
from medical_tasks.runs.finishing import _unanswered_limits
from medical_tasks.runs.results import item_rows, read_items, read_results, summarise, write_run
from medical_tasks.spec import Item, ItemScore, MetricSpec
from tests.support import toy_task

NAN = float("nan")
TASK = toy_task(
    MetricSpec(name="right", kind="proportion", description="right"),
    MetricSpec(name="share", kind="mean", description="share"),
    groups=("kind",),
)


def item(identifier: str, kind: str = "a", cluster: str | None = None) -> Item:
    return Item(id=identifier, fields={}, groups={"kind": kind}, cluster=cluster or identifier)


def scored(identifier: str, right: float, share: float = 0.5) -> ItemScore:
    return ItemScore(id=identifier, values={"right": right, "share": share}, parsed="p", why="w")


def test_counts_values_and_wilson_interval() -> None:
    # 15 of 148: Wilson 0.0624-0.1605 (Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3).
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
    assert entry["coverage"] == {"asked": 148, "answered": 148, "scored": 148, "unscored": {}}
    assert entry["recipe"] == {"r": 1}


def test_what_is_missing_is_not_wrong() -> None:
    items = [item(str(n)) for n in range(4)]
    scores = {"0": scored("0", 1.0), "1": ItemScore(id="1", values={}, unscored="judge reply unreadable")}
    entry = summarise(TASK, items, scores, {"2": "timeout", "3": "timeout"}, recipe={})
    metric = entry["metrics"]["right"]
    assert (metric["value"], metric["n"]) == (1.0, 1)
    assert (metric["bound_low"], metric["bound_high"]) == (0.25, 1.0)
    assert entry["coverage"] == {
        "asked": 4,
        "answered": 2,
        "scored": 1,
        "unscored": {"judge reply unreadable": 1, "no answer: timeout": 2},
    }


def test_nothing_scored_is_null_and_not_zero() -> None:
    entry = summarise(TASK, [item("0")], {}, {"0": "http 500"}, recipe={})
    metric = entry["metrics"]["right"]
    assert (metric["value"], metric["ci_low"], metric["ci_high"], metric["n"]) == (None, None, None, 0)
    assert (metric["bound_low"], metric["bound_high"]) == (0.0, 1.0)
    assert "std" not in metric


def test_an_item_without_denominator_leaves_the_metric() -> None:
    items = [item("0"), item("1")]
    entry = summarise(TASK, items, {"0": scored("0", 1.0, 0.2), "1": scored("1", 0.0, NAN)}, {}, recipe={})
    assert entry["metrics"]["share"]["value"] == pytest.approx(0.2)
    assert entry["metrics"]["share"]["n"] == 1
    assert entry["metrics"]["right"]["n"] == 2
    assert entry["coverage"]["scored"] == 2


def test_breakdown_has_every_group_and_adds_up() -> None:
    items = [item("0", "b"), item("1", "a"), item("2", "b")]
    scores = {"0": scored("0", 1.0), "1": scored("1", 0.0), "2": scored("2", 0.0)}
    groups = summarise(TASK, items, scores, {}, recipe={})["breakdown"]["kind"]
    assert list(groups) == ["a", "b"]
    assert groups["b"]["right"]["value"] == 0.5
    assert sum(group["right"]["n"] for group in groups.values()) == 3


def test_shared_notes_widen_the_interval() -> None:
    from dataclasses import replace

    values = [1.0] * 30 + [0.0] * 30
    apart = [item(str(n)) for n in range(60)]
    shared = [item(str(n), cluster=f"note {n // 10}") for n in range(60)]
    scores = {str(n): scored(str(n), value) for n, value in enumerate(values)}
    clustered = replace(TASK, cluster="note")
    alone = summarise(TASK, apart, scores, {}, recipe={})["metrics"]["right"]
    together = summarise(clustered, shared, scores, {}, recipe={})["metrics"]["right"]
    assert together["value"] == alone["value"]
    assert together["ci_high"] - together["ci_low"] > 1.5 * (alone["ci_high"] - alone["ci_low"])


def test_rows_carry_scores_and_reasons() -> None:
    items = [item("0"), item("1"), item("2")]
    scores = {"0": scored("0", 1.0), "1": ItemScore(id="1", values={}, unscored="unreadable")}
    rows = item_rows(TASK, items, scores, {"2": "timeout"})
    assert [row["right"] for row in rows] == [1.0, None, None]
    assert [row["unscored"] for row in rows] == [None, "unreadable", "no answer: timeout"]
    assert rows[0] == {
        "task": "toy", "id": "0", "cluster": "0", "group_kind": "a", "right": 1.0, "share": 0.5, "parsed": "p", "why": "w",
        "unscored": None,
    }  # fmt: skip


def run_of(value: float) -> dict[str, Any]:
    return {"schema_version": 1, "tasks": {"toy": {"recipe": {}, "metrics": {"right": {"value": value}}}}}


def without_hash(results: dict[str, Any]) -> dict[str, Any]:
    assert len(results.pop("items_sha256")) == 64
    return results


def test_written_files_come_back(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"task": "toy", "id": "0", "right": 1.0, "parsed": "µ"},
        {"task": "toy", "id": "1", "right": None, "parsed": ""},
    ]
    write_run(tmp_path / "run", run_of(0.5), rows)
    assert without_hash(read_results(tmp_path / "run")) == run_of(0.5)
    assert read_items(tmp_path / "run") == rows
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["items.parquet", "results.json"]


def test_nan_never_reaches_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        write_run(tmp_path, run_of(NAN), [])
    assert list(tmp_path.iterdir()) == []


def test_missing_damaged_and_newer_results_by_message(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"no results\.json there"):
        read_results(tmp_path)
    with pytest.raises(MissingError, match=r"no items\.parquet there"):
        read_items(tmp_path)
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(UsageError, match="not valid JSON"):
        read_results(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps({"schema_version": 7, "tasks": {}}))
    with pytest.raises(UsageError, match="schema_version 7, expected 1"):
        read_results(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps({"schema_version": 1, "tasks": {"toy": {}}}))
    with pytest.raises(UsageError, match="not results that this version reads"):
        read_results(tmp_path)


def test_items_of_another_run_are_not_taken_for_these(tmp_path: Path) -> None:
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
    process = multiprocessing.get_context("fork").Process(target=_write_with_little_space, args=(tmp_path,))
    process.start()
    process.join(60)
    assert "results could not be written (File too large)" in (tmp_path / "message").read_text()
    assert without_hash(read_results(tmp_path)) == run_of(0.1)
    assert read_items(tmp_path) == [{"id": "old"}]
    assert not list(tmp_path.glob(".*.part"))


JUDGED = toy_task(
    MetricSpec(name="share", kind="mean", description="share"),
    MetricSpec(name="faults", kind="mean", description="faults", limits=(0.0, math.inf), higher_is_better=False),
    MetricSpec(name="words", kind="mean", description="words", limits=(0.0, math.inf), unit="number"),
    name="judged",
    judge=True,
)


def test_a_metric_without_a_decision_leaves_the_others_of_its_item() -> None:
    partly = ItemScore(
        id="1", values={"share": 0.5, "words": 9.0}, unscored="judge: http 500", limits={"faults": (1.0, 3.0)}
    )
    scores = {"0": ItemScore(id="0", values={"share": 1.0, "faults": 0.0, "words": 3.0}), "1": partly}
    entry = summarise(JUDGED, [item("0"), item("1")], scores, {}, recipe={})
    assert entry["metrics"]["share"]["value"] == 0.75
    # No verdicts are told: the mean of the others, 0, or as near to it as can be.
    assert (entry["metrics"]["faults"]["value"], entry["metrics"]["faults"]["n"]) == (0.5, 1)
    assert (entry["metrics"]["faults"]["bound_low"], entry["metrics"]["faults"]["bound_high"]) == (0.5, 1.5)
    assert entry["metrics"]["words"] | {"unit": "number"} == entry["metrics"]["words"]
    assert "unit" not in entry["metrics"]["share"]
    assert entry["coverage"]["scored"] == 1
    rows = item_rows(JUDGED, [item("0"), item("1")], scores, {}, sources={"1": ("a.txt#2", "b.txt#1")})
    assert [row["faults"] for row in rows] == [0.0, None]
    assert [row["sources"] for row in rows] == ["", "a.txt#2\nb.txt#1"]


def test_what_has_no_largest_value_has_no_upper_bound_unless_the_benchmark_knows_one() -> None:
    items = [item("0"), item("1")]
    scores = {"0": ItemScore(id="0", values={"share": 1.0, "faults": 2.0, "words": 3.0})}
    blind = summarise(JUDGED, items, scores, {"1": "timeout"}, recipe={})["metrics"]["faults"]
    assert (blind["bound_low"], blind["bound_high"]) == (1.0, None)
    knowing = summarise(
        JUDGED, items, scores, {"1": "timeout"}, recipe={}, unanswered_limits=lambda one: {"faults": (0.0, 4.0)}
    )["metrics"]
    assert (knowing["faults"]["bound_low"], knowing["faults"]["bound_high"]) == (1.0, 3.0)
    assert (knowing["share"]["bound_low"], knowing["share"]["bound_high"]) == (0.5, 1.0)


def test_verdicts_are_written_beside_the_items(tmp_path: Path) -> None:
    rows = item_rows(JUDGED, [item("0")], {}, {"0": "timeout"})
    write_run(
        tmp_path, {"tasks": {}}, rows, verdicts=[{"id": "0/must/0", "value": "neutral"}, {"id": "x", "text": "\ud800"}]
    )
    lines = (tmp_path / "verdicts.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["0/must/0", "x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.parquet", "results.json", "verdicts.jsonl"]


def test_a_count_without_a_largest_value_has_a_smallest_all_the_same() -> None:
    scores = {str(at): ItemScore(id=str(at), values={"words": words}) for at, words in enumerate((1.0, 90.0, 2.0))}
    words = summarise(JUDGED, [item(one) for one in scores], scores, {}, recipe={})["metrics"]["words"]
    assert words["ci_low"] == 0.0  # the t interval of so few goes below
    assert words["ci_high"] > 90


def test_items_that_can_have_nothing_counted_have_no_interval() -> None:
    scores = {"0": ItemScore(id="0", values={"share": 1.0, "faults": 0.0, "words": 3.0})}
    faults = summarise(JUDGED, [item("0")], scores, {}, recipe={}, unanswered_limits=lambda one: {"faults": (0.0, 0.0)})
    assert (faults["metrics"]["faults"]["value"], faults["metrics"]["faults"]["ci_high"]) == (0.0, None)


def test_an_item_that_may_be_an_abstention_cannot_hold_down_the_mean_of_the_answered() -> None:
    groups = dict.fromkeys(KQA.groups, "all")
    items = [
        Item(id=f"{size}", fields={"must_have": ("s",) * size, "nice_to_have": ()}, groups=groups, cluster=f"{size}")
        for size in (8, 2)
    ]
    values = {"hallucination_rate": 8.0, "hallucination_rate_answered": 8.0}
    scores = {"8": ItemScore(id="8", values=values)}
    entry = summarise(KQA, items, scores, {"2": "timeout"}, recipe={}, unanswered_limits=_unanswered_limits(KQA, items))
    metrics = entry["metrics"]
    # Had the model abstained from the other, the mean of the answered would stay at 8; of all, it falls to 5 at most.
    assert (
        metrics["hallucination_rate_answered"]["bound_low"],
        metrics["hallucination_rate_answered"]["bound_high"],
    ) == (4.0, 8.0)
    assert (metrics["hallucination_rate"]["bound_low"], metrics["hallucination_rate"]["bound_high"]) == (4.0, 5.0)
