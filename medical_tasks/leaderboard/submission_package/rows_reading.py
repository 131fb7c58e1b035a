"""The lines of a package: items, answers and verdicts, read without trust and checked against one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.leaderboard.submission_package.contents import ANSWERS, ITEMS, VERDICTS
from medical_tasks.leaderboard.submission_package.forms import check_fields
from medical_tasks.leaderboard.submission_package.hashes import answer_sha256, verdicts_sha256
from medical_tasks.leaderboard.submission_package.json_reading import JsonReader
from medical_tasks.leaderboard.submission_package.limits import ReadLimits
from medical_tasks.leaderboard.submission_package.privacy import (
    check_private_row,
    check_private_verdict,
    note_words,
    texts_allowed,
)
from medical_tasks.leaderboard.submission_package.problems import WRITE_AGAIN, PackageError, shown
from medical_tasks.leaderboard.submission_package.row_forms import ANSWER_FIELDS, item_fields, read_item, verdict_fields
from medical_tasks.leaderboard.submission_package.verdict_items import verdicts_of_items
from medical_tasks.spec import TaskSpec

__all__ = ["check_verdicts", "read_answers", "read_items", "read_verdicts"]

Rows = dict[str, list[dict[str, Any]]]


def read_items(reader: JsonReader, content: bytes, tasks: Mapping[str, TaskSpec], limits: ReadLimits) -> Rows:
    """Reads `items.jsonl`.

    Args:
        reader: of the package.
        content: of the file.
        tasks: name to task, with the metrics that are reported.
        limits: of the package.

    Returns:
        Task to its rows, in order.

    Raises:
        PackageError: A line is not of the form, or an id stands twice.
    """
    rows: Rows = {}
    fields = {name: item_fields(task, texts=texts_allowed(task)) for name, task in tasks.items()}
    words = {name: note_words(task) for name, task in tasks.items() if not texts_allowed(task)}
    seen: set[tuple[str, str]] = set()
    for where, value in reader.lines(ITEMS, content, most=limits.items):
        name = _task(where, value, tasks)
        row = read_item(where, value, tasks[name], fields[name])
        if name in words:
            check_private_row(where, row, words[name])
        if (name, row["id"]) in seen:
            raise PackageError(f"{where}: the item {shown(row['id'])} of {name} stands twice. {WRITE_AGAIN}")
        seen.add((name, row["id"]))
        rows.setdefault(name, []).append(row)
    return rows


def read_answers(
    reader: JsonReader,
    content: bytes,
    items: Mapping[str, Sequence[Mapping[str, Any]]],
    tasks: Mapping[str, TaskSpec],
    limits: ReadLimits,
) -> dict[str, dict[str, str]]:
    """Reads `answers.jsonl`, and checks that it has every answer to open data that the items tell of, and no other.

    Args:
        reader: of the package.
        content: of the file, empty where there is none.
        items: from `read_items`.
        tasks: name to task.
        limits: of the package.

    Returns:
        Task to item id to answer, of tasks on open data.

    Raises:
        PackageError: A line is not of the form, or an answer is missing, too many, or not the one whose hash is told.
    """
    open_tasks = {name for name, task in tasks.items() if texts_allowed(task)}
    told = {name: {row["id"]: row["answer_sha256"] for row in items.get(name, ())} for name in open_tasks}
    found: dict[str, dict[str, str]] = {name: {} for name in tasks if name in open_tasks}
    for where, value in reader.lines(ANSWERS, content, most=limits.items):
        name = _task(where, value, tasks)
        if name not in open_tasks:
            raise PackageError(
                f"{where}: is an answer to {name}, whose data are credentialed: it may not leave the machine it was made on. "
                f"Nothing of it was kept. {WRITE_AGAIN}"
            )
        row = check_fields(where, value, ANSWER_FIELDS)
        if row["id"] in found[name]:
            raise PackageError(f"{where}: the item {shown(row['id'])} is answered twice. {WRITE_AGAIN}")
        if not told[name].get(row["id"]) or answer_sha256(row["response"]) != told[name][row["id"]]:
            raise PackageError(
                f"{where}: is not the answer to {shown(row['id'])} whose hash stands in {ITEMS}. {WRITE_AGAIN}"
            )
        found[name][row["id"]] = row["response"]
    for name in found:
        missing = [each for each, digest in told[name].items() if digest and each not in found[name]]
        if missing:
            raise PackageError(f"{ANSWERS}: lacks the answer to {shown(missing[0])} of {name}. {WRITE_AGAIN}")
    return found


def read_verdicts(reader: JsonReader, content: bytes, tasks: Mapping[str, TaskSpec], limits: ReadLimits) -> Rows:
    """Reads `verdicts.jsonl`.

    Args:
        reader: of the package.
        content: of the file, empty where there is none.
        tasks: name to task.
        limits: of the package.

    Returns:
        Task to its rows, in order.

    Raises:
        PackageError: A line is not of the form, or a question has two verdicts.
    """
    rows: Rows = {}
    seen: dict[tuple[str, str, str], dict[str, Any]] = {}
    fields = {name: verdict_fields(texts=texts_allowed(task)) for name, task in tasks.items()}
    for where, value in reader.lines(VERDICTS, content, most=limits.verdicts):
        name = _task(where, value, tasks)
        if isinstance(value, dict) and not texts_allowed(tasks[name]):
            check_private_verdict(where, value)
        row = check_fields(where, value, fields[name])
        if ("value" in row) == ("unscored" in row):
            raise PackageError(f"{where}: has either value, or unscored with the reason. {WRITE_AGAIN}")
        before = seen.setdefault((name, row["id"], row["sha256"]), row)
        if before.get("value") != row.get("value") or before.get("unscored") != row.get("unscored"):
            raise PackageError(f"{where}: the question {shown(row['id'])} of {name} has two verdicts. {WRITE_AGAIN}")
        votes = row["votes"]
        if "value" in row and (not votes or votes.count(row["value"]) < max(map(votes.count, votes))):
            raise PackageError(f"{where}, value: must be what most votes say. {WRITE_AGAIN}")
        rows.setdefault(name, []).append(row)
    return rows


def check_verdicts(
    name: str, entry: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], verdicts: Sequence[Mapping[str, Any]]
) -> None:
    """Checks a task's verdicts against its items and its entry.

    Args:
        name: of the task.
        entry: of `results.json`.
        rows: its items.
        verdicts: its verdicts.

    Raises:
        PackageError: They are of other items, other judges, or not as many as are told.
    """
    by_item, lost = verdicts_of_items(verdicts, {row["id"] for row in rows})
    if lost:
        raise PackageError(f"{VERDICTS}: the question {shown(lost[0])} is about no item of {name}. {WRITE_AGAIN}")
    for row in rows:
        if row["verdicts_sha256"] != verdicts_sha256(by_item.get(row["id"], ())):
            raise PackageError(
                f"{ITEMS}: the verdicts on {shown(row['id'])} of {name} are not those whose hash it tells. {WRITE_AGAIN}"
            )
        if not row["answer_sha256"] and row["id"] in by_item:
            raise PackageError(f"{VERDICTS}: {shown(row['id'])} of {name} is judged and has no answer. {WRITE_AGAIN}")
    judge = entry.get("judge")
    if judge is None:
        if verdicts:
            raise PackageError(f"{VERDICTS}: {name} is scored without a judge and has verdicts. {WRITE_AGAIN}")
        return
    reasons = Counter(row["unscored"] for row in verdicts if "unscored" in row)
    counted = {
        "asked": len(verdicts),
        "decided": sum("value" in row for row in verdicts),
        "unscored": dict(reasons),
    }
    if judge["verdicts"] != counted:
        raise PackageError(f"{VERDICTS}: {name} has other numbers of verdicts than its entry says. {WRITE_AGAIN}")
    if any("value" in row and _votes_ahead(row) < judge["votes"] - len(row["votes"]) for row in verdicts):
        raise PackageError(
            f"{VERDICTS}: {name} has verdicts that fewer votes decided than its judge gives. {WRITE_AGAIN}"
        )
    if any(("comparable" in row) == judge["comparable"] or len(row["votes"]) > judge["votes"] for row in verdicts):
        raise PackageError(f"{VERDICTS}: {name} has verdicts of another judge than its entry says. {WRITE_AGAIN}")


def _votes_ahead(row: Mapping[str, Any]) -> int:
    """By how many votes the value leads: what was not asked, or not read, could change it if that were fewer."""
    counts = [row["votes"].count(vote) for vote in row["votes"] if vote != row["value"]]
    own: int = row["votes"].count(row["value"])
    return own - max(counts, default=0)


def _task(where: str, value: Any, tasks: Mapping[str, TaskSpec]) -> str:
    name = value.get("task") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in tasks:
        got = shown(name) if isinstance(value, dict) else shown(value)
        raise PackageError(f"{where}, task: must be one of {', '.join(tasks)}, got {got}. {WRITE_AGAIN}")
    return name
