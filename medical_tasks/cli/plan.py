"""How many items a wanted interval or difference needs, by resampling past runs or from what you assume.

    medical-tasks plan medcalc --half-width 0.03 --run runs/past
    medical-tasks plan medcalc --half-width 0.03 --accuracy 0.4
    medical-tasks plan medcalc --difference 0.05 --run runs/model-a --run runs/model-b
    medical-tasks plan medcalc --difference 0.05 --agreement 0.7

Two answers: for the score on these items alone, of which `run --subset N` draws a sample, and for questions like these, of which
the whole set is a sample itself. Intervals are of 95 %; a difference of two models on the same items is to be found in 4 of 5 cases
(two-sided, 5 %). --agreement is the share of items on which both models are right or both wrong. What is assumed holds for
independent items; past runs show how alike those of a note are. Of several runs, or pairs, the one that needs most counts.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names
from medical_tasks.comparison.comparing import read_compared, rows_by_task, shared_rows
from medical_tasks.comparison.statistics import columns_of, detectable
from medical_tasks.data.task_data import TaskData, asked_part, draw, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.runs.numbers import number
from medical_tasks.scoring.finite import strata_of, whole_set_estimate
from medical_tasks.scoring.intervals import proportion_interval
from medical_tasks.spec import Item, MetricSpec, TaskSpec

_DRAWS = 20  # samples of one size, whose widths are averaged


@dataclass(frozen=True)
class _Known:
    """What is known of two models on the same items; for an interval, of one (twice)."""

    name: str
    sides: tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]  # rows of items
    half_width: float = math.nan  # of the interval of all items


def run(arguments: argparse.Namespace) -> int:
    """Prints how many items are needed."""
    tasks, wanted = parse_task_names(arguments.task), _wanted(arguments)
    if len(tasks) > 1:
        raise UsageError(f"plan takes one task, got {arguments.task!r} ({', '.join(task.name for task in tasks)}).")
    task = tasks[0]
    metrics = {metric.name: metric for metric in task.metrics if not metric.part}
    metric = metrics.get(arguments.metric or task.metrics[0].name)
    if metric is None:
        raise UsageError(
            f"--metric {arguments.metric}: {task.name} has none of that name. It has: {', '.join(metrics)}."
        )
    known = _past(task, metric, arguments) if arguments.run else [_assumed(task, metric, arguments)]
    needs = [_needed(task, metric, each, wanted, difference=arguments.difference is not None) for each in known]
    most = max(needs, key=lambda each: int(each["beyond"]["items"]))
    tell(_shown(most, metric.unit), most)
    return 0


def _wanted(arguments: argparse.Namespace) -> float:
    if (arguments.half_width is None) == (arguments.difference is None):
        raise UsageError("plan needs one of --half-width W and --difference D.")
    name, needed = ("half_width", "accuracy") if arguments.difference is None else ("difference", "agreement")
    for each, most in ((name, math.inf), ("accuracy", 1.0), ("agreement", 1.0)):
        value = getattr(arguments, each)
        if value is not None and not 0.0 < value < most:
            span = "above 0" if most > 1.0 else "between 0 and 1"
            raise UsageError(f"--{each.replace('_', '-')} must be {span}, got {value}.")
    if bool(arguments.run) == (getattr(arguments, needed) is not None):
        raise UsageError(f"plan --{name.replace('_', '-')} needs either past runs (--run RUN) or --{needed}, a share.")
    return float(getattr(arguments, name))


def _past(task: TaskSpec, metric: MetricSpec, arguments: argparse.Namespace) -> list[_Known]:
    found = []
    for run in map(read_compared, arguments.run):
        entry = run.results["tasks"].get(task.name, {"metrics": {}, "recipe": {}})
        told = entry["metrics"].get(metric.name, {})
        if told.get("ci_low") is None or told.get("ci_high") is None or any(asked_part(entry["recipe"]).values()):
            raise UsageError(f"{run.label}: is no run of all items of {task.name} with an interval of {metric.name}.")
        rows = rows_by_task(run)[task.name]
        found.append((run.label, rows, (told["ci_high"] - told["ci_low"]) / 2.0))
    if arguments.difference is None:
        return [_Known(name, (list(rows.values()),) * 2, half) for name, rows, half in found]
    if len(found) < 2:
        raise UsageError("--difference takes two past runs or more. Give another --run, or --agreement in their place.")
    return [_Known(f"{a[0]} and {b[0]}", shared_rows(a[1], b[1])) for a, b in combinations(found, 2)]


def _assumed(task: TaskSpec, metric: MetricSpec, arguments: argparse.Namespace) -> _Known:
    """Makes answers that are right or wrong as assumed, on items in an order that says nothing."""
    if metric.kind != "proportion":
        raise UsageError(
            f"{metric.name} is no share of items: how much it varies is not known. Give past runs (--run)."
        )
    where = {name: getattr(arguments, name) for name in ("data", "config", "split")}
    items = load_task_data(task, dataset_spec(task.dataset), **where).items
    if arguments.difference is None:
        marks = [(1.0, 1.0)] * round(arguments.accuracy * len(items))
    else:
        least = (
            0.0
            if arguments.accuracy is None
            else max(0.0, 1.0 - 2.0 * min(arguments.accuracy, 1.0 - arguments.accuracy))
        )
        if not least <= arguments.agreement <= 1.0 - arguments.difference:
            span = f"between {least:g} and {1.0 - arguments.difference:g}"
            raise UsageError(
                f"--agreement of such models lies {span}, got {arguments.agreement}. Change what you assume."
            )
        apart, more = ((share * len(items)) / 2 for share in (1.0 - arguments.agreement, arguments.difference))
        marks = [(0.0, 1.0)] * round(apart + more) + [(1.0, 0.0)] * round(apart - more)
    ranked = sorted(items, key=lambda item: hashlib.sha256(item.id.encode()).digest())
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    marks += [(0.0, 0.0)] * (len(items) - len(marks))
    for item, pair in zip(ranked, marks, strict=True):
        groups = {f"group_{by}": told if isinstance(told, str) else " ".join(told) for by, told in item.groups.items()}
        for side, mark in zip(sides, pair, strict=True):
            side.append({"id": item.id, "cluster": item.cluster, **groups, metric.name: mark})
    made = proportion_interval([row[metric.name] for row in sides[0]])
    return _Known("what is assumed", sides, (made.ci_high - made.ci_low) / 2.0)


def _needed(task: TaskSpec, metric: MetricSpec, known: _Known, wanted: float, *, difference: bool) -> dict[str, Any]:
    """For the set, the fewest items whose samples are narrow enough on average; beyond it, by the square root of their number."""
    items = [
        Item(id=row["id"], fields={}, groups={by: row[f"group_{by}"] for by in task.groups}, cluster=row["cluster"])
        for row in known.sides[0]
    ]
    n, place, clusters = len(items), {item.id: at for at, item in enumerate(items)}, [item.cluster for item in items]
    data = TaskData(items=items, config="", folder=Path(), revision={"split": ""})
    reported = {each.name: each for each in task.metrics}
    columns = columns_of(metric, reported, *known.sides, clusters if task.cluster else None)
    alone = columns if task.drawn_whole else replace(columns, clusters=None)
    of_all = detectable(columns) if difference else known.half_width
    if not of_all:
        raise UsageError(
            f"{known.name}: nothing varies on these {n:,} items, so that nothing can be planned from them."
        )

    def width(size: int, seed: int) -> float:
        made = draw(task, data, (size, seed))
        part = alone.part(np.array([place[item.id] for item in made.items]))
        if difference:
            return (detectable(part) or math.inf) * math.sqrt(1.0 - len(made.items) / n)
        strata, units = strata_of(task, made.items, made.subset or {})
        whole: dict[str, Any] = {"clusters": part.clusters, "limits": metric.limits}
        whole["proportion"] = metric.kind == "proportion"
        found = whole_set_estimate(part.first, part.shares, strata, units, **whole)
        return (found.ci_high - found.ci_low) / 2.0

    def enough(size: int) -> bool:
        return fmean(width(size, seed) for seed in range(_DRAWS)) <= wanted

    sizes, independent = range(min(2, n), n), len(set(clusters))
    fewest = bisect_left(sizes, True, key=enough) + sizes.start
    beyond = math.ceil(n * (of_all / wanted) ** 2)
    return {
        **{"task": task.name, "metric": metric.name, "from": known.name, "items": n, "independent": independent},
        "wanted": {"difference" if difference else "half_width": wanted},
        "this_set": {"items": fewest, "independent": math.ceil(independent * fewest / n)},
        "beyond": {"items": beyond, "independent": math.ceil(independent * beyond / n), "enough": beyond <= n},
        "whole_set": of_all,
    }


def _shown(made: Mapping[str, Any], unit: str) -> str:
    (kind, wanted), sample, beyond = next(iter(made["wanted"].items())), made["this_set"], made["beyond"]
    what, sign = (
        ("an interval of", "±") if kind == "half_width" else ("telling apart two models with a difference of", "")
    )
    want, whole = (f"{sign}{number(value, unit)}{'' if unit else ' points'}" for value in (wanted, made["whole_set"]))
    rows = [
        (about, f"{each['items']:,}", f"{each['independent']:,}")
        for about, each in (("the score on these items", sample), ("questions like these", beyond))
    ]
    lines = align(("about", "items", "independent"), rows)
    enough = f"is {'' if beyond['enough'] else 'not '}enough for questions like these: it gives {whole}."
    return "\n".join(
        [
            *(f"{made['task']}, {made['metric']}: {what} {want}. From {made['from']}.", "", *lines, ""),
            f"The whole set ({made['items']:,} items, {made['independent']:,} independent) {enough}",
            f"A sample: medical-tasks run --tasks {made['task']} --subset {sample['items']} --seed 0 --model MODEL",
        ]
    )
