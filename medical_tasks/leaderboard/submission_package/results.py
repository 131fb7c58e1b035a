"""Computes the numbers of a package again from its items, and compares results.

What items do not determine (estimates for undecided answers, intervals of unbounded
metrics) is left to `verifying`. Numbers are equal within 1e-9, since processors round
sums differently.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.io.untrusted import is_number, shown, shown_path
from medical_tasks.leaderboard.submission_package import contents
from medical_tasks.report.entries import Entry, Metric
from medical_tasks.runs.comparability import asked_officially
from medical_tasks.runs.estimation import NO_VERDICT
from medical_tasks.runs.recipes import INTERVALS, mapping
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    Row,
    groups_of,
    item_of,
    weight_column,
)
from medical_tasks.runs.summary import summarise
from medical_tasks.scoring.averages import components
from medical_tasks.spec import (
    UNANSWERED,
    Item,
    ItemScore,
    MetricSpec,
    TaskSpec,
    unclear_limits,
)

TOLERANCE: Final = 1e-9
COMPARED: Final = ("n_items", "metrics", "coverage", "breakdown")
_BOUNDS: Final = frozenset({"bound_low", "bound_high"})
_INTERVAL: Final = frozenset({"ci_low", "ci_high"})
_ESTIMATE: Final = (
    _BOUNDS | _INTERVAL | {"value", "n", "of", "std", "estimated", "reason"}
)
_ORDERED: Final = (
    ("ci_low", "value", "ci_high"),
    ("bound_low", "value", "bound_high"),
    ("bound_low", "bound_high"),
)
_ABSENT: Final = object()

Path = tuple[str, ...]
Difference = tuple[Path, object, object]
"""The path, the value in the package, and the value computed here."""


def forget_unasked_figures(results: JsonDict) -> JsonDict:
    """Removes the authors' metrics if the judge was not asked with their prompts.

    Those of an earlier version of a task are removed too, since it computed them otherwise.
    """
    for name, task in tasks().items():
        entry = results["tasks"].get(name)
        if entry is None or _asked_officially(task, entry):
            continue

        groups = (group for by in entry["breakdown"].values() for group in by.values())
        for metrics in (entry["metrics"], *groups):
            for metric in filter(task.needs_official_prompts, task.metrics):
                metrics.pop(metric.name, None)

    return results


def _asked_officially(task: TaskSpec, entry: Entry) -> bool:
    """Whether the judge was asked with the authors' prompts, in this version of the task."""
    recipe = entry["recipe"]
    earlier = recipe["task_version"].partition("-")[0] != task.version.partition("-")[0]
    return not earlier and asked_officially(mapping(recipe["judge"]))


def reported_task(task: TaskSpec, entry: Entry) -> TaskSpec:
    """Returns the task with the metrics that an entry reports.

    Left out are metrics whose requirements were not given, the authors' metrics if the
    judge was not asked for them, judged metrics if there was no judge, and, for an earlier
    version of the task, later metrics, so that older packages remain readable.
    """
    may_report = {*task.arguments, *task.scoring_arguments}
    task = task.asked_with(mapping(entry["recipe"].get("task_args")))
    task = task.reporting(may_report, official=_asked_officially(task, entry))
    if entry["recipe"]["judge"] is None:
        task = task.unjudged()

    earlier = entry["recipe"]["task_version"] != task.version
    metrics = tuple(
        metric
        for metric in task.metrics
        if not (metric.needs or earlier) or _is_reported(metric, entry)
    )
    return replace(task, metrics=metrics)


def _is_reported(metric: MetricSpec, entry: Entry) -> bool:
    """Whether an entry has a metric; one of parts of items is a group of the breakdown."""
    if not metric.part:
        return metric.name in entry["metrics"]
    by, group = metric.part
    return metric.whole in entry["breakdown"].get(by, {}).get(group, {})


def without_judged(task: TaskSpec, entry: Entry) -> JsonDict:
    """Removes judged metrics from an entry, and groups that have no others."""
    free = {metric.name for metric in task.unjudged().metrics}

    def kept(metrics: Json) -> JsonDict:
        return {name: metric for name, metric in metrics.items() if name in free}

    breakdown = {
        by: {group: kept(metrics) for group, metrics in groups.items() if kept(metrics)}
        for by, groups in entry["breakdown"].items()
    }

    return {
        **entry,
        "metrics": kept(entry["metrics"]),
        "breakdown": {by: groups for by, groups in breakdown.items() if groups},
    }


def partial_facts(results: Json) -> dict[str, list[str]]:
    """Returns, by task, the reasons why results are not over the whole official split."""
    facts: dict[str, list[str]] = {}
    for name, entry in results["tasks"].items():
        task, data, most = (
            tasks()[name],
            entry["recipe"]["data"],
            entry["recipe"]["max_samples"],
        )
        official = dataset_spec(task.dataset).default_config
        reasons: list[str] = []
        if data["config"] == "demo":
            reasons.append("It ran on the synthetic demo records.")
        elif data["config"] != official:
            reasons.append(f"It ran on configuration {data['config']}, not {official}.")

        if data["split"] != task.split:
            reasons.append(f"It ran on split {data['split']}, not {task.split}.")
        if most is not None:
            reasons.append(f"It ran on at most {most} items (--max-samples).")
        if reasons:
            facts[name] = reasons

    return facts


def recompute(
    task: TaskSpec, entry: Entry, rows: Sequence[Row], limits: contents.ReadLimits
) -> JsonDict:
    """Computes a task's entry of `results.json` from its items.

    The names of groups are from the package's own entry.
    """
    items: list[Item] = []
    scores: dict[str, ItemScore] = {}
    unanswered: dict[str, str] = {}
    for row in rows:
        groups = _groups(task, entry, row, limits)
        items.append(
            Item(id=row["id"], fields={}, groups=groups, cluster=row["cluster"])
        )
        reason = row["unscored"]
        if reason is not None and reason.startswith(UNANSWERED):
            unanswered[row["id"]] = reason.removeprefix(UNANSWERED)
        else:
            scores[row["id"]] = _score(task, row)

    for by in task.groups:
        if len({group for item in items for group in item.groups[by]}) > limits.groups:
            raise contents.PackageError(
                f"items.jsonl, group_{by}: more than {limits.groups} groups. Is it the official "
                "data?"
            )

    try:
        computed: JsonDict = {**summarise(task, items, scores, unanswered, recipe={})}
    except (ValueError, OverflowError) as error:
        raise contents.PackageError(
            f"items.jsonl: no result can be computed of the items of {task.name} ({error})."
        ) from error

    if entry["recipe"].get("judge") and not entry["recipe"]["judge"]["comparable"]:
        judged = {
            metric.whole or metric.name for metric in task.metrics if metric.judged
        }
        for path, metric in _metrics(computed):
            if path[-1] in judged:
                metric["comparable"] = False

    return computed


def _groups(
    task: TaskSpec, entry: Entry, row: Row, limits: contents.ReadLimits
) -> dict[str, tuple[str, ...]]:
    """Reads the groups of an item: a cell names one, possibly with spaces, or several."""
    groups = {
        by: groups_of(str(row[f"group_{by}"]), entry["breakdown"].get(by, {}))
        for by in task.groups
    }
    if any(len(names) > limits.item_groups for names in groups.values()):
        raise contents.PackageError(
            f"items.jsonl: an item is in more than {limits.item_groups} groups of one breakdown."
        )
    return groups


def _score(task: TaskSpec, row: Row) -> ItemScore:
    """Makes the score of an item from its row."""
    decided = [
        metric
        for metric in task.metrics
        if metric.kind != "average" and row[metric.name] is not None
    ]
    values = {metric.name: float(row[metric.name]) for metric in decided}
    weights = {
        metric.name: float(row[weight_column(metric.name)])
        for metric in decided
        if metric.kind == "ratio"
    }

    return ItemScore(
        id=row["id"],
        values=values,
        weights=weights,
        unscored=row["unscored"],
        unclear=row["unclear"],
        limits=unclear_limits(task.metrics, values) if row["unclear"] else {},
    )


def result_differences(
    task: TaskSpec, entry: Entry, computed: Entry, rows: Sequence[Row]
) -> Iterator[Difference]:
    """Yields the differences between a package's entry and the recomputed one.

    What the items do not determine may differ within the bounds that they leave.
    """
    undecided = _undecided(task, rows)
    reasons = {
        NO_VERDICT,
        *(f"{NO_VERDICT}: {row['unscored']}" for row in rows if row["unscored"]),
    }
    for difference in entry_differences(entry, computed):
        path, stated, _ = difference
        if not (_may_be_estimate(stated, reasons) and undecided.leaves_open(path)):
            yield difference

    own = dict(_metrics(computed))
    for path, metric in _metrics(entry):
        for names in _ORDERED:
            ends = [end for end in map(metric.get, names) if is_number(end)]
            if ends != sorted(ends):
                yield (*path, names[0]), metric.get(names[0]), metric.get(names[1])

        if undecided.leaves_open((*path, "value")):
            yield from _outside(path, metric, own.get(path, {}))


def _may_be_estimate(stated: object, reasons: Container[str]) -> bool:
    """Whether a stated value can be an estimate, or the reason why there is none."""
    if isinstance(stated, str):
        return stated in reasons
    return not isinstance(stated, bool | Mapping | list)


def _outside(path: Path, metric: Metric, limits: Metric) -> Iterator[Difference]:
    """Yields what is wrong with an estimate: its number of items, or a value out of bounds."""
    value, low, high = (
        metric.get("value"),
        limits.get("bound_low"),
        limits.get("bound_high"),
    )
    if not is_number(value):
        return
    if metric.get("n") != limits.get("n", 0) + metric.get("estimated", 0):
        yield (*path, "n"), metric.get("n"), limits.get("n")

    too_low = is_number(low) and value < low - TOLERANCE
    too_high = is_number(high) and value > high + TOLERANCE
    if too_low or too_high:
        yield (*path, "value"), value, low


def entry_differences(entry: Entry, computed: Entry) -> Iterator[Difference]:
    """Yields the differences between a package's entry and the one computed here.

    Intervals are compared only if they were computed in the same way.
    """
    same_intervals = entry["recipe"]["statistics"].get("intervals") == INTERVALS
    for name in COMPARED:
        stated = entry[name]
        if name == "coverage":  # packages of older suites do not count unclear answers
            stated = {"unclear": {}, **stated}

        for difference in differences(stated, computed[name], (name,)):
            if same_intervals or difference[0][-1] not in _INTERVAL:
                yield difference


def counts_unclear(entry: Entry) -> bool:
    """Whether a package's suite distinguished unclear answers from wrong ones."""
    return "unclear" in entry["coverage"]


def _metrics(entry: Entry) -> Iterator[tuple[Path, JsonDict]]:
    """Yields each metric of an entry, overall and by group, with its path."""
    for name, metric in entry["metrics"].items():
        yield ("metrics", name), metric if isinstance(metric, dict) else {}
    for by, groups in entry["breakdown"].items():
        for group, metrics in groups.items():
            for name, metric in metrics.items():
                yield (
                    ("breakdown", by, group, name),
                    metric if isinstance(metric, dict) else {},
                )


@dataclass(frozen=True)
class _Undecided:
    """The metrics of which the items do not determine everything.

    Example: an answer without a verdict counts as an estimate, which the items do not
    contain. So the value in the package is accepted within its bounds.

    Attributes:
        bounds: metrics whose bounds are not determined.
        intervals: metrics without finite limits, whose intervals are not determined.
        estimates: metrics of which only the number of items and the bounds are checked.
    """

    bounds: frozenset[str]
    intervals: frozenset[str]
    estimates: frozenset[str]

    def leaves_open(self, path: Path) -> bool:
        """Whether the items do not determine the value at a path of an entry."""
        if len(path) < 3:
            return False
        name, leaf = path[-2:]
        return (
            (leaf in _BOUNDS and name in self.bounds)
            or (leaf in _INTERVAL and name in self.intervals)
            or (leaf in _ESTIMATE and name in self.estimates)
        )


def _undecided(task: TaskSpec, rows: Sequence[Row]) -> _Undecided:
    """Determines which figures of a task its items leave open."""
    metrics = {metric.name: metric for metric in task.metrics}
    unbounded = {
        name
        for name, metric in metrics.items()
        if not all(map(math.isfinite, metric.limits))
    }
    incomplete, lack_verdicts = _incomplete(task, rows)
    # Only the benchmark knows the largest value of an unanswered item.
    undetermined = lack_verdicts | (incomplete & unbounded)
    estimates = {name for name in undetermined if metrics[name].official is None}
    intervals = {name for name in unbounded if metrics[name].kind == "mean"}

    return _Undecided(
        bounds=_with_wholes(metrics, undetermined),
        intervals=_with_wholes(metrics, intervals),
        estimates=_with_wholes(metrics, estimates),
    )


def _incomplete(task: TaskSpec, rows: Sequence[Row]) -> tuple[set[str], set[str]]:
    """Returns the metrics that lack values, and those that lack some for answered items."""
    lacking = {
        metric.name: [row for row in rows if row[metric.name] is None]
        for metric in task.metrics
        if metric.kind != "average"
    }
    incomplete = {name for name, unscored in lacking.items() if unscored}
    lack_verdicts = {
        name
        for name, unscored in lacking.items()
        if any(row["answer_sha256"] for row in unscored)
    }
    return incomplete, lack_verdicts


def _with_wholes(own: Mapping[str, MetricSpec], names: set[str]) -> frozenset[str]:
    """Adds the averages of metrics, and the metrics of which they are parts."""
    averages = {
        name
        for name, metric in own.items()
        if metric.kind == "average"
        and names.intersection(components(metric, own).shares)
    }
    wider = names | averages
    return frozenset(wider | {own[name].whole for name in wider if own[name].whole})


def same_value(stated: object, here: object) -> bool:
    """Whether two scalar values are equal; `nan` equals `nan`, and true is not 1."""
    if isinstance(stated, bool) or isinstance(here, bool):
        return stated is here
    if isinstance(stated, int | float) and isinstance(here, int | float):
        if math.isnan(stated) or math.isnan(here):
            return math.isnan(stated) and math.isnan(here)
        return math.isclose(stated, here, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(stated == here)


def differences(stated: object, here: object, path: Path = ()) -> Iterator[Difference]:
    """Yields the differences between two JSON values."""
    if isinstance(stated, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys((*stated, *here)):
            # `too_few` follows from the numbers, and older packages lack it.
            if name != "too_few":
                inside = (*path, name)
                yield from differences(
                    stated.get(name, _ABSENT), here.get(name, _ABSENT), inside
                )
    elif isinstance(stated, list | tuple) and isinstance(here, list | tuple):
        if len(stated) != len(here):
            yield path, stated, here
            return

        for number, (first, second) in enumerate(
            zip(stated, here, strict=True), start=1
        ):
            yield from differences(first, second, (*path, str(number)))
    elif not same_value(stated, here):
        yield path, stated, here


def in_words(difference: Difference) -> str:
    """Describes a difference; values are shown only as a line of plain text."""
    path, *values = difference
    stated, here = ("nothing" if value is _ABSENT else shown(value) for value in values)
    return f"{shown_path(*path)}: {stated} in the package, {here} computed"


def item_columns(task: TaskSpec) -> list[str]:
    """Lists the columns of a task's items in runs, without the two hashes."""
    columns = ["task", "id", "cluster", *(f"group_{name}" for name in task.groups)]
    for metric in task.metrics:
        if metric.kind != "average":
            columns.append(metric.name)
        if metric.kind == "ratio":
            columns.append(weight_column(metric.name))
    return [*columns, "parsed", "why", "unscored", "unclear"]


def verdicts_of_items(
    rows: Iterable[Row], ids: Container[str]
) -> tuple[dict[str, list[Row]], list[str]]:
    """Groups a task's verdicts by item, and returns the questions that are about no item."""
    by_item: dict[str, list[Row]] = {}
    lost: list[str] = []
    for row in rows:
        item = item_of(str(row["id"]), ids)
        if item is None:
            lost.append(str(row["id"]))
        else:
            by_item.setdefault(item, []).append(row)
    return by_item, lost
