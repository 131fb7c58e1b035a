"""What the process of a `RowProcess` runs: it reads one request, and writes frames until the file ends or nobody reads.

Its output is read late when whoever started it has other things to do: what is found meanwhile waits in an outbox of bounded
size. Exceptions are reported by type and place alone, for their texts may be the file's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
import traceback
from functools import partial
from pathlib import Path
from types import TracebackType

from medical_tasks.errors import UsageError
from medical_tasks.io.csv_rows import find_rows

__all__ = ["DAMAGED", "DONE", "FAULT", "FRAME", "READ", "ROW", "main"]

FRAME = struct.Struct("<cQQ")  # kind, number, length of what follows
READ = b"p"  # number: bytes of the file read so far
ROW = b"r"  # number: offset; followed by the row
DAMAGED = b"d"  # followed by the message of a `UsageError`
FAULT = b"f"  # followed by where something else was raised
DONE = b"."

_OUTBOX_BYTES = 32 * 1024 * 1024
_WRITE_BYTES = 1024 * 1024


def main() -> None:
    """Runs the process: request from standard input, frames to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it, whose end ends this
    frames = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing that prints gets between the frames
    outbox = _Outbox(frames)
    sys.excepthook = partial(_tell_fault, outbox)
    request = json.load(sys.stdin.buffer)
    rows = find_rows(
        Path(request["path"]),
        request["columns"],
        wanted=request["wanted"],
        release=request["release"],
        on_read=lambda read: outbox.put(READ, read),
    )
    try:
        try:
            for row in rows:
                outbox.put(ROW, row.offset, row.raw)
            outbox.put(DONE)
        except UsageError as error:
            outbox.put(DAMAGED, payload=str(error).encode("utf-8", "surrogateescape"))
        outbox.flush()
    except BrokenPipeError:
        os._exit(1)  # at once: the thread that unpacks has nobody to unpack for


def _tell_fault(outbox: _Outbox, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    at = traceback.extract_tb(trace)[-1]
    outbox.put(FAULT, payload=f"{kind.__name__} in {Path(at.filename).name}, line {at.lineno}".encode())
    outbox.flush()


class _Outbox:
    """Frames on their way out; takes more while they wait, up to a limit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        os.set_blocking(descriptor, False)

    def put(self, kind: bytes, number: int = 0, payload: bytes = b"") -> None:
        self._waiting += FRAME.pack(kind, number, len(payload)) + payload
        self._write(_OUTBOX_BYTES)

    def flush(self) -> None:
        self._write(0)

    def _write(self, most: int) -> None:
        """Writes what the pipe takes; waits while more than `most` bytes are left."""
        while self._waiting:
            try:
                with memoryview(self._waiting) as view:
                    written = os.write(self._descriptor, view[:_WRITE_BYTES])
            except BlockingIOError:
                if len(self._waiting) <= most:
                    return
                select.select((), (self._descriptor,), ())
            else:
                del self._waiting[:written]
