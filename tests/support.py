"""What many tests share: where the upstream files are, and small helpers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from medical_tasks.models.base import Length, OnResult, Request

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared with the upstream files is not here")


class GeneratesOnly:
    """What a scripted model of tasks without choices and without long documents is never asked."""

    def loglikelihood(self, requests: Sequence[Request], on_result: OnResult) -> None:
        raise AssertionError("no task here asks for probabilities")

    def lengths(self, requests: Sequence[Request]) -> list[Length | None]:
        return [None for _ in requests]


def alive(pid: int) -> bool:
    """Says whether a process still runs (Linux): one that ended and that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended between the opening and the reading
        return False
