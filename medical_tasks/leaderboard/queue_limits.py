"""How much may wait for a maintainer: a store that anybody may hand in to must not be filled by one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.errors import UsageError
from medical_tasks.leaderboard.submission_package.contents import Submitter
from medical_tasks.leaderboard.submission_package.names import model_key

__all__ = ["DEFAULT_QUEUE", "QueueFullError", "QueueLimits", "check_room"]

_MIB: Final = 1 << 20


class QueueFullError(UsageError):
    """Too much is pending already; nothing of the package was kept."""


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """How much may be pending at the same time.

    Attributes:
        count: submissions.
        total_bytes: bytes of their packages.
        of_submitter: submissions of one name: the organisation, or the model where none is named.
    """

    count: int = 500
    total_bytes: int = 2048 * _MIB
    of_submitter: int = 50


DEFAULT_QUEUE: Final = QueueLimits()


def check_room(submitter: Submitter, size: int, waiting: Sequence[tuple[Submitter, int]], limits: QueueLimits) -> None:
    """Sees whether one more may wait.

    Args:
        submitter: who hands in.
        size: bytes of the package.
        waiting: submitter and bytes of each that is pending.
        limits: how much may be.

    Raises:
        QueueFullError: It may not.
    """
    later = "Nothing of this package was kept: hand it in again when a maintainer has decided some."
    name = _name(submitter)
    own = sum(_name(each) == name for each, _ in waiting)
    if own >= limits.of_submitter:
        shown = submitter.organisation or submitter.model
        raise QueueFullError(f"{own} submissions of {shown} are pending, {limits.of_submitter} may be. {later}")
    if len(waiting) >= limits.count:
        raise QueueFullError(f"{len(waiting)} submissions are pending, {limits.count} may be. {later}")
    taken = sum(each for _, each in waiting)
    if taken + size > limits.total_bytes:
        raise QueueFullError(
            f"the pending submissions have {taken:,} bytes and this package {size:,}, {limits.total_bytes:,} may be together. "
            f"{later}"
        )


def _name(submitter: Submitter) -> tuple[str, str]:
    return model_key(submitter.organisation, "" if submitter.organisation.strip() else submitter.model)
