"""What a package on credentialed data may say: ids, hashes and scores, by the guard's own rule and redaction's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.benchmarks.catalog import dataset_spec
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason, redact_row, redact_value
from medical_tasks.leaderboard.submission_package.problems import PackageError
from medical_tasks.spec import TaskSpec

__all__ = ["check_private_row", "check_private_verdict", "note_words", "texts_allowed"]

_DIGEST = "response_sha256"


def texts_allowed(task: TaskSpec) -> bool:
    """Whether answers, and what a judge said of them, may stand in a package."""
    return policy.text_allowed(dataset_spec(task.dataset))


def note_words(task: TaskSpec) -> frozenset[str]:
    """Words of a scorer's own that its notes may hold."""
    return task.benchmark.note_words()


def check_private_row(where: str, row: Mapping[str, Any], words: frozenset[str]) -> None:
    """Refuses an item on credentialed data in which anything but ids, groups, hashes and numbers stands.

    Args:
        where: where it stands, for messages, which never show it.
        row: the item.
        words: from `note_words`.

    Raises:
        PackageError: There may be a text in it.
    """
    kept = redact_row({name: value for name, value in row.items() if name not in _HASHES}, None, note_words=words)
    wrong = [name for name, value in row.items() if name not in _HASHES and kept[name] != value and value == value]
    if wrong:
        raise PackageError(
            f"{where}, {wrong[0]}: may hold a text, and the data are credentialed. Nothing of it was kept. Make the package from "
            "the run's own folder."
        )
    if row.get("answer_sha256") != row.get(_DIGEST):
        raise PackageError(f"{where}: answer_sha256 and {_DIGEST} are of the same answer and differ.")


def check_private_verdict(where: str, row: Mapping[str, Any]) -> None:
    """Refuses a verdict on credentialed data in which a text may stand; likewise.

    Raises:
        PackageError: There may be a text in it.
    """
    sound = all(redact_value(row[name]) == row[name] for name in ("value", "votes") if name in row)
    if not sound or "text" in row or ("unscored" in row and redact_reason(row["unscored"]) != row["unscored"]):
        raise PackageError(
            f"{where}: may hold a text, and the data are credentialed. Nothing of it was kept. Make the package from the run's own "
            "folder."
        )


_HASHES = frozenset({_DIGEST, "answer_sha256", "verdicts_sha256"})
