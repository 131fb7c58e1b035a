"""Plans how many items of a task an interval, a difference or a gate needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.comparison.compared import Compared, read_compared
from medical_tasks.comparison.planning import (
    Goal,
    Kind,
    Needed,
    needed_as_assumed,
    needed_from_runs,
    planted_columns,
    runs_columns,
    sample_needed,
)
from medical_tasks.data.task_data import TaskData, load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.table import align
from medical_tasks.options import Plan
from medical_tasks.runs.numbers import number, percent
from medical_tasks.spec import MetricSpec, TaskSpec

_KINDS: tuple[Kind, ...] = get_args(Kind)
_LIMITS = ("at_least", "at_most")
_LEAST_LIMIT = 0.001
"""The smallest limit of a share; closer to 0 or 1, thousands of items are needed to see one."""
_OF_PAIRS = ("difference", "margin")
_GOAL_TEXTS: Mapping[Kind, str] = {
    "half_width": "an interval of ±{}",
    "difference": "telling apart two models with a difference of {}",
    "at_least": "GO by a gate's at_least {}",
    "at_most": "GO by a gate's at_most {}",
    "margin": "GO by a gate's margin of {}",
}


def plan(arguments: Plan) -> tuple[dict[str, Any], str]:
    """Runs `plan`; returns the figures, and the text to print."""
    tasks, goal = parse_task_names(arguments.task), _goal(arguments)
    if len(tasks) > 1:
        raise UsageError(
            f"plan takes one task, got {arguments.task!r} "
            f"({', '.join(task.name for task in tasks)})."
        )

    metrics = {metric.name: metric for metric in tasks[0].metrics if not metric.part}
    metric = metrics.get(arguments.metric or tasks[0].metrics[0].name)
    if metric is None:
        raise UsageError(
            f"--metric {arguments.metric}: {tasks[0].name} has only {', '.join(metrics)}."
        )

    _check_within(goal, metric)
    if arguments.run:
        plans = [
            _from_runs(tasks[0], metric, goal, pair)
            for pair in _pairs(goal, arguments.run)
        ]
    else:
        plans = [_from_assumption(tasks[0], metric, goal, arguments)]

    largest = max(plans, key=lambda option: float(option["beyond"]["items"]))
    planned = {
        "task": tasks[0].name,
        "metric": metric.name,
        "wanted": {goal.kind: goal.value},
        **largest,
    }
    return planned, _as_text(goal, planned, metric.unit)


def _goal(arguments: Plan) -> Goal:
    """Reads the goal and its assumptions; refuses missing and superfluous options."""
    kinds = [kind for kind in _KINDS if getattr(arguments, kind) is not None]
    if len(kinds) != 1:
        raise UsageError(f"plan needs one of {', '.join(map(_option, _KINDS))}.")

    kind, value = kinds[0], getattr(arguments, kinds[0])
    for name in ("accuracy", "agreement"):
        share = getattr(arguments, name)
        if share is not None and not 0.0 < share < 1.0:
            raise UsageError(f"--{name} must be between 0 and 1, got {share}.")

    if kind in _LIMITS:
        return _limit(kind, value, arguments.accuracy)
    if not value > 0.0:
        raise UsageError(f"{_option(kind)} must be above 0, got {value}.")

    source = "agreement" if kind in _OF_PAIRS else "accuracy"
    assumed = getattr(arguments, source)
    if bool(arguments.run) == (assumed is not None):
        raise UsageError(
            f"plan {_option(kind)} needs either past runs (--run RUN) or --{source}, a share."
        )

    if kind == "half_width" or arguments.run:
        return Goal(kind, value, truth=assumed)

    return _two_models(kind, value, assumed, arguments.accuracy)


def _limit(kind: Kind, value: float, truth: float | None) -> Goal:
    """Makes the goal of meeting a gate's limit, for a model whose true value meets it."""
    if 0.0 < value < 1.0 and not _LEAST_LIMIT <= value <= 1.0 - _LEAST_LIMIT:
        raise UsageError(
            f"{_option(kind)} must be from {_LEAST_LIMIT:g} to {1.0 - _LEAST_LIMIT:g}, got "
            f"{value!r}."
        )

    if truth is None or (truth <= value if kind == "at_least" else truth >= value):
        side = "above" if kind == "at_least" else "below"
        raise UsageError(
            f"plan {_option(kind)} {value:g} needs --accuracy {side} it: the true value of a "
            f"model that should get GO, got {truth}."
        )

    return Goal(kind, value, truth=truth)


def _two_models(
    kind: Kind, value: float, agreement: float, accuracy: float | None
) -> Goal:
    """Makes the goal for two models with this agreement; refuses an impossible agreement."""
    apart, least = round(1.0 - agreement, 9), value if kind == "difference" else 0.0
    most = 1.0 if accuracy is None else 2.0 * min(accuracy, 1.0 - accuracy)
    if not least <= apart <= most:
        raise UsageError(
            f"--agreement {agreement}: such models agree between {1.0 - most:g} and "
            f"{1.0 - least:g}."
        )
    return Goal(kind, value, apart=apart)


def _check_within(goal: Goal, metric: MetricSpec) -> None:
    """Refuses a width, difference or limit that the metric cannot have."""
    low, high = metric.limits
    if not (
        low < goal.value < high if goal.kind in _LIMITS else goal.value < high - low
    ):
        raise UsageError(
            f"{_option(goal.kind)} {goal.value:g}: {metric.name} is between {low:g} and {high:g} "
            "(three points: 0.03)."
        )


def _pairs(goal: Goal, folders: Sequence[Path]) -> list[tuple[Compared, Compared]]:
    """Returns the runs to learn from: every pair for a goal of two models, else each with itself."""
    runs = [read_compared(folder) for folder in folders]
    if goal.kind not in _OF_PAIRS:
        return [(run, run) for run in runs]
    if len(runs) < 2:
        raise UsageError(
            f"{_option(goal.kind)} needs two past runs. Give another --run, or --agreement "
            "instead."
        )
    return list(combinations(runs, 2))


def _from_assumption(
    task: TaskSpec, metric: MetricSpec, goal: Goal, arguments: Plan
) -> dict[str, Any]:
    """Plans without a past run, from the score or agreement that the user assumes.

    This works only for shares of items: the variance of any other metric is unknown.
    """
    if metric.kind != "proportion":
        raise UsageError(
            f"{metric.name} is not a share of items, so its variance is unknown. Give past runs "
            "(--run)."
        )

    location = {name: getattr(arguments, name) for name in ("data", "config", "split")}
    spec = dataset_spec(task.dataset)
    with policy.protect([policy.Subject.of(spec, task=task.name)]):
        data = load_task_data(task, spec, **location)

    needed = needed_as_assumed(goal, len(data.items))
    sample = None
    if goal.kind == "half_width" and goal.truth is not None:
        columns = planted_columns(metric, data.items, goal.truth)
        sample = sample_needed(task, data, columns, goal.value)

    return _as_json("what is assumed", data, needed, sample)


def _from_runs(
    task: TaskSpec, metric: MetricSpec, goal: Goal, runs: tuple[Compared, Compared]
) -> dict[str, Any]:
    """Plans from the variance of the items of one past run, or of the pairs of two."""
    data, columns = runs_columns(task, metric, runs)
    needed = needed_from_runs(goal, columns)
    sample = None
    if goal.kind == "half_width":
        sample = sample_needed(task, data, columns, goal.value)
    name = " and ".join(dict.fromkeys(run.label for run in runs))
    return _as_json(name, data, needed, sample)


def _as_json(
    name: str, data: TaskData, needed: Needed, sample: int | None
) -> dict[str, object]:
    """Makes the JSON of a plan."""
    n, independent = len(data.items), len({item.cluster for item in data.items})

    def with_clusters(items: int) -> dict[str, int]:
        return {"items": items, "independent": math.ceil(independent * items / n)}

    return {
        "from": name,
        "items": n,
        "independent": independent,
        "whole_set": needed.whole_set if math.isfinite(needed.whole_set) else None,
        "this_set": None if sample is None else with_clusters(sample),
        "beyond": with_clusters(math.ceil(needed.clusters * n / needed.of)),
        "enough": needed.clusters <= needed.of,
    }


def _option(kind: str) -> str:
    return f"--{kind.replace('_', '-')}"


def _as_text(goal: Goal, planned: Mapping[str, Any], unit: str) -> str:
    """Words a plan: how many items, whether the set has them, and what to run."""
    points = "" if unit else " points"
    sign = " %" if goal.kind in _LIMITS and not unit else points
    goal_text = _GOAL_TEXTS[goal.kind].format(number(goal.value, unit) + sign)
    abouts = {
        "the score on these items": planned["this_set"],
        "questions like these": planned["beyond"],
    }
    rows = [
        (about, f"{need['items']:,}", f"{need['independent']:,}")
        for about, need in abouts.items()
        if need is not None
    ]
    table = "\n".join(align(("about", "items", "independent"), rows))
    precision = f"this in {percent(planned['whole_set'])} % of runs"
    if goal.kind == "half_width":
        precision = f"±{number(planned['whole_set'], unit)}{points}"

    size = min(planned["items"], (planned["this_set"] or planned["beyond"])["items"])
    subset_option = f" --subset {size} --seed 0" if size < planned["items"] else ""
    return (
        f"{planned['task']}, {planned['metric']}: {goal_text}. From {planned['from']}.\n\n{table}\n\nThe whole "
        f"set ({planned['items']:,} items, {planned['independent']:,} independent) is "
        f"{'' if planned['enough'] else 'not '}enough for questions like these: it gives {precision}.\n"
        f"{'A sample' if subset_option else 'All of them'}: medical-tasks run --tasks {planned['task']}{subset_option} "
        "--model MODEL"
    )
