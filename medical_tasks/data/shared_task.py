"""What a benchmark with a shared task knows of the submissions to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from medical_tasks.spec import Item, TaskSpec


class Problem(Protocol):
    """Something about a submission; its text names the case."""

    @property
    def fatal(self) -> bool:
        """Whether the official scorer gives no score at all to a submission that has it."""

    @property
    def note(self) -> bool:
        """Whether it is worth knowing, but needs no correction."""


class Submission(Protocol):
    """A submission built from a run's answers."""

    @property
    def text(self) -> str:
        """Of the file."""

    @property
    def answered(self) -> int:
        """Number of cases in it."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with it."""

    @property
    def notes(self) -> Sequence[Problem]:
        """What is worth knowing of it."""

    @property
    def rewritten(self) -> Sequence[str]:
        """Cases whose answer, as it was, the official scorer reads otherwise."""


class SharedTask(Protocol):
    """What a benchmark with a shared task knows of its submissions: `Benchmark.shared_task`."""

    @property
    def TASKS(self) -> Sequence[str]:  # noqa: N802 - a constant of a module
        """The tasks whose answers can be submitted."""

    @property
    def EVERY_CASE(self) -> str:  # noqa: N802
        """A task that takes every row of a split, with or without its key."""

    @property
    def KEYED_SPLITS(self) -> Sequence[str]:  # noqa: N802
        """Splits whose key everybody can have, which a leaderboard takes beside the task's own."""

    def zipped(self, task: TaskSpec) -> bool:
        """Whether the shared task takes a zip file."""

    def make_submission(
        self, task: TaskSpec, items: Sequence[Item], responses: Mapping[str, str]
    ) -> Submission:
        """Writes a submission of a run's answers; cases without one are left out."""

    def read_records(self, path: Path) -> tuple[list[object], Sequence[Problem]]:
        """Reads a submission's list, and what is wrong with the file that has it."""

    def recognised(self, path: Path, records: Sequence[object]) -> str:
        """Finds the task of a submission."""

    def cases(self, task: TaskSpec, items: Sequence[Item]) -> list[Item]:
        """Picks the cases that a submission must have."""

    def problems_of(
        self, task: TaskSpec, items: Sequence[Item], records: Sequence[object]
    ) -> Sequence[Problem]:
        """Says what is wrong with the records of a submission."""
