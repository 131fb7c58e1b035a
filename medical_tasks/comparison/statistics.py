"""The statistics of two runs on the same items: difference, interval, test, changed items.

Each metric becomes a numerator and a denominator per item, so that proportions, ratios
and averages are resampled alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Protocol, Required, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from medical_tasks.runs.numbers import FEWEST, too_few_to_tell
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    Number,
    Row,
    groups_of,
    in_order,
    weight_column,
)
from medical_tasks.scoring import paired
from medical_tasks.scoring.averages import Sums, average_of, components, in_turns, sums
from medical_tasks.scoring.bootstrap import linear
from medical_tasks.scoring.correction import JudgeError, widening
from medical_tasks.scoring.estimates import Comparison, Floats, as_json
from medical_tasks.scoring.intervals import (
    normal_quantile,
    student_quantile,
    student_tail,
)
from medical_tasks.spec import MetricSpec, TaskSpec

RESAMPLES: Final = 2000
"""Draws of the bootstrap for a whole task."""
GROUP_RESAMPLES: Final = 1000
"""Draws for a group of a breakdown, of which there can be many."""
CHANGED: Final = 1e-12
"""Values that are closer than this are the same but for rounding."""


class Difference(TypedDict, total=False):
    """A metric of two runs on the same items, the second minus the first; None where nobody knows.

    Attributes:
        value_a: of the first run.
        value_b: of the second.
        difference: of the values.
        ci_low: the lower end of its 95 % interval.
        ci_high: the upper end.
        n: how many items count in both runs.
        n_clusters: how many of them are independent.
        test: the test to read.
        p: its p value; `p_value` is that of the interval, `p_holm` adjusted over
            `tests` tests.
        minimum_detectable_difference: the smallest true one that so many items find in
            4 of 5 cases.
        flips: how many items improved, worsened and stayed the same.
        items: which ones, where that is asked for.
        equivalence: the p values of a difference within a margin, and beyond it.
        mcnemar: of items that are right or wrong, McNemar's test.
        notes: what a reader must know.
        too_few: whether a group has too few items to tell.
        comparable: False where a judge by words decided it, or an average lacks
            metrics.
    """

    value_a: Required[Number]
    value_b: Required[Number]
    difference: Required[Number]
    ci_low: Required[Number]
    ci_high: Required[Number]
    n: Required[int]
    n_clusters: Required[int]
    test: str
    p: Number
    p_value: Number
    p_holm: Number
    tests: int
    minimum_detectable_difference: Number
    flips: dict[str, int] | None
    items: dict[str, list[JsonDict]]
    equivalence: Json
    mcnemar: Json
    notes: list[str]
    higher_is_better: bool
    too_few: bool
    comparable: bool
    unit: str
    missing_components: list[str]


Differences: TypeAlias = dict[str, Difference]
"""Differences by the names of their metrics."""
Breakdowns: TypeAlias = dict[str, dict[str, Differences]]
"""Breakdown to group to differences."""


class ComparedTask(TypedDict):
    """A task of two results.

    Attributes:
        n_items: how many items both have.
        warnings: what a reader must know of the comparison.
        metrics: the differences of all items.
        breakdown: those of groups.
        paper: whether each result is comparable with the paper.
        refused: why the task is not compared; then the others are empty.
    """

    n_items: int
    warnings: list[str]
    metrics: Differences
    breakdown: Breakdowns
    paper: list[Json]
    refused: list[str]


Rows = Sequence[Row]


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """A metric of two runs on the same items, in the same order.

    Attributes:
        shares: of each component in it; one of 1 for a metric that is no average.
        first: a numerator and a denominator in turns for each component; `nan` where
            undecided.
        values: both runs' values on each item; None for an average.
        clusters: of each item; None where each stands alone.
        missing: metrics of an average that are not reported.
    """

    metric: MetricSpec
    shares: tuple[float, ...]
    first: tuple[Floats, ...]
    second: tuple[Floats, ...]
    values: tuple[Floats, ...] | None
    clusters: Sequence[Any] | None
    missing: tuple[str, ...] = ()

    def part(self, chosen: npt.NDArray[np.intp]) -> Columns:
        """The same of some of the items."""
        return replace(
            self,
            first=tuple(column[chosen] for column in self.first),
            second=tuple(column[chosen] for column in self.second),
            values=None
            if self.values is None
            else (self.values[0][chosen], self.values[1][chosen]),
            clusters=None
            if self.clusters is None
            else [self.clusters[index] for index in chosen],
        )


class Compare(Protocol):
    """Compares the columns of a metric."""

    def __call__(
        self, columns: Columns, /, *, resamples: int, whole: bool
    ) -> Difference:
        """Of a group where not `whole`."""
        ...


def compare_columns(
    columns: Columns,
    *,
    resamples: int = RESAMPLES,
    whole: bool = True,
    margin: float | None = None,
) -> Difference:
    """Compares two runs, the second minus the first.

    Args:
        columns: a metric of both runs.
        resamples: draws of the bootstrap.
        whole: False for a group: of few pairs it gets no interval and no test, and one
            that is `too_few_to_tell` is marked.
        margin: of equivalence; None for no such test.
    """
    metric, values = columns.metric, columns.values
    limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
    comparison = _bootstrap(columns, limits, resamples)
    # Without -0.0, which swapping runs leaves.
    numbers: Any = {
        name: value if value is None else value + 0
        for name, value in as_json(comparison).items()
    }
    entry: Difference = numbers
    few = comparison.n_clusters < FEWEST
    entry["minimum_detectable_difference"] = detectable(columns)
    entry["test"], entry["p"] = "bootstrap", entry["p_value"]
    if metric.kind == "proportion" and values is not None:
        tested = paired.mcnemar(*values, clusters=columns.clusters)
        entry["test"], entry["p"] = "McNemar", tested.p_exact if tested.n else None
        entry["mcnemar"] = as_json(tested)

    entry["flips"] = _flips(columns)
    entry["higher_is_better"] = metric.higher_is_better
    if metric.unit:
        entry["unit"] = metric.unit
    if columns.missing:
        entry["missing_components"], entry["comparable"] = list(columns.missing), False

    if margin is not None:
        a, b, ends = _sides(columns, limits)
        tests = paired.equivalence(a, b, margin, clusters=columns.clusters, limits=ends)
        within, beyond = (None if math.isnan(p) else p for p in tests)
        entry["equivalence"] = {"margin": margin, "p": within, "p_beyond": beyond}

    entry["notes"] = [_few_said(comparison)] if few else []
    if not whole:
        _mark_group(entry, few=few)

    return entry


def _mark_group(entry: Difference, *, few: bool) -> None:
    """Marks a group that is too small to tell; of `few` pairs it loses its interval and test."""
    if too_few_to_tell(
        entry["difference"], entry["minimum_detectable_difference"], entry["n_clusters"]
    ):
        entry["too_few"] = True
    if few:
        entry["ci_low"] = entry["ci_high"] = entry["p_value"] = entry["p"] = None
        entry["minimum_detectable_difference"] = None
        entry.pop("mcnemar", None)


def with_judge_error(entry: Difference, facts: Sequence[Json]) -> None:
    """Widens the comparison of corrected metrics by the labels' error, which both runs share."""
    first, second = (
        {name: np.array(each[name]) for name in ("weights", "slope")} for each in facts
    )
    slope = (first["slope"] + second["slope"]) / 2.0
    error = JudgeError(
        second["weights"] - first["weights"],
        slope,
        np.array(facts[0]["covariance"]),
        facts[0]["freedom"],
    )
    entry["minimum_detectable_difference"] = None  # which is of the runs alone
    value, low, high = entry["difference"], entry["ci_low"], entry["ci_high"]
    if None in (value, low, high):
        return

    t = student_quantile(1.0 - paired.ALPHA / 2.0, error.freedom)
    down, up = _widened(*(each.get("widened_by", {}) for each in facts))
    entry["ci_low"] = value - error.reach(t, ((value - low) / t) ** 2)[0] - down
    entry["ci_high"] = value + error.reach(t, ((high - value) / t) ** 2)[1] + up
    # Were there no difference, the labels' error would be that of the runs' other
    # classes alone.
    alike = replace(error, weights=error.weights - value * slope).variance
    own = (value - low if value > 0.0 else high - value) / normal_quantile(
        1.0 - paired.ALPHA / 2.0
    )
    certain = max(0.0, abs(value) - (down if value > 0.0 else up))
    if own > 0.0 and (alike > CHANGED or certain < abs(value)):
        tail = student_tail(certain / math.hypot(own, math.sqrt(alike)), error.freedom)
        entry["p_value"] = entry["p"] = max(min(1.0, 2.0 * tail), entry["p"])


def _widened(first: Json, second: Json) -> tuple[float, float]:
    """How far the judge's drift widens a difference.

    As far as the answers of both runs lie apart.
    """
    none = {"distance": 0.0, "drift": (0.0, 0.0)}
    reaches = [
        widening(b["distance"] - a["distance"], [*a["drift"], *b["drift"]])
        for a, b in (
            (first.get(name, none), second.get(name, none))
            for name in {**first, **second}
        )
    ]

    return sum(down for down, _ in reaches), sum(up for _, up in reaches)


def adjust(entries: Sequence[Difference]) -> None:
    """Adds to a family its p values adjusted by Holm (`p_holm`), and their number (`tests`)."""
    adjusted = paired.holm(
        [math.nan if entry["p"] is None else entry["p"] for entry in entries]
    )
    tests = sum(entry["p"] is not None for entry in entries)
    for entry, value in zip(entries, adjusted, strict=True):
        entry["p_holm"], entry["tests"] = None if math.isnan(value) else value, tests


def _bootstrap(
    columns: Columns, limits: tuple[float, float] | None, resamples: int
) -> Comparison:
    """The difference with its interval and p-value, of resampled items.

    Averages and ratios are resampled as sums; of one value an item the mean does.
    """
    settings: JsonDict = {
        "clusters": columns.clusters,
        "limits": limits,
        "resamples": resamples,
    }
    if columns.metric.kind in ("proportion", "mean") and columns.values is not None:
        return paired.paired_bootstrap(*columns.values, **settings)

    return paired.paired_bootstrap_statistic(
        columns.first, columns.second, average_of(columns.shares), **settings
    )


def detectable(columns: Columns) -> float | None:
    """The smallest true difference of two runs that so many items detect."""
    limits = (
        columns.metric.limits
        if all(map(math.isfinite, columns.metric.limits))
        else None
    )
    a, b, ends = _sides(columns, limits)
    smallest = paired.minimum_detectable_difference(
        a, b, clusters=columns.clusters, limits=ends
    )

    return None if math.isnan(smallest) else smallest


def _sides(
    columns: Columns, limits: tuple[float, float] | None
) -> tuple[Floats, Floats, tuple[float, float] | None]:
    """Both runs' values by item, and their limits.

    A statistic of sums is taken as the mean of what each item adds to it.
    """
    if columns.metric.kind in ("proportion", "mean") and columns.values is not None:
        return columns.values[0], columns.values[1], limits

    counted = np.asarray(
        np.isfinite(np.stack([*columns.first, *columns.second])).all(axis=0)
    )
    return (
        linear(columns.shares, columns.first, counted),
        linear(columns.shares, columns.second, counted),
        None,
    )


def _flips(columns: Columns) -> dict[str, int] | None:
    """How many items are better in the second run, worse, and the same.

    None where items have no values of their own.
    """
    if columns.values is None:
        return None

    change = columns.values[1] - columns.values[0]
    change = change[np.isfinite(change)] * (
        1.0 if columns.metric.higher_is_better else -1.0
    )
    improved, worsened = int((change > CHANGED).sum()), int((change < -CHANGED).sum())

    return {
        "improved": improved,
        "worsened": worsened,
        "same": len(change) - improved - worsened,
    }


def _few_said(comparison: Comparison) -> str:
    """Why so few pairs say little, for the note below a table."""
    if not comparison.n:
        return "no item has a value in both runs, so that nothing can be said"

    pairs = f"{comparison.n} pair" + ("" if comparison.n == 1 else "s")
    if comparison.n_clusters < comparison.n:
        pairs += f" in {comparison.n_clusters} independent group" + (
            "" if comparison.n_clusters == 1 else "s"
        )

    if comparison.n_clusters == 1:
        return f"only {pairs}: nothing tells how much it would vary, so that the interval is all that is possible"

    return f"only {pairs}, fewer than {FEWEST}: the interval is rough, at worst all that is possible; conclude nothing from it"


def columns_of(
    metric: MetricSpec,
    reported: Mapping[str, MetricSpec],
    first: Rows,
    second: Rows,
    clusters: Sequence[Any] | None,
) -> Columns:
    """Takes a metric's columns out of both runs' rows of the same items, in the same order."""
    parts = components(metric, reported)
    first_columns, second_columns = (
        tuple(
            np.array(column, dtype=np.float64)
            for column in in_turns(_sums(reported[name], rows) for name in parts.shares)
        )
        for rows in (first, second)
    )
    values = None
    if metric.kind != "average":
        values = tuple(
            np.array([item_value(metric, row) for row in rows], dtype=np.float64)
            for rows in (first, second)
        )

    return Columns(
        metric=metric,
        shares=tuple(parts.shares.values()),
        first=first_columns,
        second=second_columns,
        values=values,
        clusters=clusters,
        missing=parts.missing,
    )


def item_value(metric: MetricSpec, row: Row) -> float:
    """A metric's value on an item; `nan` where it is not decided, or there is nothing to count."""
    value = row.get(metric.name)
    return (
        math.nan
        if value is None
        or (metric.kind == "ratio" and not row.get(weight_column(metric.name)))
        else value
    )


def is_counted(metric: MetricSpec, row: Row) -> bool:
    """Whether the item goes into the metric.

    One with nothing to count adds nothing to its run's sums, and is decided.
    """
    if metric.kind == "ratio":
        return row.get(weight_column(metric.name)) is not None
    value = row.get(metric.name)
    return value is not None and not math.isnan(value)


def _sums(metric: MetricSpec, rows: Rows) -> list[Sums]:
    """What items add to a metric's numerator and denominator."""
    if metric.kind != "ratio":
        return [sums(metric, row.get(metric.name), None) for row in rows]

    # What is not there has a denominator of 0, whichever way a file writes that it has
    # no value.
    weight = weight_column(metric.name)
    return [
        sums(metric, item_value(metric, row), row[weight])
        if is_counted(metric, row)
        else (math.nan, math.nan)
        for row in rows
    ]


def breakdown_names(task: TaskSpec) -> tuple[str, ...]:
    """Names of a task's breakdowns: those of its items' parts, then those of its items."""
    return tuple(
        dict.fromkeys(
            [*(metric.part[0] for metric in task.metrics if metric.part), *task.groups]
        )
    )


def compare_breakdowns(
    task: TaskSpec,
    columns: Mapping[str, Columns],
    rows: Rows,
    named: Mapping[str, Iterable[str]],
    *,
    names: Sequence[str],
    compare: Compare = compare_columns,
) -> Breakdowns:
    """Compares every metric within every group; p values are adjusted over the groups.

    `named` has the groups of each breakdown, since a row joins its by blanks; returns
    breakdown to group to metric to entry.
    """
    breakdowns: Breakdowns = {}
    for by in names:
        groups: dict[str, Differences] = {}
        for metric in task.metrics:
            if metric.part and metric.part[0] == by and metric.name in columns:
                difference = compare(
                    columns[metric.name], resamples=GROUP_RESAMPLES, whole=False
                )
                groups.setdefault(metric.part[1], {})[metric.whole] = difference

        if by in task.groups:
            members = _members(rows, by, named.get(by, ()))
            for group in in_order(members):
                groups[group] = {
                    name: compare(
                        each.part(members[group]),
                        resamples=GROUP_RESAMPLES,
                        whole=False,
                    )
                    for name, each in columns.items()
                    if not each.metric.part and by not in each.metric.not_by
                }

        if any(groups.values()):
            breakdowns[by] = groups

    adjust_breakdowns([breakdowns])
    return breakdowns


def adjust_breakdowns(several: Sequence[Breakdowns]) -> None:
    """Adjusts p values by Holm.

    A family is one metric over all groups of a breakdown, and over all pairs of runs
    given.
    """
    families: dict[tuple[str, str], list[Difference]] = {}
    for by, groups in chain.from_iterable(breakdowns.items() for breakdowns in several):
        for name, entry in chain.from_iterable(
            metrics.items() for metrics in groups.values()
        ):
            families.setdefault((by, name), []).append(entry)

    for family in families.values():
        adjust(family)


def _members(
    rows: Rows, by: str, group_names: Iterable[str]
) -> dict[str, npt.NDArray[np.intp]]:
    """The rows of each group of a breakdown, by index.

    A row can be of several groups, and one without a group is of none.
    """
    places: dict[str, list[int]] = {}
    names, read = frozenset(group_names), {}
    for index, row in enumerate(rows):
        text = row.get(f"group_{by}")
        if not isinstance(text, str) or not text:
            continue
        if text not in read:
            read[text] = groups_of(text, names)

        for group in read[text]:
            places.setdefault(group, []).append(index)

    return {
        group: np.array(members, dtype=np.intp) for group, members in places.items()
    }
