"""What holds of every comparison."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.comparison.comparing import Selection, compare_results
from tests.comparison.comparison_cases import TASKS, compared, row

ALL = Selection(by="all")
VALUES = st.sampled_from([0.0, 1.0, None, math.nan])
PAIRS = st.lists(
    st.tuples(VALUES, VALUES, st.integers(0, 3), st.sampled_from(["odd", "even", "odd even"])), max_size=30
)
Made = list[tuple[float | None, float | None, int, str]]


def sides(made: Made) -> list[list[dict[str, Any]]]:
    return [
        [
            row(
                str(place),
                (each[0], each[1])[side],
                cluster=f"note {place // 2 if each[2] else place}",
                group_kind=each[3],
            )
            for place, each in enumerate(made)
        ]
        for side in (0, 1)
    ]


def entries(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every entry of a comparison, those of groups too."""
    toy = found["toy"]
    groups = {
        f"{by}/{group}/{name}": entry
        for by, told in toy["breakdown"].items()
        for group, metrics in told.items()
        for name, entry in metrics.items()
    }
    return {**toy["metrics"], **groups}


@settings(deadline=None, max_examples=8)
@given(PAIRS)
def test_a_run_does_not_differ_from_itself(made: Made) -> None:
    rows = sides(made)[0]
    found = entries(compare_results(compared(rows), compared(rows), TASKS, selection=ALL))
    assert {"right", "words", "share", "section/top/share"} <= set(found)
    for entry in found.values():
        assert entry["difference"] in (0.0, None)
        assert entry["p"] in (1.0, None)
        assert entry["p_holm"] in (1.0, None)
        if entry["flips"] is not None:
            assert (entry["flips"]["improved"], entry["flips"]["worsened"]) == (0, 0)


@settings(deadline=None, max_examples=8)
@given(PAIRS)
def test_swapping_turns_everything_round(made: Made) -> None:
    a, b = map(compared, sides(made))
    one = entries(compare_results(a, b, TASKS, selection=ALL))
    other = entries(compare_results(b, a, TASKS, selection=ALL))
    assert set(one) == set(other)
    for name, entry in one.items():
        turned = other[name]
        for here, there, sign in [
            ("difference", "difference", -1),
            ("ci_low", "ci_high", -1),
            ("value_a", "value_b", 1),
            ("p", "p", 1),
            ("minimum_detectable_difference", "minimum_detectable_difference", 1),
        ]:
            assert (entry[here] is None) == (turned[there] is None)
            assert entry[here] is None or entry[here] == pytest.approx(sign * turned[there], abs=1e-12)
        if entry["flips"] is not None:
            assert entry["flips"]["improved"] == turned["flips"]["worsened"]
            assert entry["flips"]["same"] == turned["flips"]["same"]


@settings(deadline=None, max_examples=8)
@given(PAIRS, st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(made: Made, seed: int) -> None:
    a, b = sides(made)
    whole = compare_results(compared(a), compared(b), TASKS, selection=ALL)
    random.Random(seed).shuffle(a)
    random.Random(seed + 1).shuffle(b)
    assert compare_results(compared(a), compared(b), TASKS, selection=ALL) == whole


@settings(deadline=None, max_examples=8)
@given(PAIRS)
def test_flips_are_mcnemars_table(made: Made) -> None:
    a, b = map(compared, sides(made))
    metrics = compare_results(a, b, TASKS)["toy"]["metrics"]
    for name, better, worse in (("right", "only_b", "only_a"), ("harm", "only_a", "only_b")):
        flips, table = metrics[name]["flips"], metrics[name]["mcnemar"]
        assert flips["improved"] == table[better]
        assert flips["worsened"] == table[worse]
        assert flips["same"] == table["both"] + table["neither"]
    assert metrics["both"]["flips"] is None


@settings(deadline=None, max_examples=8)
@given(PAIRS)
def test_groups_of_single_groups_make_up_the_whole(made: Made) -> None:
    single = [(a, b, c, kind.split()[0]) for a, b, c, kind in made]
    a, b = map(compared, sides(single))
    toy = compare_results(a, b, TASKS, selection=ALL)["toy"]
    groups = toy["breakdown"].get("kind", {}).values()
    for metric in ("right", "share"):
        assert sum(each[metric]["n"] for each in groups) == toy["metrics"][metric]["n"]
        assert sum(each[metric]["flips"]["improved"] for each in groups) == toy["metrics"][metric]["flips"]["improved"]
