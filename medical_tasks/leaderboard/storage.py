"""Where a leaderboard keeps its files: one interface, a local folder or dataset repositories of the Hub behind it.

Every file is written once and never changed: a submission, and each thing that happens to it, is a file of its own. So two
writers can only meet at a name, and there one of them is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from medical_tasks.errors import MedicalTasksError

__all__ = ["AlreadyStoredError", "Storage"]


class AlreadyStoredError(MedicalTasksError):
    """A file of that name is there already; nothing was changed."""

    exit_code = 2


class Storage(Protocol):
    """Files by name. Names have parts of lower-case letters, digits, `.`, `-` and `_`, joined by `/`."""

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all.

        Raises:
            AlreadyStoredError: There is one of that name, also when another process makes it at the same moment.
            MissingError: The place cannot be reached or written; nothing was changed.
        """

    def read(self, name: str) -> bytes:
        """Reads a file.

        Raises:
            MissingError: There is none, or the place cannot be reached.
        """

    def names(self, prefix: str = "") -> Sequence[str]:
        """Names of the files whose name begins so, sorted.

        Raises:
            MissingError: The place cannot be reached.
        """
