"""What a user may set for the questions of ArchEHR-QA (`--task-args`), read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.spec import TaskSpec

__all__ = ["EVIDENCE", "TRIES", "Settings", "read_arguments"]

TRIES: Final = 5
"""Most tries for a step (paper, Validation: each prompt is put up to five times)."""

EVIDENCE: Final = 10
"""How many sentences are chosen by similarity; the paper does not say how many were."""

_MOST_TRIES: Final = 20
_MOST_EVIDENCE: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides how a task is asked.

    Attributes:
        tries: most tries for a step.
        evidence: how many sentences of the note are chosen.
        embedder: checkpoint that compares sentences; None for their words.
    """

    tries: int = TRIES
    evidence: int = EVIDENCE
    embedder: str | None = None


def read_arguments(task: TaskSpec, arguments: Mapping[str, str]) -> Settings:
    """Reads the arguments of a task's questions.

    Args:
        task: a task of the benchmark.
        arguments: name to value.

    Raises:
        UsageError: An argument the task does not take, or a value that is not allowed.
    """
    if unknown := [name for name in arguments if name not in task.arguments]:
        known = ", ".join(task.arguments) or "none"
        raise UsageError(f"{task.name}: it takes no argument {unknown[0]!r}. Arguments: {known}.")
    embedder = arguments.get("embedder")
    if embedder is not None and not embedder.strip():
        raise UsageError(
            f"{task.name}: embedder must be the folder of a checkpoint, got {embedder!r}. Leave it out to compare words."
        )
    return Settings(
        tries=_number(task, arguments, "tries", TRIES, _MOST_TRIES),
        evidence=_number(task, arguments, "evidence", EVIDENCE, _MOST_EVIDENCE),
        embedder=embedder,
    )


def _number(task: TaskSpec, arguments: Mapping[str, str], name: str, default: int, most: int) -> int:
    if name not in arguments:
        return default
    text = str(arguments[name]).strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise UsageError(f"{task.name}: {name} must be a whole number from 1 to {most}, got {arguments[name]!r}.")
    return number
