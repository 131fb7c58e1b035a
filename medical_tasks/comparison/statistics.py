"""Statistics of two runs on the same items: difference, interval, test, changed items.

Each metric becomes a numerator and a denominator per item, so that proportions, ratios and
averages are resampled in the same way.
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
"""Draws for a group of a breakdown; there can be many groups."""
CHANGED: Final = 1e-12
"""Values that are closer than this differ only by rounding."""


class Difference(TypedDict, total=False):
    """A metric of two runs on the same items, the second minus the first; None if unknown.

    Attributes:
        value_a: the first run's value.
        value_b: the second run's value.
        difference: the difference between the values.
        ci_low: the lower end of its 95 % interval.
        ci_high: the upper end.
        n: how many items count in both runs.
        n_clusters: how many of them are independent.
        test: the test that `p` comes from.
        p: its p-value; `p_value` is that of the interval, `p_holm` is adjusted over
            `tests` tests.
        minimum_detectable_difference: the smallest true difference that this many items
            detect in 4 of 5 cases.
        flips: how many items improved, worsened and stayed the same.
        items: which items these are, if requested.
        equivalence: the p-values of a difference within a margin, and beyond it.
        mcnemar: McNemar's test, for items that are right or wrong.
        notes: what a reader must know.
        higher_is_better: the metric's direction.
        too_few: whether a group has too few items to tell.
        comparable: False if a judge that compares words decided it, or if an average lacks
            metrics.
        unit: the metric's unit, unless it is a share.
        missing_components: the metrics that an average lacks.
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
        warnings: what a reader must know about the comparison.
        metrics: the differences over all items.
        breakdown: the differences over groups.
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
        metric: the metric.
        shares: the weight of each component; a single 1 for a metric that is not an average.
        first: the first run's numerators and denominators in turn for each component; `nan`
            where undecided. `second` holds the second run's.
        values: both runs' values on each item; None for an average.
        clusters: each item's cluster; None if items are independent.
        missing: metrics of an average that are not reported.

    Example:
        Recall of 3 of 4 and 1 of 2 facts, a ratio, has the columns [3, 1] and [4, 2] and
        the shares (1.0,). A metric of 0 or 1 has itself and a column of ones. The average
        of two ratios has four columns and the shares (0.5, 0.5).
    """

    metric: MetricSpec
    shares: tuple[float, ...]
    first: tuple[Floats, ...]
    second: tuple[Floats, ...]
    values: tuple[Floats, ...] | None
    clusters: Sequence[Any] | None
    missing: tuple[str, ...] = ()

    def of_items(self, chosen: npt.NDArray[np.intp]) -> Columns:
        """Selects some of the items."""
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
        """Compares a whole task or, if not `whole`, a group."""
        ...


def compare_columns(
    columns: Columns,
    *,
    resamples: int = RESAMPLES,
    whole: bool = True,
    margin: float | None = None,
) -> Difference:
    """Compares two runs, the second minus the first.

    `p` is from McNemar's exact test if an item is right or wrong, else from the bootstrap
    draws of the interval; `p_value` always belongs to the interval, so that the two can
    differ.

    Args:
        columns: a metric of both runs.
        resamples: the draws of the bootstrap.
        whole: False for a group: with few pairs it gets no interval and no test, and it is
            marked if it is `too_few_to_tell`.
        margin: the margin of equivalence; None for no such test.

    Example:
        Of 100 items, B has 6 right that A has wrong, and A has 1 right that B has wrong:
        the difference is 5 points, `flips` has 6 improved and 1 worsened, and `p` is that
        of 6 or more, or 1 or fewer, heads in 7 throws of a fair coin, 0.125. The 93 items
        on which they agree do not affect it.
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

    entry["notes"] = [_few_pairs_note(comparison)] if few else []
    if not whole:
        _mark_group(entry, few=few)

    return entry


def _mark_group(entry: Difference, *, few: bool) -> None:
    """Marks a group that is too small to tell; with `few` pairs it loses its interval and test."""
    if too_few_to_tell(
        entry["difference"], entry["minimum_detectable_difference"], entry["n_clusters"]
    ):
        entry["too_few"] = True
    if few:
        entry["ci_low"] = entry["ci_high"] = entry["p_value"] = entry["p"] = None
        entry["minimum_detectable_difference"] = None
        entry.pop("mcnemar", None)


def with_judge_error(entry: Difference, calibrations: Sequence[Json]) -> None:
    """Widens the comparison of corrected metrics by the labels' error, which both runs share.

    The same labels correct both runs, so that a change of the labels moves both values.
    The error of the difference is therefore that of the difference of their weights
    (`scoring.correction.JudgeError`): if both have equal weights, the labels add nothing.

    The ends of the interval become Fieller's, with each distance from the value divided by
    t as the runs' own error. The p-value is that of a t statistic at no difference, and is
    never below that of the runs alone.

    Args:
        entry: the comparison without the labels' error; changed in place.
        calibrations: `calibration` of the corrected figure of the first and the second
            run: `weights`, `slope`, `covariance` and `freedom`, and in `widened_by` the
            judge's drift.
    """
    first, second = (
        {name: np.array(calibration[name]) for name in ("weights", "slope")}
        for calibration in calibrations
    )
    slope = (first["slope"] + second["slope"]) / 2.0
    error = JudgeError(
        second["weights"] - first["weights"],
        slope,
        np.array(calibrations[0]["covariance"]),
        calibrations[0]["freedom"],
    )
    entry["minimum_detectable_difference"] = None  # it ignores the labels' error
    value, low, high = entry["difference"], entry["ci_low"], entry["ci_high"]
    if None in (value, low, high):
        return

    t = student_quantile(1.0 - paired.ALPHA / 2.0, error.freedom)
    down, up = _widened(
        *(calibration.get("widened_by", {}) for calibration in calibrations)
    )
    entry["ci_low"] = value - error.reach(t, ((value - low) / t) ** 2)[0] - down
    entry["ci_high"] = value + error.reach(t, ((high - value) / t) ** 2)[1] + up
    # If there were no difference, the labels' error would be that of the runs' other classes.
    other_variance = replace(error, weights=error.weights - value * slope).variance
    own_error = (value - low if value > 0.0 else high - value) / normal_quantile(
        1.0 - paired.ALPHA / 2.0
    )
    certain = max(0.0, abs(value) - (down if value > 0.0 else up))
    if own_error > 0.0 and (other_variance > CHANGED or certain < abs(value)):
        tail = student_tail(
            certain / math.hypot(own_error, math.sqrt(other_variance)), error.freedom
        )
        entry["p_value"] = entry["p"] = max(min(1.0, 2.0 * tail), entry["p"])


def _widened(first: Json, second: Json) -> tuple[float, float]:
    """Returns how far the judge's drift widens a difference, by the distance between both runs.

    Args:
        first: `widened_by` of the first run: by the name of what was adjusted for, the
            `distance` of the run's answers from the labelled ones and the `drift`, the
            interval of the judge's additional error at a distance of 1.
        second: the same of the second run.

    Example:
        The second run is half a step further from the labelled answers. Had the judge the
        largest drift there, 0.05, its value would be too high by 0.025:

        >>> drift = [-0.02, 0.05]
        >>> _widened(
        ...     {"length": {"distance": 0.0, "drift": drift}},
        ...     {"length": {"distance": 0.5, "drift": drift}},
        ... )
        (0.025, 0.01)
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
    """Computes the difference with its interval and p-value from resampled items.

    Averages and ratios are resampled as sums; metrics with one value per item as means.
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
    """Returns the smallest true difference between two runs that this many items detect."""
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
    """Returns both runs' values by item, and their limits.

    A statistic of sums is treated as the mean of the items' contributions, linearised by
    `bootstrap.linear`. The limits are None then, since an item's contribution can lie
    outside the metric's scale.
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
    """Counts the items that are better, worse and the same in the second run; None for an average."""
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


def _few_pairs_note(comparison: Comparison) -> str:
    """Explains in a note below a table why so few pairs say little."""
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
    """Extracts a metric's columns from both runs' rows of the same items, in the same order."""
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
    """Returns a metric's value on an item; `nan` if it is undecided or has nothing to count."""
    value = row.get(metric.name)
    return (
        math.nan
        if value is None
        or (metric.kind == "ratio" and not row.get(weight_column(metric.name)))
        else value
    )


def is_counted(metric: MetricSpec, row: Row) -> bool:
    """Whether the metric is decided on the item, even if there is nothing to count."""
    if metric.kind == "ratio":
        return row.get(weight_column(metric.name)) is not None
    value = row.get(metric.name)
    return value is not None and not math.isnan(value)


def _sums(metric: MetricSpec, rows: Rows) -> list[Sums]:
    """Returns the items' contributions to a metric's numerator and denominator."""
    if metric.kind != "ratio":
        return [sums(metric, row.get(metric.name), None) for row in rows]

    # A missing value has a denominator of 0, however the file writes it.
    weight = weight_column(metric.name)
    return [
        sums(metric, item_value(metric, row), row[weight])
        if is_counted(metric, row)
        else (math.nan, math.nan)
        for row in rows
    ]


def breakdown_names(task: TaskSpec) -> tuple[str, ...]:
    """Names a task's breakdowns: those of parts of its items, then those of its items."""
    return tuple(
        dict.fromkeys(
            [*(metric.part[0] for metric in task.metrics if metric.part), *task.groups]
        )
    )


def compare_breakdowns(
    task: TaskSpec,
    columns: Mapping[str, Columns],
    rows: Rows,
    group_names: Mapping[str, Iterable[str]],
    *,
    names: Sequence[str],
    compare: Compare = compare_columns,
) -> Breakdowns:
    """Compares every metric within every group; p-values are adjusted over the groups.

    `group_names` lists the groups of each breakdown, since a row joins its groups by blanks.
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
            members = _members(rows, by, group_names.get(by, ()))
            for group in in_order(members):
                groups[group] = {
                    name: compare(
                        metric_columns.of_items(members[group]),
                        resamples=GROUP_RESAMPLES,
                        whole=False,
                    )
                    for name, metric_columns in columns.items()
                    if not metric_columns.metric.part
                    and by not in metric_columns.metric.not_by
                }

        if any(groups.values()):
            breakdowns[by] = groups

    adjust_breakdowns([breakdowns])
    return breakdowns


def adjust_breakdowns(all_breakdowns: Sequence[Breakdowns]) -> None:
    """Adjusts p-values by Holm.

    A family is one metric over all groups of a breakdown and all given pairs of runs.

    Example:
        Accuracy in 3 groups and 2 pairs of runs is a family of 6 tests: its smallest p of
        0.01 becomes 0.06. The tests of another metric do not count.
    """
    families: dict[tuple[str, str], list[Difference]] = {}
    for by, groups in chain.from_iterable(
        breakdowns.items() for breakdowns in all_breakdowns
    ):
        for name, entry in chain.from_iterable(
            metrics.items() for metrics in groups.values()
        ):
            families.setdefault((by, name), []).append(entry)

    for family in families.values():
        adjust(family)


def _members(
    rows: Rows, by: str, group_names: Iterable[str]
) -> dict[str, npt.NDArray[np.intp]]:
    """Returns the indexes of the rows in each group of a breakdown.

    A row can be in several groups, or in none.

    Example:
        >>> rows = [{"group_sex": "f"}, {"group_sex": "f m"}, {"group_sex": ""}]
        >>> {group: at.tolist() for group, at in _members(rows, "sex", ("f", "m")).items()}
        {'f': [0, 1], 'm': [1]}
    """
    indexes: dict[str, list[int]] = {}
    names, groups_by_text = frozenset(group_names), {}
    for index, row in enumerate(rows):
        text = row.get(f"group_{by}")
        if not isinstance(text, str) or not text:
            continue
        if text not in groups_by_text:
            groups_by_text[text] = groups_of(text, names)

        for group in groups_by_text[text]:
            indexes.setdefault(group, []).append(index)

    return {
        group: np.array(members, dtype=np.intp) for group, members in indexes.items()
    }
