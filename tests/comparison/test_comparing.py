"""Comparisons: whole tasks, groups, several runs, and what holds of every one."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.comparison.compared import Compared, Selection, letter, read_compared
from medical_tasks.comparison.comparing import compare_pairs
from medical_tasks.comparison.statistics import breakdown_names
from medical_tasks.errors import UsageError
from medical_tasks.runs.results import Results
from tests.comparison.comparison_cases import (
    RECIPE,
    TASK,
    TASKS,
    cases,
    compare_results,
    compared,
    folder,
    row,
    rows,
)

CASES = cases("comparing")
RENAMED = {**RECIPE["data"], "source": {"renamed.csv": "1"}}

ALL = Selection(by="all")


def test_folders_are_compared_on_common_items_with_warnings_about_the_rest(
    tmp_path: Path,
) -> None:
    a = folder(
        tmp_path / "a",
        [
            row(key, value)
            for key, value in {"1": 1.0, "2": 0.0, "3": None, "4": 1.0}.items()
        ],
    )
    b = folder(
        tmp_path / "b",
        [row(key, 1.0) for key in ("1", "2", "3", "9")],
        prompts={"set": "official"},
        data=RENAMED,
    )
    entry = compare_results(read_compared(a), read_compared(b), TASKS)["toy"]
    assert entry["n_items"] == 3
    assert entry["metrics"]["right"]["n"] == 2
    assert entry["metrics"]["right"]["difference"] == pytest.approx(0.5)
    prompt_warning, *other_warnings = entry["warnings"]
    assert prompt_warning.startswith(
        "the prompts differ: only the second run's model was asked by this suite (prompts official)"
    )
    assert other_warnings == [
        "2 items are in one run only and are left out",
        "1 items are not scored in both runs and are left out",
    ]


def test_runs_on_other_data_or_tasks_are_refused() -> None:
    a = compared(rows([1.0, 0.0]))
    for change, message in (
        ({"data": {"rows_sha256": "b"}}, "cannot be compared, their data differs"),
        (
            {"task_version": "2-A"},
            "cannot be compared, their task version differs: '1-A' and '2-A'",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            compare_results(a, compared(a.rows, **change), TASKS)
    other = Compared(
        label="b", results=cast(Results, {"tasks": {"other": {}}}), rows=[]
    )
    with pytest.raises(UsageError, match="no task in common: a has toy; b has other"):
        compare_results(a, other, TASKS)
    with pytest.raises(UsageError, match="task 'other' of both runs is not known"):
        compare_results(other, other, TASKS)


def groups(
    a: list[dict[str, Any]], b: list[dict[str, Any]], recorded: tuple[str, ...] = ()
) -> dict[str, Any]:
    first, second = compared(a), compared(b)
    for side in (first, second):
        side.results["tasks"]["toy"]["breakdown"] = {
            "kind": {group: {} for group in recorded}
        }
    return dict(
        compare_results(first, second, TASKS, selection=ALL)["toy"]["breakdown"]
    )


def two_kinds(odd: list[float], even: list[float]) -> list[dict[str, Any]]:
    values = [*[("odd", value) for value in odd], *[("even", value) for value in even]]
    return [
        row(str(number), value, group_kind=kind)
        for number, (kind, value) in enumerate(values)
    ]


def test_holm_adjusts_over_the_groups_that_are_large_enough() -> None:
    # odd: 7 items right in B only, p = 2 / 2^7. even: 1 in A only and 6 in B only, p =
    # 2 (1 + 7) / 2^7.
    a = two_kinds([0.0] * 7 + [1.0] * 5, [1.0] + [0.0] * 6 + [1.0] * 5)
    b = two_kinds([1.0] * 12, [0.0] + [1.0] * 11)
    kind = groups(a, b)["kind"]
    odd, even = kind["odd"]["right"], kind["even"]["right"]
    assert (odd["difference"], even["difference"]) == (
        pytest.approx(7 / 12),
        pytest.approx(5 / 12),
    )
    assert (odd["p"], even["p"]) == (pytest.approx(0.015625), pytest.approx(0.125))
    assert (odd["p_holm"], even["p_holm"]) == (
        pytest.approx(0.03125),
        pytest.approx(0.125),
    )
    assert odd["ci_low"] < odd["difference"] < odd["ci_high"]
    assert 0 < odd["minimum_detectable_difference"] < odd["difference"]
    assert "too_few" not in odd
    near = groups(
        two_kinds([0.0, 1.0] * 6, [0.0] * 12),
        two_kinds([1.0] * 2 + [0.0, 1.0] * 5, [0.0] * 12),
    )["kind"]["odd"]["right"]
    assert near["too_few"] is True  # one of 12 changed
    assert near["ci_low"] is not None
    a, b = two_kinds([0.0] * 9, [0.0] * 10), two_kinds([1.0] * 9, [1.0] * 10)
    kind = groups(a, b)["kind"]
    few = kind["odd"]["right"]
    assert (few["value_a"], few["value_b"], few["n"], few["too_few"]) == (
        0.0,
        1.0,
        9,
        True,
    )
    assert [
        few[key]
        for key in ("ci_low", "ci_high", "p", "p_holm", "minimum_detectable_difference")
    ] == [None] * 5
    assert "mcnemar" not in few
    assert (kind["even"]["right"]["tests"], kind["even"]["right"]["p_holm"]) == (
        1,
        kind["even"]["right"]["p"],
    )
    a = [{**item, "cluster": "n"} for item in two_kinds([0.0] * 12, [])]
    b = [{**item, "cluster": "n"} for item in two_kinds([1.0] * 12, [])]
    assert groups(a, b)["kind"]["odd"]["right"]["too_few"] is True


def test_parts_are_compared_under_their_breakdown_and_nowhere_else() -> None:
    a, b = rows([0.0, 1.0] * 6), rows([1.0] * 12)
    toy = compare_results(compared(a), compared(b), TASKS, selection=ALL)["toy"]
    assert "share_top" not in toy["metrics"]
    top = toy["breakdown"]["section"]["top"]["share"]
    assert (top["value_a"], top["value_b"]) == (0.5, 1.0)
    assert list(toy["breakdown"]) == ["section", "kind"] == list(breakdown_names(TASK))


@pytest.mark.parametrize(
    ("value", "recorded", "expected"), CASES["an_item_counts_in_each_of_its_groups"]
)
def test_an_item_counts_in_each_of_its_groups(
    value: str, recorded: tuple[str, ...], expected: list[str]
) -> None:
    breakdown = groups(
        rows([1.0], group_kind=value), rows([1.0], group_kind=value), recorded
    )
    assert sorted(breakdown.get("kind", {})) == expected


def test_three_runs_are_adjusted_over_their_pairs() -> None:
    # B - A: 7 in B only, p = 2 / 2^7. C - A: 1 and 6, p = 16 / 2^7. C - B: 8 in B only,
    # p = 2 / 2^8.
    a = compared(rows([0.0] * 7 + [1.0] + [1.0] * 4))
    b = compared(rows([1.0] * 7 + [1.0] + [1.0] * 4))
    c = compared(rows([1.0] * 6 + [0.0] + [0.0] + [1.0] * 4))
    two = compare_pairs([a, b, c], TASKS, selection=ALL)
    assert [pair.name for pair in two] == ["B - A", "C - A"]
    results = [pair.tasks["toy"]["metrics"]["right"] for pair in two]
    assert [entry["p"] for entry in results] == [
        pytest.approx(2 / 128),
        pytest.approx(16 / 128),
    ]
    assert [entry["p_holm"] for entry in results] == [
        pytest.approx(4 / 128),
        pytest.approx(16 / 128),
    ]
    groups_of = [pair.tasks["toy"]["breakdown"]["kind"]["odd"]["right"] for pair in two]
    assert [entry["p_holm"] for entry in groups_of] == [
        entry["p_holm"] for entry in results
    ]
    three = compare_pairs([a, b, c], TASKS, all_pairs=True)
    assert [pair.name for pair in three] == ["B - A", "C - A", "C - B"]
    assert {pair.tasks["toy"]["metrics"]["right"]["tests"] for pair in three} == {3}
    assert three[0].tasks["toy"]["metrics"]["right"]["p_holm"] == pytest.approx(6 / 128)


def test_a_single_run_is_refused_and_runs_are_lettered() -> None:
    with pytest.raises(UsageError, match="needs at least two runs, got 1"):
        compare_pairs([compared(rows([1.0]))], TASKS)
    assert [letter(number) for number in (0, 25, 26, 51, 52, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "AZ",
        "BA",
        "ZZ",
        "AAA",
    ]


def with_others(label: str, **tasks: dict[str, Any]) -> Compared:
    run = compared(rows([1.0, 0.0]), label)
    others: Any = {name: {"recipe": recipe} for name, recipe in tasks.items()}
    run.results["tasks"].update(others)
    return run


def test_comparable_tasks_are_compared_and_the_others_refused_with_a_reason() -> None:
    other = {**TASKS, "other": TASK}
    a = with_others("a", other={"task_version": "1-A"}, alone={}, new={})
    b = with_others("b", other={"task_version": "2-A"}, new={})
    entries = compare_results(a, b, other)
    assert entries["toy"]["refused"] == []
    assert entries["other"]["refused"][0].startswith(
        "the runs cannot be compared, their task version differs: '1-A' and '2-A'"
    )
    assert entries["alone"]["refused"] == ["only a has this task"]
    assert entries["new"]["refused"] == [
        "this version of the suite does not know the task; update it"
    ]
    assert {name for name, entry in entries.items() if entry["metrics"]} == {"toy"}
    with pytest.raises(UsageError, match="^alone: only a has this task$"):
        compare_results(a, b, other, selection=Selection(tasks=["alone"]))
    with pytest.raises(
        UsageError,
        match="^none of the requested tasks is in a or b. Tasks of both: toy, other, new",
    ):
        compare_results(a, b, other, selection=Selection(tasks=["nothing"]))
    with pytest.raises(UsageError, match="^other: the runs cannot be compared"):
        compare_results(a, b, other, selection=Selection(tasks=["other"]))


def test_of_several_pairs_the_comparable_ones_are_compared() -> None:
    a, b = compared(rows([1.0])), compared(rows([0.0]))
    c = compared(rows([0.0]), "c", data={"rows_sha256": "b" * 64})
    pairs = compare_pairs([a, b, c], TASKS)
    assert [bool(pair.tasks["toy"]["refused"]) for pair in pairs] == [False, True]
    with pytest.raises(
        UsageError,
        match=r"^B - A: toy: the runs .* data differs.*\nC - A: toy: .*data differs",
    ):
        compare_pairs([c, a, b], TASKS)


def test_only_requested_metrics_are_compared() -> None:
    a, b = compared(rows([1.0, 0.0])), compared(rows([1.0, 1.0]))
    entry = compare_results(
        a, b, TASKS, selection=Selection(metrics=["share"], by="all")
    )["toy"]
    assert list(entry["metrics"]) == ["share"]
    assert list(entry["breakdown"]["section"]["top"]) == ["share"]
    gone = [
        {key: value for key, value in item.items() if key != "costly"}
        for item in rows([1.0])
    ]
    with pytest.raises(
        UsageError,
        match=r"toy: the first run does not report costly\. .* --task-args weights=VALUE",
    ):
        compare_results(
            compared(gone), b, TASKS, selection=Selection(metrics=["costly"])
        )
    first, second = (
        compared(rows([1.0]), scoring={"weights": {"sha256": digest}})
        for digest in "ab"
    )
    with pytest.raises(
        UsageError, match="toy: costly cannot be compared: its setting differs"
    ):
        compare_results(first, second, TASKS, selection=Selection(metrics=["costly"]))


VALUES = st.sampled_from([0.0, 1.0, None, math.nan])
PAIRS = st.lists(
    st.tuples(
        VALUES, VALUES, st.integers(0, 3), st.sampled_from(["odd", "even", "odd even"])
    ),
    max_size=30,
)
Drawn = list[tuple[float | None, float | None, int, str]]


def sides(drawn: Drawn) -> list[list[dict[str, Any]]]:
    return [
        [
            row(
                str(number),
                (item[0], item[1])[side],
                cluster=f"note {number // 2 if item[2] else number}",
                group_kind=item[3],
            )
            for number, item in enumerate(drawn)
        ]
        for side in (0, 1)
    ]


def entries(comparison: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every entry of a comparison, those of groups too."""
    toy = comparison["toy"]
    groups = {
        f"{by}/{group}/{name}": entry
        for by, by_group in toy["breakdown"].items()
        for group, metrics in by_group.items()
        for name, entry in metrics.items()
    }
    return {**toy["metrics"], **groups}


@settings(max_examples=10)
@given(PAIRS, st.integers(0, 99))
def test_laws_of_every_comparison(drawn: Drawn, seed: int) -> None:
    a, b = sides(drawn)
    same = entries(compare_results(compared(a), compared(a), TASKS, selection=ALL))
    assert {"right", "words", "share", "section/top/share"} <= set(same)
    for entry in same.values():
        assert entry["difference"] in (0.0, None)
        assert entry["p"] in (1.0, None)
        assert entry["p_holm"] in (1.0, None)
        if entry["flips"] is not None:
            assert (entry["flips"]["improved"], entry["flips"]["worsened"]) == (0, 0)
    whole = compare_results(compared(a), compared(b), TASKS, selection=ALL)
    forward, backward = (
        entries(whole),
        entries(compare_results(compared(b), compared(a), TASKS, selection=ALL)),
    )
    assert set(forward) == set(backward)
    # Swapping the runs swaps their values and turns signs.
    for name, entry in forward.items():
        turned = backward[name]
        for here, there, sign in [
            ("difference", "difference", -1),
            ("ci_low", "ci_high", -1),
            ("value_a", "value_b", 1),
            ("p", "p", 1),
            ("minimum_detectable_difference", "minimum_detectable_difference", 1),
        ]:
            assert (entry[here] is None) == (turned[there] is None)
            assert entry[here] is None or entry[here] == pytest.approx(
                sign * turned[there], abs=1e-12
            )
        if entry["flips"] is not None:
            assert entry["flips"]["improved"] == turned["flips"]["worsened"]
            assert entry["flips"]["same"] == turned["flips"]["same"]
    metrics = whole["toy"]["metrics"]
    for name, better, worse in (
        ("right", "only_b", "only_a"),
        ("harm", "only_a", "only_b"),
    ):
        flips, table = metrics[name]["flips"], metrics[name]["mcnemar"]
        assert flips["improved"] == table[better]
        assert flips["worsened"] == table[worse]
        assert flips["same"] == table["both"] + table["neither"]
    assert metrics["both"]["flips"] is None
    # The order of the rows changes nothing.
    random.Random(seed).shuffle(a)
    random.Random(seed + 1).shuffle(b)
    assert compare_results(compared(a), compared(b), TASKS, selection=ALL) == whole


@settings(max_examples=8)
@given(PAIRS)
def test_groups_of_single_groups_make_up_the_whole(drawn: Drawn) -> None:
    single = [(a, b, c, kind.split()[0]) for a, b, c, kind in drawn]
    a, b = map(compared, sides(single))
    toy = compare_results(a, b, TASKS, selection=ALL)["toy"]
    groups = toy["breakdown"].get("kind", {}).values()
    for metric in ("right", "share"):
        assert (
            sum(group[metric]["n"] for group in groups) == toy["metrics"][metric]["n"]
        )
        assert (
            sum(group[metric]["flips"]["improved"] for group in groups)
            == toy["metrics"][metric]["flips"]["improved"]
        )
