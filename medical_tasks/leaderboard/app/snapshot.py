"""What the store holds, read once and shown to every visitor until the store changes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from medical_tasks.errors import MedicalTasksError, MissingError
from medical_tasks.leaderboard.board import Board, entries_of
from medical_tasks.leaderboard.records import Entry, Submission

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The board at one moment (`taken`, UTC). `problem` says why the store cannot be read now; the rest is then from before."""

    entries: Sequence[Entry] = ()
    submissions: Mapping[str, Submission] = field(default_factory=dict)
    problem: str = ""
    taken: str = ""

    def pending(self) -> list[Submission]:
        """Submissions that wait for a decision, the one that waits longest first."""
        waiting = [submission for submission in self.submissions.values() if submission.state == "pending"]
        return sorted(waiting, key=lambda submission: (submission.history[0].at, submission.id))


class Content:
    """Reads the board when it changed, at most once in a while."""

    def __init__(
        self,
        board: Board,
        *,
        lifetime: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        read: Callable[[Board], Sequence[Entry]] = entries_of,
    ) -> None:
        self.board, self._lifetime, self._clock, self._read = board, lifetime, clock, read
        self._lock = threading.Lock()
        self._names: Sequence[str] | None = None
        self._asked = float("-inf")
        self._last = Snapshot()

    def snapshot(self) -> Snapshot:
        """What the store holds, no older than the lifetime. A store that cannot be read is told, never raised."""
        if self._clock() - self._asked < self._lifetime:
            return self._last
        # While one visitor reads, the others see what was; only the very first have to wait.
        if not self._lock.acquire(blocking=not self._last.taken):
            return self._last
        try:
            if self._clock() - self._asked >= self._lifetime:  # another visitor may have asked meanwhile
                self._last = self._ask()
                self._asked = self._clock()
            return self._last
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Has the store asked again by the next visitor: something was just written."""
        self._asked = float("-inf")

    def _ask(self) -> Snapshot:
        try:
            names = tuple(self.board.storage.names())
            if names == self._names:  # files never change: the same names are the same content
                return replace(self._last, problem="")
            if self._names and not names:  # a folder that is not there looks like an empty store, and files never go
                raise MissingError(
                    f"all of its {len(self._names):,} files are gone. See whether its folder is where it was."
                )
            submissions = {submission.id: submission for submission in self.board.submissions()}
            entries = tuple(self._read(self.board))
        except MedicalTasksError as error:
            # For the server's owner: it names places of this machine.
            _LOG.error("the store cannot be read: %s", error)
            return replace(self._last, problem=str(error))
        self._names = names
        taken = datetime.now(UTC).isoformat(timespec="minutes")
        return Snapshot(entries=entries, submissions=submissions, taken=taken)
