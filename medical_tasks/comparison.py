"""Comparing two runs item by item: the difference, its interval, its test, and what so many items can show at all.

Two numbers are compared only when they are of the same thing: the same task version, data and items. Other differences of
the recipes (prompts, judge, suite version) are said, since they are often what is compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.metric_averages import average_of, components, sums
from medical_tasks.results import read_items, read_results, weight_column
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = ["compare_runs"]

# Recipe entries that must agree, and those whose difference is only said.
_MUST_AGREE = ("task_version", "data", "metrics")
_TOLD = ("prompts", "protocol", "baseline", "generation", "judge", "scoring", "suite", "max_samples")


def compare_runs(first: Path, second: Path, tasks: Mapping[str, TaskSpec]) -> dict[str, Any]:
    """Compares every task that both runs have.

    Args:
        first: folder of run A.
        second: folder of run B.
        tasks: all tasks by name, for their metrics.

    Returns:
        Task name to `n_items`, `warnings` and `metrics` (name to the paired comparison, B minus A).

    Raises:
        MissingError: A folder holds no finished run.
        UsageError: No task in common, or recipes that cannot be compared.
    """
    results = (read_results(first), read_results(second))
    shared = [name for name in results[0]["tasks"] if name in results[1]["tasks"]]
    if not shared:
        raise UsageError(
            f"no task in common: {first} has {', '.join(results[0]['tasks'])}; {second} has {', '.join(results[1]['tasks'])}."
        )
    unknown = [name for name in shared if name not in tasks]
    if unknown:
        raise UsageError(f"task {unknown[0]!r} of both runs is not known to this version. Tasks: {', '.join(tasks)}.")
    rows = (_by_task(read_items(first)), _by_task(read_items(second)))
    compared: dict[str, Any] = {}
    for name in shared:
        recipes = (results[0]["tasks"][name]["recipe"], results[1]["tasks"][name]["recipe"])
        warnings = _check_recipes(name, *recipes)
        compared[name] = _compare_task(tasks[name], rows[0].get(name, {}), rows[1].get(name, {}), warnings)
        if not _comparable(*recipes):
            for metric in tasks[name].metrics:
                if metric.judged and metric.name in compared[name]["metrics"]:
                    compared[name]["metrics"][metric.name]["comparable"] = False
    return compared


def _by_task(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["task"], {})[row["id"]] = row
    return found


def _check_recipes(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    for key in _MUST_AGREE:
        pair = (_essence(key, first), _essence(key, second))
        if pair[0] != pair[1]:
            raise UsageError(
                f"{name}: the runs cannot be compared, their {key.replace('_', ' ')} differs: {pair[0]!r} and "
                f"{pair[1]!r}. Run both on the same data with the same version of the task."
            )
    warnings = [
        f"{key.replace('_', ' ')} differs: {first.get(key)!r} and {second.get(key)!r}"
        for key in _TOLD
        if first.get(key) != second.get(key)
    ]
    cuts = [recipe.get("truncation", {}).get("words_left_out", {}) for recipe in (first, second)]
    if cuts[0] != cuts[1]:
        warnings.append(
            f"the questions differ: {len(cuts[0])} and {len(cuts[1])} of them were shortened to fit the models' contexts"
        )
    judges = [recipe["judge"] for recipe in (first, second) if recipe.get("judge")]
    if first.get("judge") != second.get("judge"):
        warnings.append("what differs may be the judges and not the models: have both runs judged by one")
    if not _comparable(first, second):
        names = ", ".join(dict.fromkeys(judge["name"] for judge in judges if not judge["comparable"]))
        warnings.append(f"not comparable with anybody else's numbers: the judge {names} compares words")
    return warnings


def _comparable(*recipes: Mapping[str, Any]) -> bool:
    return all(recipe["judge"]["comparable"] for recipe in recipes if recipe.get("judge"))


def _essence(key: str, recipe: Mapping[str, Any]) -> Any:
    """A recipe's entry without what may differ between equal things: the same rows can come from a renamed file."""
    entry = recipe.get(key)
    return {name: value for name, value in entry.items() if name != "source"} if key == "data" and entry else entry


def _compare_task(
    task: TaskSpec,
    first: Mapping[str, Mapping[str, Any]],
    second: Mapping[str, Mapping[str, Any]],
    warnings: list[str],
) -> dict[str, Any]:
    ids = [item for item in first if item in second]
    alone = len(first) + len(second) - 2 * len(ids)
    if alone:
        warnings.append(f"{alone} items are in one run only and are left out")
    metrics: dict[str, Any] = {}
    for metric in task.metrics:
        if metric.kind == "average":
            found = _compare_average(metric, task, [first[item] for item in ids], [second[item] for item in ids])
            if isinstance(found, str):
                warnings.append(found)
            else:
                metrics[metric.name] = found
            continue
        if metric.needs and not all(metric.name in row for row in (*first.values(), *second.values())):
            continue  # not reported by both
        counts = _is_decided if metric.kind == "ratio" else _is_scored
        both = [item for item in ids if counts(first[item][metric.name]) and counts(second[item][metric.name])]
        if len(both) < len(ids) and metric is task.metrics[0]:
            warnings.append(f"{len(ids) - len(both)} items are not scored in both runs and are left out")
        runs = ([first[item] for item in both], [second[item] for item in both])
        metrics[metric.name] = _compare_metric(metric, *runs, clustered=task.cluster is not None)
        if metric.unit:
            metrics[metric.name]["unit"] = metric.unit
    return {"n_items": len(ids), "warnings": warnings, "metrics": metrics}


def _is_scored(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _is_decided(value: float | None) -> bool:
    """An item without anything to count (nan) adds nothing to one run's sums, and all of it to the other's."""
    return value is not None


def _compare_metric(
    metric: MetricSpec, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], *, clustered: bool
) -> dict[str, Any]:
    from medical_tasks.scoring.statistics import as_json, mcnemar, minimum_detectable_difference, paired_bootstrap

    clusters = [row["cluster"] for row in first] if clustered else None
    if metric.kind == "ratio":
        return _compare_pooled(metric, first, second, clusters)
    a, b = [row[metric.name] for row in first], [row[metric.name] for row in second]
    limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
    entry: dict[str, Any] = dict(as_json(paired_bootstrap(a, b, clusters=clusters, limits=limits)))
    detectable = minimum_detectable_difference(a, b, clusters=clusters, limits=limits)
    entry["minimum_detectable_difference"] = None if math.isnan(detectable) else detectable
    if metric.kind == "proportion":
        entry["mcnemar"] = as_json(mcnemar(a, b, clusters=clusters))
    return entry


def _compare_pooled(
    metric: MetricSpec,
    first: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    clusters: Sequence[str] | None,
) -> dict[str, Any]:
    from medical_tasks.scoring.statistics import as_json, minimum_detectable_difference, paired_bootstrap_statistic

    columns = (_pooled_columns(metric, first), _pooled_columns(metric, second))
    made = paired_bootstrap_statistic(*columns, _quotient, clusters=clusters, limits=metric.limits)
    # What an item adds to a ratio of sums (its linear part): the mean of these is the ratio, and their spread its error.
    a, b = (_linear(above, below) for above, below in columns)
    detectable = minimum_detectable_difference(a, b, clusters=clusters, limits=None)
    return {
        **as_json(made),
        "minimum_detectable_difference": None if math.isnan(detectable) else detectable,
    }


def _compare_average(
    metric: MetricSpec, task: TaskSpec, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | str:
    """Compares an average; a warning instead where the runs have other components."""
    from medical_tasks.scoring.statistics import as_json, paired_bootstrap_statistic

    of_both = []
    for rows in (first, second):
        reported = {
            each.name: each for each in task.metrics if each.kind == "average" or all(each.name in r for r in rows)
        }
        of_both.append(components(metric, reported))
    if of_both[0] != of_both[1]:
        told = " and ".join(", ".join(part.shares) or "none" for part in of_both)
        return f"{metric.name} is of other components in each run ({told}) and is left out"
    shares = of_both[0].shares
    if not shares or not first:
        return f"{metric.name} has no component in either run and is left out"
    specs = {each.name: each for each in task.metrics}
    columns: list[list[list[float]]] = []
    for rows in (first, second):
        made: list[list[float]] = []
        for name in shares:
            pairs = [sums(specs[name], row[name], row.get(weight_column(name))) for row in rows]
            made += [[above for above, _ in pairs], [below for _, below in pairs]]
        columns.append(made)
    limits = metric.limits if all(map(math.isfinite, metric.limits)) else None
    result = paired_bootstrap_statistic(
        columns[0],
        columns[1],
        average_of(list(shares.values())),
        clusters=[row["cluster"] for row in first] if task.cluster else None,
        limits=limits,
    )
    entry: dict[str, Any] = {**as_json(result), "minimum_detectable_difference": None}
    if metric.unit:
        entry["unit"] = metric.unit
    if of_both[0].missing:
        entry |= {"missing_components": list(of_both[0].missing), "comparable": False}
    return entry


def _quotient(above: Any, below: Any) -> Any:
    return above / below


def _pooled_columns(metric: MetricSpec, rows: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    below = [float(row[weight_column(metric.name)]) for row in rows]
    above = [row[metric.name] * weight if weight else 0.0 for row, weight in zip(rows, below, strict=True)]
    return above, below


def _linear(above: Sequence[float], below: Sequence[float]) -> list[float]:
    total = math.fsum(below)
    if not total:
        return [math.nan] * len(below)
    ratio, mean = math.fsum(above) / total, total / len(below)
    return [ratio + (top - ratio * bottom) / mean for top, bottom in zip(above, below, strict=True)]
