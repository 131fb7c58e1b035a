"""Pooled metrics and metrics of parts, from item scores to results, rows, comparisons and harnesses."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.comparison.compared import read_compared
from medical_tasks.harness.judging import Weighted, metric_value, pooled_mean
from medical_tasks.report.markdown import render_markdown
from medical_tasks.runs.estimation import NOT_ALL
from medical_tasks.runs.results import TaskEntry, item_rows
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.paired import minimum_detectable_difference
from medical_tasks.spec import Item, ItemScore, MetricSpec, Official, TaskSpec
from tests.comparison.comparison_cases import compare_results
from tests.support import toy_task, write_run

NAN = math.nan
SHARE = MetricSpec(name="share", kind="ratio", description="pooled share")
PART = MetricSpec(
    name="share_top",
    kind="ratio",
    description="of the top",
    part=("section", "top"),
    whole="share",
)
TASK = toy_task(SHARE, PART, groups=("kind",))


def item(name: str) -> Item:
    return Item(id=name, fields={}, groups={"kind": "a"}, cluster=name)


def scored(name: str, hits: float, of: float) -> ItemScore:
    value = hits / of if of else NAN
    return ItemScore(
        id=name,
        values={"share": value, "share_top": NAN},
        weights={"share": of, "share_top": 0.0},
    )


def summary(scores: dict[str, ItemScore]) -> TaskEntry:
    return summarise(
        TASK,
        [item(name) for name in scores],
        scores,
        {},
        recipe={"model": {"name": "m"}},
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)),
        min_size=1,
        max_size=6,
    )
)
def test_bounds_hold_whatever_the_missing_are(
    parts: list[tuple[int, int, int]],
) -> None:
    """Each item has hits, misses and undecided ones; every way to decide lies within the bounds, and both ends are reached."""
    scores: dict[str, ItemScore] = {}
    for number, (hits, misses, undecided) in enumerate(parts):
        of = hits + misses + undecided
        if undecided:
            limits = {"share": (hits / of, (hits + undecided) / of)}
            scores[str(number)] = ItemScore(
                id=str(number),
                values={},
                limits=limits,
                weights={"share": float(of)},
                unscored="x",
            )
        else:
            scores[str(number)] = scored(str(number), hits, of)
    found = summary(scores)["metrics"]["share"]
    total = sum(map(sum, parts))
    if not total:
        assert found["bound_low"] is None
        return
    assert found["bound_low"] == pytest.approx(
        sum(hits for hits, _, _ in parts) / total
    )
    assert found["bound_high"] == pytest.approx(
        sum(hits + undecided for hits, _, undecided in parts) / total
    )


def test_parts_are_told_in_their_breakdown_and_denominators_in_rows() -> None:
    score = ItemScore(
        id="a",
        values={"share": 0.5, "share_top": 0.25},
        weights={"share": 8.0, "share_top": 4.0},
    )
    entry = summarise(
        TASK, [item("a")], {"a": score}, {}, recipe={"model": {"name": "m"}}
    )
    assert list(entry["metrics"]) == ["share"]
    assert entry["breakdown"]["section"]["top"]["share"]["value"] == 0.25
    assert list(entry["breakdown"]["kind"]["a"]) == ["share"]
    page = render_markdown({"tasks": {"toy": entry}})
    assert "### By section" in page
    assert "| top | 25.0 % | 0.0 to 100.0 too few to tell | 1 |" in page
    open_one = ItemScore(
        id="b",
        values={},
        limits={"share": (0.2, 0.8)},
        weights={"share": 10.0},
        unscored="judge: x",
    )
    rows = item_rows(
        TASK,
        [item("a"), item("b"), item("c")],
        {"a": scored("a", 1, 4), "b": open_one},
        {"c": "timeout"},
    )
    assert [(row["share"], row["share_of"]) for row in rows] == [
        (0.25, 4.0),
        (None, None),
        (None, None),
    ]


def written(
    folder: Path, scores: dict[str, ItemScore], task: TaskSpec = TASK, **entry: Any
) -> Path:
    recipe = {
        "task_version": "1-A",
        "data": {"rows_sha256": "a"},
        "metrics": {},
        "prompts": None,
    }
    rows = item_rows(task, [item(name) for name in scores], scores, {})
    write_run(
        folder,
        {"schema_version": 1, "tasks": {"toy": {"recipe": recipe, **entry}}},
        rows,
    )
    return folder


def run(folder: Path, counts: list[tuple[int, int]]) -> Path:
    return written(
        folder,
        {str(number): scored(str(number), *each) for number, each in enumerate(counts)},
    )


def compare_runs(
    first: Path, second: Path, tasks: dict[str, TaskSpec]
) -> dict[str, Any]:
    return compare_results(read_compared(first), read_compared(second), tasks)


def test_two_runs_are_compared_by_their_pooled_ratios(tmp_path: Path) -> None:
    a, b = [(1, 4), (0, 0), (2, 6), (3, 3)], [(3, 4), (1, 2), (2, 5), (0, 3)]
    found = compare_runs(run(tmp_path / "a", a), run(tmp_path / "b", b), {"toy": TASK})[
        "toy"
    ]["metrics"]["share"]
    assert found["value_a"] == pytest.approx(6 / 13)
    # with the item on which run A had nothing to count
    assert found["value_b"] == pytest.approx(6 / 14)
    assert found["ci_low"] <= found["difference"] <= found["ci_high"]
    assert found["minimum_detectable_difference"] > 0
    # Equal weights detect what a mean detects.
    a, b = [(1, 2), (0, 2), (2, 2), (1, 2)], [(2, 2), (1, 2), (0, 2), (2, 2)]
    pooled = compare_runs(
        run(tmp_path / "a", a), run(tmp_path / "b", b), {"toy": TASK}
    )["toy"]["metrics"]["share"]
    shares = [[top / bottom for top, bottom in each] for each in (a, b)]
    assert pooled["minimum_detectable_difference"] == pytest.approx(
        minimum_detectable_difference(*shares)
    )


def test_a_harness_pools_what_the_runner_pools() -> None:
    scores = [scored("a", 1, 4), scored("b", 0, 0), scored("c", 3, 3)]
    values = [metric_value(SHARE, score) for score in scores]
    assert pooled_mean(values) == pytest.approx(4 / 7)
    assert pooled_mean(copy.deepcopy(values)) == pytest.approx(4 / 7)
    assert math.isnan(pooled_mean([metric_value(SHARE, ItemScore(id="x", values={}))]))
    assert math.isnan(pooled_mean([]))
    with pytest.raises(TypeError, match="values with their weights; got float"):
        pooled_mean([Weighted(0.5, 2.0), 0.5])
    # Nothing to share anywhere: the worst that an item says of that.
    due = {
        name: ItemScore(id=name, values={"share": value}, weights={"share": 0.0})
        for name, value in (("a", 1.0), ("b", 0.0))
    }
    assert pooled_mean([metric_value(SHARE, score) for score in due.values()]) == 0.0
    assert summary(due)["metrics"]["share"]["value"] == 0.0
    assert summary({"a": due["a"]})["metrics"]["share"]["value"] == 1.0


AVERAGED = replace(
    TASK,
    metrics=(
        SHARE,
        MetricSpec(name="likeness", kind="mean", description="likeness"),
        MetricSpec(
            name="costly", kind="mean", description="needs weights", needs="weights"
        ),
        MetricSpec(
            name="relevance",
            kind="average",
            description="of two",
            of=("likeness", "costly"),
        ),
        MetricSpec(
            name="overall",
            kind="average",
            description="of both",
            of=("share", "relevance"),
        ),
    ),
)
CHEAP = replace(
    AVERAGED, metrics=tuple(metric for metric in AVERAGED.metrics if not metric.needs)
)


def both(
    name: str, hits: float, of: float, likeness: float, costly: float = 0.9
) -> ItemScore:
    values = {"share": hits / of, "likeness": likeness, "costly": costly}
    return ItemScore(id=name, values=values, weights={"share": of})


TWO = {"a": both("a", 9, 10, 0.2), "b": both("b", 0, 2, 0.6)}


def test_averages_are_compared_item_by_item_unless_their_components_differ(
    tmp_path: Path,
) -> None:
    other = {"a": both("a", 5, 10, 0.4), "b": both("b", 2, 2, 0.6)}
    runs = (
        written(tmp_path / "a", TWO, AVERAGED),
        written(tmp_path / "b", other, AVERAGED),
    )
    overall = compare_runs(*runs, {"toy": AVERAGED})["toy"]["metrics"]["overall"]
    assert overall["value_a"] == pytest.approx((9 / 12 + 0.65) / 2)
    assert overall["value_b"] == pytest.approx((7 / 12 + 0.7) / 2)
    found = compare_runs(
        runs[0], written(tmp_path / "c", TWO, CHEAP), {"toy": AVERAGED}
    )["toy"]
    assert "overall" not in found["metrics"]
    assert any(
        "other components in each run" in warning for warning in found["warnings"]
    )


def test_an_official_figure_that_a_run_lacks_is_not_compared(tmp_path: Path) -> None:
    official = replace(
        SHARE,
        name="share_official",
        official=Official(
            unanswered="ends", undecided="official script ends: no citations"
        ),
        judged=False,
    )
    # An average of it and of what is not reported: there is none in either run.
    average = replace(
        official,
        name="overall_official",
        kind="average",
        of=("share_official", "model_official"),
    )
    task = replace(TASK, metrics=(SHARE, official, average), groups=())
    for name, silent in (("a", False), ("b", True)):
        scores = {
            each: ItemScore(
                id=each,
                values={"share": 0.5}
                if silent and each == "2"
                else {"share": 0.5, "share_official": 1.0},
                weights={"share": 2.0, "share_official": 2.0},
            )
            for each in ("1", "2")
        }
        entry = summarise(task, [item(each) for each in scores], scores, {}, recipe={})
        found = entry["metrics"]["share_official"]
        assert (found["value"], found["bound_low"], found["bound_high"]) == (
            (None,) * 3 if silent else (1.0,) * 3
        )
        overall = entry["metrics"]["overall_official"]
        assert [
            overall[end] for end in ("value", "ci_low", "bound_low", "bound_high")
        ] == [None] * 4
        assert overall["reason"] == (
            found["reason"] if silent else f"{NOT_ALL}: model_official"
        )
        written(tmp_path / name, scores, task, metrics=entry["metrics"])
    found = compare_runs(tmp_path / "a", tmp_path / "b", {"toy": task})["toy"]
    assert list(found["metrics"]) == ["share"]
    said = "share_official left out: no figure in one of the runs, official script ends: no citations (1 of 2 items)"
    assert said in found["warnings"]
    values = [metric_value(official, score) for score in scores.values()]
    assert math.isnan(pooled_mean(values))  # nor in a harness
