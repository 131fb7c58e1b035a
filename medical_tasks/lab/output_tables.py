"""Tables of single outputs for `medical-tasks meta`.

Scores and preferences from files, or from finished runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.lab.preferences import OutputPairs, Vote
from medical_tasks.lab.score_table import NUMBER, parse_score, read_cells
from medical_tasks.runs.results import Results, read_items, read_results
from medical_tasks.spec import TaskSpec

NAMES: Final = ("item", "system")
"""The columns that together name an output."""

_CLUSTER: Final = "cluster"

_MOST_ROWS: Final = 20_000
_MOST_CLUSTERS: Final = 2_000
_LONGEST_NAME: Final = 120
_SHOWN: Final = 16
_FORM: Final = (
    "It needs a header and a row an output, such as\n"
    "item,system,claim_recall,rouge\n"
    "visit-1,model-a,0.61,0.40"
)


@dataclass(frozen=True, kw_only=True)
class OutputRow:
    """The data of one output from one source.

    Attributes:
        item: The item.
        system: The system that produced the output.
        cluster: The cluster of the item; "" if the source has none.
        where: The source, for messages.
        scores: Column to number; missing scores are left out.
        labels: Column to text.
    """

    item: str
    system: str
    cluster: str
    where: str
    scores: Mapping[str, float]
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class OutputTable:
    """All outputs.

    Attributes:
        rows: One an output, in order of appearance; each has a cluster.
        columns: The names of the columns of numbers, in order of appearance.
        sources: The sources, name to SHA-256.
        less_is_better: Columns in which lower values are better.
    """

    rows: tuple[OutputRow, ...]
    columns: tuple[str, ...]
    sources: Mapping[str, str]
    less_is_better: frozenset[str] = frozenset()

    def column(self, name: str) -> list[float]:
        """Returns one number an output, `nan` if it is missing; larger is better."""
        sign = -1.0 if name in self.less_is_better else 1.0
        return [
            sign * row.scores[name] if name in row.scores else math.nan
            for row in self.rows
        ]


def quoted(text: str) -> str:
    """Quotes a cell for a message; a long one may be text of a note and is not shown."""
    return repr(text) if len(text) <= _SHOWN else f"a text of {len(text)} characters"


def read_outputs(path: Path) -> tuple[list[OutputRow], str]:
    """Reads a table of scores of outputs and its SHA-256; a column with a number holds numbers."""
    table = read_cells(path, form=_FORM, needed=NAMES)
    others = [name for name in table.columns if name not in (*NAMES, _CLUSTER)]
    numeric = {
        name
        for name in others
        if any(NUMBER.fullmatch(row.cells[name]) for row in table.rows)
    }
    row_of: dict[tuple[str, str], str] = {}
    rows = []
    for row in table.rows:
        where, cells = row.where, row.cells
        item, system = (_name(cells[name], name, where) for name in NAMES)
        if (item, system) in row_of:
            raise UsageError(
                f"{where}: the same output as in {row_of[item, system]}: item {item!r}, system "
                f"{system!r}. Put all its scores into one row."
            )

        row_of[item, system] = row.at
        scores = (
            (name, _score(cells[name], name, where))
            for name in others
            if name in numeric
        )
        rows.append(
            OutputRow(
                item=item,
                system=system,
                cluster=cells.get(_CLUSTER, ""),
                where=where,
                scores={name: value for name, value in scores if not math.isnan(value)},
                labels={name: cells[name] for name in others if name not in numeric},
            )
        )

    return rows, table.content_sha256


def join_outputs(
    sources: Sequence[Sequence[OutputRow]],
    *,
    digests: Mapping[str, str],
    less_is_better: frozenset[str] = frozenset(),
) -> OutputTable:
    """Joins the data of several sources about the same outputs.

    Args:
        sources: The rows of each source.
        digests: Path to SHA-256 of the sources.
        less_is_better: Columns whose sign is reversed, so that larger is better in all.

    Raises:
        UsageError: Two sources have different numbers for an output in a column.
    """
    rows: dict[tuple[str, str], OutputRow] = {}
    for row in (row for source in sources for row in source):
        present = rows.get((row.item, row.system))
        rows[row.item, row.system] = row if present is None else _merged(present, row)

    clusters: dict[str, str] = {}
    for row in rows.values():
        if row.cluster and clusters.setdefault(row.item, row.cluster) != row.cluster:
            raise UsageError(
                f"{row.where}: item {row.item!r} is in another cluster than in a row before it."
            )

    joined = tuple(
        replace(row, cluster=clusters.get(row.item, row.item)) for row in rows.values()
    )
    columns = tuple(dict.fromkeys(name for row in joined for name in row.scores))
    return OutputTable(
        rows=joined,
        columns=columns,
        sources=dict(digests),
        less_is_better=less_is_better,
    )


def check_size(table: OutputTable) -> None:
    """Refuses tables that would take hours.

    Kendall's tau compares all pairs of outputs, and its interval all pairs of clusters.
    """
    clusters = len({row.cluster for row in table.rows})
    if len(table.rows) > _MOST_ROWS or clusters > _MOST_CLUSTERS:
        raise UsageError(
            f"{len(table.rows):,} outputs in {clusters:,} clusters (by default, an item is a "
            f"cluster); at most {_MOST_ROWS:,} in {_MOST_CLUSTERS:,} are compared. Select some: "
            "--where LABEL=TEXT"
        )


def _merged(first: OutputRow, second: OutputRow) -> OutputRow:
    """Merges two rows of one output; a score in both must be the same."""
    for name in first.scores.keys() & second.scores.keys():
        if first.scores[name] != second.scores[name]:
            raise UsageError(
                f"{second.where}: column {name!r} is {second.scores[name]:g} for item {first.item!r} "
                f"of system {first.system!r}, and {first.scores[name]:g} in {first.where}. Two scores of "
                "one output need two names; of a run: SYSTEM@LABEL=FOLDER. A score that no judge "
                "decides differs only where the outputs do."
            )

    scores, labels = (
        {**first.scores, **second.scores},
        {**second.labels, **first.labels},
    )
    return replace(
        first, cluster=first.cluster or second.cluster, scores=scores, labels=labels
    )


def _name(text: str, column: str, where: str) -> str:
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        got = "nothing" if not text else f"a text of {len(text)} characters"
        raise UsageError(
            f"{where}, column {column!r}: must be a name of 1 to {_LONGEST_NAME} characters, got "
            f"{got}."
        )
    return text


def _score(text: str, column: str, where: str) -> float:
    number = parse_score(text)
    if number is None:
        raise UsageError(
            f"{where}, column {quoted(column)}: must be a number, or an empty cell for no "
            f"number; got {quoted(text)}. A column of text has no number in any row."
        )
    return number


_GROUP = "group_"
_SAME_DATA = ("name", "config", "split", "rows_sha256")


@dataclass(frozen=True, kw_only=True)
class RunName:
    """A run and its names.

    Attributes:
        folder: The folder of the run.
        system: The system of its outputs.
        label: Distinguishes its judged metrics from those of another run of the system;
            "" for none.
    """

    folder: Path
    system: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RunOutputs:
    """The outputs of some runs.

    Attributes:
        rows: The rows of each run.
        digests: Folder to SHA-256 of its items.
        less_is_better: Columns in which lower values are better.
        tasks: System (and label) to task.
    """

    rows: tuple[tuple[OutputRow, ...], ...]
    digests: Mapping[str, str]
    less_is_better: frozenset[str]
    tasks: Mapping[str, str]


def run_name(text: str) -> RunName | None:
    """Reads the argument for a run; None if the text names no folder and may name a file."""
    if Path(text).expanduser().is_dir():
        path = Path(text).expanduser()
        return RunName(folder=path, system=path.resolve().name)

    named, equals, folder = text.partition("=")
    if not equals or Path(text).expanduser().exists():
        return None

    system, at, label = named.partition("@")
    if not system or (at and not label):
        raise UsageError(
            f"{text}: a name is missing. Write SYSTEM=FOLDER, or SYSTEM@LABEL=FOLDER."
        )

    path = Path(folder).expanduser()
    if not path.is_dir():
        raise UsageError(
            f"{text}: {folder!r} is not a folder. Give a folder written by `medical-tasks run` or "
            "`score`."
        )

    return RunName(folder=path, system=system, label=label)


def read_runs(
    names: Sequence[RunName], tasks: Mapping[str, TaskSpec], *, task: str | None = None
) -> RunOutputs:
    """Reads runs on the same data: the only task of each, or `task`.

    Runs may have different tasks on the same rows.
    """
    _check_names(names)
    rows, digests, lower_is_better, run_tasks = [], {}, set[str](), {}
    first_run: tuple[str, dict[str, object]] | None = None
    versions: dict[str, str] = {}
    for name in names:
        results = read_results(name.folder)
        task_name = _task(name, results, task, tasks)
        recipe = results["tasks"][task_name]["recipe"]
        data = {key: recipe.get("data", {}).get(key) for key in _SAME_DATA}
        if first_run is not None and data != first_run[1]:
            raise UsageError(
                f"{name.folder}: its data are {data}, but those of {first_run[0]} are "
                f"{first_run[1]}. Compare runs on the same data."
            )

        first_run = first_run or (str(name.folder), data)
        if (
            versions.setdefault(task_name, recipe["task_version"])
            != recipe["task_version"]
        ):
            raise UsageError(
                f"{name.folder}: its version of {task_name} is {recipe['task_version']}, but that of "
                f"another run is {versions[task_name]}. Their numbers cannot be compared; run both "
                "with the same version."
            )

        columns = _columns(name, tasks[task_name])
        rows.append(tuple(_rows(name, task_name, columns)))
        lower_is_better |= {
            columns[metric.name]
            for metric in tasks[task_name].metrics
            if not metric.higher_is_better
        }
        digests[str(name.folder)] = str(results["items_sha256"])
        run_tasks[f"{name.system}@{name.label}" if name.label else name.system] = (
            task_name
        )

    return RunOutputs(
        rows=tuple(rows),
        digests=digests,
        less_is_better=frozenset(lower_is_better),
        tasks=run_tasks,
    )


def _check_names(names: Sequence[RunName]) -> None:
    counts = Counter((name.system, name.label) for name in names)
    (system, label), count = counts.most_common(1)[0]
    if count > 1:
        labelled = f" with the label {label!r}" if label else ""
        raise UsageError(
            f"two runs are named {system!r}{labelled}. Write SYSTEM=FOLDER, or "
            "SYSTEM@LABEL=FOLDER for the same outputs scored by another judge."
        )


def _columns(name: RunName, task: TaskSpec) -> dict[str, str]:
    """Maps each metric to its column; the label names the judge of judged metrics."""
    label = f"@{name.label}" if name.label and task.judge else ""
    return {
        metric.name: f"{metric.name}{label if metric.judged else ''}"
        for metric in task.metrics
    }


def _task(
    name: RunName, results: Results, task: str | None, tasks: Mapping[str, TaskSpec]
) -> str:
    """Returns the task whose outputs are read; a run with several tasks needs its name."""
    run_tasks = list(results["tasks"])
    if task is not None and task not in run_tasks:
        raise UsageError(
            f"{name.folder}: has no task {task!r}; it has {', '.join(run_tasks)}."
        )

    if task is None and len(run_tasks) != 1:
        raise UsageError(
            f"{name.folder}: has {len(run_tasks)} tasks ({', '.join(run_tasks)}). Select one: "
            "--task NAME"
        )

    chosen = task or run_tasks[0]
    if chosen not in tasks:
        raise UsageError(
            f"{name.folder}: its task {chosen!r} is not known to this version. Tasks: "
            f"{', '.join(tasks)}."
        )

    return chosen


def _rows(name: RunName, task: str, columns: Mapping[str, str]) -> list[OutputRow]:
    rows = []
    for row in read_items(name.folder):
        if row["task"] != task:
            continue

        scores = {columns[metric]: row.get(metric) for metric in columns}
        rows.append(
            OutputRow(
                item=row["id"],
                system=name.system,
                cluster=row["cluster"] or "",
                where=str(name.folder),
                scores={
                    column: value
                    for column, value in scores.items()
                    if value is not None and math.isfinite(value)
                },
                labels={
                    key.removeprefix(_GROUP): value or ""
                    for key, value in row.items()
                    if key.startswith(_GROUP)
                },
            )
        )

    return rows


TIE: Final = "tie"
_COLUMNS: Final = ("item", "system_a", "system_b", "annotator", "preferred")
_PREFERENCE_FORM: Final = (
    "It needs a header and a row a pair and annotator, such "
    "as\nitem,system_a,system_b,annotator,preferred\nvisit-1,model-a,model-b,ann,model-a"
)


@dataclass(frozen=True, kw_only=True)
class Stated:
    """The answer of one annotator about one pair.

    Attributes:
        preferred: One of the two systems, or `tie`.
    """

    item: str
    systems: tuple[str, str]
    annotator: str
    preferred: str


@dataclass(frozen=True, kw_only=True)
class PreferenceTable:
    """A file of preferences.

    Attributes:
        stated: The answers.
        blank: The number of rows without an answer, which are left out.
    """

    path: str
    sha256: str
    stated: tuple[Stated, ...]
    blank: int

    @property
    def annotators(self) -> tuple[str, ...]:
        """The annotators, in order of appearance."""
        return tuple(dict.fromkeys(statement.annotator for statement in self.stated))


def read_preferences(path: Path) -> PreferenceTable:
    """Reads a file of preferences: which of two outputs a person considers better.

    Args:
        path: A table with one row an answer.

    Returns:
        The answers, and the number of blank rows. An annotator may answer once about a
        pair: two answers of one person would count as two people.

    Raises:
        UsageError: A cell is invalid; the message names its row and column.
    """
    table = read_cells(path, form=_PREFERENCE_FORM, needed=_COLUMNS)
    row_of: dict[tuple[str, frozenset[str], str], str] = {}
    stated = []
    blank = 0
    for row in table.rows:
        where, cells = row.where, row.cells
        item, first, second, annotator, preferred = (cells[name] for name in _COLUMNS)
        for name in _COLUMNS[:4]:
            if not cells[name]:
                raise UsageError(f"{where}, column {name!r}: empty. {_PREFERENCE_FORM}")

        if first == second:
            raise UsageError(
                f"{where}: both systems are {quoted(first)}. A pair needs two different ones."
            )

        if TIE in (first, second):
            raise UsageError(
                f"{where}: a system named {TIE!r} would read as no preference. Rename it."
            )

        key = (item, frozenset((first, second)), annotator)
        if key in row_of:
            raise UsageError(
                f"{where}: the same pair and annotator as in {row_of[key]}. Keep one: an answer "
                "counts once."
            )

        row_of[key] = row.at
        if not preferred:
            blank += 1
            continue

        if preferred not in (first, second, TIE):
            raise UsageError(
                f"{where}, column 'preferred': must be {quoted(first)}, {quoted(second)}, {TIE!r}, or "
                f"blank for no answer; got {quoted(preferred)}."
            )

        stated.append(
            Stated(
                item=item,
                systems=(first, second),
                annotator=annotator,
                preferred=preferred,
            )
        )

    if not stated:
        raise UsageError(
            f"{path}: no row has an answer in the column 'preferred'. {_PREFERENCE_FORM}"
        )

    return PreferenceTable(
        path=str(path), sha256=table.content_sha256, stated=tuple(stated), blank=blank
    )


def votes_of(
    preferences: PreferenceTable, table: OutputTable, pairs: OutputPairs
) -> tuple[list[list[Vote]], int]:
    """Finds the votes on each pair of a table's outputs, in either order.

    Returns:
        The votes on each pair, and the number of answers about other pairs.
    """
    rows = {(row.item, row.system): index for index, row in enumerate(table.rows)}
    pair_index = {
        (int(a), int(b)): index
        for index, (a, b) in enumerate(zip(pairs.first, pairs.second, strict=True))
    }
    votes: list[list[Vote]] = [[] for _ in range(len(pairs))]
    elsewhere = 0
    for statement in preferences.stated:
        outputs: Sequence[int | None] = [
            rows.get((statement.item, system)) for system in statement.systems
        ]
        first_row, second_row = outputs
        if first_row is None or second_row is None:
            elsewhere += 1
            continue

        first_system = table.rows[min(first_row, second_row)].system
        vote: Vote = (
            "tie"
            if statement.preferred == TIE
            else "first"
            if statement.preferred == first_system
            else "second"
        )
        votes[
            pair_index[min(first_row, second_row), max(first_row, second_row)]
        ].append(vote)

    if elsewhere == len(preferences.stated):
        raise UsageError(
            f"{preferences.path}: none of its pairs is among the compared outputs; it begins with "
            f"item {quoted(preferences.stated[0].item)}, the outputs with "
            f"{quoted(table.rows[0].item)}. Items and systems must match exactly."
        )

    return votes, elsewhere
