"""Judged runs in processes of their own, forked from one that has imported everything and asked once.

    python -m tests.judges.judged_runs URL

says `0` when it is ready, then reads lines from standard input and answers each with one. `run STORE FIRST LAST CONCURRENCY
OUT` starts a process that judges questions FIRST to LAST and writes its verdicts to OUT; the answer is its pid. `wait PID`
waits for it; the answer is its exit code, negative for a signal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.session import JudgeSession
from tests.judges.scripted_judge import judge_at, questions, values
from tests.support import ROOT

WARM = 10**6
"""Number of the question that is asked once before all runs."""


class JudgedRuns:
    """The process that forks; as a context manager. When it is made, it is ready.

    Args:
        url: base URL of the judge.
    """

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "tests.judges.judged_runs", url]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._read()

    def __enter__(self) -> JudgedRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def start(self, store: Path, first: int, last: int, *, concurrency: int, out: Path) -> int:
        """Starts a run; returns its pid."""
        return self._tell(f"run {store} {first} {last} {concurrency} {out}")

    def wait(self, pid: int) -> int:
        """Waits for a run's end; returns its exit code, negative for a signal."""
        return self._tell(f"wait {pid}")

    def _tell(self, line: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


def judged_run(url: str, store: Path, first: int, last: int, *, concurrency: int) -> dict[str, str]:
    """Judges questions; returns what `values` makes of the outcomes."""
    with Store(store) as opened:
        session = JudgeSession(judge_at(url, concurrency=concurrency), JudgeOptions(), opened, quiet=True)
        return values(session.ask(questions(range(first, last))))


def _main(url: str) -> None:
    # What the client library does at its first request would take most of the time that a short run has.
    with tempfile.TemporaryDirectory() as folder:
        judged_run(url, Path(folder, "store"), WARM, WARM + 1, concurrency=1)
    print(0, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "wait":
            print(os.waitstatus_to_exitcode(os.waitpid(int(words[0]), 0)[1]), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            store, first, last, concurrency, out = words
            status = 1
            try:
                found = judged_run(url, Path(store), int(first), int(last), concurrency=int(concurrency))
                Path(out).write_text(json.dumps(found))
                status = 0
            finally:
                os._exit(status)
        print(pid, flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
