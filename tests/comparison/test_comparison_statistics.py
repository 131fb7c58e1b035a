"""Numbers of a comparison by hand, and what has none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import pytest

from medical_tasks.comparison.compared import Selection
from medical_tasks.comparison.memory_gap import Sample, gap_of
from medical_tasks.comparison.statistics import with_judge_error
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import Results
from medical_tasks.scoring.paired import minimum_detectable_difference
from tests.comparison.comparison_cases import (
    TASK,
    TASKS,
    compare_results,
    compared,
    row,
    rows,
)


def metrics(
    a: list[dict[str, Any]], b: list[dict[str, Any]], **recipe: Any
) -> dict[str, Any]:
    return dict(
        compare_results(compared(a, **recipe), compared(b, **recipe), TASKS)["toy"][
            "metrics"
        ]
    )


def bits(pattern: str) -> list[float]:
    return [float(letter) for letter in pattern]


def test_exact_mcnemar_and_flips_by_hand() -> None:
    # 2 items right in A only, 9 in B only: 2 (C(11,0) + C(11,1) + C(11,2)) / 2^11 = 134
    # / 2048, as in R's binom.test(2, 11).
    entry = metrics(
        rows(bits("11" + "0" * 9 + "1" * 5)), rows(bits("00" + "1" * 9 + "1" * 5))
    )["right"]
    assert (entry["test"], entry["p"]) == ("McNemar", pytest.approx(134 / 2048))
    assert entry["flips"] == {"improved": 9, "worsened": 2, "same": 5}
    assert (entry["p_holm"], entry["tests"]) == (entry["p"], 1)
    entries = metrics(rows(bits("11" + "0" * 9)), rows(bits("00" + "1" * 9)))
    assert entries["right"]["flips"] == {"improved": 9, "worsened": 2, "same": 0}
    assert entries["harm"]["flips"] == {"improved": 9, "worsened": 2, "same": 0}
    assert entries["harm"]["difference"] == pytest.approx(
        -entries["right"]["difference"]
    )


def test_detectable_difference_by_hand() -> None:
    # 16 items, differences: 6 of +1, 1 of -1. Variance (7 - 16 (5/16)^2) / 15 = 0.3625,
    # standard error sqrt(0.3625 / 16). Student's t with 15 degrees of freedom: 2.1314
    # at 97.5 %, 0.8662 at 80 % (tables).
    entry = metrics(
        rows(bits("1" + "0" * 6 + "1" * 9)), rows(bits("0" + "1" * 6 + "1" * 9))
    )["right"]
    assert entry["minimum_detectable_difference"] == pytest.approx(
        (2.1314 + 0.8662) * math.sqrt(0.3625 / 16), rel=1e-4
    )
    a, b = bits("1100110010"), bits("1010101011")
    entry = metrics(rows(a), rows(b))["both"]
    assert entry["difference"] == pytest.approx(0.1)
    # `share` has the same denominator on all items here, so that both components are
    # the same mean.
    assert entry["minimum_detectable_difference"] == pytest.approx(
        minimum_detectable_difference(a, b)
    )
    assert (entry["test"], entry["flips"]) == ("bootstrap", None)


def test_memory_gap_by_hand() -> None:
    published = Sample(values=bits("101011"), groups="aabbcc", clusters="123456")
    fresh = Sample(values=bits("001010"), groups="aabbcc", clusters="123456")
    # Gaps 1/2, 0 and 1/2: standard error sqrt((1/12) / 3) = 1/6; Student's t with 2
    # degrees of freedom is 4.302653 at 97.5 %.
    gap = gap_of(published, fresh)
    assert [gap[key] for key in ("gap", "ci_low", "ci_high")] == pytest.approx(
        [1 / 3, 1 / 3 - 4.302653 / 6, 1.0]
    )
    # A note of groups a and b, right in both: residuals 1/12 each, and (1/6)^2 - 2
    # (1/12)^2 = 1/72 more of variance.
    gap = gap_of(replace(published, clusters="121456"), fresh)
    assert gap["ci_low"] == pytest.approx(1 / 3 - 4.302653 * math.sqrt(1 / 36 + 1 / 72))
    assert gap_of(fresh, published)["gap"] == pytest.approx(-1 / 3)
    alike = gap_of(
        replace(published, values=bits("111111")), replace(fresh, values=bits("000000"))
    )
    assert alike["ci_low"] == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / 6)))


def test_missing_values_and_denominators_do_not_count_as_zero() -> None:
    none = metrics(rows([None, None]), rows([1.0, 0.0]))["right"]
    assert [
        none[key]
        for key in ("value_a", "value_b", "difference", "ci_low", "p", "p_holm")
    ] == [None] * 6
    assert none["flips"] == {"improved": 0, "worsened": 0, "same": 0}
    assert none["notes"] == [
        "no item has a value in both runs, so that nothing can be said"
    ]
    some = metrics(rows([math.nan, 1.0, 0.0]), rows([1.0, 1.0, math.nan]))["right"]
    assert (some["n"], some["value_a"], some["value_b"]) == (1, 1.0, 1.0)
    a, b = rows(bits("1010")), rows(bits("1110"))
    for item in (a[0], b[1]):
        item |= {"share": math.nan, "share_of": 0.0}
    as_nan = metrics(a, b)
    for item in (a[0], b[1]):
        item["share"] = None
    assert metrics(a, b) == as_nan
    assert as_nan["share"]["flips"] == {"improved": 0, "worsened": 0, "same": 2}


def test_damaged_items_and_recipes_are_refused() -> None:
    good = compared(rows([1.0, 0.0]))
    with pytest.raises(
        UsageError,
        match="^b: its items are damaged: toy has two rows of the item 1. Score again.$",
    ):
        compare_results(
            good, compared([*rows([1.0, 0.0]), rows([1.0, 1.0])[1]], "b"), TASKS
        )
    for name in ("task", "id"):
        lacking = replace(
            good,
            label="b",
            rows=[
                {key: item[key] for key in item if key != name} for item in good.rows
            ],
        )
        with pytest.raises(
            UsageError,
            match="^b: its items are damaged: a row lacks its task or id. Score again.$",
        ):
            compare_results(good, lacking, TASKS)
    damaged = replace(
        good, results=cast(Results, {"tasks": {"toy": {"recipe": ["1-A"]}}})
    )
    with pytest.raises(
        UsageError, match="their task version differs: '1-A' and 'none'"
    ):
        compare_results(good, damaged, TASKS)


def test_no_item_in_common() -> None:
    toy = compare_results(
        compared([row("x", 1.0)]),
        compared([row("y", 1.0)]),
        TASKS,
        selection=Selection(by="all"),
    )["toy"]
    assert toy["warnings"] == ["2 items are in one run only and are left out"]
    assert {entry["n"] for entry in toy["metrics"].values()} == {0}
    assert toy["breakdown"]["section"]["top"]["share"]["too_few"] is True
    assert "kind" not in toy["breakdown"]


def test_one_cluster_allows_no_interval_and_a_task_without_clusters_needs_none() -> (
    None
):
    entry = metrics(rows(bits("1100"), cluster="n"), rows(bits("1111"), cluster="n"))[
        "right"
    ]
    assert (
        entry["ci_low"],
        entry["ci_high"],
        entry["minimum_detectable_difference"],
    ) == (
        -1.0,
        1.0,
        None,
    )
    assert entry["notes"] == [
        "only 4 pairs in 1 independent group: nothing tells how much it would vary, so that the interval is all that is possible"
    ]
    alone = {"toy": replace(TASK, cluster=None)}
    a, b = (
        [{**item, "cluster": None} for item in rows(bits(pattern))]
        for pattern in ("1100", "1111")
    )
    assert (
        compare_results(compared(a), compared(b), alone)["toy"]["metrics"]["right"][
            "n_clusters"
        ]
        == 4
    )


@pytest.mark.parametrize(
    ("n", "expected"),
    [(9, ["only 9 pairs, fewer than 10: the interval is rough"]), (10, [])],
)
def test_few_pairs_are_noted(n: int, expected: list[str]) -> None:
    notes = metrics(rows([1.0] * n), rows([0.0, *[1.0] * (n - 1)]))["right"]["notes"]
    assert [
        note[: len(start)] for note, start in zip(notes, expected, strict=True)
    ] == expected


def test_all_equal_items_have_an_interval_with_width_and_nothing_is_minus_zero() -> (
    None
):
    entry = metrics(rows([1.0] * 12), rows([1.0] * 12))["right"]
    assert entry["ci_low"] < entry["difference"] == 0.0 < entry["ci_high"]
    lower = metrics(rows([1.0] + [0.0] * 30), rows([0.0] * 31))["right"]
    assert (str(entry["difference"]), str(lower["ci_high"])) == ("0.0", "0.0")


def test_impossible_values_and_clusters_are_refused_with_the_next_step() -> None:
    with pytest.raises(
        UsageError,
        match=r"toy: the items hold what right cannot be \(a must .*score again",
    ):
        metrics(rows([0.5] * 3), rows([1.0] * 3))
    with pytest.raises(
        UsageError,
        match=r"toy: the items hold what right cannot be \(clusters must name a cluster",
    ):
        metrics(rows([1.0] * 3, cluster=None), rows([1.0] * 3, cluster=None))


def test_metrics_of_a_lexical_judge_are_marked_and_those_of_one_run_left_out() -> None:
    judge = {"name": "lexical", "comparable": False}
    entries = metrics(rows(bits("10")), rows(bits("11")), judge=judge)
    assert [
        name for name, entry in entries.items() if entry.get("comparable", True)
    ] == ["words"]
    without = [
        {key: value for key, value in item.items() if key != "costly"}
        for item in rows(bits("10"))
    ]
    assert "costly" not in metrics(without, rows(bits("11")))
    a, b = compared(rows(bits("10"))), compared(rows(bits("11")))
    reported: dict[str, Any] = {
        name: {} for name in ("right", "harm", "share", "words")
    }
    # its parquet has the column because of another task
    b.results["tasks"]["toy"]["metrics"] = reported
    assert "costly" not in compare_results(a, b, TASKS)["toy"]["metrics"]


def test_drift_widens_a_difference_as_far_as_the_answers_of_both_runs_lie_apart() -> (
    None
):
    labels = {
        "weights": [0.5, 0.5],
        "slope": [1.0, -1.0],
        "covariance": [[0.0] * 2] * 2,
        "freedom": 50.0,
    }
    entry = {
        "difference": 0.1,
        "ci_low": 0.04,
        "ci_high": 0.16,
        "p": 0.01,
        "p_value": 0.01,
    }

    def compared(*distances: float) -> Any:
        widenings = (
            {"length": {"distance": distance, "drift": [-0.02, 0.1]}}
            for distance in distances
        )
        widened: Any = dict(entry)
        with_judge_error(
            widened, [{**labels, "widened_by": widening} for widening in widenings]
        )
        return widened

    alike, apart = compared(0.8, 0.8), compared(0.0, 1.0)
    assert (alike["ci_low"], alike["ci_high"]) == pytest.approx((0.04, 0.16))
    assert (apart["ci_low"], apart["ci_high"]) == pytest.approx(
        (0.04 - 0.1, 0.16 + 0.02)
    )
    assert (alike["p"], apart["p"]) == (0.01, 1.0)
