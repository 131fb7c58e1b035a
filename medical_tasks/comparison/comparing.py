"""Compares runs item by item: differences, intervals, tests, and which items changed.

Two numbers are compared only if they measure the same thing (`recipes`); other differences
between the recipes are reported. With more than two runs, the tests of one metric are
adjusted over all pairs.

Differences between the recipes, and their consequence:

- task version (its number), data, metric definitions, settings that change what metrics
  mean (DocLens's `citations`, `claims`): the task is refused
- a checkpoint or index that some metrics need (`umls`, `bertscore`): those metrics, and
  averages of them, are left out
- prompts, protocol, judge, its votes or style, answer length, truncation,
  `--max-samples`, `--subset`, suite, baseline: compared, with a warning and the next
  step
- names of identical files, version of identical rows, number of processes, batch size,
  a model's own claims file: none

`--json` maps, for two runs, each task to `n_items`, `warnings`, `refused`, `paper` (for A
and for B), `metrics`, and `breakdown` (by breakdown, group and metric). For more runs it
has `runs` (a letter for each folder) and `pairs`, each with `first`, `second` and
`tasks`. The fields of a metric are those of `comparison.statistics.Difference`; `null` is
a figure that cannot be computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from medical_tasks.catalog import dataset_spec, parse_task_names, tasks
from medical_tasks.comparison.compared import (
    ALL,
    NONE,
    Compared,
    Pair,
    Selection,
    letter,
    read_compared,
    rows_by_task,
    shared_rows,
)
from medical_tasks.comparison.confidence import brier_metric, with_brier
from medical_tasks.comparison.memory_gap import gap_sections, memory_gap
from medical_tasks.comparison.statistics import (
    Breakdowns,
    Columns,
    ComparedTask,
    Difference,
    adjust,
    adjust_breakdowns,
    breakdown_names,
    columns_of,
    compare_breakdowns,
    compare_columns,
    is_counted,
    with_judge_error,
)
from medical_tasks.comparison.tables import (
    add_flips,
    as_markdown,
    as_text,
    run_names,
    sections,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.models.usage import an_answer
from medical_tasks.options import Compare
from medical_tasks.runs.calibrating import SUFFIX, raw_name, same_calibration
from medical_tasks.runs.numbers import number
from medical_tasks.runs.recipes import (
    RecipeDifferences,
    comparable_judges,
    mapping,
    one_line,
    recipe_differences,
)
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    Results,
    Row,
    TaskEntry,
    weight_column,
)
from medical_tasks.scoring.averages import components
from medical_tasks.scoring.correction import NotCorrectableError
from medical_tasks.spec import MetricKind, MetricSpec, TaskSpec


def compare_pairs(
    runs: Sequence[Compared],
    tasks: Mapping[str, TaskSpec],
    *,
    all_pairs: bool = False,
    selection: Selection | None = None,
) -> list[Pair]:
    """Compares each of two or more runs with the first, or with each other (`all_pairs`).

    `p_holm` is adjusted over the pairs, for each task and metric; in breakdowns over
    groups and pairs.

    Raises:
        UsageError: there are fewer than two runs, or no task of any pair can be
            compared.
    """
    if len(runs) < 2:
        raise UsageError(f"a comparison needs at least two runs, got {len(runs)}.")

    numbers = [
        pair for pair in combinations(range(len(runs)), 2) if all_pairs or pair[0] == 0
    ]
    pairs = [
        Pair(
            first=a,
            second=b,
            tasks=compare_tasks(runs[a], runs[b], tasks, selection=selection),
        )
        for a, b in numbers
    ]
    if all(entry["refused"] for pair in pairs for entry in pair.tasks.values()):
        reasons = [
            f"{pair.name}: " * (len(pairs) > 1)
            + refusals(runs[pair.first], runs[pair.second], pair.tasks, tasks)
            for pair in pairs
        ]
        raise UsageError("\n".join(reasons))

    if len(pairs) > 1:
        _adjust_over(pairs)

    return pairs


def _adjust_over(pairs: Sequence[Pair]) -> None:
    """Adjusts the p-values of each task and metric over pairs of runs.

    With three runs, all pairs, the accuracy of a task has a family of three tests; other
    metrics and tasks have their own. Groups are a family with those of all pairs.
    """
    for name in dict.fromkeys(name for pair in pairs for name in pair.tasks):
        entries = [pair.tasks[name] for pair in pairs if name in pair.tasks]
        families: dict[str, list[Difference]] = {}
        for entry in entries:
            for metric, difference in entry["metrics"].items():
                families.setdefault(metric, []).append(difference)
        for family in families.values():
            adjust(family)
        adjust_breakdowns([entry["breakdown"] for entry in entries])


def refusals(
    first: Compared, second: Compared, compared: Json, tasks: Mapping[str, TaskSpec]
) -> str:
    """Explains why no task of two results can be compared."""
    common = [
        name for name in first.results["tasks"] if name in second.results["tasks"]
    ]
    if not common:
        names = [", ".join(run.results["tasks"]) or "none" for run in (first, second)]
        return (
            f"no task in common: {first.label} has {names[0]}; {second.label} has {names[1]}. "
            "Compare runs of one task."
        )

    if not compared:
        return (
            f"none of the requested tasks is in {first.label} or {second.label}. Tasks of both: "
            f"{', '.join(common)}."
        )

    shared = [name for name in compared if name in common] or list(compared)
    if all(name in common and name not in tasks for name in shared):
        return (
            f"task {shared[0]!r} of both runs is not known to this version. Tasks: "
            f"{', '.join(tasks)}."
        )

    return "\n".join(
        f"{name}: {reason}" for name in shared for reason in compared[name]["refused"]
    )


def compare_tasks(
    first: Compared,
    second: Compared,
    tasks: Mapping[str, TaskSpec],
    *,
    selection: Selection | None = None,
) -> dict[str, ComparedTask]:
    """Compares every task of either result, B (`second`) minus A (`first`), by task name.

    A task that cannot be compared has its reasons in `refused`: only one run has it, this
    version lacks it, or the recipes differ in what decides the figures.
    """
    chosen = selection or Selection()
    names = dict.fromkeys([*first.results["tasks"], *second.results["tasks"]])
    rows = (rows_by_task(first), rows_by_task(second))
    compared: dict[str, ComparedTask] = {}
    for name in [name for name in names if not chosen.tasks or name in chosen.tasks]:
        a, b = first.results["tasks"].get(name), second.results["tasks"].get(name)
        if a is None or b is None:
            alone = first if b is None else second
            compared[name] = _refused([f"only {alone.label} has this task"])
        elif name not in tasks:
            compared[name] = _refused(
                ["this version of the suite does not know the task; update it"]
            )
        else:
            sides = (rows[0].get(name, {}), rows[1].get(name, {}))
            compared[name] = _compare_task(tasks[name], (a, b), sides, chosen)

    return compared


def _refused(reasons: list[str]) -> ComparedTask:
    return {
        "n_items": 0,
        "warnings": [],
        "metrics": {},
        "breakdown": {},
        "paper": [],
        "refused": reasons,
    }


def _compare_task(
    task: TaskSpec,
    entries: tuple[TaskEntry, TaskEntry],
    rows: tuple[Mapping[str, Row], Mapping[str, Row]],
    selection: Selection,
) -> ComparedTask:
    """Compares a task of two results: recipes, items, metrics, then groups."""
    recipes = [mapping(entry.get("recipe")) for entry in entries]
    differences = recipe_differences(task.name, *recipes, metrics=task.metrics)
    if differences.refused:
        return _refused(differences.refused)

    first: Sequence[Row]
    second: Sequence[Row]
    first, second = shared_rows(*rows)
    brier = None
    if all("confidence" in entry for entry in entries):
        brier = brier_metric(task, recipes)
        first, second = with_brier(task, first), with_brier(task, second)

    pair = _TaskPair(task, entries, rows, first, second, differences, selection)
    pair.warnings += [warning.text for warning in differences.warned]
    pair.warn_of_items()
    reported = pair.reported()
    names = {
        name for metric in reported.values() for name in (metric.name, metric.whole)
    }
    if selection.metrics and names.isdisjoint(selection.metrics):
        return _refused([pair.unreported(name) for name in selection.metrics])

    if brier is not None:
        reported[brier.name] = brier

    columns = pair.columns(reported)
    return {
        "n_items": len(first),
        "warnings": pair.warnings,
        "metrics": pair.differences_of(columns),
        "breakdown": pair.breakdowns(columns),
        "paper": [mapping(entry.get("paper")) for entry in entries],
        "refused": [],
    }


@dataclass(kw_only=False)
class _TaskPair:
    """One task in both results.

    Attributes:
        task: the task.
        entries: its entries of both `results.json`.
        rows: the rows of both runs, by item id.
        first: the first run's rows of the items that both have.
        second: the second run's rows, in the same order.
        recipe: the differences of the recipes.
        selection: what is compared.
        warnings: what a reader must know about the comparison.
    """

    task: TaskSpec
    entries: tuple[TaskEntry, TaskEntry]
    rows: tuple[Mapping[str, Row], Mapping[str, Row]]
    first: Sequence[Row]
    second: Sequence[Row]
    recipe: RecipeDifferences
    selection: Selection
    warnings: list[str] = field(default_factory=list)

    def warn_of_items(self) -> None:
        """Warns of items that are left out and of unclear answers."""
        headline = self.task.metrics[0]
        pairs = list(zip(self.first, self.second, strict=True))
        if alone := sum(map(len, self.rows)) - 2 * len(pairs):
            self.warnings.append(f"{alone} items are in one run only and are left out")

        scored = [
            pair for pair in pairs if all(is_counted(headline, row) for row in pair)
        ]
        if unscored := len(pairs) - len(scored):
            self.warnings.append(
                f"{unscored} items are not scored in both runs and are left out"
            )

        counts = [
            sum(bool(row.get("unclear")) for row in run)
            for run in (self.first, self.second)
        ]
        if any(counts):
            self.warnings.append(
                f"unclear answers count as not right: {counts[0]} in the first run, {counts[1]} in "
                f"the second{_unclear_range(headline, scored)}"
            )

    def reports(self, metric: MetricSpec) -> list[bool]:
        """Whether each run reports a metric: all its rows have it, and its results, if they list metrics, name it."""
        if metric.kind == "average":
            return [True, True]

        column = weight_column(metric.name) if metric.kind == "ratio" else metric.name
        reports = []
        for entry, rows in zip(self.entries, self.rows, strict=True):
            figures = entry.get("metrics")
            in_results = (
                not isinstance(figures, Mapping)
                or bool(metric.part)
                or metric.name in figures
            )
            reports.append(in_results and all(column in row for row in rows.values()))

        return reports

    def reported(self) -> dict[str, MetricSpec]:
        """Returns the metrics that both runs report with a figure, as the same measure.

        With repeats or several evaluations, a metric of 0 or 1 becomes a mean, so that it is
        tested by the bootstrap and not by McNemar's test.
        """
        reported = {
            metric.name: metric
            for metric in self.task.metrics
            if metric.needs not in self.recipe.left_out and all(self.reports(metric))
        }
        recipes = [mapping(entry.get("recipe")) for entry in self.entries]
        if any("repeats" in recipe for recipe in recipes):
            self.warnings.append(
                "what varies from run to run of one model (--repeats) is in no interval or p value "
                "below"
            )

        if any({"repeats", "evaluations"} & recipe.keys() for recipe in recipes):
            for name, metric in reported.items():
                if metric.kind == "proportion":
                    # An item that is right in some repeats has a mean between 0 and 1.
                    reported[name] = replace(metric, kind="mean")

        for entry in self.entries:
            self._leave_out_ended(reported, mapping(entry.get("metrics")))

        for key, reason in self.recipe.left_out.items():
            names = ", ".join(
                metric.name for metric in self.task.metrics if metric.needs == key
            )
            self.warnings.append(f"{names} cannot be compared: {reason}")

        return reported

    def _leave_out_ended(self, reported: dict[str, MetricSpec], figures: Json) -> None:
        """Removes official metrics without a figure in a run, with a warning that says why."""
        ended: dict[str, list[str]] = {}
        for name, metric in reported.items():
            if metric.official and (reason := mapping(figures.get(name)).get("reason")):
                ended.setdefault(one_line(str(reason), 160), []).append(name)

        for reason, names in ended.items():
            warning = (
                f"{', '.join(names)} left out: no figure in one of the runs, {reason}"
            )
            if warning not in self.warnings:
                self.warnings.append(warning)

            for name in names:
                del reported[name]

    def unreported(self, name: str) -> str:
        """Explains why a requested metric is not compared."""
        metrics = (
            metric
            for metric in self.task.metrics
            if name in (metric.name, metric.whole)
        )
        metric = next(metrics, None)
        if metric is None:
            return f"{name} is not a metric of this task"
        if metric.needs in self.recipe.left_out:
            return f"{name} cannot be compared: {self.recipe.left_out[metric.needs]}"

        reports = self.reports(metric)
        which = "neither run reports"
        if any(reports):
            which = f"the {('first', 'second')[not reports[1]]} run does not report"

        options = f" --task-args {metric.needs}=VALUE" if metric.needs else ""
        if self.task.needs_official_prompts(metric):
            options += " --prompts official --upstream DIR"

        return (
            f"{which} {name}. Score again: medical-tasks score {self.task.name} --responses "
            f"RUN{options}"
        )

    def columns(self, reported: Mapping[str, MetricSpec]) -> dict[str, Columns]:
        """Returns the columns of the metrics that are compared."""
        chosen, columns = self.selection.metrics, {}
        for name, metric in reported.items():
            if chosen and name not in chosen and metric.whole not in chosen:
                continue

            problem = (
                self._no_average(metric, reported) if metric.kind == "average" else ""
            )
            if problem:
                self.warnings.append(f"{metric.name} {problem}")
            else:
                columns[name] = columns_of(
                    metric, reported, self.first, self.second, self._clusters
                )

        return columns

    @property
    def _clusters(self) -> list[object] | None:
        clustered = self.task.cluster is not None
        return [row.get("cluster") for row in self.first] if clustered else None

    def _no_average(
        self, metric: MetricSpec, reported: Mapping[str, MetricSpec]
    ) -> str:
        """Says why an average is not compared; "" if it is."""
        reports = {metric.name: self.reports(metric) for metric in self.task.metrics}
        first, second = (
            components(
                metric, {m.name: m for m in self.task.metrics if reports[m.name][run]}
            )
            for run in (0, 1)
        )
        if first != second:
            names = " and ".join(
                ", ".join(parts.shares) or "none" for parts in (first, second)
            )
            return f"is of other components in each run ({names}) and is left out"

        if changed := [name for name in first.shares if name not in reported]:
            return f"is left out: {', '.join(changed)} in it cannot be compared"

        return "" if first.shares else "has no component in either run and is left out"

    def difference(self, columns: Columns, **settings: Any) -> Difference:
        """Compares the columns of a metric."""
        metric, margin = columns.metric, self.selection.margin
        low, high = metric.limits
        if margin is not None and margin >= high - low:
            raise UsageError(
                f"--equivalence {margin:g}: {metric.name} is between {low:g} and {high:g}, so "
                "any two models were equivalent. Three points are 0.03. For a metric that is no "
                "share, name it: --metric NAME."
            )

        try:
            difference = compare_columns(columns, margin=margin, **settings)
        except ValueError as error:
            raise UsageError(
                f"{self.task.name}: the items hold what {metric.name} cannot be ({error}). They "
                "were changed after scoring: score again."
            ) from error

        recipes = (mapping(entry.get("recipe")) for entry in self.entries)
        if metric.judged and not comparable_judges(*recipes):
            difference["comparable"] = False

        return difference

    def differences_of(self, columns: Mapping[str, Columns]) -> dict[str, Difference]:
        """Compares metrics of whole items, and the corrected metrics that both runs have."""
        differences: dict[str, Difference] = {}
        for name, metric_columns in columns.items():
            if metric_columns.metric.part:
                continue

            differences[name] = self.difference(metric_columns)
            corrected = self._corrected(metric_columns.metric)
            if corrected is not None:
                if self.selection.margin is not None:
                    self.warnings.append(
                        f"{name + SUFFIX}: equivalence is tested without the correction"
                    )

                if "comparable" in differences[name]:
                    corrected["comparable"] = differences[name]["comparable"]

                differences[name + SUFFIX] = corrected

        for difference in differences.values():
            adjust([difference])

        return differences

    def breakdowns(self, columns: Mapping[str, Columns]) -> Breakdowns:
        """Compares the groups of the selected breakdowns."""
        names = [
            name
            for name in breakdown_names(self.task)
            if self.selection.by in (ALL, name)
        ]
        groups = {
            name: [
                group
                for entry in self.entries
                for group in mapping(mapping(entry.get("breakdown")).get(name))
            ]
            for name in names
        }
        return compare_breakdowns(
            self.task, columns, self.first, groups, names=names, compare=self.difference
        )

    def _corrected(self, metric: MetricSpec) -> Difference | None:
        """Compares a metric that both runs corrected by the same labels; None otherwise.

        The limits are infinite here: a corrected value may lie beyond its scale, and cutting it
        in both runs would move the difference.
        """
        name = metric.name + SUFFIX
        figures = [
            mapping(mapping(entry.get("metrics")).get(name)) for entry in self.entries
        ]
        if not any(
            figure.get("value") is not None and "calibration" in figure
            for figure in figures
        ):
            return None

        if not same_calibration(figures):
            self.warnings.append(
                f"{name} is left out: the runs were not both corrected, and by the same check "
                "(--calibration)"
            )
            return None

        kind: MetricKind = "ratio" if metric.kind == "ratio" else "mean"
        spec = replace(metric, name=name, kind=kind, limits=(-math.inf, math.inf))
        columns = columns_of(
            spec, {name: spec}, self.first, self.second, self._clusters
        )
        difference = compare_columns(columns)
        try:
            with_judge_error(difference, [figure["calibration"] for figure in figures])
        except NotCorrectableError as error:
            self.warnings.append(f"{name} is left out: {one_line(str(error))}")
            return None
        except (LookupError, TypeError) as error:
            self.warnings.append(
                f"{name} is left out: its figures were changed after scoring: score again. "
                f"{one_line(str(error))}"
            )
            return None

        low, high = metric.limits
        values = (difference["value_a"], difference["value_b"])
        if any(value is not None and not low <= value <= high for value in values):
            difference["notes"].append(
                "a value beyond what is possible is compared as it is, and cut only in its own run"
            )

        return difference


def _unclear_range(metric: MetricSpec, pairs: Sequence[tuple[Row, Row]]) -> str:
    """Words the range in which unclear answers leave a metric's difference; "" if it is unknown.

    Example:
        Of 100 items, one answer of the first run and three of the second are unclear. Were
        they right, the difference could move by -1 to +3 points.
    """
    if not metric.read or metric.kind == "ratio" or not pairs:
        return ""

    first, second = (
        math.fsum(metric.best - row[metric.name] for row in rows if row.get("unclear"))
        / len(pairs)
        for rows in zip(*pairs, strict=True)
    )
    low, high = (number(end, metric.unit) for end in sorted((-first, second)))
    unit = f" ({metric.unit})" if metric.unit else " points"

    return f"; were they right, the difference of {metric.name} could move by {low} to {high}{unit}"


def compare(arguments: Compare) -> tuple[JsonDict, str]:
    """Runs `compare` and writes its `out`; returns the JSON, and the tables as text."""
    folders: Sequence[Path] = arguments.runs
    by, flips, out = arguments.by, arguments.flips, arguments.out
    if len(folders) < 2:
        raise UsageError(
            f"compare needs at least two runs, got only {', '.join(map(str, folders))}. Give the "
            "folder of another run too."
        )

    runs = [read_compared(folder) for folder in folders]
    registered = _tasks_as_asked(run.results for run in runs)
    selection = Selection(
        tasks=_unique(
            task.name for text in arguments.task for task in parse_task_names(text)
        ),
        metrics=_metric_names(arguments.metric, registered),
        by=by,
        margin=arguments.equivalence,
    )
    _check_selection(selection, [run.results for run in runs], registered)
    names = run_names(runs)
    if arguments.memory_gap:
        if len(runs) > 2 or by != NONE or flips is not None:
            raise UsageError(
                "--memory-gap takes the published run and the fresh one, without --by and --flips."
            )

        gaps = memory_gap(runs[0], runs[1], registered, selection=selection)
        return gaps, _write_tables(out, names, gap_sections(gaps), [])

    pairs = compare_pairs(
        runs, registered, all_pairs=arguments.all_pairs, selection=selection
    )
    notes = [*_repeated_folders(runs), *_costs(runs, pairs)]
    breakdowns = _breakdowns(registered[name] for name in _compared_tasks(pairs))
    if by == NONE and breakdowns:
        notes.append(f"Group by group: --by {' or '.join(breakdowns)}, or --by all.")

    if flips is None:
        notes.append("Which items changed: --flips.")
    else:
        open_tasks = _open_tasks(registered)
        for pair in pairs:
            add_flips(
                pair,
                runs,
                registered,
                most=flips,
                metrics=selection.metrics,
                parsed=open_tasks,
            )

    return _as_json(folders, pairs), _write_tables(out, names, sections(pairs), notes)


def _open_tasks(registered: Mapping[str, TaskSpec]) -> list[str]:
    """Names the tasks whose answers may be shown."""
    tasks = registered.values()
    return [task.name for task in tasks if dataset_spec(task.dataset).access == "open"]


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _metric_names(
    texts: Sequence[str], registered: Mapping[str, TaskSpec]
) -> list[str]:
    """Parses the requested metrics, separated by commas."""
    declared = {metric.name for task in registered.values() for metric in task.metrics}
    words = [word.strip() for text in texts for word in text.split(",")]
    return _unique(raw_name(word, declared) for word in words if word)


def _write_tables(out: Path | None, *tables: Any) -> str:
    """Writes the tables as Markdown to `out`; returns them as text."""
    if out is not None:
        with WholeFile(out) as file:
            file.write(as_markdown(*tables))
    return as_text(*tables)


def _tasks_as_asked(results: Iterable[Results]) -> dict[str, TaskSpec]:
    """Returns the registered tasks as their first run asked them; other runs are refused later."""
    registered = dict(tasks())
    arguments_by_task: dict[str, dict[str, str]] = {}
    for run in results:
        for name, entry in run["tasks"].items():
            arguments = mapping(mapping(entry.get("recipe")).get("task_args"))
            arguments_by_task.setdefault(name, dict(arguments))

    for name in arguments_by_task.keys() & registered:
        arguments = arguments_by_task[name]
        task = registered[name].asked_with(arguments)
        registered[name] = task.reporting(
            {*task.scoring_arguments, *arguments}, official=True
        )

    return registered


def _as_json(folders: Sequence[Path], pairs: Sequence[Pair]) -> JsonDict:
    """Makes the JSON of a comparison: tasks for two runs, pairs for more."""
    if len(folders) == 2:
        return dict(pairs[0].tasks)

    return {
        "runs": {letter(number): str(folder) for number, folder in enumerate(folders)},
        "pairs": [
            {
                "first": letter(pair.first),
                "second": letter(pair.second),
                "tasks": pair.tasks,
            }
            for pair in pairs
        ],
    }


def _check_selection(
    selection: Selection, results: Sequence[Results], registered: Mapping[str, TaskSpec]
) -> None:
    """Refuses names that none of the runs has."""
    names = _unique(name for run in results for name in run["tasks"])
    _check_names("--task", selection.tasks, names, "no run has it. Tasks of the runs")
    specs = [
        registered[name] for name in selection.tasks or names if name in registered
    ]
    if not specs:
        return

    all_metrics = [metric for spec in specs for metric in spec.metrics]
    whole = _unique(metric.whole or metric.name for metric in all_metrics)
    parts = {metric.name for metric in all_metrics}
    metrics = [name for name in selection.metrics if name not in parts]
    _check_names("--metric", metrics, whole, "no task of the runs has it. Metrics")
    breakdowns = _breakdowns(specs)
    if selection.by not in (NONE, ALL, *breakdowns):
        available = ", ".join(breakdowns) or "the tasks of the runs have none"
        raise UsageError(
            f"--by {selection.by}: no such breakdown ({available}). Give one of these, all, or none."
        )


def _check_names(
    option: str, names: Sequence[str], allowed: Sequence[str], problem: str
) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(f"{option} {name}: {problem}: {', '.join(allowed)}.")


def _breakdowns(specs: Iterable[TaskSpec]) -> list[str]:
    return _unique(by for spec in specs for by in breakdown_names(spec))


def _compared_tasks(pairs: Sequence[Pair]) -> list[str]:
    """Names the tasks that at least one pair compares."""
    return _unique(
        name
        for pair in pairs
        for name, task in pair.tasks.items()
        if not task["refused"]
    )


def _repeated_folders(runs: Sequence[Compared]) -> Iterator[str]:
    """Notes which runs were given twice."""
    letters: dict[Path, str] = {}
    for index, run in enumerate(runs):
        name = letter(index)
        first = letters.setdefault(Path(run.label).expanduser().resolve(), name)
        if first != name:
            yield f"note: {first} and {name} are the same folder: a run does not differ from itself."


def _costs(runs: Sequence[Compared], pairs: Sequence[Pair]) -> Iterator[str]:
    """Notes the usage per answer, in runs that report it."""
    for name in _compared_tasks(pairs):
        costs = [an_answer(run.results["tasks"].get(name, {})) for run in runs]
        words = [
            f"{letter(number)} {cost[0]:,.1f} output tokens, {cost[1] or 'no price'}"
            if cost
            else f"{letter(number)} not stated"
            for number, cost in enumerate(costs)
        ]
        if any(costs):
            yield f"{name}, an answer: {'; '.join(words)}."
