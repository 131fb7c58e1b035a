"""How many items a wanted interval or difference needs, by resampling past runs or from what you assume.

    medical-tasks plan medcalc --half-width 0.03 --run runs/past
    medical-tasks plan medcalc --half-width 0.03 --accuracy 0.4
    medical-tasks plan medcalc --difference 0.05 --run runs/model-a runs/model-b
    medical-tasks plan medcalc --difference 0.05 --agreement 0.7

Two answers: for the score on these items alone, of which `run --subset N` draws a sample, and for questions like these, of which
the whole set is a sample itself; `compare` tests the second. Intervals are of 95 %; a difference of two models on the same items is
to be found in 4 of 5 cases (two-sided, 5 %). --agreement is the share of items on which both models are right or both wrong. What
is assumed holds for independent items; past runs show how alike those of a note are. Of several, what needs most items counts.
"""

from __future__ import annotations

import argparse
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from medical_tasks.benchmarks.catalog import dataset_spec, parse_task_names
from medical_tasks.comparison.comparing import Compared, read_compared, rows_by_task, shared_rows
from medical_tasks.comparison.statistics import columns_of, detectable
from medical_tasks.data.task_data import TaskData, asked_part, draw, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.output import tell
from medical_tasks.io.table import align
from medical_tasks.runs.numbers import number
from medical_tasks.scoring.finite import strata_of, whole_set_estimate
from medical_tasks.scoring.intervals import normal_quantile
from medical_tasks.scoring.paired import ALPHA, POWER
from medical_tasks.spec import Item, MetricSpec, TaskSpec

_DRAWS = 20  # samples of one size, whose widths are averaged


def run(arguments: argparse.Namespace) -> int:
    """Prints how many items are needed."""
    tasks, (kind, wanted) = parse_task_names(arguments.task), _wanted(arguments)
    if len(tasks) > 1:
        raise UsageError(
            f"plan takes one task, got {arguments.task!r} ({', '.join(task.name for task in tasks)})."
        )
    metrics = {metric.name: metric for metric in tasks[0].metrics if not metric.part}
    metric = metrics.get(arguments.metric or tasks[0].metrics[0].name)
    if metric is None:
        raise UsageError(
            f"--metric {arguments.metric}: {tasks[0].name} has only {', '.join(metrics)}."
        )
    low, high = metric.limits
    if wanted >= high - low:
        raise UsageError(
            f"--{kind.replace('_', '-')} {wanted:g}: {metric.name} lies between {low:g} and {high:g} (three points: 0.03)."
        )
    if arguments.run:
        runs = [read_compared(folder) for folder in arguments.run]
        if kind == "difference" and len(runs) < 2:
            raise UsageError(
                "--difference takes two past runs. Give another --run, or --agreement in their place."
            )
        several = combinations(runs, 2) if kind == "difference" else ((each, each) for each in runs)
        found = [_resampled(tasks[0], metric, *each, kind=kind, wanted=wanted) for each in several]
    else:
        found = [_assumed(tasks[0], metric, arguments, wanted)]
    most = max(found, key=lambda each: float(each["beyond"]["items"]))
    made = {"task": tasks[0].name, "metric": metric.name, "wanted": {kind: wanted}, **most}
    tell(_shown(made, metric.unit), made)
    return 0


def _wanted(arguments: argparse.Namespace) -> tuple[str, float]:
    if (arguments.half_width is None) == (arguments.difference is None):
        raise UsageError("plan needs one of --half-width W and --difference D.")
    name, needed = (
        ("half_width", "accuracy") if arguments.difference is None else ("difference", "agreement")
    )
    for each, most in ((name, math.inf), ("accuracy", 1.0), ("agreement", 1.0)):
        value = getattr(arguments, each)
        if value is not None and not 0.0 < value < most:
            span = "above 0" if most > 1.0 else "between 0 and 1"
            raise UsageError(f"--{each.replace('_', '-')} must be {span}, got {value}.")
    if bool(arguments.run) == (getattr(arguments, needed) is not None):
        raise UsageError(
            f"plan --{name.replace('_', '-')} needs either past runs (--run RUN) or --{needed}, a share."
        )
    return name, float(getattr(arguments, name))


def _assumed(
    task: TaskSpec, metric: MetricSpec, arguments: argparse.Namespace, wanted: float
) -> dict[str, Any]:
    if metric.kind != "proportion":
        raise UsageError(
            f"{metric.name} is no share of items, so give past runs (--run): how much it varies is not known."
        )
    share, apart = arguments.accuracy, round(1.0 - (arguments.agreement or 0.0), 9)
    z = normal_quantile(1.0 - ALPHA / 2.0)
    if arguments.difference is None:
        needed = share * (1.0 - share) * (z / wanted) ** 2
    else:
        most = 1.0 if share is None else 2.0 * min(share, 1.0 - share)
        if not wanted <= apart <= most:
            span = f"between {1.0 - most:g} and {1.0 - wanted:g}"
            raise UsageError(f"--agreement {arguments.agreement}: that of such models lies {span}.")
        needed = (apart - wanted**2) * ((z + normal_quantile(POWER)) / wanted) ** 2
    where = {name: getattr(arguments, name) for name in ("data", "config", "split")}
    spec = dataset_spec(task.dataset)
    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        items = load_task_data(task, spec, **where).items
    n = len(items)
    return _needed(
        "what is assumed",
        items,
        needed / (1.0 + needed / n),
        wanted * math.sqrt(needed / n),
        wanted,
    )


def _resampled(
    task: TaskSpec, metric: MetricSpec, one: Compared, other: Compared, *, kind: str, wanted: float
) -> dict[str, Any]:
    """For the set, the fewest items whose samples are narrow enough on average; beyond it, by the square root of their number."""
    for run in (one, other):
        entry = run.results["tasks"].get(task.name, {"metrics": {}, "recipe": {}})
        told = entry["metrics"].get(metric.name, {})
        if (
            told.get("ci_low") is None
            or told.get("ci_high") is None
            or any(asked_part(entry["recipe"]).values())
        ):
            raise UsageError(
                f"{run.label}: is no run of all items of {task.name} with an interval of {metric.name}."
            )
    sides = shared_rows(*(rows_by_task(run)[task.name] for run in (one, other)))
    items = [
        Item(
            id=row["id"],
            fields={},
            groups={by: row[f"group_{by}"] for by in task.groups},
            cluster=row["cluster"],
        )
        for row in sides[0]
    ]
    data = TaskData(items=items, config="", folder=Path(), revision={})
    place = {item.id: at for at, item in enumerate(items)}
    reported, clusters = (
        {each.name: each for each in task.metrics},
        [item.cluster for item in items],
    )
    columns = columns_of(metric, reported, *sides, clusters if task.cluster else None)
    alone = columns if task.drawn_whole else replace(columns, clusters=None)
    of_all = (
        (told["ci_high"] - told["ci_low"]) / 2.0 if kind == "half_width" else detectable(columns)
    )
    if not of_all:
        raise UsageError(
            f"{one.label}: nothing varies on these {len(items):,} items; assume something instead."
        )

    def width(size: int, seed: int) -> float:
        made = draw(task, data, (size, seed))
        part = alone.part(np.array([place[item.id] for item in made.items]))
        if kind == "difference":
            return (detectable(part) or math.inf) * math.sqrt(1.0 - len(made.items) / len(items))
        strata, share = strata_of(task, made.items, made.subset or {}), metric.kind == "proportion"
        how: dict[str, Any] = {
            "clusters": part.clusters,
            "limits": metric.limits,
            "proportion": share,
        }
        found = whole_set_estimate(part.first, part.shares, *strata, **how)
        return (found.ci_high - found.ci_low) / 2.0

    sizes = range(min(2, len(items)), len(items))
    few = bisect_left(
        sizes, True, key=lambda size: fmean(width(size, seed) for seed in range(_DRAWS)) <= wanted
    )
    name = one.label if one is other else f"{one.label} and {other.label}"
    return _needed(name, items, few + sizes.start, of_all, wanted)


def _needed(
    name: str, items: list[Item], few: float, of_all: float, wanted: float
) -> dict[str, Any]:
    n, independent = len(items), len({item.cluster for item in items})
    beyond = max(
        few, n * (of_all / wanted) ** 2
    )  # near 0 and 1 intervals narrow faster than by the root
    made: dict[str, Any] = {
        "from": name,
        "items": n,
        "independent": independent,
        "whole_set": of_all,
    }
    for about, size in (("this_set", few), ("beyond", beyond)):
        made[about] = {
            "items": math.ceil(size - 1e-9),
            "independent": math.ceil(independent * size / n - 1e-9),
        }
    return {**made, "enough": beyond <= n}


def _shown(made: Mapping[str, Any], unit: str) -> str:
    ((kind, wanted),) = made["wanted"].items()
    what, sign = (
        ("an interval of", "±")
        if kind == "half_width"
        else ("telling apart two models with a difference of", "")
    )
    want, whole = (
        f"{sign}{number(value, unit)}{'' if unit else ' points'}"
        for value in (wanted, made["whole_set"])
    )
    abouts = (
        ("the score on these items", made["this_set"]),
        ("questions like these", made["beyond"]),
    )
    rows = [(about, f"{each['items']:,}", f"{each['independent']:,}") for about, each in abouts]
    table = "\n".join(align(("about", "items", "independent"), rows))
    # `compare` tests a difference on questions like these.
    size = min(made["items"], made["this_set" if kind == "half_width" else "beyond"]["items"])
    part = f" --subset {size} --seed 0" if size < made["items"] else ""
    return (
        f"{made['task']}, {made['metric']}: {what} {want}. From {made['from']}.\n\n{table}\n\n"
        f"The whole set ({made['items']:,} items, {made['independent']:,} independent) is "
        f"{'' if made['enough'] else 'not '}enough for questions like these: it gives {whole}.\n"
        f"{'A sample' if part else 'All of them'}: medical-tasks run --tasks {made['task']}{part} --model MODEL"
    )
