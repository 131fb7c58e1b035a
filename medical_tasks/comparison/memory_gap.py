"""`compare --memory-gap`: how much better published questions are answered than fresh ones.

Items pair by a group that the benchmark names (MedCalc-Bench: the calculator). The gap is the
mean, over the groups of both runs, of the difference between their means, published minus
fresh; every group has the same weight. Its interval is Student's t over the groups, whose
spread includes the sampling error of both runs, plus the covariance of groups that share a
note (the cluster). If all groups have the same difference, the interval is that of `bootstrap`
for data without variation.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from medical_tasks.comparison.compared import Compared, Selection, rows_by_task
from medical_tasks.comparison.statistics import is_counted, item_value
from medical_tasks.comparison.tables import Section
from medical_tasks.errors import UsageError
from medical_tasks.runs.numbers import FEWEST, percent
from medical_tasks.runs.recipes import deciding_generation, differing, mapping, short
from medical_tasks.runs.results import Json, JsonDict, Row
from medical_tasks.scoring.intervals import student_quantile
from medical_tasks.scoring.means import ROUNDING, unseen_share
from medical_tasks.spec import MetricSpec, TaskSpec

WIDEST: Final = 0.05
"""The largest half-width of an interval around 0 that shows the absence of a gap."""
_TAIL: Final = 0.025
_SAME: Final = (
    "model",
    "prompts",
    "protocol",
    "generation",
    "scoring",
    "judge",
    "metrics",
)
_NOTE: Final = (
    "Fresh questions may also be easier or harder to read than published ones: compare the gap "
    "with that of a model that cannot have read the published ones."
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The items of a run that count, one element an item in each sequence.

    Attributes:
        values: from 0 to 1.
        groups: what pairs published and fresh items (MedCalc-Bench: the calculator).
        clusters: the note or patient; items that share one are not independent.
    """

    values: Sequence[float]
    groups: Sequence[str]
    clusters: Sequence[str]


def gap_of(published: Sample, fresh: Sample) -> JsonDict:
    """Computes the gap between two samples of values from 0 to 1, with its 95 % interval.

    It averages over the groups that both samples have, at least one.

    Returns:
        `gap` and its interval; `groups` with the means and numbers of items of each; and
        `needed`, the items on each side for a half-width of `WIDEST` if all groups had one
        true gap.

    Example:
        Calculator a: 4 of 5 published items are right and 3 of 5 fresh ones; calculator b:
        3 of 5 of both. The gaps of 20 and 0 points average to 10:

        >>> def sample(a: int, b: int) -> Sample:
        ...     values = [1.0] * a + [0.0] * (5 - a) + [1.0] * b + [0.0] * (5 - b)
        ...     names = [str(item) for item in range(10)]
        ...     return Sample(values=values, groups=["a"] * 5 + ["b"] * 5, clusters=names)
        >>> round(gap_of(sample(4, 3), sample(3, 3))["gap"], 3)
        0.1
    """
    shared = sorted({*published.groups} & {*fresh.groups})
    k, fewest = len(shared), math.inf
    means, counts = [], []
    within = covariance = 0.0
    for sample in (published, fresh):
        in_both = [
            index for index, group in enumerate(sample.groups) if group in shared
        ]
        codes = np.array(
            [shared.index(sample.groups[index]) for index in in_both], dtype=np.intp
        )
        values = np.array([sample.values[index] for index in in_both], dtype=np.float64)
        clusters = [sample.clusters[index] for index in in_both]
        n = np.bincount(codes, minlength=k)
        mean = np.bincount(codes, weights=values, minlength=k) / n
        parts = (values - mean[codes]) / (k * n[codes])
        # The variance of the items; a group with a single item takes that of all items.
        within += float(
            (parts**2 * (n / np.maximum(n - 1, 1))[codes]).sum()
            + (n == 1).sum() * values.var() / k**2
        )
        by_cluster: dict[str, float] = defaultdict(float)
        by_cluster_and_group: dict[tuple[str, int], float] = defaultdict(float)
        for cluster, code, deviation in zip(
            clusters, codes.tolist(), parts.tolist(), strict=True
        ):
            by_cluster[cluster] += deviation
            by_cluster_and_group[cluster, code] += deviation

        covariance += math.fsum(
            deviation**2 for deviation in by_cluster.values()
        ) - math.fsum(deviation**2 for deviation in by_cluster_and_group.values())
        fewest = min(fewest, len(by_cluster))
        means.append(mean)
        counts.append(n)

    gaps = means[0] - means[1]
    gap = float(gaps.mean())
    error = (
        math.sqrt(float(gaps.var(ddof=1)) / k + max(covariance, 0.0)) if k > 1 else 0.0
    )
    if error > ROUNDING:
        t = student_quantile(1.0 - _TAIL, k - 1.0)
        ends = gap - t * error, gap + t * error
        times = within * (t / WIDEST) ** 2
    else:
        share = unseen_share(_TAIL, fewest) if k > 1 else 1.0
        ends = gap - share * (gap + 1.0), gap + share * (1.0 - gap)
        times = max(gap - ends[0], ends[1] - gap) / WIDEST

    sizes = [int(count.sum()) for count in counts]
    return {
        "gap": gap,
        "ci_low": max(-1.0, ends[0]),
        "ci_high": min(1.0, ends[1]),
        "groups": {
            group: {
                "published": a,
                "fresh": b,
                "gap": a - b,
                "n_published": n,
                "n_fresh": m,
            }
            for group, a, b, n, m in zip(
                shared, *(column.tolist() for column in (*means, *counts)), strict=True
            )
        },
        # Items per side for an interval that is narrow enough if all groups have one gap.
        "needed": math.ceil(times * max(sizes)),
    }


def memory_gap(
    published: Compared,
    fresh: Compared,
    tasks: Mapping[str, TaskSpec],
    *,
    selection: Selection,
) -> JsonDict:
    """Computes the gap of each task that both runs have, by metric.

    Raises:
        UsageError: a task has no such comparison.
    """
    gaps: JsonDict = {}
    rows = rows_by_task(published), rows_by_task(fresh)
    names = [
        name
        for name in published.results["tasks"]
        if name in fresh.results["tasks"] and name in tasks
    ]
    for name in selection.tasks or names:
        if name not in names:
            raise UsageError(
                f"--task {name}: only one of the runs has it. Tasks of both: "
                f"{', '.join(names) or 'none'}."
            )

        task = tasks[name]
        recipes = [
            mapping(run.results["tasks"][name].get("recipe"))
            for run in (published, fresh)
        ]
        if refused := _refused(task, recipes):
            raise UsageError(
                f"{name}: {published.label} and {fresh.label} show no memory gap: {refused}"
            )

        metrics = [
            metric for metric in task.metrics if metric.name in selection.metrics
        ] or [task.metrics[0]]
        gaps[name] = {
            metric.name: _entry(task, metric, recipes, [side[name] for side in rows])
            for metric in metrics
        }

    if not gaps:
        raise UsageError(
            f"no task in common: {published.label} and {fresh.label}. Give two runs of one task."
        )

    return gaps


def _refused(task: TaskSpec, recipes: Sequence[Json]) -> str:
    """Says why two runs have no gap, as a sentence; empty if they have one.

    Example:
        Two runs of one model on the official and on fresh rows of one task version have a
        gap; runs with different prompts, judges or generation settings have none, since the
        difference could be due to these. If both are files of answers, the model's name is
        that of the file and may differ.
    """
    benchmark = task.benchmark
    configs = [mapping(recipe.get("data")).get("config") for recipe in recipes]
    if not benchmark.gap_group:
        return f"{benchmark.title} has no fresh rows that pair with its published ones. It takes runs of MedCalc-Bench."
    if configs[0] == configs[1]:
        return f"both are of config {short(configs[0])}. Run the model on fresh rows too: --config fresh."
    if configs[0] in benchmark.source(task.dataset).generated:
        return f"config {short(configs[0])} of the first is not published. Give the published run first."

    versions = [
        short(recipe.get("task_version")).partition("-")[0] for recipe in recipes
    ]
    if versions[0] != versions[1]:
        return f"they are of task versions {' and '.join(versions)}. Run both with one version."

    files = all(
        str(mapping(recipe.get("model")).get("name")).startswith("responses/")
        for recipe in recipes
    )
    for key in _SAME:
        parts = [
            deciding_generation(recipe) if key == "generation" else recipe.get(key)
            for recipe in recipes
        ]
        if parts[0] != parts[1] and not (key == "model" and files):
            difference = (
                differing(*map(mapping, parts))
                if all(parts)
                else " and ".join(map(short, parts))
            )
            return (
                f"their {key} differs ({difference}). Run one model in one way on both."
            )

    return ""


def _entry(
    task: TaskSpec,
    metric: MetricSpec,
    recipes: Sequence[Json],
    sides: Sequence[Mapping[str, Row]],
) -> JsonDict:
    """Computes the gap of one metric between published rows and fresh ones, as JSON values.

    Groups (calculators) are paired and have equal weight, so it does not matter that
    published and fresh rows have different numbers of each.

    Example: 80 % and 60 % right on published rows of two calculators, 70 % and 60 % on
    fresh ones. The gap is the mean of 10 and 0 points, 5 points.
    """
    if metric.kind not in ("proportion", "mean") or metric.limits != (0.0, 1.0):
        raise UsageError(
            f"--metric {metric.name}: is not a share of items. Metrics: {task.metrics[0].name} and "
            "its like."
        )

    group = task.benchmark.gap_group
    notes: list[str] = []
    published, fresh = (
        _sample(metric, group, name, side, notes)
        for name, side in zip(("published", "fresh"), sides, strict=True)
    )
    if {*published.groups}.isdisjoint(fresh.groups):
        raise UsageError(
            f"{task.name}: no {group} is in both runs. Use fresh rows of the same ones."
        )

    gap = gap_of(published, fresh)
    groups = gap["groups"]
    if left := len({*published.groups} ^ {*fresh.groups}):
        notes.append(f"{left} {group}s are in one run only and are left out")

    if str(mapping(recipes[0].get("model")).get("name")).startswith("responses/"):
        notes.append(
            "the answers are files: only you know that they are of one model, asked in one way"
        )

    half = max(gap["gap"] - gap["ci_low"], gap["ci_high"] - gap["gap"])
    sums = {
        name: math.fsum(group_gap[name] for group_gap in groups.values())
        for name in ("published", "fresh", "n_published", "n_fresh")
    }
    entry = {
        "published": sums["published"] / len(groups),
        "fresh": sums["fresh"] / len(groups),
        **{key: gap[key] for key in ("gap", "ci_low", "ci_high")},
        "n_groups": len(groups),
        "n_published": int(sums["n_published"]),
        "n_fresh": int(sums["n_fresh"]),
        "enough": len(groups) >= FEWEST and half <= WIDEST,
        "needed": gap["needed"],
    }

    return {
        **entry,
        "verdict": _verdict(entry, group),
        "notes": notes,
        "groups": groups,
    }


def _sample(
    metric: MetricSpec, group: str, name: str, rows: Mapping[str, Row], notes: list[str]
) -> Sample:
    """Selects the items of a run that have a value and a group."""
    column = f"group_{group}"
    counted = [
        row for row in rows.values() if is_counted(metric, row) and row.get(column)
    ]
    if len(counted) < len(rows):
        notes.append(
            f"{len(rows) - len(counted)} {name} items without a value are left out"
        )

    return Sample(
        values=[item_value(metric, row) for row in counted],
        groups=[row[column] for row in counted],
        clusters=[str(row.get("cluster") or row["id"]) for row in counted],
    )


def _verdict(entry: Json, group: str) -> str:
    """Words the gap by the position of its interval.

    An interval around 0 shows that there is no gap only if it is narrow enough and over enough
    groups; otherwise the sentence says how many items are needed.
    """
    if entry["n_groups"] < FEWEST:
        return f"too small to tell: {entry['n_groups']} {group}s are in both runs, {FEWEST} are needed"
    if entry["ci_low"] > 0.0:
        return "a gap: the published rows are answered better"
    if entry["ci_high"] < 0.0:
        return "no gap: the fresh rows are answered better"
    if entry["enough"]:
        return f"no gap seen: the interval ends at {percent(entry['ci_high'])} points"
    if entry["needed"] <= max(entry["n_published"], entry["n_fresh"]):
        return f"too small to tell: the {group}s differ so much that more items of them would not help"

    return f"too small to tell: at least {entry['needed']:,} items a side are needed for ±{100 * WIDEST:g} points"


def gap_sections(gaps: Json) -> list[Section]:
    """Makes the table of `memory_gap`, in percent and points."""
    rows, notes = [], []
    for task, metrics in gaps.items():
        for metric, entry in metrics.items():
            span = f"{percent(entry['ci_low'])} to {percent(entry['ci_high'])}"
            values = (f"{percent(entry[name])} %" for name in ("published", "fresh"))
            sizes = (
                str(entry[f"n_{name}"]) for name in ("groups", "published", "fresh")
            )
            rows.append(
                (
                    task,
                    metric,
                    entry["verdict"].partition(":")[0],
                    *values,
                    percent(entry["gap"]),
                    span,
                    *sizes,
                )
            )
            notes += [
                f"{task}, {metric}: {sentence}."
                for sentence in (entry["verdict"], *entry["notes"])
            ]

    header = (
        "task",
        "metric",
        "verdict",
        "published",
        "fresh",
        "gap",
        "95 % interval",
        "groups",
        "published n",
        "fresh n",
    )
    return [Section(title="", header=header, rows=rows, notes=[*notes, _NOTE])]
