"""Comparing runs item by item: differences, intervals, tests, and what changed.

Two numbers are compared only when they measure the same thing (`recipes`); other differences of the recipes are reported. With
more than two runs, the tests of one metric are adjusted over all pairs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from medical_tasks.catalog import dataset_spec, parse_task_names, tasks
from medical_tasks.comparison.statistics import (
    Columns,
    Rows,
    adjust,
    adjust_breakdowns,
    breakdown_names,
    columns_of,
    compare_breakdowns,
    compare_columns,
    is_counted,
    with_judge_error,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.models.usage import an_answer
from medical_tasks.runs.calibrating import SUFFIX, raw_name, same_calibration
from medical_tasks.runs.numbers import number
from medical_tasks.runs.recipes import RecipeDifferences, comparable_judges, mapping, one_line
from medical_tasks.runs.recipes import recipe_differences as recipe_differences
from medical_tasks.runs.results import read_items, read_sound_results, weight_column
from medical_tasks.scoring.averages import components
from medical_tasks.scoring.correction import NotCorrectableError
from medical_tasks.spec import MetricKind, MetricSpec, TaskSpec

NONE, ALL = "none", "all"


@dataclass(frozen=True)
class Compared:
    """A result to compare."""

    label: str  # what it is called in messages, such as its folder
    results: Mapping[str, Any]  # content of `results.json`
    rows: Sequence[Mapping[str, Any]]  # of `items.parquet`, or of a package's `items.jsonl`


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is compared: all tasks and metrics when none are named; `by` is a breakdown, `all` or `none`."""

    tasks: Sequence[str] = ()
    metrics: Sequence[str] = ()
    by: str = NONE
    margin: float | None = None  # of equivalence


def read_compared(folder: Path) -> Compared:
    """Reads a run's folder."""
    return Compared(label=str(folder), results=read_sound_results(folder), rows=read_items(folder))


def refusals(
    first: Compared, second: Compared, compared: Mapping[str, Any], tasks: Mapping[str, TaskSpec]
) -> str:
    """Says why no task of two results can be compared."""
    common = [name for name in first.results["tasks"] if name in second.results["tasks"]]
    if not common:
        told = [", ".join(each.results["tasks"]) or "none" for each in (first, second)]
        return f"no task in common: {first.label} has {told[0]}; {second.label} has {told[1]}. Compare runs of one task."
    if not compared:
        return f"none of the tasks asked for is in {first.label} or {second.label}. Tasks of both: {', '.join(common)}."
    shared = [name for name in compared if name in common] or list(compared)
    if all(name in common and name not in tasks for name in shared):
        return f"task {shared[0]!r} of both runs is not known to this version. Tasks: {', '.join(tasks)}."
    return "\n".join(
        f"{name}: {sentence}" for name in shared for sentence in compared[name]["refused"]
    )


def compare_tasks(
    first: Compared,
    second: Compared,
    tasks: Mapping[str, TaskSpec],
    *,
    selection: Selection | None = None,
) -> dict[str, Any]:
    """Compares every task that both results have, B (`second`) minus A (`first`).

    Returns task name to `n_items`, `warnings`, `metrics` (entries of `statistics.compare_columns`), `breakdown` (breakdown to group
    to metric to such an entry), `paper` (whether each result is comparable with the paper) and `refused`, why the task is not
    compared; then the others are empty.
    """
    wanted = selection or Selection()
    names = dict.fromkeys([*first.results["tasks"], *second.results["tasks"]])
    chosen = [name for name in names if not wanted.tasks or name in wanted.tasks]
    rows = (rows_by_task(first), rows_by_task(second))
    compared: dict[str, Any] = {}
    for name in chosen:
        entries = [each.results["tasks"].get(name) for each in (first, second)]
        if None in entries:
            alone = first if entries[1] is None else second
            compared[name] = _refused([f"only {alone.label} has this task"])
        elif name not in tasks:
            compared[name] = _refused(
                ["this version of the suite does not know the task; update it"]
            )
        else:
            sides = (rows[0].get(name, {}), rows[1].get(name, {}))
            compared[name] = _compare_task(tasks[name], entries, sides, wanted)
    return compared


def _refused(reasons: list[str]) -> dict[str, Any]:
    empty: dict[str, Any] = {"n_items": 0, "warnings": [], "metrics": {}, "breakdown": {}}
    return {**empty, "paper": [], "refused": reasons}


def rows_by_task(run: Compared) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The rows of a run by task and item; a row without them, or a second one, is damage."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in run.rows:
        if not ("task" in row and "id" in row):
            raise UsageError(
                f"{run.label}: its items are damaged: a row lacks its task or id. Score again."
            )
        of_task = found.setdefault(row["task"], {})
        if row["id"] in of_task:
            said = (
                f"{one_line(str(row['task']))} has two rows of the item {one_line(str(row['id']))}"
            )
            raise UsageError(f"{run.label}: its items are damaged: {said}. Score again.")
        of_task[row["id"]] = row
    return found


@dataclass(frozen=True, kw_only=True)
class _Both:
    """A task of both runs."""

    task: TaskSpec
    entries: Sequence[Mapping[str, Any]]
    rows: tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]
    differences: RecipeDifferences

    def reports(self, metric: MetricSpec) -> list[bool]:
        """Whether each run reports a metric: its results name it, or where they name none, all its rows have it."""
        if metric.kind == "average":
            return [True, True]
        column = weight_column(metric.name) if metric.kind == "ratio" else metric.name
        found = []
        for entry, rows in zip(self.entries, self.rows, strict=True):
            told = entry.get("metrics")
            named = not isinstance(told, Mapping) or bool(metric.part) or metric.name in told
            found.append(named and all(column in row for row in rows.values()))
        return found

    def reported(self) -> dict[str, MetricSpec]:
        """Metrics by name, of those that both runs report and that are the same measure in both."""
        left = self.differences.left_out
        return {
            each.name: each
            for each in self.task.metrics
            if each.needs not in left and all(self.reports(each))
        }


def _compare_task(
    task: TaskSpec,
    entries: Sequence[Mapping[str, Any]],
    rows: tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]],
    wanted: Selection,
) -> dict[str, Any]:
    recipes = [mapping(entry.get("recipe")) for entry in entries]
    differences = recipe_differences(task.name, *recipes, metrics=task.metrics)
    if differences.refused:
        return _refused(differences.refused)
    both = _Both(task=task, entries=entries, rows=rows, differences=differences)
    first, second = shared_rows(*rows)
    warnings = [warned.text for warned in differences.warned]
    if alone := len(rows[0]) + len(rows[1]) - 2 * len(first):
        warnings.append(f"{alone} items are in one run only and are left out")
    headline = task.metrics[0]
    if unscored := sum(
        not (is_counted(headline, a) and is_counted(headline, b))
        for a, b in zip(first, second, strict=True)
    ):
        warnings.append(f"{unscored} items are not scored in both runs and are left out")
    warnings += _unclear_said(headline, first, second)
    reported = both.reported()
    if any(
        "repeats" in recipe for recipe in recipes
    ):  # an item that is right in some of them is a mean
        warnings.append(
            "what varies from run to run of one model (--repeats) is in no interval or p value below"
        )
        reported = {
            name: replace(each, kind="mean") if each.kind == "proportion" else each
            for name, each in reported.items()
        }
    for entry in entries:
        reported, said = _with_figures(reported, mapping(entry.get("metrics")))
        warnings += [each for each in said if each not in warnings]
    for key, why in differences.left_out.items():
        names = ", ".join(metric.name for metric in task.metrics if metric.needs == key)
        warnings.append(f"{names} cannot be compared: {why}")
    clusters = [row.get("cluster") for row in first] if task.cluster is not None else None
    columns: dict[str, Columns] = {}
    if wanted.metrics and not any(
        {metric.name, metric.whole} & set(wanted.metrics) for metric in reported.values()
    ):
        return _refused([_unreported(both, name) for name in wanted.metrics])
    for name, metric in reported.items():
        if wanted.metrics and name not in wanted.metrics and metric.whole not in wanted.metrics:
            continue
        if metric.kind == "average" and (why := _no_average(metric, both, reported)):
            warnings.append(f"{metric.name} {why}")
        else:
            columns[name] = columns_of(metric, reported, first, second, clusters)

    def compare(some: Columns, **settings: Any) -> dict[str, Any]:
        low, high = some.metric.limits
        if wanted.margin is not None and wanted.margin >= high - low:
            raise UsageError(
                f"--equivalence {wanted.margin:g}: {some.metric.name} lies between {low:g} and {high:g}, so any two models were "
                "equivalent. Three points are 0.03. For a metric that is no share, name it: --metric NAME."
            )
        try:
            entry = compare_columns(some, margin=wanted.margin, **settings)
        except ValueError as error:
            raise UsageError(
                f"{task.name}: the items hold what {some.metric.name} cannot be ({error}). They were changed after scoring: "
                "score again."
            ) from error
        if some.metric.judged and not comparable_judges(*recipes):
            entry["comparable"] = False
        return entry

    metrics = {}
    for name, each in columns.items():
        if not each.metric.part:
            metrics[name] = compare(each)
            if corrected := _corrected(each.metric, entries, (first, second), clusters, warnings):
                if wanted.margin is not None:
                    warnings.append(
                        f"{name + SUFFIX}: equivalence is tested without the correction"
                    )
                metrics[name + SUFFIX] = corrected | {
                    key: metrics[name][key] for key in ("comparable",) if key in metrics[name]
                }
    for entry in metrics.values():
        adjust([entry])
    by = [name for name in breakdown_names(task) if wanted.by in (ALL, name)]
    groups = [mapping(entry.get("breakdown")) for entry in entries]
    known = {name: [group for each in groups for group in mapping(each.get(name))] for name in by}
    breakdown = compare_breakdowns(task, columns, first, known, names=by, compare=compare)
    return {
        "n_items": len(first),
        "warnings": warnings,
        "metrics": metrics,
        "breakdown": breakdown,
        "paper": [mapping(entry.get("paper")) for entry in entries],
        "refused": [],
    }


def _unclear_said(metric: MetricSpec, first: Rows, second: Rows) -> list[str]:
    """Says how many answers are unclear in each run, and between which values they leave the difference of a metric."""
    counts = [sum(bool(row.get("unclear")) for row in rows) for rows in (first, second)]
    if not any(counts):
        return []
    said = f"unclear answers count as not right: {counts[0]} in the first run, {counts[1]} in the second"
    both = [
        pair
        for pair in zip(first, second, strict=True)
        if is_counted(metric, pair[0]) and is_counted(metric, pair[1])
    ]
    if not metric.read or metric.kind == "ratio" or not both:
        return [said]
    first_gain, second_gain = (
        math.fsum(metric.best - row[metric.name] for row in rows if row.get("unclear")) / len(both)
        for rows in zip(*both, strict=True)
    )
    low, high = (number(end, metric.unit) for end in sorted((-first_gain, second_gain)))
    unit = f" ({metric.unit})" if metric.unit else " points"
    return [
        f"{said}; were they right, the difference of {metric.name} could move by {low} to {high}{unit}"
    ]


def _corrected(
    metric: MetricSpec,
    entries: Sequence[Mapping[str, Any]],
    rows: tuple[Rows, Rows],
    clusters: Sequence[Any] | None,
    warnings: list[str],
) -> dict[str, Any] | None:
    """Compares what both runs have corrected by the same labels; None where there is nothing, or not the same."""
    name = metric.name + SUFFIX
    told = [mapping(mapping(entry.get("metrics")).get(name)) for entry in entries]
    if not any(each.get("value") is not None and "calibration" in each for each in told):
        return None
    if not same_calibration(told):
        warnings.append(
            f"{name} is left out: the runs were not both corrected, and by the same check (--calibration)"
        )
        return None
    kind: MetricKind = "ratio" if metric.kind == "ratio" else "mean"
    spec = replace(metric, name=name, kind=kind, limits=(-math.inf, math.inf))
    made = compare_columns(columns_of(spec, {name: spec}, *rows, clusters))
    try:
        with_judge_error(made, [each["calibration"] for each in told])
    except (NotCorrectableError, LookupError, TypeError) as error:
        damaged = (
            ""
            if isinstance(error, NotCorrectableError)
            else "its figures were changed after scoring: score again. "
        )
        warnings.append(f"{name} is left out: {damaged}{one_line(str(error))}")
        return None
    if any(
        each is not None and not metric.limits[0] <= each <= metric.limits[1]
        for each in (made["value_a"], made["value_b"])
    ):
        made["notes"].append(
            "a value beyond what is possible is compared as it is, and cut only in its own run"
        )
    return made


def _with_figures(
    reported: Mapping[str, MetricSpec], told: Mapping[str, Any]
) -> tuple[dict[str, MetricSpec], list[str]]:
    ended = {
        name: one_line(str(mapping(told.get(name))["reason"]), 160)
        for name, metric in reported.items()
        if metric.official and mapping(told.get(name)).get("reason")
    }
    said = [
        f"{', '.join(name for name in ended if ended[name] == why)} left out: no figure in one of the runs, {why}"
        for why in dict.fromkeys(ended.values())
    ]
    return {name: metric for name, metric in reported.items() if name not in ended}, said


def _unreported(both: _Both, name: str) -> str:
    metric = next((each for each in both.task.metrics if name in (each.name, each.whole)), None)
    if metric is None:
        return f"{name} is no metric of this task"
    if metric.needs in both.differences.left_out:
        return f"{name} cannot be compared: {both.differences.left_out[metric.needs]}"
    reports = both.reports(metric)
    which = (
        "neither run reports"
        if not any(reports)
        else f"the {('first', 'second')[not reports[1]]} run does not report"
    )
    given = f" --task-args {metric.needs}=VALUE" if metric.needs else ""
    if both.task.needs_official_prompts(metric):
        given += " --prompts official --upstream DIR"
    return (
        f"{which} {name}. Score again: medical-tasks score {both.task.name} --responses RUN{given}"
    )


def _no_average(metric: MetricSpec, both: _Both, reported: Mapping[str, MetricSpec]) -> str:
    reports = {each.name: (each, both.reports(each)) for each in both.task.metrics}
    first, second = (
        components(metric, {name: each for name, (each, there) in reports.items() if there[run]})
        for run in (0, 1)
    )
    if first != second:
        told = " and ".join(", ".join(part.shares) or "none" for part in (first, second))
        return f"is of other components in each run ({told}) and is left out"
    if changed := [name for name in first.shares if name not in reported]:
        return f"is left out: {', '.join(changed)} in it cannot be compared"
    return "" if first.shares else "has no component in either run and is left out"


def shared_rows(
    first: Mapping[str, Mapping[str, Any]], second: Mapping[str, Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Rows of the items that both runs have, in one order; given are both runs' rows of a task by item id."""
    ids = [item for item in first if item in second]
    return [first[item] for item in ids], [second[item] for item in ids]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two of the runs, by their places; differences are `second` minus `first`."""

    first: int
    second: int
    tasks: dict[str, Any]  # as `compare_tasks` returns it

    @property
    def name(self) -> str:
        """The difference that is shown, such as `B - A`."""
        return f"{letter(self.second)} - {letter(self.first)}"


def letter(place: int) -> str:
    """Names the runs A, B, ... Z, AA, AB, ..."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def compare_pairs(
    runs: Sequence[Compared],
    tasks: Mapping[str, TaskSpec],
    *,
    all_pairs: bool = False,
    selection: Selection | None = None,
) -> list[Pair]:
    """Compares each of two or more runs with the first, or each with each (`all_pairs`).

    `p_holm` is adjusted over the pairs, for each task and metric; in breakdowns over groups and pairs.
    """
    if len(runs) < 2:
        raise UsageError(f"a comparison takes two or more runs, got {len(runs)}.")
    places = [pair for pair in combinations(range(len(runs)), 2) if all_pairs or pair[0] == 0]
    pairs = [
        Pair(first=a, second=b, tasks=compare_tasks(runs[a], runs[b], tasks, selection=selection))
        for a, b in places
    ]
    if all(entry["refused"] for pair in pairs for entry in pair.tasks.values()):
        said = [
            (pair, refusals(runs[pair.first], runs[pair.second], pair.tasks, tasks))
            for pair in pairs
        ]
        raise UsageError(
            "\n".join(told if len(pairs) == 1 else f"{pair.name}: {told}" for pair, told in said)
        )
    if len(pairs) > 1:
        for name in dict.fromkeys(name for pair in pairs for name in pair.tasks):
            entries = [pair.tasks[name] for pair in pairs if name in pair.tasks]
            for metric in dict.fromkeys(metric for entry in entries for metric in entry["metrics"]):
                adjust(
                    [entry["metrics"][metric] for entry in entries if metric in entry["metrics"]]
                )
            adjust_breakdowns([entry["breakdown"] for entry in entries])
    return pairs


def compare_as_asked(arguments: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Compares with the options of `compare`, and writes `out`; the content for programs, and the tables."""
    from medical_tasks.comparison.tables import add_flips, run_names, sections

    folders: Sequence[Path] = arguments.runs
    if len(folders) < 2:
        raise UsageError(
            f"compare takes two or more runs, got only {', '.join(map(str, folders))}. Give the folder of another run too."
        )
    known = tasks()
    runs = [read_compared(folder) for folder in folders]
    named = dict.fromkeys(task.name for text in arguments.task for task in parse_task_names(text))
    declared = {metric.name for task in known.values() for metric in task.metrics}
    metrics = dict.fromkeys(
        raw_name(word.strip(), declared)
        for text in arguments.metric
        for word in text.split(",")
        if word.strip()
    )
    selection = Selection(
        tasks=list(named), metrics=list(metrics), by=arguments.by, margin=arguments.equivalence
    )
    _check(selection, [run.results for run in runs], known)
    if arguments.memory_gap:
        from medical_tasks.comparison.memory_gap import gap_sections, memory_gap

        if len(runs) > 2 or arguments.by != NONE or arguments.flips is not None:
            raise UsageError(
                "--memory-gap takes the published run and the fresh one, without --by and --flips."
            )
        gaps = memory_gap(runs[0], runs[1], known, selection=selection)
        return gaps, _written(arguments, run_names(runs), gap_sections(gaps), [])
    pairs = compare_pairs(runs, known, all_pairs=arguments.all_pairs, selection=selection)
    if arguments.flips is not None:
        open_tasks = [
            name for name, task in known.items() if dataset_spec(task.dataset).access == "open"
        ]
        for pair in pairs:
            add_flips(
                pair,
                runs,
                known,
                most=arguments.flips,
                metrics=selection.metrics,
                parsed=open_tasks,
            )
    more = _more(runs, pairs, known, arguments)
    return _json(folders, pairs), _written(arguments, run_names(runs), sections(pairs), more)


def _written(arguments: argparse.Namespace, *shown: Any) -> str:
    from medical_tasks.comparison.tables import as_markdown, as_text

    if arguments.out is not None:
        with WholeFile(arguments.out) as file:
            file.write(as_markdown(*shown))
    return as_text(*shown)


def _json(folders: Sequence[Path], pairs: Sequence[Any]) -> dict[str, Any]:
    if len(folders) == 2:
        return dict(pairs[0].tasks)
    return {
        "runs": {letter(place): str(folder) for place, folder in enumerate(folders)},
        "pairs": [
            {"first": letter(pair.first), "second": letter(pair.second), "tasks": pair.tasks}
            for pair in pairs
        ],
    }


def _check(selection: Any, results: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> None:
    """Refuses names that none of the runs has."""
    there = list(dict.fromkeys(name for each in results for name in each["tasks"]))
    for name in selection.tasks:
        if name not in there:
            raise UsageError(
                f"--task {name}: no run has it. Tasks of the runs: {', '.join(there)}."
            )
    specs = [known[name] for name in there if name in known and name in (selection.tasks or there)]
    metrics = dict.fromkeys(
        metric.whole or metric.name for spec in specs for metric in spec.metrics
    )
    parts = {metric.name for spec in specs for metric in spec.metrics if metric.part}
    for name in selection.metrics:
        if specs and name not in metrics and name not in parts:
            raise UsageError(
                f"--metric {name}: no task of the runs has it. Metrics: {', '.join(metrics)}."
            )
    breakdowns = dict.fromkeys(by for spec in specs for by in breakdown_names(spec))
    if specs and selection.by not in ("none", "all", *breakdowns):
        told = ", ".join(breakdowns) if breakdowns else "the tasks of the runs have none"
        raise UsageError(
            f"--by {selection.by}: no such breakdown ({told}). Give one of these, all, or none."
        )


def _more(
    runs: Sequence[Compared],
    pairs: Sequence[Any],
    known: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> list[str]:
    """What else to know: runs given twice, what an answer took, and what can be asked for."""
    more = []
    places: dict[Path, str] = {}
    for place, run in enumerate(runs):
        whole = Path(run.label).expanduser().resolve()
        if whole in places:
            more.append(
                f"note: {places[whole]} and {letter(place)} are the same folder: a run does not differ from itself."
            )
        places.setdefault(whole, letter(place))
    compared = dict.fromkeys(
        name for pair in pairs for name, task in pair.tasks.items() if not task["refused"]
    )
    for name in compared:
        took = [an_answer(run.results["tasks"].get(name, {})) for run in runs]
        words = [
            f"{each[0]:,.1f} output tokens, {each[1] or 'no price'}" if each else "not stated"
            for each in took
        ]
        if any(took):
            more.append(
                f"{name}, an answer: {'; '.join(f'{letter(n)} {said}' for n, said in enumerate(words))}."
            )
    breakdowns = dict.fromkeys(by for name in compared for by in breakdown_names(known[name]))
    if arguments.by == "none" and breakdowns:
        more.append(f"Group by group: --by {' or '.join(breakdowns)}, or --by all.")
    if arguments.flips is None:
        more.append("Which items changed: --flips.")
    return more
