"""Pooled metrics and metrics of sections, from item scores to results, rows, comparisons and harnesses."""

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


def scored(name: str, hits: float, total: float) -> ItemScore:
    value = hits / total if total else NAN
    return ItemScore(
        id=name,
        values={"share": value, "share_top": NAN},
        weights={"share": total, "share_top": 0.0},
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
def test_bounds_are_the_extremes_of_undecided_verdicts(
    counts: list[tuple[int, int, int]],
) -> None:
    """Items have hits, misses and undecided verdicts; the bounds are those of all undecided ones as misses or as hits."""
    scores: dict[str, ItemScore] = {}
    for number, (hits, misses, undecided) in enumerate(counts):
        item_total = hits + misses + undecided
        if undecided:
            limits = {"share": (hits / item_total, (hits + undecided) / item_total)}
            scores[str(number)] = ItemScore(
                id=str(number),
                values={},
                limits=limits,
                weights={"share": float(item_total)},
                unscored="x",
            )
        else:
            scores[str(number)] = scored(str(number), hits, item_total)
    share = summary(scores)["metrics"]["share"]
    verdict_total = sum(map(sum, counts))
    if not verdict_total:
        assert share["bound_low"] is None
        return
    assert share["bound_low"] == pytest.approx(
        sum(hits for hits, _, _ in counts) / verdict_total
    )
    assert share["bound_high"] == pytest.approx(
        sum(hits + undecided for hits, _, undecided in counts) / verdict_total
    )


def test_sections_are_in_their_breakdown_and_denominators_in_rows() -> None:
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
    undecided = ItemScore(
        id="b",
        values={},
        limits={"share": (0.2, 0.8)},
        weights={"share": 10.0},
        unscored="judge: x",
    )
    rows = item_rows(
        TASK,
        [item("a"), item("b"), item("c")],
        {"a": scored("a", 1, 4), "b": undecided},
        {"c": "timeout"},
    )
    assert [(row["share"], row["share_of"]) for row in rows] == [
        (0.25, 4.0),
        (None, None),
        (None, None),
    ]


def write_scores(
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
    return write_scores(
        folder,
        {
            str(number): scored(str(number), hits, total)
            for number, (hits, total) in enumerate(counts)
        },
    )


def compare_runs(
    first: Path, second: Path, tasks: dict[str, TaskSpec]
) -> dict[str, Any]:
    return compare_results(read_compared(first), read_compared(second), tasks)


def test_two_runs_are_compared_by_their_pooled_ratios(tmp_path: Path) -> None:
    def compare_shares(
        a: list[tuple[int, int]], b: list[tuple[int, int]]
    ) -> dict[str, Any]:
        runs = run(tmp_path / "a", a), run(tmp_path / "b", b)
        metrics: dict[str, Any] = compare_runs(*runs, {"toy": TASK})["toy"]["metrics"]
        return dict(metrics["share"])

    share = compare_shares(
        [(1, 4), (0, 0), (2, 6), (3, 3)], [(3, 4), (1, 2), (2, 5), (0, 3)]
    )
    assert share["value_a"] == pytest.approx(6 / 13)
    # with the item on which run A had nothing to count
    assert share["value_b"] == pytest.approx(6 / 14)
    assert share["ci_low"] <= share["difference"] <= share["ci_high"]
    assert share["minimum_detectable_difference"] > 0
    # With equal weights the detectable difference is that of means.
    a, b = [(1, 2), (0, 2), (2, 2), (1, 2)], [(2, 2), (1, 2), (0, 2), (2, 2)]
    shares = [[hits / total for hits, total in counts] for counts in (a, b)]
    assert compare_shares(a, b)["minimum_detectable_difference"] == pytest.approx(
        minimum_detectable_difference(*shares)
    )


def test_a_harness_pools_like_the_runner() -> None:
    scores = [scored("a", 1, 4), scored("b", 0, 0), scored("c", 3, 3)]
    values = [metric_value(SHARE, score) for score in scores]
    assert pooled_mean(values) == pytest.approx(4 / 7)
    assert pooled_mean(copy.deepcopy(values)) == pytest.approx(4 / 7)
    assert math.isnan(pooled_mean([metric_value(SHARE, ItemScore(id="x", values={}))]))
    assert math.isnan(pooled_mean([]))
    with pytest.raises(TypeError, match="values with their weights; got float"):
        pooled_mean([Weighted(0.5, 2.0), 0.5])
    # No denominator anywhere: the worst value of an item.
    without_denominator = {
        name: ItemScore(id=name, values={"share": value}, weights={"share": 0.0})
        for name, value in (("a", 1.0), ("b", 0.0))
    }
    assert (
        pooled_mean(
            [metric_value(SHARE, score) for score in without_denominator.values()]
        )
        == 0.0
    )
    assert summary(without_denominator)["metrics"]["share"]["value"] == 0.0
    assert summary({"a": without_denominator["a"]})["metrics"]["share"]["value"] == 1.0


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


def all_scores(name: str, hits: float, total: float, likeness: float) -> ItemScore:
    values = {"share": hits / total, "likeness": likeness, "costly": 0.9}
    return ItemScore(id=name, values=values, weights={"share": total})


TWO = {"a": all_scores("a", 9, 10, 0.2), "b": all_scores("b", 0, 2, 0.6)}


def test_averages_are_compared_item_by_item_unless_their_components_differ(
    tmp_path: Path,
) -> None:
    other = {"a": all_scores("a", 5, 10, 0.4), "b": all_scores("b", 2, 2, 0.6)}
    runs = (
        write_scores(tmp_path / "a", TWO, AVERAGED),
        write_scores(tmp_path / "b", other, AVERAGED),
    )
    overall = compare_runs(*runs, {"toy": AVERAGED})["toy"]["metrics"]["overall"]
    assert overall["value_a"] == pytest.approx((9 / 12 + 0.65) / 2)
    assert overall["value_b"] == pytest.approx((7 / 12 + 0.7) / 2)
    toy = compare_runs(
        runs[0], write_scores(tmp_path / "c", TWO, CHEAP), {"toy": AVERAGED}
    )["toy"]
    assert "overall" not in toy["metrics"]
    assert any("other components in each run" in warning for warning in toy["warnings"])


def test_an_official_figure_that_a_run_lacks_is_not_compared(tmp_path: Path) -> None:
    official = replace(
        SHARE,
        name="share_official",
        official=Official(
            unanswered="ends", undecided="official script ends: no citations"
        ),
        judged=False,
    )
    # An average of it and of a metric without a figure: neither run has a value.
    average = replace(
        official,
        name="overall_official",
        kind="average",
        of=("share_official", "model_official"),
    )
    task = replace(TASK, metrics=(SHARE, official, average), groups=())
    for run_name, silent in (("a", False), ("b", True)):
        scores = {
            item_id: ItemScore(
                id=item_id,
                values={"share": 0.5}
                if silent and item_id == "2"
                else {"share": 0.5, "share_official": 1.0},
                weights={"share": 2.0, "share_official": 2.0},
            )
            for item_id in ("1", "2")
        }
        entry = summarise(task, [item(name) for name in scores], scores, {}, recipe={})
        metric = entry["metrics"]["share_official"]
        expected = None if silent else 1.0
        assert metric["value"] == expected
        assert (metric["bound_low"], metric["bound_high"]) == (expected, expected)
        overall = entry["metrics"]["overall_official"]
        assert [
            overall[end] for end in ("value", "ci_low", "bound_low", "bound_high")
        ] == [None] * 4
        assert overall["reason"] == (
            metric["reason"] if silent else f"{NOT_ALL}: model_official"
        )
        write_scores(tmp_path / run_name, scores, task, metrics=entry["metrics"])
    toy = compare_runs(tmp_path / "a", tmp_path / "b", {"toy": task})["toy"]
    assert list(toy["metrics"]) == ["share"]
    warning = "share_official left out: no figure in one of the runs, official script ends: no citations (1 of 2 items)"
    assert warning in toy["warnings"]
    values = [metric_value(official, score) for score in scores.values()]
    assert math.isnan(pooled_mean(values))  # nor in a harness
