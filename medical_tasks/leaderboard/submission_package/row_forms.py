"""The forms of the lines of a package: items, answers, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.io.json_records import Field, optional
from medical_tasks.leaderboard.submission_package.forms import (
    any_text,
    check_fields,
    hash_or_empty,
    line_text,
    number,
    one_of,
)
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown
from medical_tasks.runs.results import weight_column
from medical_tasks.spec import MetricSpec, TaskSpec

__all__ = [
    "ANSWER_FIELDS",
    "LARGEST",
    "LONGEST_ID",
    "NAN",
    "item_columns",
    "item_fields",
    "read_item",
    "verdict_fields",
]

NAN: Final = "nan"
"""Stands in `items.jsonl` for a value without a denominator, which JSON has no number for; null is a value not decided."""

LONGEST_ID: Final = 200
LARGEST: Final = 1e9
"""The largest value, and the largest denominator, of an item on a metric that has no end of its own."""

_LONGEST_NOTE: Final = 200_000
_LONGEST_ANSWER: Final = 1_000_000

_ID: Final = line_text(LONGEST_ID, least=1)
_HIDDEN_TEXT: Final = any_text(_LONGEST_NOTE)

ANSWER_FIELDS: Final[Mapping[str, Field]] = {
    "task": line_text(64, least=1),
    "id": _ID,
    "response": any_text(_LONGEST_ANSWER, halves=True),
}


def item_columns(task: TaskSpec) -> list[str]:
    """The columns of a task's items, without the two hashes.

    Args:
        task: with the metrics that are reported.

    Returns:
        Names in order; those of `results.item_rows`.
    """
    columns = ["task", "id", "cluster", *(f"group_{name}" for name in task.groups)]
    for metric in task.metrics:
        if metric.kind != "average":
            columns += [metric.name, weight_column(metric.name)] if metric.kind == "ratio" else [metric.name]
    return [*columns, "parsed", "why", "unscored"]


def item_fields(task: TaskSpec, *, texts: bool) -> dict[str, Field]:
    """The form of a task's lines in `items.jsonl`.

    Args:
        task: with the metrics that are reported.
        texts: whether they may hold text; not for credentialed data.
    """
    group = line_text(2 * LONGEST_ID)
    fields: dict[str, Field] = {"task": one_of((task.name,)), "id": _ID, "cluster": _ID}
    fields |= {f"group_{name}": group for name in task.groups}
    for metric in task.metrics:
        if metric.kind != "average":
            fields[metric.name] = _value(metric)
        if metric.kind == "ratio":
            fields[weight_column(metric.name)] = number(0.0, LARGEST, null=True)
    reason = line_text(LONGEST_ID, least=1)
    fields |= {
        "parsed": _HIDDEN_TEXT,
        "why": _HIDDEN_TEXT,
        "unscored": Field(holds=lambda value: value is None or reason.holds(value), rule=f"{reason.rule}; or null"),
        "asked": optional(
            Field(holds=lambda value: value is None or number(0, 1e6).holds(value), rule="a number or null")
        ),
        "answer_sha256": hash_or_empty(empty=True),
        "verdicts_sha256": hash_or_empty(empty=True),
    }
    if not texts:
        fields["response_sha256"] = hash_or_empty(empty=True)
    return fields


def _value(metric: MetricSpec) -> Field:
    low, high = metric.limits
    if metric.kind == "proportion":
        return Field(
            holds=lambda value: (
                value is None or (value != NAN and not isinstance(value, bool) and value in (0, 1)) or value == NAN
            ),
            rule="0, 1, null, or the text nan",
        )
    return number(max(low, -LARGEST), min(high, LARGEST), null=True, nan=True)


def read_item(where: str, value: Any, task: TaskSpec, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Checks a line of `items.jsonl`.

    Args:
        where: where it stands.
        value: its JSON.
        task: its task, with the metrics that are reported.
        fields: from `item_fields`.

    Returns:
        The row as `items.parquet` has it: a value without a denominator is `nan`.

    Raises:
        PackageError: It is not of the form.
    """
    checked = check_fields(where, value, fields)
    row: dict[str, Any] = {}
    metrics = {metric.name: metric for metric in task.metrics if metric.kind != "average"}
    answered = not str(checked["unscored"] or "").startswith("no answer: ")
    for name, each in checked.items():
        row[name] = math.nan if name in metrics and each == NAN else each
    undecided = [name for name in metrics if checked[name] is None]
    if answered != bool(checked["answer_sha256"]):
        raise PackageError(f"{where}: has a hash of an answer if and only if it is answered. {WRITE_AGAIN}")
    if not answered and len(undecided) < len(metrics):
        raise PackageError(f"{where}: is not answered and has values all the same. {WRITE_AGAIN}")
    # An answer that ends an official script is scored all the same.
    if checked["unscored"] is None and any(not (answered and metrics[name].ends) for name in undecided):
        raise PackageError(f"{where}, {undecided[0]}: is null, and unscored does not say why. {WRITE_AGAIN}")
    if answered and checked["unscored"] is not None and not undecided:
        raise PackageError(
            f"{where}, unscored: must be null where every value is decided, got {shown(checked['unscored'])}."
        )
    for metric in metrics.values():
        if metric.kind == "ratio" and (checked[metric.name] is None) != (checked[weight_column(metric.name)] is None):
            raise PackageError(
                f"{where}: {metric.name} and its denominator are null together or not at all. {WRITE_AGAIN}"
            )
    return row


def verdict_fields(*, texts: bool) -> dict[str, Field]:
    """The form of the lines of `verdicts.jsonl`.

    Args:
        texts: whether they hold the judge's texts; not for credentialed data.
    """
    reason = line_text(LONGEST_ID, least=1)
    fields = {
        "task": line_text(64, least=1),
        "id": line_text(2 * LONGEST_ID, least=1),
        "sha256": hash_or_empty(),
        "votes": Field(holds=lambda value: isinstance(value, list) and len(value) <= 99, rule="a list of at most 99"),
        "value": optional(Field(holds=lambda value: value is not None, rule="JSON that is not null")),
        "unscored": optional(reason),
        "comparable": optional(Field(holds=lambda value: value is False, rule="false, or not there")),
        "reads": optional(one_of(("pair",))),
    }
    return {**fields, "text": any_text(_LONGEST_ANSWER, halves=True)} if texts else fields
