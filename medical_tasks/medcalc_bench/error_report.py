"""The report of a run's errors: the distribution of types, a line an error, and accuracy by number of attributes."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.medcalc_bench.attributes import KINDS, AttributePoint, accuracy_by_attributes, points_as_rows
from medical_tasks.medcalc_bench.error_judge import ErrorVerdict
from medical_tasks.medcalc_bench.error_types import TYPES, sort_error
from medical_tasks.report.interval_plot import PlotPoint, interval_plot
from medical_tasks.scoring.intervals import bounds, proportion_interval
from medical_tasks.spec import Item
from medical_tasks.whole_file import WholeFile

__all__ = ["ErrorRow", "WrongAnswer", "distribution", "rule_rows", "verdict_rows", "write_attributes", "write_errors"]

_KIND_TITLES = {"equation": "Equation-based calculators", "rule": "Rule-based calculators"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """A wrong answer on a row whose label the published rule bears out."""

    task: str
    item: Item
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """A line of `error_items.csv`: `error_type` is "" where `source` gave none, and `reason` says why."""

    task: str
    id: str
    error_type: str
    reason: str
    source: str
    cluster: str


def rule_rows(wrong: Iterable[WrongAnswer]) -> list[ErrorRow]:
    """Sorts wrong answers without a judge.

    Raises:
        ValueError: An answer is right, or its row's label is not borne out; such are no errors.
    """
    rows = []
    for each in wrong:
        found = sort_error(each.item.fields, each.response)
        if found is None:
            raise ValueError(f"item {each.item.id}: no wrong answer on a row that can be relied on")
        rows.append(
            ErrorRow(
                task=each.task,
                id=each.item.id,
                error_type=found.error_type,
                reason=found.reason,
                source="rules",
                cluster=each.item.cluster,
            )
        )
    return rows


def verdict_rows(wrong: Iterable[WrongAnswer], verdicts: Mapping[str, ErrorVerdict]) -> list[ErrorRow]:
    """The same of a judge's verdicts."""
    return [
        ErrorRow(
            task=each.task,
            id=each.item.id,
            error_type=verdicts[each.item.id].error_type or "",
            reason=verdicts[each.item.id].reason,
            source="judge",
            cluster=each.item.cluster,
        )
        for each in wrong
    ]


def distribution(rows: Sequence[ErrorRow]) -> dict[str, Any]:
    """The share of each type among wrong answers.

    Args:
        rows: of one source.

    Returns:
        `n` (with a type), `coverage` and, for each type, `count`, `value`, `ci_low`, `ci_high` (95 %, Wilson's, at the effective
        sample size where answers share a note) and the bounds that answers without a type leave. `undetermined` is a type
        of the rules; a judge has none. Values of an empty distribution are null.
    """
    typed = [row for row in rows if row.error_type]
    judged = any(row.source == "judge" for row in rows)
    types: dict[str, Any] = {}
    for name, meaning in TYPES.items():
        if judged and name == "undetermined":
            continue
        values = [float(row.error_type == name) for row in typed]
        found = proportion_interval(values, clusters=[row.cluster for row in typed])
        low, high = bounds(values, len(rows))
        types[name] = {
            "meaning": meaning,
            "count": int(sum(values)),
            "value": _number(found.value),
            "ci_low": _number(found.ci_low),
            "ci_high": _number(found.ci_high),
            "bound_low": _number(low),
            "bound_high": _number(high),
        }
    missing = Counter(row.reason for row in rows if not row.error_type)
    return {
        "n": len(typed),
        "coverage": {"asked": len(rows), "scored": len(typed), "unscored": dict(missing.most_common())},
        "types": types,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def write_errors(folder: Path, report: Mapping[str, Any], rows: Sequence[ErrorRow]) -> list[Path]:
    """Writes `error_items.csv`, then `errors.json`, each whole or not at all.

    Raises:
        IncompleteError: The disk is full or cannot be written.
    """
    items, summary = folder / "error_items.csv", folder / "errors.json"
    with WholeFile(items) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "id", "error_type", "reason", "source"))
        writer.writerows((row.task, row.id, row.error_type, _storable(row.reason), row.source) for row in rows)
    with WholeFile(summary) as file:
        file.write(_storable(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)) + "\n")
    return [summary, items]


def _storable(text: str) -> str:
    """UTF-8 cannot carry the lone surrogates that a model's text may hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_attributes(
    folder: Path, task: str, model: str, scored: Iterable[tuple[Mapping[str, Any], bool, str]]
) -> tuple[list[Path], dict[str, Any]]:
    """Writes accuracy by number of attributes as CSV and as two plots.

    Args:
        folder: the run's folder.
        task: task name, in file names.
        model: model name, in titles.
        scored: as `attributes.accuracy_by_attributes` takes them.

    Returns:
        The files, and the same data for `errors.json`.
    """
    points, left_out = accuracy_by_attributes(scored)
    table = folder / f"attributes_{task}.csv"
    rows = points_as_rows(points)
    with WholeFile(table) as file:
        writer = csv.DictWriter(file, list(AttributePoint.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    written = [table]
    for kind in KINDS:
        shown = [
            PlotPoint(each.attributes, each.accuracy, each.ci_low, each.ci_high, each.n)
            for each in points
            if each.kind == kind
        ]
        plot = folder / f"attributes_{task}_{kind}.svg"
        text = interval_plot(
            shown, title=f"{_KIND_TITLES[kind]}: {model}", x_label="Number of attributes", y_label="Accuracy"
        )
        with WholeFile(plot) as file:
            file.write(text)
        written.append(plot)
    return written, {"points": rows, "left_out": left_out}
