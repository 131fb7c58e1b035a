"""Differences within pairs of items: figures, few and missing pairs, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from medical_tasks.runs.paired_groups import paired_figures
from medical_tasks.scoring.paired import holm
from medical_tasks.spec import Item, ItemScore, MetricSpec, Pairs, TaskSpec
from tests.support import NoBenchmark


class Paired(NoBenchmark):
    """A benchmark whose items 1a, 1b, 2a, ... are pairs, of one group after the other."""

    name = "paired"
    groups: tuple[tuple[str, int, int], ...] = ()

    def pairs(self, task: TaskSpec, items: Sequence[Item]) -> Sequence[Pairs]:
        return [
            Pairs(
                by="tone",
                group=group,
                reference="plain",
                items=tuple((f"{n}b", f"{n}a") for n in range(start, end)),
            )
            for group, start, end in self.groups
        ]


def figures(
    groups: tuple[tuple[str, int, int], ...], values: dict[str, float]
) -> list[dict[str, object]]:
    benchmark = Paired()
    Paired.groups = groups
    task = TaskSpec(
        name="paired",
        title="Pairs",
        benchmark=benchmark,
        dataset="none",
        split="test",
        metrics=(MetricSpec(name="right", kind="proportion", description="right"),),
        version="1-A",
        generation_size=1,
    )
    items = [Item(id=name, fields={}, groups={}, cluster=name[:-1]) for name in values]
    scores = {
        name: ItemScore(id=name, values={"right": value})
        for name, value in values.items()
        if not math.isnan(value)
    }
    return [dict(each) for each in paired_figures(task, items, scores)]


def test_a_group_is_flagged_by_its_adjusted_p() -> None:
    # Of 40 polite ones 12 are right less, of 40 loud ones 1 less and 1 more.
    values = {f"{n}a": 1.0 for n in range(80)} | {f"{n}b": 1.0 for n in range(80)}
    values |= {f"{n}b": 0.0 for n in (*range(12), 40)} | {"41a": 0.0}
    polite, loud = figures((("polite", 0, 40), ("loud", 40, 80)), values)
    assert (polite["value"], polite["reference_value"], polite["n"]) == (0.7, 1.0, 40)
    assert polite["difference"] == pytest.approx(-0.3)
    # McNemar's exact p of 12 to none is 2 / 2 ** 12.
    assert polite["p"] == pytest.approx(2 / 2**12)
    adjusted = [polite["p_holm"], loud["p_holm"]]
    assert adjusted == pytest.approx(holm([2 / 2**12, 1.0]))
    assert (polite["flagged"], loud["flagged"]) == (True, False)
    assert loud["difference"] == 0.0


def test_pairs_without_two_values_are_left_out_and_few_have_no_test() -> None:
    values = {f"{n}{side}": 1.0 for n in range(24) for side in "ab"}
    values |= {"3b": math.nan, "20a": math.nan}
    some, few = figures((("some", 0, 14), ("few", 14, 23)), values)
    assert (some["pairs"], some["n"], some["p"], some["flagged"]) == (
        14,
        13,
        1.0,
        False,
    )
    assert (few["pairs"], few["n"], few["too_few"], few["p_holm"]) == (9, 8, True, None)
    assert few["ci_low"] is None


def test_shares_over_repeats_are_tested_by_the_bootstrap() -> None:
    values = {
        f"{n}{side}": 0.5 + (side == "b") * n / 80 for n in range(40) for side in "ab"
    }
    (found,) = figures((("polite", 0, 40),), values)
    assert found["test"] == "bootstrap"
    assert found["flagged"] is True


def test_a_task_without_pairs_has_no_figures() -> None:
    assert figures((), {"1a": 1.0}) == []
