"""Finding the rows of a large file in a process beside this one, with its own core and its own interpreter's lock.

It begins when it is made: what else is to be done before the rows are needed, such as importing or hashing, costs no more time
then. It reads ahead as far as its outbox goes (`row_worker`) and waits. Rows travel through an anonymous pipe and lie
nowhere else; when nobody reads that pipe any more, for whatever reason, the process ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.csv_blocks import FoundRow
from medical_tasks.io.row_worker import DAMAGED, DONE, FAULT, FRAME, READ, ROW

__all__ = ["RowProcess", "pays"]

# Below this, starting a process takes longer than what it saves.
_WORTH_BYTES = 50_000_000
_PIPE_BYTES = 1024 * 1024
_CODE = "from medical_tasks.io.row_worker import main; main()"


def pays(path: Path) -> bool:
    """Says whether a file is large enough, and the machine has a core more, for a process of its own.

    Args:
        path: the file, which need not be there.

    Returns:
        Whether a process of its own pays.
    """
    try:
        large = path.is_file() and path.stat().st_size >= _WORTH_BYTES
    except OSError:  # whoever reads it says why
        return False
    return large and _cores() > 1 and os.name == "posix" and bool(sys.executable)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class RowProcess(Iterator[FoundRow]):
    """The rows that `csv_rows.find_rows` yields, found in a process of its own; the same arguments and the same errors.

    Args:
        path: as there.
        columns: as there.
        wanted: as there.
        release: as there.
        on_read: as there; called when rows are asked for.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        *,
        wanted: Mapping[str, Collection[str]],
        release: str,
        on_read: Callable[[int], None],
    ) -> None:
        self._path, self._on_read = path, on_read
        request = {
            "path": str(path),
            "columns": list(columns),
            "wanted": {name: sorted(texts) for name, texts in wanted.items()},
            "release": release,
        }
        places = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)  # it imports what this process would
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CODE],
            bufsize=_PIPE_BYTES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could show a text
            env={**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self._end = weakref.finalize(self, _ended, self._process)
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("a process without pipes")
        self._frames = stdout
        with contextlib.suppress(BrokenPipeError), stdin:  # whether it lives, its frames tell
            stdin.write(json.dumps(request).encode())

    def close(self) -> None:
        """Ends it; without this it ends when it is dropped."""
        self._end()

    def __next__(self) -> FoundRow:
        while True:
            head = self._frames.read(FRAME.size)
            kind, number, length = FRAME.unpack(head) if len(head) == FRAME.size else (b"", 0, 0)
            payload = self._frames.read(length)
            if kind == READ:
                self._on_read(number)
            elif kind == ROW and len(payload) == length:
                return FoundRow(number, payload)
            else:
                break
        self.close()
        if kind == DONE:
            raise StopIteration
        if kind == DAMAGED:
            raise UsageError(payload.decode("utf-8", "surrogateescape"))
        if kind == FAULT:
            raise RuntimeError(f"{self._path}: the process that reads it failed: {payload.decode()}")
        raise IncompleteError(
            f"{self._path}: the process that reads it ended amid the file, with status {self._process.returncode}. Look "
            "whether the machine is out of memory, and give the same command again."
        )


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Ends it, if it has not ended, and lets its remains go."""
    if process.stdout is not None:
        process.stdout.close()
    process.kill()
    process.wait()
