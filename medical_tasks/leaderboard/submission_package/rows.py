"""The lines of a package: items, answers and verdicts, read without trust and checked against one another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.io.json_records import Field, one_of, optional
from medical_tasks.leaderboard.submission_package import contents, privacy
from medical_tasks.leaderboard.submission_package import values as forms
from medical_tasks.leaderboard.submission_package.contents import PackageError, not_sound, shown
from medical_tasks.runs.results import item_of, unanswered_value, weight_column
from medical_tasks.spec import UNANSWERED, MetricSpec, TaskSpec

Rows = dict[str, list[dict[str, Any]]]


def read_items(reader: forms.JsonReader, content: bytes, tasks: Mapping[str, TaskSpec]) -> Rows:
    """Reads `items.jsonl`: task to its rows, in order. An id may stand once in a task."""
    rows: Rows = {}
    fields = {
        name: item_fields(task, texts=privacy.texts_allowed(task)) for name, task in tasks.items()
    }
    words = {
        name: task.benchmark.note_words()
        for name, task in tasks.items()
        if not privacy.texts_allowed(task)
    }
    seen: set[tuple[str, str]] = set()
    for where, value in reader.lines(contents.ITEMS, content, most=reader.limits.items):
        name = _task_of(where, value, tasks)
        row = read_item(where, value, tasks[name], fields[name])
        if name in words:
            privacy.check_private_row(where, row, words[name])
        if (name, row["id"]) in seen:
            raise not_sound(f"{where}: the item {shown(row['id'])} of {name} stands twice")
        seen.add((name, row["id"]))
        rows.setdefault(name, []).append(row)
    return rows


def read_answers(
    reader: forms.JsonReader,
    content: bytes,
    items: Mapping[str, Sequence[Mapping[str, Any]]],
    tasks: Mapping[str, TaskSpec],
) -> dict[str, dict[str, str]]:
    """Reads `answers.jsonl`: of tasks on open data, exactly the answers whose hashes the items have, as task to id to answer."""
    open_tasks = {name for name, task in tasks.items() if privacy.texts_allowed(task)}
    told = {
        name: {row["id"]: row["answer_sha256"] for row in items.get(name, ())}
        for name in open_tasks
    }
    found: dict[str, dict[str, str]] = {name: {} for name in tasks if name in open_tasks}
    for where, value in reader.lines(contents.ANSWERS, content, most=reader.limits.items):
        name = _task_of(where, value, tasks)
        if name not in open_tasks:
            raise not_sound(
                f"{where}: is an answer to {name}, whose data are credentialed: it may not leave the machine it was made on. "
                "Nothing of it was kept"
            )
        row = forms.check_fields(where, value, ANSWER_FIELDS)
        if row["id"] in found[name]:
            raise not_sound(f"{where}: the item {shown(row['id'])} is answered twice")
        if (
            not told[name].get(row["id"])
            or contents.answer_sha256(row["response"]) != told[name][row["id"]]
        ):
            raise not_sound(
                f"{where}: is not the answer to {shown(row['id'])} whose hash stands in {contents.ITEMS}"
            )
        found[name][row["id"]] = row["response"]
    for name in found:
        missing = [
            each for each, digest in told[name].items() if digest and each not in found[name]
        ]
        if missing:
            raise not_sound(
                f"{contents.ANSWERS}: lacks the answer to {shown(missing[0])} of {name}"
            )
    return found


def read_verdicts(reader: forms.JsonReader, content: bytes, tasks: Mapping[str, TaskSpec]) -> Rows:
    """Reads `verdicts.jsonl`: task to its rows, in order. A question has one verdict."""
    rows: Rows = {}
    seen: dict[tuple[str, str, str], dict[str, Any]] = {}
    fields = {
        name: verdict_fields(texts=privacy.texts_allowed(task)) for name, task in tasks.items()
    }
    for where, value in reader.lines(contents.VERDICTS, content, most=reader.limits.verdicts):
        name = _task_of(where, value, tasks)
        if isinstance(value, dict) and not privacy.texts_allowed(tasks[name]):
            privacy.check_private_verdict(where, value)
        row = forms.check_fields(where, value, fields[name])
        if ("value" in row) == ("unscored" in row):
            raise not_sound(f"{where}: has either value, or unscored with the reason")
        before = seen.setdefault((name, row["id"], row["sha256"]), row)
        if before.get("value") != row.get("value") or before.get("unscored") != row.get("unscored"):
            raise not_sound(f"{where}: the question {shown(row['id'])} of {name} has two verdicts")
        votes = row["votes"]
        if "value" in row and (
            not votes or votes.count(row["value"]) < max(map(votes.count, votes))
        ):
            raise not_sound(f"{where}, value: must be what most votes say")
        rows.setdefault(name, []).append(row)
    return rows


def check_verdicts(
    name: str,
    entry: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Mapping[str, Any]],
) -> None:
    """Checks that a task's verdicts are of its items and judge, and as many as its entry says."""
    by_item, lost = verdicts_of_items(verdicts, {row["id"] for row in rows})
    if lost:
        raise not_sound(
            f"{contents.VERDICTS}: the question {shown(lost[0])} is about no item of {name}"
        )
    for row in rows:
        if row["verdicts_sha256"] != contents.verdicts_sha256(by_item.get(row["id"], ())):
            raise not_sound(
                f"{contents.ITEMS}: the verdicts on {shown(row['id'])} of {name} are not those whose hash it tells"
            )
        if not row["answer_sha256"] and row["id"] in by_item:
            raise not_sound(
                f"{contents.VERDICTS}: {shown(row['id'])} of {name} is judged and has no answer"
            )
    judge = entry.get("judge")
    if judge is None:
        if verdicts:
            raise not_sound(
                f"{contents.VERDICTS}: {name} is scored without a judge and has verdicts"
            )
        return
    reasons = Counter(row["unscored"] for row in verdicts if "unscored" in row)
    counted = {
        "asked": len(verdicts),
        "decided": sum("value" in row for row in verdicts),
        "unscored": dict(reasons),
    }
    if judge["verdicts"] != counted:
        raise not_sound(
            f"{contents.VERDICTS}: {name} has other numbers of verdicts than its entry says"
        )
    if any(
        "value" in row and _votes_ahead(row) < judge["votes"] - len(row["votes"])
        for row in verdicts
    ):
        raise not_sound(
            f"{contents.VERDICTS}: {name} has verdicts that fewer votes decided than its judge gives"
        )
    if any(
        ("comparable" in row) == judge["comparable"] or len(row["votes"]) > judge["votes"]
        for row in verdicts
    ):
        raise not_sound(
            f"{contents.VERDICTS}: {name} has verdicts of another judge than its entry says"
        )


def _votes_ahead(row: Mapping[str, Any]) -> int:
    """By how many votes the value leads: what was not asked, or not read, could change it if that were fewer."""
    counts = [row["votes"].count(vote) for vote in row["votes"] if vote != row["value"]]
    own: int = row["votes"].count(row["value"])
    return own - max(counts, default=0)


def _task_of(where: str, value: Any, tasks: Mapping[str, TaskSpec]) -> str:
    name = value.get("task") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in tasks:
        got = shown(name) if isinstance(value, dict) else shown(value)
        raise not_sound(f"{where}, task: must be one of {', '.join(tasks)}, got {got}")
    return name


NAN: Final = "nan"
"""Stands in `items.jsonl` for a value without a denominator, which JSON has no number for; null is a value not decided."""

LONGEST_ID: Final = 200
LARGEST: Final = 1e9
"""The largest value, and the largest denominator, of an item on a metric that has no end of its own."""

_LONGEST_NOTE: Final = 200_000
_LONGEST_ANSWER: Final = 1_000_000

_ID: Final = forms.line_text(LONGEST_ID, least=1)
_HIDDEN_TEXT: Final = forms.any_text(_LONGEST_NOTE)

ANSWER_FIELDS: Final[Mapping[str, Field]] = {
    "task": forms.line_text(64, least=1),
    "id": _ID,
    "response": forms.any_text(_LONGEST_ANSWER, halves=True),
}


def item_columns(task: TaskSpec) -> list[str]:
    """Lists the columns of a task's items, as `results.item_rows` has them, without the two hashes."""
    columns = ["task", "id", "cluster", *(f"group_{name}" for name in task.groups)]
    for metric in task.metrics:
        if metric.kind != "average":
            columns += (
                [metric.name, weight_column(metric.name)]
                if metric.kind == "ratio"
                else [metric.name]
            )
    return [*columns, "parsed", "why", "unscored", "unclear"]


def item_fields(task: TaskSpec, *, texts: bool) -> dict[str, Field]:
    """The form of a task's lines in `items.jsonl`; for credentialed data without `texts`."""
    group = forms.line_text(2 * LONGEST_ID)
    fields: dict[str, Field] = {"task": one_of((task.name,)), "id": _ID, "cluster": _ID}
    fields |= {f"group_{name}": group for name in task.groups}
    for metric in task.metrics:
        if metric.kind != "average":
            fields[metric.name] = _metric_value(metric)
        if metric.kind == "ratio":
            fields[weight_column(metric.name)] = forms.number(0.0, LARGEST, null=True)
    fields |= {
        "parsed": _HIDDEN_TEXT,
        "why": _HIDDEN_TEXT,
        "unscored": forms.or_null(_ID),
        "unclear": optional(forms.line_text(LONGEST_ID) if task.reads else one_of(("",))),
        "asked": optional(forms.or_null(forms.number(0, 1e6), "a number or null")),
        "answer_sha256": forms.HASH_OR_EMPTY,
        "verdicts_sha256": forms.HASH_OR_EMPTY,
    }
    if not texts:
        fields["response_sha256"] = forms.HASH_OR_EMPTY
    return fields


def _metric_value(metric: MetricSpec) -> Field:
    if metric.kind == "proportion":
        return Field(
            holds=lambda value: (
                value in (None, NAN) or (not isinstance(value, bool) and value in (0, 1))
            ),
            rule="0, 1, null, or the text nan",
        )
    low, high = metric.limits
    return forms.number(max(low, -LARGEST), min(high, LARGEST), null=True, nan=True)


def read_item(
    where: str, value: Any, task: TaskSpec, fields: Mapping[str, Field]
) -> dict[str, Any]:
    """Checks a line of `items.jsonl`; in the row a value without a denominator is `nan`."""
    if isinstance(value, dict):
        value = _without_unasked_figures(value, task)
    checked = forms.check_fields(where, value, fields)
    checked.setdefault("unclear", "")  # of suites that never said so
    metrics = {metric.name: metric for metric in task.metrics if metric.kind != "average"}
    answered = not str(checked["unscored"] or "").startswith(UNANSWERED)
    undecided = [name for name in metrics if checked[name] is None]
    if answered != bool(checked["answer_sha256"]):
        raise not_sound(f"{where}: has a hash of an answer if and only if it is answered")
    counted = {name for name, each in metrics.items() if unanswered_value(each) is not None}
    if not answered and {*undecided} != {*metrics} - counted:
        raise not_sound(f"{where}: is not answered and has values all the same")
    # An answer that ends an official script is scored all the same.
    if checked["unscored"] is None and any(
        not (answered and metrics[name].official) for name in undecided
    ):
        raise not_sound(f"{where}, {undecided[0]}: is null, and unscored does not say why")
    if answered and checked["unscored"] is not None and not undecided:
        raise PackageError(
            f"{where}, unscored: must be null where every value is decided, got {shown(checked['unscored'])}."
        )
    if checked["unclear"]:
        _check_unclear(where, checked, task)
    for metric in metrics.values():
        if metric.kind == "ratio" and (checked[metric.name] is None) != (
            checked[weight_column(metric.name)] is None
        ):
            raise not_sound(
                f"{where}: {metric.name} and its denominator are null together or not at all"
            )
    return {
        name: math.nan if name in metrics and each == NAN else each
        for name, each in checked.items()
    }


def _without_unasked_figures(row: dict[str, Any], task: TaskSpec) -> dict[str, Any]:
    """Leaves out the columns of the authors' figures that a task does not report: earlier versions wrote some."""
    declared = next(each for each in task.benchmark.tasks if each.name == task.name).metrics
    official = filter(task.needs_official_prompts, declared)
    names = {metric.name for metric in official} - {metric.name for metric in task.metrics}
    unasked = names | set(map(weight_column, names))
    return {name: value for name, value in row.items() if name not in unasked}


def _check_unclear(where: str, row: Mapping[str, Any], task: TaskSpec) -> None:
    """An unclear answer counts as not right, on all metrics that rest on the reader."""
    for metric in task.metrics:
        decided = metric.kind != "average"
        if metric.read and decided and row[metric.name] not in (metric.worst, NAN):
            raise not_sound(
                f"{where}, {metric.name}: must be {metric.worst:g} where unclear has a reason, got {shown(row[metric.name])}"
            )


def verdict_fields(*, texts: bool) -> dict[str, Field]:
    """The form of the lines of `verdicts.jsonl`; for credentialed data without the judge's `texts`."""
    fields = {
        "task": forms.line_text(64, least=1),
        "id": forms.line_text(2 * LONGEST_ID, least=1),
        "sha256": forms.HASH,
        "votes": Field(
            holds=lambda value: isinstance(value, list) and len(value) <= 99,
            rule="a list of at most 99",
        ),
        "value": optional(
            Field(holds=lambda value: value is not None, rule="JSON that is not null")
        ),
        "unscored": optional(_ID),
        "comparable": optional(
            Field(holds=lambda value: value is False, rule="false, or not there")
        ),
        "reads": optional(one_of(("pair",))),
    }
    return {**fields, "text": forms.any_text(_LONGEST_ANSWER, halves=True)} if texts else fields


def verdicts_of_items(
    rows: Iterable[Mapping[str, Any]], ids: Container[str]
) -> tuple[dict[str, list[Mapping[str, Any]]], list[str]]:
    """Sorts a task's verdicts by item; also returns the questions that are about no item."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    lost: list[str] = []
    for row in rows:
        item = item_of(str(row["id"]), ids)
        if item is None:
            lost.append(str(row["id"]))
        else:
            found.setdefault(item, []).append(row)
    return found, lost
