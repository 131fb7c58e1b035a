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
    """A benchmark whose items 1a, 1b, 2a, ... are pairs, group after group."""

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
    return [dict(figure) for figure in paired_figures(task, items, scores)]


def test_a_group_is_flagged_by_its_adjusted_p() -> None:
    # In 12 of 40 pairs only the plain item is right; of 40 loud ones one of each kind.
    values = {f"{n}a": 1.0 for n in range(80)} | {f"{n}b": 1.0 for n in range(80)}
    values |= {f"{n}b": 0.0 for n in (*range(12), 40)} | {"41a": 0.0}
    polite, loud = figures((("polite", 0, 40), ("loud", 40, 80)), values)
    assert (polite["value"], polite["reference_value"], polite["n"]) == (0.7, 1.0, 40)
    assert polite["difference"] == pytest.approx(-0.3)
    # McNemar's exact p for 12 to 0 is 2 / 2 ** 12.
    assert polite["p"] == pytest.approx(2 / 2**12)
    adjusted = [polite["p_holm"], loud["p_holm"]]
    assert adjusted == pytest.approx(holm([2 / 2**12, 1.0]))
    assert (polite["flagged"], loud["flagged"]) == (True, False)
    assert loud["difference"] == 0.0


def test_pairs_without_two_values_are_left_out_and_few_have_no_test() -> None:
    values = {f"{n}{side}": 1.0 for n in range(24) for side in "ab"}
    values |= {"3b": math.nan, "20a": math.nan}
    enough, few = figures((("enough", 0, 14), ("few", 14, 23)), values)
    assert (enough["pairs"], enough["n"], enough["p"]) == (14, 13, 1.0)
    assert enough["flagged"] is False
    assert (few["pairs"], few["n"], few["too_few"], few["p_holm"]) == (9, 8, True, None)
    assert few["ci_low"] is None


def test_shares_over_repeats_are_tested_by_the_bootstrap() -> None:
    values = {
        f"{n}{side}": 0.5 + (side == "b") * n / 80 for n in range(40) for side in "ab"
    }
    (polite,) = figures((("polite", 0, 40),), values)
    assert polite["test"] == "bootstrap"
    assert polite["flagged"] is True


def test_a_task_without_pairs_has_no_figures() -> None:
    assert figures((), {"1a": 1.0}) == []
