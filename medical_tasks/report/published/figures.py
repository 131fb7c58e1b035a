"""What the papers report, read from `figures.json`.

The figures are their authors' (`source` and `link`); nobody here has verified them. A fault in the file is a fault of this
package, and raised as a `ValueError` with its place.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

_FILE = "figures.json"


@functools.cache
def all_published() -> tuple[PublishedResult, ...]:
    """Returns every row of every table, in the order of the file."""
    return read_figures((files("medical_tasks.report.published") / _FILE).read_text(encoding="utf-8"))


def published_results(task: str) -> tuple[PublishedResult, ...]:
    """What is published on a task, by its bare name, in the order of the tables."""
    return tuple(result for result in all_published() if result.task == task)


@dataclass(frozen=True, kw_only=True)
class PublishedResult:
    """One model's row of one table of a paper.

    Attributes:
        breakdown: by our breakdown's name and group.
        differences: how the paper's setting differs from what this suite does, a sentence each; what a reader must know before
            setting the numbers side by side.
        beside: for a metric that follows the authors' script, the one of ours that asks the same (`accuracy_official` to
            `accuracy`): where a reader looks for the figure in a table of headline metrics. The two do not count alike.
    """

    model: str  # as the paper writes it
    task: str  # name of ours that asks the same
    metrics: Mapping[str, float]  # our metric's name to the value, 0-1 (a count or cosine in its own unit)
    source: str  # where it stands: the paper in short and the table (`K-QA, table 4`)
    link: str
    setting: str = ""  # what else tells it from the table's other rows (`1-shot, full note`, `RAG`); "" for nothing
    breakdown: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    n_items: int | None = None  # None where the paper does not say
    judge: str = ""  # "" for none
    differences: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)


_FILE_KEYS: Final = frozenset({"about", "beside", "differences", "tables"})
_TABLE_KEYS: Final = frozenset({"source", "link", "judge", "n_items", "differences", "beside", "columns", "rows"})
_COLUMN_KEYS: Final = frozenset({"metric", "by", "group", "scale"})
_ROW_KEYS: Final = frozenset({"task", "model", "setting", "link", "values", "differences", "n_items"})
_PERCENT: Final = 100
# More digits than any paper prints; takes back what dividing by 100 adds to the last one.
_DIGITS: Final = 10


def read_figures(text: str) -> tuple[PublishedResult, ...]:
    """Reads the data file; a result a row."""
    content = json.loads(text)
    _known("the file", content, _FILE_KEYS)
    sentences: Mapping[str, str] = content["differences"]
    results: list[PublishedResult] = []
    used: set[str] = set()
    for table in content["tables"]:
        _known(table.get("source", "a table"), table, _TABLE_KEYS)
        for row in table["rows"]:
            results.append(_result(table, row, sentences, content["beside"]))
            used |= {*table.get("differences", ()), *row.get("differences", ())}
    if idle := sorted(sentences.keys() - used):
        raise ValueError(f"differences: {', '.join(idle)} belong to no row")
    _check_unique(results)
    return tuple(results)


def _result(
    table: Mapping[str, Any], row: Mapping[str, Any], sentences: Mapping[str, str], beside: Mapping[str, str]
) -> PublishedResult:
    where = f"{table['source']}, {row.get('task')}, {row.get('model')}"
    _known(where, row, _ROW_KEYS)
    link = row.get("link", table.get("link", ""))
    if not link.startswith("https://"):
        raise ValueError(f"{where}: the link is not https: {link!r}")
    beside = {**beside, **table.get("beside", {})}
    columns, values = table["columns"], row["values"]
    if len(columns) != len(values):
        raise ValueError(f"{where}: {len(values)} values for {len(columns)} columns")
    metrics: dict[str, float] = {}
    breakdown: dict[str, dict[str, dict[str, float]]] = {}
    for column, printed in zip(columns, values, strict=True):
        _known(where, column, _COLUMN_KEYS)
        if printed is None:
            continue
        place = metrics
        if "by" in column:
            place = breakdown.setdefault(column["by"], {}).setdefault(column["group"], {})
        if column["metric"] in place:
            raise ValueError(f"{where}: two columns are {column['metric']}")
        place[column["metric"]] = _value(where, printed, column.get("scale", _PERCENT))
    if not metrics:
        raise ValueError(f"{where}: no figure")
    keys = (*table.get("differences", ()), *row.get("differences", ()))
    if unknown := [key for key in keys if key not in sentences]:
        raise ValueError(f"{where}: no such difference: {', '.join(unknown)}")
    return PublishedResult(
        model=row["model"],
        task=row["task"],
        metrics=metrics,
        source=table["source"],
        link=link,
        setting=row.get("setting", ""),
        breakdown=breakdown,
        n_items=_count(where, row.get("n_items", table["n_items"])),
        judge=table.get("judge", ""),
        differences=tuple(sentences[key] for key in keys),
        beside={name: beside[name] for name in metrics if name in beside},
    )


def _value(where: str, printed: object, scale: float) -> float:
    if isinstance(printed, bool) or not isinstance(printed, int | float) or not math.isfinite(printed):
        raise ValueError(f"{where}: {printed!r} is no figure")
    if not 0 <= printed <= scale:
        raise ValueError(f"{where}: {printed!r} does not lie between 0 and {scale}")
    return round(printed / scale, _DIGITS)


def _count(where: str, count: object) -> int | None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ValueError(f"{where}: n_items is {count!r}, neither a count nor null")
    return count


def _known(where: str, entry: Mapping[str, Any], names: frozenset[str]) -> None:
    if unknown := sorted(entry.keys() - names):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(names))}")


def _check_unique(results: Sequence[PublishedResult]) -> None:
    seen: set[tuple[str, ...]] = set()
    for result in results:
        key = (result.source, result.task, result.model, result.setting)
        if key in seen:
            raise ValueError(f"{', '.join(key)}: stands there twice")
        seen.add(key)
