"""What a program could leave behind on the machine: processes, mounts, files, file descriptors."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def descendants() -> frozenset[int]:
    """Lists every process that comes from this one, orphans included once this process adopts them."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    pids: set[int] = set()
    edge = {os.getpid()}
    while edge:
        edge = {pid for pid, parent in parents.items() if parent in edge} - pids
        pids |= edge
    return frozenset(pids)


def snapshot() -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    """Lists this machine's mounts, and the descriptors and temporary files of this process."""
    mounts = tuple(Path("/proc/self/mountinfo").read_text().splitlines())
    temporary = tuple(
        sorted(path.name for path in Path(tempfile.gettempdir()).iterdir())
    )
    return mounts, len(list(Path("/proc/self/fd").iterdir())), temporary


def adopt_orphans() -> None:
    """From here on, processes whose parent ended become children of this one, so that `descendants` lists them."""
    assert ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@contextmanager
def nothing_left() -> Iterator[None]:
    """Asserts that the machine is as it was."""
    adopt_orphans()
    processes, before = descendants(), snapshot()
    yield
    assert descendants() <= processes
    assert snapshot() == before


def wait_until_gone(seconds: float, *, ignoring: frozenset[int]) -> frozenset[int]:
    """Waits until this process has no other descendants than `ignoring`; returns those that stay."""
    deadline = time.monotonic() + seconds
    while (left := descendants() - ignoring) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
        time.sleep(0.02)
    return left
