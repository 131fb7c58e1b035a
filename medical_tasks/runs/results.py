"""The files of a run: the format of `results.json`, and how its three files are written and read.

`results.json` has an entry for each task (`TaskEntry`), which holds a `Figure` for each
metric, over all items and over each group. `items.parquet` has a row for each item (`Row`),
`verdicts.jsonl` a line for each verdict. `medical_tasks.runs.summary` computes the figures.
A number that cannot be computed is `null`, never 0.

Example:
    results = read_results(Path("runs/demo"))
    results["tasks"]["medcalc"]["metrics"]["accuracy"]["value"]  # 0.575
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import flush_to_disk
from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    system_reason,
)
from medical_tasks.io.arrow_columns import number_column, text_column
from medical_tasks.io.files import read_text
from medical_tasks.io.patterns import Pattern
from medical_tasks.runs.confidence import ConfidenceFigures
from medical_tasks.spec import UNANSWERED, Item, ItemScore, MetricSpec, TaskSpec

RESULTS_FILE: Final = "results.json"
ITEMS_FILE: Final = "items.parquet"
VERDICTS_FILE: Final = "verdicts.jsonl"
SCHEMA_VERSION: Final = 1

NO_ANSWER: Final = "no item was answered"
NOTHING: Final = "nothing to count on any item"
NO_COMPONENT: Final = "a metric it is made of has no value"
"""Reasons why there is no value, shown without further explanation."""

EndName = Literal["value", "ci_low", "ci_high", "bound_low", "bound_high"]
BoundName = Literal["bound_low", "bound_high"]
ENDS: Final[tuple[EndName, ...]] = (
    "value",
    "ci_low",
    "ci_high",
    "bound_low",
    "bound_high",
)
"""The numbers of a figure that lie on its metric's own scale."""
BOUNDS: Final[tuple[BoundName, ...]] = ("bound_low", "bound_high")

_TEXT_COLUMNS: Final = frozenset(
    "task id cluster parsed why unscored unclear sources response_sha256 provider served_model".split()
)
SPENT_COLUMNS: Final = (
    "prompt_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cached_tokens",
)
"""Columns with the usage of an item's answers, all repeats together."""
ANSWERED_BY_COLUMNS: Final = ("provider", "served_model")
"""Columns that say who gave an item's answer, where the server reports it."""
_MOST_WORDS: Final = 64
"""A text with more words is never split into several groups."""
_NUMBERED: Final = Pattern(
    r"(?P<below>up to |under |below |less than )?"
    r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)\b"
    r"(?P<above> or more| and more|\+)?"
)
"""How a group of numbers is named: "3", "3 to 4", "up to 2", "5 or more"."""
_LEFT_OVER: Final = frozenset({"", "none", "other", "unknown"})

Json: TypeAlias = Mapping[str, Any]
"""JSON values by name, such as a recipe or the settings of a model."""
JsonDict: TypeAlias = dict[str, Any]
"""The same while it is being built."""
Row: TypeAlias = Mapping[str, Any]
"""A row of `items.parquet`: ids, groups and texts, and a number or None for each metric."""


Number: TypeAlias = float | Any
"""A number, or None where it cannot be computed. Check `value` before calculating with one."""


class Figure(TypedDict, total=False):
    """A metric's number over some items. Shares are from 0 to 1; None if it cannot be computed.

    Attributes:
        value: the number, with missing verdicts estimated.
        ci_low: the lower end of its 95 % interval.
        ci_high: the upper end.
        bound_low: the value if everything missing or unclear were the worst possible.
        bound_high: the value if it were the best possible.
        n: how many items the value rests on.
        of: the sum of the denominators, for a pooled ratio.
        std: the standard error that papers print, for a proportion.
        scored: how many items are decided, where not all are.
        estimated: how many of the `n` items are estimated.
        unanswered: how many items without an answer count as 0, as in the authors'
            script.
        reason: why there is no value.
        unit: the metric's unit, unless it is a share.
        comparable: False where a judge that compares words decided it, or an average lacks
            metrics.
        components: the metrics that an average is computed from.
        missing_components: those of them that are not reported.
        too_few: whether a group has too few items to distinguish it from all items.
        sample: a random sample's own numbers; the other numbers estimate the set it was
            drawn from.
        repeats: how several answers to each item vary.
        evaluations: how several evaluations of each answer by the judge vary.
        calibration: what corrected the metric, if it was corrected.
        p: the exact p-value of no preference, for a position among choices.
        p_holm: the same adjusted over all positions.
    """

    value: Required[Number]
    ci_low: Required[Number]
    ci_high: Required[Number]
    bound_low: Number
    bound_high: Number
    n: Required[int]
    of: float
    std: float
    scored: int
    estimated: int
    unanswered: int
    reason: str
    unit: str
    comparable: bool
    components: list[str]
    missing_components: list[str]
    too_few: bool
    sample: Mapping[EndName, float | None]
    repeats: Json
    evaluations: Json
    calibration: Json
    p: float
    p_holm: float


Figures: TypeAlias = dict[str, Figure]
"""Figures by the names of their metrics."""
Breakdown: TypeAlias = dict[str, dict[str, Figures]]
"""Breakdown to group to figures."""


class PairedFigure(TypedDict, total=False):
    """A group's difference from its reference within pairs of items (`Benchmark.pairs`).

    Attributes:
        by: the breakdown that the group belongs to.
        group: the group.
        reference: the group that it is compared with.
        metric: the metric compared, the task's headline.
        pairs: how many pairs were asked.
        n: how many pairs have two values.
        value: the metric's value over the group's items in these pairs.
        reference_value: the value over their partners.
        difference: the difference between the two.
        ci_low: the lower end of its 95 % interval.
        ci_high: the upper end.
        test: the test that `p` comes from.
        p: the p-value of a difference of zero; None for too few pairs.
        p_holm: the same adjusted over all groups of the task.
        flagged: whether `p_holm` is below 0.05.
        too_few: whether the pairs are too few for an interval and a test.
    """

    by: Required[str]
    group: Required[str]
    reference: Required[str]
    metric: Required[str]
    pairs: Required[int]
    n: Required[int]
    value: Required[Number]
    reference_value: Required[Number]
    difference: Required[Number]
    ci_low: Required[Number]
    ci_high: Required[Number]
    test: Required[str]
    p: Required[Number]
    p_holm: Required[Number]
    flagged: Required[bool]
    too_few: bool


class Coverage(TypedDict):
    """How many items were asked, answered and scored on all metrics, and why others were not.

    Attributes:
        asked: the number of all items.
        answered: items with an answer.
        scored: items with a value for every metric.
        unscored: the other answered items, by reason.
        unclear: answers that count as not right since they could not be decided, by reason.
    """

    asked: int
    answered: int
    scored: int
    unscored: dict[str, int]
    unclear: dict[str, int]


class ReportedFigure(TypedDict):
    """A figure that another harness reports for the answers it collected, under its own name."""

    metric: str
    value: float


class TaskEntry(TypedDict, total=False):
    """A task's entry of `results.json`.

    Attributes:
        n_items: how many items the task has.
        metrics: the figures over all items, the headline first.
        coverage: how far scoring got.
        breakdown: the figures over groups of items, or over parts of each item.
        pairs: each group's difference, for a task whose items come in pairs.
        recipe: everything that decides the numbers.
        notes: what a reader should know about answers, and the number of these answers.
        cut_at_length: how many answers were cut at the length limit.
        thought_only: how many of these hold no text, since reasoning used up all
            tokens.
        shortened: how many questions were shortened to fit the model's context.
        usage: the model's usage for the answers.
        roles: the usage of the other models of a protocol, by role.
        judge: who the judge was, how far it got, and its last check.
        evaluations: how far the evaluations agree, for answers that were judged several
            times.
        paper: whether the figures are comparable with the paper's, and why.
        reported: for imported answers, the figures of the harness that collected them.
        confidence: how sure the model was, and how often it was right.
    """

    n_items: Required[int]
    metrics: Required[Figures]
    coverage: Required[Coverage]
    breakdown: Required[Breakdown]
    recipe: Required[JsonDict]
    pairs: list[PairedFigure]
    notes: dict[str, int]
    cut_at_length: int
    thought_only: int
    shortened: int
    usage: Json
    roles: Mapping[str, Json]
    judge: Json
    evaluations: Json
    paper: Json
    reported: Sequence[ReportedFigure]
    confidence: ConfidenceFigures


class Results(TypedDict, total=False):
    """The content of `results.json`; `items_sha256` is the hash of its `items.parquet`."""

    schema_version: int
    tasks: Required[dict[str, TaskEntry]]
    items_sha256: str


def flat(figures: Mapping[str, Figure]) -> JsonDict:
    """Flattens figures for `evaluate` modules, nan where there is no number; `reasons` says why.

    Example:
        >>> figure = dict.fromkeys(ENDS, 0.5) | {"ci_high": None, "n": 4}
        >>> numbers = flat({"accuracy": figure})
        >>> numbers["accuracy"], numbers["accuracy_ci_high"], numbers["reasons"]
        (0.5, nan, {})
    """
    numbers: JsonDict = {}
    for name, figure in figures.items():
        for end in ENDS:
            value = figure[end]
            numbers[name if end == "value" else f"{name}_{end}"] = (
                math.nan if value is None else value
            )

    reasons = {
        name: figure["reason"] for name, figure in figures.items() if "reason" in figure
    }
    return {**numbers, "reasons": reasons}


class ItemsFile:
    """Builds `items.parquet` in memory: takes rows in blocks and holds the compressed file."""

    def __init__(self, columns: Iterable[str]) -> None:
        """Opens a table in memory for these columns: texts, or numbers of 64 bits."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._columns = list(dict.fromkeys(columns)) or ["id"]
        self._schema = pa.schema(
            [
                (name, pa.string() if _is_text(name) else pa.float64())
                for name in self._columns
            ]
        )
        self._file = io.BytesIO()
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def add(self, rows: Sequence[Row]) -> None:
        """Adds rows, each with some of the columns."""
        import pyarrow as pa

        columns = []
        for name in self._columns:
            cells = [row.get(name) for row in rows]
            columns.append(
                text_column(cells) if _is_text(name) else number_column(cells)
            )
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def content(self) -> memoryview:
        """Finishes the file and returns its bytes; no rows can be added afterwards."""
        self._writer.close()
        return self._file.getbuffer()


def _is_text(column: str) -> bool:
    """Whether a column holds ids, groups or texts; all others hold numbers."""
    return column in _TEXT_COLUMNS or column.startswith("group_")


def write_run(
    folder: Path, results: Results, items: ItemsFile, *, verdicts: Sequence[Json] = ()
) -> None:
    """Writes a run's three files, `results.json` last: its presence shows that all are complete.

    Each file is written under a draft name and then renamed.

    Raises:
        IncompleteError: the disk is full, or refuses them; older files stay unchanged.
    """
    rows = items.content()
    # The hash of the items lets readers notice a kill between the two renames.
    whole = {**results, "items_sha256": hashlib.sha256(rows).hexdigest()}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    lines = "".join(json.dumps(row) + "\n" for row in verdicts)
    # A lone surrogate or a file name's odd byte, which UTF-8 cannot encode, is escaped as in JSON.
    contents: dict[str, bytes | memoryview] = {
        VERDICTS_FILE: lines.encode("ascii"),
        ITEMS_FILE: rows,
        RESULTS_FILE: text.encode("utf-8", "backslashreplace"),
    }
    drafts = {
        folder / name: folder / f".{name}.{os.getpid()}.part" for name in contents
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for draft, content in zip(drafts.values(), contents.values(), strict=True):
            draft.write_bytes(content)
            flush_to_disk(draft)

        for path, draft in drafts.items():
            draft.replace(path)

        if not verdicts:
            (folder / VERDICTS_FILE).unlink()
    except OSError as error:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)

        raise IncompleteError(
            f"{folder}: results could not be written ({system_reason(error)}). Finished answers "
            "are kept. Free some space, or choose another --out, and give the same command again."
        ) from error


def unanswered_value(metric: MetricSpec) -> float | None:
    """Returns the value of an unanswered item in a metric, None where it has none."""
    counts = metric.official is not None and metric.official.unanswered == "counts as 0"
    return 0.0 if counts else None


def item_rows(
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered: Mapping[str, str],
    *,
    sources: Mapping[str, Sequence[str]] | None = None,
    question_counts: Mapping[str, int] | None = None,
) -> list[JsonDict]:
    """Makes the rows of `items.parquet`, in the dataset's order; an undecided value is null.

    Args:
        task: the task with the metrics that are reported.
        items: the items, answered or not.
        scores: the scores by item id.
        unanswered: why an item has no score, by item id.
        sources: the documents that each question was given besides the item.
        question_counts: how many questions about each item were answered, for a task with
            a protocol.
    """
    rows: list[JsonDict] = []
    for item in items:
        score = scores.get(item.id)
        row: JsonDict = {"task": task.name, "id": item.id, "cluster": item.cluster}
        row |= {
            f"group_{name}": " ".join(groups_in(item, name)) for name in task.groups
        }
        for metric in task.metrics:
            if (
                metric.kind != "average"
            ):  # an average is computed from totals, not from items
                row |= _cells(metric, score)

        row["parsed"] = _storable(score.parsed) if score is not None else ""
        row["why"] = _storable(score.why) if score is not None else ""
        row["unscored"] = (
            UNANSWERED + unanswered[item.id] if score is None else score.unscored
        )
        row["unclear"] = score.unclear if score is not None else ""
        if sources:
            row["sources"] = _storable("\n".join(sources.get(item.id, ())))
        if question_counts:
            row["asked"] = question_counts.get(item.id)

        rows.append(row)

    return rows


def _cells(metric: MetricSpec, score: ItemScore | None) -> dict[str, float | None]:
    """Makes a metric's cells in an item's row: its value, and its denominator if it is pooled."""
    if score is None:
        value, weight = unanswered_value(metric), None
    else:
        value = score.values.get(metric.name)
        # The weight of an undecided value is no more than a limit.
        weight = None if value is None else score.weights.get(metric.name, 0.0)

    cells = {metric.name: value}
    return (
        {**cells, weight_column(metric.name): weight}
        if metric.kind == "ratio"
        else cells
    )


def weight_column(metric: str) -> str:
    """Names the column with a pooled metric's denominators."""
    return f"{metric}_of"


def groups_in(item: Item, by: str) -> tuple[str, ...]:
    """Returns the groups an item is in; it counts in each of them."""
    groups = item.groups[by]
    return (groups,) if isinstance(groups, str) else groups


def in_order(groups: Iterable[str]) -> list[str]:
    """Sorts groups as a reader would: by their numbers, leftover groups last.

    Example:
        >>> in_order(["10", "5 or more", "other", "3 to 4", "up to 2", "renal"])
        ['up to 2', '3 to 4', '5 or more', '10', 'renal', 'other']
    """
    return sorted(groups, key=_order_key)


def _order_key(group: str) -> tuple[int, float, int, str]:
    """The key that sorts groups with a number first, then names, then leftover groups."""
    if group in _LEFT_OVER:
        return 2, 0.0, 0, group
    stated = _NUMBERED.match(group)
    if stated is None:
        return 1, 0.0, 0, group
    # "under 5" comes before "5", "5 or more" after it.
    side = -1 if stated["below"] else 1 if stated["above"] else 0
    return 0, float(stated["number"]), side, group


def groups_of(text: str, groups: Container[str]) -> tuple[str, ...]:
    """Returns the groups that a row's text names: the whole text if it is a group, else its parts.

    Groups' names may contain blanks. Example: with the groups "a", "b" and "a b" the text
    "a b" is one group, and "b a" is "b" and "a".
    """
    words = text.split(" ")
    if text in groups or not 1 < len(words) <= _MOST_WORDS:
        return (text,)

    # The ways to read the first words as groups, shortest first.
    readings: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(1, len(words) + 1):
        for start in range(end):
            name = " ".join(words[start:end])
            if start in readings and name in groups:
                readings[end] = (*readings[start], name)
                break

    return tuple(dict.fromkeys(readings.get(len(words), (text,))))


def item_of(question: str, ids: Container[str]) -> str | None:
    """Finds the item that a question is about: the longest id that the question starts with, up to a `/`."""
    while question not in ids:
        question, slash, _ = question.rpartition("/")
        if not slash:
            return None
    return question


def _storable(text: str) -> str:
    """Escapes the lone surrogates that model text may hold: the UTF-8 of Parquet cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_results(folder: Path) -> Results:
    """Reads a run's `results.json` without checking its figures.

    Raises:
        MissingError: the folder has none.
        UsageError: it is not JSON, or has another schema version.
    """
    path = folder / RESULTS_FILE
    if not path.is_file():
        raise MissingError(
            f"{folder}: no {RESULTS_FILE} there. Give the folder that `medical-tasks run` or "
            "`score` wrote (its --out); a run that was stopped resumes when its command is given "
            "again."
        )

    try:
        content: Any = json.loads(read_text(path))
    except ValueError as error:  # of JSON or of UTF-8
        raise UsageError(
            f"{path}: not valid JSON ({error}). Give the same command again to rewrite it."
        ) from error

    version, tasks = (
        content.get(name) if isinstance(content, dict) else None
        for name in ("schema_version", "tasks")
    )
    sound = isinstance(tasks, dict) and all(
        isinstance(task, dict) and "recipe" in task for task in tasks.values()
    )
    if version != SCHEMA_VERSION or not sound:
        raise UsageError(
            f"{path}: not results that this version reads (schema_version {version!r}, expected "
            f"{SCHEMA_VERSION})."
        )

    results: Results = content
    return results


def read_sound_results(folder: Path) -> Results:
    """Reads a run's `results.json` and checks that its figures are finite numbers or null.

    Raises:
        MissingError: the folder has none.
        UsageError: as `read_results`, or a figure is malformed.
    """
    results = read_results(folder)
    for name, task in results["tasks"].items():
        if not _is_entry(task):
            raise UsageError(
                f"{folder / RESULTS_FILE}: the results of {name} lack a recipe, counts or metrics "
                "that are numbers, as if the file was changed. Give the same command again to "
                "rewrite it."
            )

    return results


def _is_entry(task: Any) -> bool:
    """Whether a task's results have a recipe, counts, and metrics of finite numbers."""
    counts, breakdown = task.get("coverage", {}), task.get("breakdown", {})
    if not all(
        isinstance(value, dict) for value in (task["recipe"], counts, breakdown)
    ):
        return False

    n_asked, n_scored = counts.get("asked", 0), counts.get("scored", 0)
    numbers = (task.get("n_items", 0), n_asked, n_scored)
    if any(type(count) is not int for count in numbers) or not 0 <= n_scored <= n_asked:
        return False

    return _are_metrics(task.get("metrics", {})) and all(
        isinstance(groups, dict) and all(map(_are_metrics, groups.values()))
        for groups in breakdown.values()
    )


def _are_metrics(metrics: object) -> bool:
    return isinstance(metrics, dict) and all(
        isinstance(metric, dict) and all(_is_number(metric.get(name)) for name in ENDS)
        for metric in metrics.values()
    )


def _is_number(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return value is None
    return isinstance(value, int | float) and math.isfinite(value)


def read_items(folder: Path) -> list[JsonDict]:
    """Reads a run's `items.parquet` into one dict per row.

    Raises:
        MissingError: the folder has none.
        UsageError: it belongs to another run than `results.json`, or is not a parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / ITEMS_FILE
    if not path.is_file():
        raise MissingError(
            f"{folder}: no {ITEMS_FILE} there. Give the folder that `medical-tasks run` or `score` "
            "wrote."
        )

    if file_sha256(path) != read_results(folder).get("items_sha256"):
        raise UsageError(
            f"{path}: is not of the same run as {RESULTS_FILE} beside it (the command was stopped "
            "while writing). Give that command again: finished answers are kept."
        )

    try:
        with pq.ParquetFile(path) as file:
            rows: list[JsonDict] = file.read(use_threads=False).to_pylist()
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path}: not a parquet file ({error}).") from error

    return rows


def read_verdicts(folder: Path) -> list[JsonDict]:
    """Reads a run's verdicts into one dict per line; empty if it has no file of verdicts.

    Raises:
        UsageError: a line is not a verdict.
    """
    path = folder / VERDICTS_FILE
    try:
        lines = read_text(path).splitlines() if path.is_file() else []
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            system_reason(error)
            if isinstance(error, OSError)
            else "it is not UTF-8 text"
        )
        raise damaged(path, reason) from error

    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise damaged(path, f"line {number} is not JSON") from error

        names = (row.get("task"), row.get("id")) if isinstance(row, dict) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise damaged(path, f"line {number} is no verdict")

        rows.append(row)

    return rows


def damaged(path: Path, reason: str) -> UsageError:
    """Makes the error for a run's file that was changed after it was written."""
    return UsageError(
        f"{path}: damaged ({reason}). Give the run's command again to rewrite it: finished "
        "answers are kept."
    )
