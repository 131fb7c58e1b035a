"""`python -I supervisor.py <parent pid> <grace seconds> <command> ...`: ends a command, and all it started, with its parent.

It is run by path and uses only the standard library. Standard input is a pipe that closes
however the parent ends, `kill -9` included. On Linux, processes that the command leaves
in sessions of their own are adopted (`PR_SET_CHILD_SUBREAPER`) and ended too; elsewhere
its process group is.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

_POLL_S = 0.1
_WORKERS_S = 3.0  # for what the command left behind, between SIGTERM and SIGKILL
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if _LINUX else None


class _Supervisor:
    """Runs a command, and ends it with all its descendants when its own parent is gone.

    It adopts orphans (Linux's `PR_SET_CHILD_SUBREAPER`), so that no worker of a server
    outlives the run, even if the run was killed by SIGKILL.
    """

    def __init__(self, parent: int, grace: float, command: list[str]) -> None:
        self._parent = parent
        self._grace = grace
        self._asked_to_stop = False
        self._code: int | None = None
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)

        # This process has one thread, so code between fork and exec is safe.
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked_to_stop = True

    def run(self) -> int:
        """Waits for the command or for the order to stop.

        Returns:
            The command's exit code, 128 + n after signal n.
        """
        while not self._asked_to_stop and self._code is None:
            readable, _, _ = select.select([0], [], [], _POLL_S)
            if readable and os.read(0, 4096) == b"":
                break  # the parent closed the pipe, or is gone
            if os.getppid() != self._parent:
                break  # the parent is gone, but a process it forked still holds the pipe

            self._reap()

        self._end_all()
        code = self._code if self._code is not None else -signal.SIGKILL
        return code if code >= 0 else 128 - code

    def _end_all(self) -> None:
        """Ends what still runs: the command first, then all, then by force."""
        # The command first and alone, since servers stop their own workers in order.
        if self._code is None:
            _send(self._child.pid, signal.SIGTERM)
            self._wait(self._grace, lambda: self._code is not None)

        for number, patience in (
            (signal.SIGTERM, _WORKERS_S),
            (signal.SIGKILL, _WORKERS_S),
        ):
            for pid in self._left():
                _send(pid, number)

            self._wait(patience, lambda: not self._left())

    def _left(self) -> list[int]:
        """Returns the processes that still run.

        These are all descendants by /proc, or without it the group (as -pid).
        """
        if _LINUX:
            return _descendants(os.getpid())

        try:
            os.killpg(self._child.pid, 0)
        except OSError:
            return []

        return [-self._child.pid]

    def _wait(self, seconds: float, done: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        self._reap()
        while not done() and time.monotonic() < end:
            time.sleep(_POLL_S / 2)
            self._reap()

    def _reap(self) -> None:
        """Collects every ended child, own or adopted, and keeps the command's exit code."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child.pid:
                self._code = self._child.returncode = os.waitstatus_to_exitcode(status)


def _end_with_parent() -> None:
    """Runs in the command's process before it starts.

    If the supervisor itself is killed, the command gets SIGTERM.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it ended by itself


def _descendants(root: int) -> list[int]:
    """Returns the processes below one, zombies left out, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue

        try:
            # "pid (name) state ppid ...": the name may hold spaces and brackets.
            state, parent = (
                (entry / "stat")
                .read_text(errors="replace")
                .rpartition(")")[2]
                .split()[:2]
            )
        except OSError:
            continue  # ended while we looked

        if state != "Z":
            children.setdefault(int(parent), []).append(int(entry.name))

    descendants: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        descendants.extend(below)
        waiting.extend(below)

    return descendants


def main(arguments: list[str]) -> int:
    """Runs the supervisor."""
    parent, grace, *command = arguments
    try:
        supervisor = _Supervisor(int(parent), float(grace), command)
    except OSError as error:
        print(f"cannot start {command[0]}: {error}", file=sys.stderr)
        return 127
    return supervisor.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
