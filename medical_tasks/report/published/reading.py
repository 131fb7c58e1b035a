"""Reading our data file of published figures: percent to 0-1, keys to sentences, and everything checked.

The file is ours. What is wrong with it is a fault of this package, and raised as one, with the place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.report.published.records import PublishedResult

__all__ = ["read_figures"]

_FILE: Final = frozenset({"about", "beside", "differences", "tables"})
_TABLE: Final = frozenset({"source", "link", "judge", "n_items", "differences", "beside", "columns", "rows"})
_COLUMN: Final = frozenset({"metric", "by", "group", "scale"})
_ROW: Final = frozenset({"task", "model", "setting", "link", "values", "differences", "n_items"})
_PERCENT: Final = 100
# More digits than any paper prints; takes back what dividing by 100 adds to the last one.
_DIGITS: Final = 10


def read_figures(text: str) -> tuple[PublishedResult, ...]:
    """Reads the data file.

    Args:
        text: its content.

    Returns:
        A result a row, in the order of the file.

    Raises:
        ValueError: Something in it is not as it should be; the message says where.
    """
    content = json.loads(text)
    _known("the file", content, _FILE)
    sentences: Mapping[str, str] = content["differences"]
    results: list[PublishedResult] = []
    used: set[str] = set()
    for table in content["tables"]:
        _known(table.get("source", "a table"), table, _TABLE)
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
    _known(where, row, _ROW)
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
        _known(where, column, _COLUMN)
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
