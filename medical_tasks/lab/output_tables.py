"""Tables of single outputs for `medical-tasks meta`.

Scores and preferences from files, or from finished runs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.lab.preferences import OutputPairs, Vote
from medical_tasks.lab.score_table import MISSING, read_cells
from medical_tasks.runs.results import Results, read_items, read_results
from medical_tasks.spec import TaskSpec

NAMES: Final = ("item", "system")
"""The columns that together name an output."""

_CLUSTER: Final = "cluster"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
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
    """What one source knows of one output.

    Attributes:
        cluster: What the item shares with others; "" where the source does not say.
        where: The source, for messages.
        scores: Column to number; a missing score is not there.
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
        rows: One an output, in the order they first appear; each has a cluster.
        columns: Names of the columns of numbers, in the order they first appear.
        sources: What was read, name to SHA-256.
    """

    rows: tuple[OutputRow, ...]
    columns: tuple[str, ...]
    sources: Mapping[str, str]
    less_is_better: frozenset[str] = frozenset()

    def column(self, name: str) -> list[float]:
        """One number an output, `nan` where there is none; larger is better."""
        sign = -1.0 if name in self.less_is_better else 1.0
        return [
            sign * row.scores[name] if name in row.scores else math.nan
            for row in self.rows
        ]


def told(text: str) -> str:
    """Quotes a cell for a message; a long one may be a sentence of a note and is not shown."""
    return repr(text) if len(text) <= _SHOWN else f"a text of {len(text)} characters"


def read_outputs(path: Path) -> tuple[list[OutputRow], str]:
    """Reads a table of scores of outputs, and its SHA-256; a column is of numbers if it has one."""
    table = read_cells(path, form=_FORM, needed=NAMES)
    others = [name for name in table.columns if name not in (*NAMES, _CLUSTER)]
    numeric = {
        name
        for name in others
        if any(_NUMBER.fullmatch(row.cells[name]) for row in table.rows)
    }
    places: dict[tuple[str, str], str] = {}
    found = []
    for row in table.rows:
        where, cells = row.where, row.cells
        item, system = (_name(cells[name], name, where) for name in NAMES)
        if (item, system) in places:
            raise UsageError(
                f"{where}: the same output as in {places[item, system]}: item {item!r}, system "
                f"{system!r}. Put all its scores into one row."
            )

        places[item, system] = row.at
        scores = (
            (name, _score(cells[name], name, where))
            for name in others
            if name in numeric
        )
        found.append(
            OutputRow(
                item=item,
                system=system,
                cluster=cells.get(_CLUSTER, ""),
                where=where,
                scores={name: value for name, value in scores if not math.isnan(value)},
                labels={name: cells[name] for name in others if name not in numeric},
            )
        )

    return found, table.content_sha256


def join_outputs(
    sources: Sequence[Sequence[OutputRow]],
    *,
    digests: Mapping[str, str],
    less_is_better: frozenset[str] = frozenset(),
) -> OutputTable:
    """Joins what several sources know of the same outputs.

    Args:
        sources: The outputs of each, with their numbers.
        digests: Path to SHA-256 of what was read.
        less_is_better: Columns that are turned round, so that more is better in all of
            them.

    Raises:
        UsageError: When two sources give one output different numbers in a column.
    """
    rows: dict[tuple[str, str], OutputRow] = {}
    for row in (row for source in sources for row in source):
        there = rows.get((row.item, row.system))
        rows[row.item, row.system] = row if there is None else _merged(there, row)

    clusters: dict[str, str] = {}
    for row in rows.values():
        if row.cluster and clusters.setdefault(row.item, row.cluster) != row.cluster:
            raise UsageError(
                f"{row.where}: item {row.item!r} is in another cluster than in a row before it."
            )

    whole = tuple(
        replace(row, cluster=clusters.get(row.item, row.item)) for row in rows.values()
    )
    columns = tuple(dict.fromkeys(name for row in whole for name in row.scores))
    return OutputTable(
        rows=whole,
        columns=columns,
        sources=dict(digests),
        less_is_better=less_is_better,
    )


def check_size(table: OutputTable) -> None:
    """Refuses what would take hours.

    Kendall's tau looks at all pairs of outputs, and its interval at all pairs of
    clusters.
    """
    clusters = len({row.cluster for row in table.rows})
    if len(table.rows) > _MOST_ROWS or clusters > _MOST_CLUSTERS:
        raise UsageError(
            f"{len(table.rows):,} outputs in {clusters:,} clusters (an item is one where nothing "
            f"else is said); at most {_MOST_ROWS:,} in {_MOST_CLUSTERS:,} are compared. Choose "
            "some: --where LABEL=TEXT"
        )


def _merged(one: OutputRow, other: OutputRow) -> OutputRow:
    """Two rows of one output as one; a score that both have must be the same."""
    for name in one.scores.keys() & other.scores.keys():
        if one.scores[name] != other.scores[name]:
            raise UsageError(
                f"{other.where}: column {name!r} is {other.scores[name]:g} for item {one.item!r} "
                f"of system {one.system!r}, and {one.scores[name]:g} in {one.where}. Two scores of "
                "one output need two names; of a run: SYSTEM@LABEL=FOLDER. A score that no judge "
                "decides differs only where the outputs do."
            )

    scores, labels = {**one.scores, **other.scores}, {**other.labels, **one.labels}
    return replace(
        one, cluster=one.cluster or other.cluster, scores=scores, labels=labels
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
    if text.lower() in MISSING:
        return math.nan
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise UsageError(
            f"{where}, column {told(column)}: must be a number, or an empty cell where there is "
            f"none; got {told(text)}. A column of text has no number in any row."
        )
    return number


_GROUP = "group_"
_SAME_DATA = ("name", "config", "split", "rows_sha256")


@dataclass(frozen=True, kw_only=True)
class RunName:
    """Which run, and under which names.

    Attributes:
        system: What its outputs are filed under.
        label: Tells its judged metrics from those of another run of the system; "" for
            none.
    """

    folder: Path
    system: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RunOutputs:
    """The outputs of some runs.

    Attributes:
        digests: Folder to SHA-256 of its items.
        tasks: System (and label) to the task.
    """

    rows: tuple[tuple[OutputRow, ...], ...]
    digests: Mapping[str, str]
    less_is_better: frozenset[str]
    tasks: Mapping[str, str]


def run_name(text: str) -> RunName | None:
    """Reads how a run was given; None when the text names no folder, so that it may name a file."""
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
            f"{text}: {folder!r} is no folder. Give the one that `medical-tasks run` or `score` "
            "wrote."
        )

    return RunName(folder=path, system=system, label=label)


def read_runs(
    names: Sequence[RunName], tasks: Mapping[str, TaskSpec], *, task: str | None = None
) -> RunOutputs:
    """Reads runs on the same data, each its one task or `task`.

    They may be of different tasks on the same rows.
    """
    _check_names(names)
    rows, digests, less, used = [], {}, set[str](), {}
    known: tuple[str, dict[str, object]] | None = None
    versions: dict[str, str] = {}
    for name in names:
        results = read_results(name.folder)
        chosen = _task(name, results, task, tasks)
        recipe = results["tasks"][chosen]["recipe"]
        data = {key: recipe.get("data", {}).get(key) for key in _SAME_DATA}
        if known is not None and data != known[1]:
            raise UsageError(
                f"{name.folder}: its data are {data}, those of {known[0]} {known[1]}. Compare runs "
                "on the same."
            )

        known = known or (str(name.folder), data)
        if (
            versions.setdefault(chosen, recipe["task_version"])
            != recipe["task_version"]
        ):
            raise UsageError(
                f"{name.folder}: its version of {chosen} is {recipe['task_version']}, another "
                f"run's {versions[chosen]}. Their numbers cannot be compared; run both with one "
                "version."
            )

        columns = _columns(name, tasks[chosen])
        rows.append(tuple(_rows(name, chosen, columns)))
        less |= {
            columns[metric.name]
            for metric in tasks[chosen].metrics
            if not metric.higher_is_better
        }
        digests[str(name.folder)] = str(results["items_sha256"])
        used[f"{name.system}@{name.label}" if name.label else name.system] = chosen

    return RunOutputs(
        rows=tuple(rows), digests=digests, less_is_better=frozenset(less), tasks=used
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
    """A column a metric; of judged ones the label says which judge."""
    label = f"@{name.label}" if name.label and task.judge else ""
    return {
        metric.name: f"{metric.name}{label if metric.judged else ''}"
        for metric in task.metrics
    }


def _task(
    name: RunName, results: Results, task: str | None, tasks: Mapping[str, TaskSpec]
) -> str:
    """The task of a run whose outputs are read; a run of several needs its name."""
    there = list(results["tasks"])
    if task is not None and task not in there:
        raise UsageError(
            f"{name.folder}: has no task {task!r}; it has {', '.join(there)}."
        )

    if task is None and len(there) != 1:
        raise UsageError(
            f"{name.folder}: has {len(there)} tasks ({', '.join(there)}). Say which: --task NAME"
        )

    chosen = task or there[0]
    if chosen not in tasks:
        raise UsageError(
            f"{name.folder}: its task {chosen!r} is not known to this version. Tasks: "
            f"{', '.join(tasks)}."
        )

    return chosen


def _rows(name: RunName, task: str, columns: Mapping[str, str]) -> list[OutputRow]:
    found = []
    for row in read_items(name.folder):
        if row["task"] != task:
            continue

        scores = {columns[metric]: row.get(metric) for metric in columns}
        found.append(
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

    return found


TIE: Final = "tie"
_COLUMNS: Final = ("item", "system_a", "system_b", "annotator", "preferred")
_PREFERENCE_FORM: Final = (
    "It needs a header and a row a pair and annotator, such "
    "as\nitem,system_a,system_b,annotator,preferred\nvisit-1,model-a,model-b,ann,model-a"
)


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What one annotator says of one pair.

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
        blank: Rows without an answer, which are left out.
    """

    path: str
    sha256: str
    stated: tuple[Stated, ...]
    blank: int

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who they are, in the order they first appear."""
        return tuple(dict.fromkeys(each.annotator for each in self.stated))


def read_preferences(path: Path) -> PreferenceTable:
    """Reads a file of preferences: which of two outputs a person holds for the better one.

    Args:
        path: A table with a row an answer.

    Returns:
        The answers, and how many rows are blank. An annotator may stand once on one
        pair: two answers of one person would count as two people.

    Raises:
        UsageError: By row and column, where a cell is not one of those that are
            understood.
    """
    table = read_cells(path, form=_PREFERENCE_FORM, needed=_COLUMNS)
    places: dict[tuple[str, frozenset[str], str], str] = {}
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
                f"{where}: both systems are {told(first)}. A pair needs two different ones."
            )

        if TIE in (first, second):
            raise UsageError(
                f"{where}: a system named {TIE!r} cannot be told from no preference. Rename it."
            )

        key = (item, frozenset((first, second)), annotator)
        if key in places:
            raise UsageError(
                f"{where}: the same pair and annotator as in {places[key]}. Keep one: an answer "
                "counts once."
            )

        places[key] = row.at
        if not preferred:
            blank += 1
            continue

        if preferred not in (first, second, TIE):
            raise UsageError(
                f"{where}, column 'preferred': must be {told(first)}, {told(second)}, {TIE!r}, or "
                f"blank for no answer; got {told(preferred)}."
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
    """Finds the votes on each pair of a table's outputs, whichever is named first.

    Returns:
        The votes on each pair, and how many answers are about other pairs.
    """
    rows = {(row.item, row.system): place for place, row in enumerate(table.rows)}
    places = {
        (int(a), int(b)): place
        for place, (a, b) in enumerate(zip(pairs.first, pairs.second, strict=True))
    }
    votes: list[list[Vote]] = [[] for _ in range(len(pairs))]
    elsewhere = 0
    for each in preferences.stated:
        outputs: Sequence[int | None] = [
            rows.get((each.item, system)) for system in each.systems
        ]
        one, other = outputs
        if one is None or other is None:
            elsewhere += 1
            continue

        first = table.rows[min(one, other)].system
        vote: Vote = (
            "tie"
            if each.preferred == TIE
            else "first"
            if each.preferred == first
            else "second"
        )
        votes[places[min(one, other), max(one, other)]].append(vote)

    if elsewhere == len(preferences.stated):
        raise UsageError(
            f"{preferences.path}: none of its pairs is among the outputs compared; it begins with "
            f"item {told(preferences.stated[0].item)}, the outputs with "
            f"{told(table.rows[0].item)}. Items and systems are found by name, letter for letter."
        )

    return votes, elsewhere
