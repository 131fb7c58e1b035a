"""The command `meta`; its options are `Meta` in `lab.options`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.errors import UsageError, check_least
from medical_tasks.io.output import check_out, tell_figures
from medical_tasks.io.tables import column_names
from medical_tasks.lab.options import Meta

if TYPE_CHECKING:
    from medical_tasks.lab.meta_evaluation import Meta as MetaReport
    from medical_tasks.lab.meta_evaluation import MetaOptions
    from medical_tasks.lab.output_tables import OutputRow, OutputTable

SCHEMA_VERSION = 1
HUMAN = "human_"
_MOST_METRICS = 12


def run(arguments: Meta) -> int:
    """Prints the figures."""
    from medical_tasks._version import __version__
    from medical_tasks.lab.meta_evaluation import meta_figures, render_meta
    from medical_tasks.lab.output_tables import read_preferences

    epsilon = arguments.epsilon
    check_least({"--seed": arguments.seed}, 0)
    if epsilon is not None and not 0.0 <= epsilon < float("inf"):
        raise UsageError(f"--epsilon must be 0 or more, got {epsilon}.")

    table, tasks = _table(arguments)
    options = _options(arguments, table)
    preferences = (
        None
        if arguments.preferences is None
        else read_preferences(arguments.preferences)
    )
    sources = dict(table.sources)
    if preferences is not None:
        sources[preferences.path] = preferences.sha256

    check_out(arguments.out, map(Path, sources), "one of the files that are read")
    meta: MetaReport = {
        "schema_version": SCHEMA_VERSION,
        "suite_version": __version__,
        "sources": sources,
        "tasks": tasks,
        "where": arguments.where,
        "metrics": list(options.metrics),
        "human": list(options.human),
        "less_is_better": sorted(table.less_is_better & set(options.metrics)),
        "settings": {
            "against": options.against,
            "kendall": options.kendall,
            "epsilon": options.epsilon,
            "confidence": 0.95,
            "resamples": options.resamples,
            "seed": options.seed,
        },
        **meta_figures(table, options, preferences),
    }
    tell_figures(render_meta(meta), meta, arguments.out)

    return 0


def _table(arguments: Meta) -> tuple[OutputTable, dict[str, str]]:
    """Reads the compared outputs from runs and files, and the tasks of the runs.

    Sources are joined by item and system, which must match exactly.
    """
    from medical_tasks.lab.output_tables import (
        check_size,
        join_outputs,
        read_outputs,
        read_runs,
        run_name,
    )

    named = [(text, run_name(text)) for text in arguments.sources]
    runs = [name for _, name in named if name is not None]
    files = [Path(text) for text, name in named if name is None]
    if arguments.task is not None and not runs:
        raise UsageError(
            "--task is for runs, but no folder of a run is given. Omit it."
        )

    sources: list[tuple[OutputRow, ...]] = []
    digests: dict[str, str] = {}
    tasks: dict[str, str] = {}
    less_is_better = frozenset(
        column_names("--less-is-better", arguments.less_is_better) or ()
    )
    if runs:
        from medical_tasks.catalog import tasks as known_tasks

        run_outputs = read_runs(runs, known_tasks(), task=arguments.task)
        sources += list(run_outputs.rows)
        digests |= run_outputs.digests
        less_is_better |= run_outputs.less_is_better
        tasks = dict(run_outputs.tasks)

    for path in files:
        if str(path) in digests:
            raise UsageError(f"{path}: given twice. Name each source once.")

        rows_of_file, digests[str(path)] = read_outputs(path)
        sources.append(tuple(rows_of_file))

    table = join_outputs(sources, digests=digests, less_is_better=less_is_better)
    rows = table.rows
    if runs and files:
        rows = _of_runs(rows, sources[: len(runs)], sources[len(runs) :], files)

    table = replace(table, rows=_chosen(rows, arguments.where))
    check_size(table)
    return table, tasks


def _of_runs(
    rows: tuple[OutputRow, ...],
    of_runs: Sequence[Sequence[OutputRow]],
    of_files: Sequence[Sequence[OutputRow]],
    files: Sequence[Path],
) -> tuple[OutputRow, ...]:
    """Selects the rows that are outputs of runs.

    A file of human scores adds columns to the runs' outputs, never rows.
    """
    ours = {(row.item, row.system) for run in of_runs for row in run}
    theirs = [row for file in of_files for row in file]
    if not any((row.item, row.system) in ours for row in theirs):
        raise UsageError(
            f"{', '.join(map(str, files))}: none of its rows is an output of the runs; it begins "
            f"with item {theirs[0].item!r}, system {theirs[0].system!r}. Items and systems must "
            "match exactly."
        )

    return tuple(row for row in rows if (row.item, row.system) in ours)


def _chosen(rows: tuple[OutputRow, ...], where: Sequence[str]) -> tuple[OutputRow, ...]:
    """Selects the outputs with the requested labels."""
    for text in where:
        label, equals, value = text.partition("=")
        if not equals or not label:
            raise UsageError(
                f"--where {text!r}: write LABEL=TEXT, such as section=objective_exam."
            )

        labels = sorted({name for row in rows for name in row.labels})
        if label not in labels:
            raise UsageError(
                f"--where {text!r}: no output has a label {label!r}. There are "
                f"{', '.join(labels) or 'none'}."
            )

        rows = tuple(row for row in rows if row.labels.get(label) == value)
        if not rows:
            raise UsageError(
                f"--where {text!r}: no output has the label {label!r} with this text."
            )

    return rows


def _options(arguments: Meta, table: OutputTable) -> MetaOptions:
    from medical_tasks.lab.meta_evaluation import MetaOptions
    from medical_tasks.lab.preferences import EPSILON

    human = column_names("--human", arguments.human) or tuple(
        name for name in table.columns if name.startswith(HUMAN)
    )
    metrics = column_names("--metrics", arguments.metrics) or tuple(
        name for name in table.columns if name not in human
    )
    requested = {
        "--human": human,
        "--metrics": metrics,
        "--against": () if arguments.against is None else (arguments.against,),
        "--less-is-better": column_names("--less-is-better", arguments.less_is_better)
        or (),
    }
    for option, names in requested.items():
        _check_columns(option, names, table)

    _check_comparable(arguments, metrics, human)
    return MetaOptions(
        metrics=metrics,
        human=human,
        against=arguments.against,
        kendall=arguments.kendall,
        epsilon=EPSILON if arguments.epsilon is None else arguments.epsilon,
        seed=arguments.seed,
    )


def _check_columns(option: str, names: Sequence[str], table: OutputTable) -> None:
    missing = next((name for name in names if name not in table.columns), None)
    if missing is not None:
        raise UsageError(
            f"{option}: no column of numbers {missing!r}. There are "
            f"{', '.join(map(repr, table.columns))}."
        )


def _check_comparable(
    arguments: Meta, metrics: Sequence[str], human: Sequence[str]
) -> None:
    """Refuses columns with two roles, too many columns, or nothing to compare."""
    both = next((name for name in metrics if name in human), None)
    if both is not None:
        raise UsageError(
            f"{both!r} is named as a metric and as a human score. It can only be one of them."
        )

    if arguments.against is not None and arguments.against not in metrics:
        raise UsageError(
            f"--against {arguments.against}: is not among the metrics {', '.join(metrics)}."
        )

    if len(metrics) > _MOST_METRICS and arguments.metrics is None:
        raise UsageError(
            f"{len(metrics)} columns of numbers: {', '.join(metrics)}. Select those to compare: "
            "--metrics A,B,..."
        )

    if len(metrics) < 2 and arguments.preferences is None and not human:
        raise UsageError(
            f"one metric and no human scores or preferences: there is nothing to compare {metrics} "
            "with."
        )
