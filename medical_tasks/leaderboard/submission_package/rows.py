"""Reads the untrusted lines of a package: items, answers and verdicts.

They are checked against one another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence

from medical_tasks.io.forms import Form
from medical_tasks.io.untrusted import shown
from medical_tasks.leaderboard import forms
from medical_tasks.leaderboard.submission_package import contents, privacy
from medical_tasks.leaderboard.submission_package.contents import (
    NAN,
    PackageError,
    not_sound,
)
from medical_tasks.leaderboard.submission_package.json_reader import JsonReader
from medical_tasks.leaderboard.submission_package.results import verdicts_of_items
from medical_tasks.report.entries import Entry
from medical_tasks.runs.results import (
    Json,
    JsonDict,
    Row,
    unanswered_value,
    weight_column,
)
from medical_tasks.spec import UNANSWERED, MetricSpec, TaskSpec

Rows = dict[str, list[JsonDict]]


def read_items(
    reader: JsonReader, content: bytes, tasks: Mapping[str, TaskSpec]
) -> Rows:
    """Reads `items.jsonl`: task to its rows, in order. Ids are unique within a task."""
    private = {name for name, task in tasks.items() if not privacy.texts_allowed(task)}
    form = {
        name: forms.item_form(task, private=name in private)
        for name, task in tasks.items()
    }
    words = {name: tasks[name].benchmark.note_words() for name in private}
    rows: Rows = {}
    ids: set[tuple[str, str]] = set()
    for where, value in reader.lines(contents.ITEMS, content, most=reader.limits.items):
        name = _task_of(where, value, tasks)
        row = read_item(where, value, tasks[name], form[name])
        if name in private:
            privacy.check_private_row(where, row, words[name])

        if (name, row["id"]) in ids:
            raise not_sound(
                f"{where}: the item {shown(row['id'])} of {name} appears twice"
            )

        ids.add((name, row["id"]))
        rows.setdefault(name, []).append(row)

    return rows


def read_answers(
    reader: JsonReader,
    content: bytes,
    items: Mapping[str, Sequence[Row]],
    tasks: Mapping[str, TaskSpec],
    *,
    elsewhere: Container[str] = (),
) -> dict[str, dict[str, str]]:
    """Reads `answers.jsonl`: exactly the answers whose hashes the items on open data have.

    All answers to a task may be missing if they are published `elsewhere`. Returns task to
    id to answer.
    """
    digests = {
        name: {row["id"]: row["answer_sha256"] for row in items.get(name, ())}
        for name, task in tasks.items()
        if privacy.texts_allowed(task)
    }
    answers: dict[str, dict[str, str]] = {name: {} for name in digests}
    for where, value in reader.lines(
        contents.ANSWERS, content, most=reader.limits.items
    ):
        name = _task_of(where, value, tasks)
        if name not in digests:
            raise not_sound(
                f"{where}: is an answer to {name}, whose data are credentialed: it may not leave "
                "the machine it was made on. Nothing of it was kept"
            )

        row = forms.check(where, forms.AnswerForm, value)
        item, text = row["id"], row["response"]
        if item in answers[name]:
            raise not_sound(f"{where}: the item {shown(item)} is answered twice")

        if (
            not digests[name].get(item)
            or contents.answer_sha256(text) != digests[name][item]
        ):
            raise not_sound(
                f"{where}: is not the answer to {shown(item)} whose hash stands in {contents.ITEMS}"
            )

        answers[name][item] = text

    complete = {
        name: texts for name, texts in answers.items() if texts or name not in elsewhere
    }
    for name, texts in complete.items():
        _check_all_answered(name, digests[name], texts)

    return complete


def _check_all_answered(
    name: str, digests: Mapping[str, str], texts: Container[str]
) -> None:
    for item, digest in digests.items():
        if digest and item not in texts:
            raise not_sound(
                f"{contents.ANSWERS}: lacks the answer to {shown(item)} of {name}"
            )


def read_verdicts(
    reader: JsonReader, content: bytes, tasks: Mapping[str, TaskSpec]
) -> Rows:
    """Reads `verdicts.jsonl`: task to its rows, in order. A question has one verdict."""
    rows: Rows = {}
    first: dict[tuple[str, str, str], JsonDict] = {}
    for where, value in reader.lines(
        contents.VERDICTS, content, most=reader.limits.verdicts
    ):
        name = _task_of(where, value, tasks)
        private = not privacy.texts_allowed(tasks[name])
        if isinstance(value, dict) and private:
            privacy.check_private_verdict(where, value)

        row = forms.check(
            where, forms.PrivateVerdict if private else forms.VerdictForm, value
        )
        if ("value" in row) == ("unscored" in row):
            raise not_sound(f"{where}: has either value, or unscored with the reason")

        before = first.setdefault((name, row["id"], row["sha256"]), row)
        if any(
            before.get(name_of) != row.get(name_of) for name_of in ("value", "unscored")
        ):
            raise not_sound(
                f"{where}: the question {shown(row['id'])} of {name} has two verdicts"
            )

        if "value" in row and not (row["votes"] and _votes_ahead(row) >= 0):
            raise not_sound(f"{where}, value: must be what most votes say")

        rows.setdefault(name, []).append(row)

    return rows


def check_verdicts(
    name: str, entry: Entry, rows: Sequence[Row], verdicts: Sequence[Row]
) -> None:
    """Checks a task's verdicts against its items, its judge and the counts in its entry."""
    by_item, lost = verdicts_of_items(verdicts, {row["id"] for row in rows})
    if lost:
        raise _wrong_verdicts(
            f"the question {shown(lost[0])} is about no item of {name}"
        )

    for row in rows:
        if row["verdicts_sha256"] != contents.verdicts_sha256(
            by_item.get(row["id"], ())
        ):
            raise not_sound(
                f"{contents.ITEMS}: the verdicts on {shown(row['id'])} of {name} are not those "
                "whose hash it tells"
            )

        if not row["answer_sha256"] and row["id"] in by_item:
            raise _wrong_verdicts(
                f"{shown(row['id'])} of {name} is judged and has no answer"
            )

    judge = entry.get("judge")
    if judge is not None:
        _check_counts(name, judge, verdicts)
    elif verdicts:
        raise _wrong_verdicts(f"{name} is scored without a judge and has verdicts")


def _check_counts(name: str, judge: Json, verdicts: Sequence[Row]) -> None:
    """Checks a task's verdicts against the counts and the votes in its entry.

    A verdict is decided only if the votes that are missing could not change it: with 5
    votes asked for, two "yes" and one "no" are too few, since two more could be "no".
    """
    reasons = Counter(row["unscored"] for row in verdicts if "unscored" in row)
    decided = [row for row in verdicts if "value" in row]
    counts = {
        "asked": len(verdicts),
        "decided": len(decided),
        "unscored": dict(reasons),
    }
    if judge["verdicts"] != counts:
        raise _wrong_verdicts(
            f"{name} has other numbers of verdicts than its entry says"
        )

    if any(_votes_ahead(row) < judge["votes"] - len(row["votes"]) for row in decided):
        raise _wrong_verdicts(
            f"{name} has verdicts that fewer votes decided than its judge gives"
        )

    foreign = [row for row in verdicts if ("comparable" in row) == judge["comparable"]]
    if foreign or any(len(row["votes"]) > judge["votes"] for row in verdicts):
        raise _wrong_verdicts(
            f"{name} has verdicts of another judge than its entry says"
        )


def _wrong_verdicts(what: str) -> PackageError:
    return not_sound(f"{contents.VERDICTS}: {what}")


def _votes_ahead(row: Row) -> int:
    """Returns by how many votes the value leads.

    More missing or unread votes than that could change it.

    Example:
        >>> _votes_ahead({"votes": ["yes", "yes", "no"], "value": "yes"})
        1
    """
    votes, value = row["votes"], row["value"]
    counts = [votes.count(vote) for vote in votes if vote != value]
    own: int = votes.count(value)
    return own - max(counts, default=0)


def _task_of(where: str, value: object, tasks: Mapping[str, TaskSpec]) -> str:
    name = value.get("task") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in tasks:
        got = shown(name) if isinstance(value, dict) else shown(value)
        raise not_sound(f"{where}, task: must be one of {', '.join(tasks)}, got {got}")
    return name


def read_item(where: str, value: object, task: TaskSpec, form: type[Form]) -> JsonDict:
    """Checks a line of `items.jsonl`; returns a value without a denominator as `nan`."""
    stated = _without_unasked_figures(value, task) if isinstance(value, dict) else value
    row = forms.check(where, form, stated)
    row.setdefault("unclear", "")  # older suites lack it
    metrics = {
        metric.name: metric for metric in task.metrics if metric.kind != "average"
    }
    _check_decided(where, row, metrics)
    if row["unclear"]:
        _check_unclear(where, row, task)

    for metric in metrics.values():
        weight = (
            row[weight_column(metric.name)]
            if metric.kind == "ratio"
            else row[metric.name]
        )
        if (row[metric.name] is None) != (weight is None):
            raise not_sound(
                f"{where}: {metric.name} and its denominator are null together or not at all"
            )

    return {
        name: math.nan if name in metrics and cell == NAN else cell
        for name, cell in row.items()
    }


def _check_decided(where: str, row: Row, metrics: Mapping[str, MetricSpec]) -> None:
    """Checks that an item has an answer or a reason, and each value or a reason."""
    reason = row["unscored"]
    answered = not str(reason or "").startswith(UNANSWERED)
    undecided = [name for name in metrics if row[name] is None]
    if answered != bool(row["answer_sha256"]):
        raise not_sound(
            f"{where}: has a hash of an answer if and only if it is answered"
        )

    counted = {
        name for name, metric in metrics.items() if unanswered_value(metric) is not None
    }
    if not answered:
        if {*undecided} != {*metrics} - counted:
            raise not_sound(f"{where}: is not answered, but has values")

        return

    # An answer that crashes an official script is scored by the other metrics.
    if reason is None and not all(metrics[name].official for name in undecided):
        raise not_sound(
            f"{where}, {undecided[0]}: is null, and unscored does not say why"
        )

    if reason is not None and not undecided:
        raise PackageError(
            f"{where}, unscored: must be null where every value is decided, got {shown(reason)}."
        )


def _without_unasked_figures(row: JsonDict, task: TaskSpec) -> JsonDict:
    """Removes columns of the authors' metrics that a task does not report.

    Earlier versions wrote some of them.
    """
    declared = next(
        spec for spec in task.benchmark.tasks if spec.name == task.name
    ).metrics
    official = filter(task.needs_official_prompts, declared)
    names = {metric.name for metric in official} - {
        metric.name for metric in task.metrics
    }
    unasked = names | set(map(weight_column, names))

    return {name: value for name, value in row.items() if name not in unasked}


def _check_unclear(where: str, row: Row, task: TaskSpec) -> None:
    """Checks that an unclear answer has the worst value on all metrics of the parser."""
    for metric in task.metrics:
        decided = metric.kind != "average"
        if metric.read and decided and row[metric.name] not in (metric.worst, NAN):
            raise not_sound(
                f"{where}, {metric.name}: must be {metric.worst:g} where unclear has a reason, got "
                f"{shown(row[metric.name])}"
            )
