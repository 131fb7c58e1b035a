"""What a program could leave behind on the machine: processes, mounts, files, file descriptors."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Traces:
    """A look at the machine, from this process."""

    processes: frozenset[int]
    mounts: tuple[str, ...]
    descriptors: int
    temporary: tuple[str, ...]


def descendants() -> frozenset[int]:
    """Every process that comes from this one, orphans included once this process adopts them."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    edge = {os.getpid()}
    while edge:
        edge = {pid for pid, parent in parents.items() if parent in edge} - found
        found |= edge
    return frozenset(found)


def look() -> Traces:
    return Traces(
        processes=descendants(),
        mounts=tuple(Path("/proc/self/mountinfo").read_text().splitlines()),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        temporary=tuple(sorted(path.name for path in Path(tempfile.gettempdir()).iterdir())),
    )


def adopt_orphans() -> None:
    """From here on, processes whose parent ended become children of this one, where `descendants` sees them."""
    assert ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@contextmanager
def nothing_left() -> Iterator[None]:
    """Asserts that the machine is as it was."""
    adopt_orphans()
    before = look()
    yield
    after = look()
    assert after.processes <= before.processes
    assert after.mounts == before.mounts
    assert after.descriptors == before.descriptors
    assert after.temporary == before.temporary


def wait_until_gone(seconds: float, *, but: frozenset[int]) -> frozenset[int]:
    """Waits until this process has no descendants but some; returns the others that stay."""
    deadline = time.monotonic() + seconds
    while (left := descendants() - but) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
        time.sleep(0.02)
    return left
