"""Strict reading of published CSV files: every row of a table, or a few rows out of a very large file.

`read_csv` takes the memory of one row. `stream_rows` is for files of gigabytes of which a few megabytes are needed: every byte has
to be looked at, so for a large file a second process does that on another core, from the moment the reader is made. Rows
travel through an anonymous pipe and are stored nowhere else; when nobody reads the pipe any more, the process ends.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import select
import signal
import struct
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.csv_rows import ROW_LIMIT_BYTES, FoundRow, again_text, find_rows, line_at, parsed_row
from medical_tasks.io.files import check_columns, csv_lines, open_text

__all__ = [
    "FIELD_LIMIT_BYTES", "ROW_LIMIT_BYTES", "CsvRow", "RowProcess", "StreamedRow", "pays", "read_csv", "stream_rows",
]  # fmt: skip


# A lost quote makes the rest of a file one field; the limit must not hide that behind another message.
FIELD_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class CsvRow:
    """One row of a CSV file."""

    line: int  # of the file on which it ends, from 1
    cells: dict[str, str]  # column name to text, exactly as in the file


def read_csv(path: Path, columns: Sequence[str], *, release: str, others: bool = False) -> Iterator[CsvRow]:
    """Reads a CSV file that must have exactly the given columns, in any order; wholly empty lines are no rows.

    Args:
        path: UTF-8; a byte order mark at its start is skipped.
        columns: their names.
        release: what the file should be, for messages ("MedCalc-Bench v1.0 test set").
        others: whether it may have other columns as well.

    Raises:
        UsageError: The file cannot be read, or is not whole.
    """
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
    again = f"Download the {release} again; do not open and save it with a spreadsheet program."
    try:
        stream = open_text(path, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    with stream:
        reader = csv.reader(csv_lines(path, stream), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise UsageError(f"{path}: is empty. {again}")
            check_columns(path, header, columns, release=release, others=others)
            count = 0
            for values in reader:
                if not values:
                    continue
                if len(values) != len(header):
                    raise UsageError(
                        f"{path}: the row that ends on line {reader.line_num} has {len(values)} fields, the header has "
                        f"{len(header)}; the file is cut off or damaged there. {again}"
                    )
                count += 1
                yield CsvRow(line=reader.line_num, cells=dict(zip(header, values, strict=True)))
            if not count:
                raise UsageError(f"{path}: has a header and no rows. {again}")
        except csv.Error as error:
            raise UsageError(
                f"{path}: not a whole CSV file ({error}, line {reader.line_num}); a quoted field is left open or damaged. "
                f"{again}"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path}: not UTF-8 after line {reader.line_num} (byte 0x{error.object[error.start]:02x}). {again}"
            ) from error


@dataclass(frozen=True, kw_only=True)
class StreamedRow:
    """A wanted row."""

    line: Callable[[], int]  # on which it begins, from 1; costs a second read of the file
    cells: dict[str, str]  # column name to text, exactly as in the file


def stream_rows(
    path: Path,
    columns: Sequence[str],
    *,
    wanted: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Generator[StreamedRow, None, None]:
    """Begins to read a file at once, and yields the rows that are wanted; closing or dropping the generator ends the reading.

    Args:
        path: the file, gzip or not by its content; UTF-8, a byte order mark is skipped.
        columns: names the header must have, in any order, and no others.
        wanted: column name to the texts of which a wanted row has one there. Rows that are not wanted by their first fields are
            not looked at further.
        release: what the file should be, for messages.
        on_read: called with the number of bytes of the file that were read so far.

    Raises:
        UsageError: From the generator: the file cannot be read, or what was read of it is not whole.
    """
    if pays(path):
        found: RowProcess | Generator[FoundRow, None, None] = RowProcess(
            path, columns, wanted=wanted, release=release, on_read=on_read
        )
    else:
        found = find_rows(path, columns, wanted=wanted, release=release, on_read=on_read)
    return _wanted_rows(path, found, wanted, again_text(release))


def _wanted_rows(
    path: Path, found: RowProcess | Generator[FoundRow, None, None], wanted: Mapping[str, Collection[str]], again: str
) -> Generator[StreamedRow, None, None]:
    texts = {name: frozenset(each) for name, each in wanted.items()}
    with contextlib.closing(found):
        header = parsed_row(path, next(found), again)
        for row in found:
            fields = parsed_row(path, row, again)
            if len(fields) != len(header):
                raise UsageError(
                    f"{path}: the row that begins on line {line_at(path, row.offset)} is not whole (a quote amid a field). "
                    f"{again}"
                )
            cells = dict(zip(header, fields, strict=True))
            if all(cells[name] in each for name, each in texts.items()):
                yield StreamedRow(line=_later(path, row.offset), cells=cells)


def _later(path: Path, offset: int) -> Callable[[], int]:
    return lambda: line_at(path, offset)


# Below this, starting a process takes longer than what it saves.
_WORTH_BYTES = 50_000_000
_PIPE_BYTES = 1024 * 1024
_CODE = "from medical_tasks.io.csv_files import find_rows_for_parent; find_rows_for_parent()"


def pays(path: Path) -> bool:
    """Says whether a file is large enough, and the machine has a core more, for a process of its own."""
    try:
        large = path.is_file() and path.stat().st_size >= _WORTH_BYTES
    except OSError:  # whoever reads it says why
        return False
    return large and _cores() > 1 and os.name == "posix" and bool(sys.executable)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class RowProcess(Iterator[FoundRow]):
    """The rows that `csv_rows.find_rows` yields, found in a process of its own; the same arguments and the same errors."""

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
            head = self._frames.read(_FRAME.size)
            kind, number, length = _FRAME.unpack(head) if len(head) == _FRAME.size else (b"", 0, 0)
            payload = self._frames.read(length)
            if kind == _READ:
                self._on_read(number)
            elif kind == _ROW and len(payload) == length:
                return FoundRow(number, payload)
            else:
                break
        self.close()
        if kind == _DONE:
            raise StopIteration
        if kind == _DAMAGED:
            raise UsageError(payload.decode("utf-8", "surrogateescape"))
        if kind == _FAULT:
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


_FRAME = struct.Struct("<cQQ")  # kind, number, length of what follows
_READ = b"p"  # number: bytes of the file read so far
_ROW = b"r"  # number: offset; followed by the row
_DAMAGED = b"d"  # followed by the message of a `UsageError`
_FAULT = b"f"  # followed by where something else was raised
_DONE = b"."

_OUTBOX_BYTES = 32 * 1024 * 1024
_WRITE_BYTES = 1024 * 1024


def find_rows_for_parent() -> None:
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
        on_read=lambda read: outbox.put(_READ, read),
    )
    try:
        try:
            for row in rows:
                outbox.put(_ROW, row.offset, row.raw)
            outbox.put(_DONE)
        except UsageError as error:
            outbox.put(_DAMAGED, payload=str(error).encode("utf-8", "surrogateescape"))
        outbox.flush()
    except BrokenPipeError:
        os._exit(1)  # at once: the thread that unpacks has nobody to unpack for


def _tell_fault(outbox: _Outbox, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    at = traceback.extract_tb(trace)[-1]
    outbox.put(_FAULT, payload=f"{kind.__name__} in {Path(at.filename).name}, line {at.lineno}".encode())
    outbox.flush()


class _Outbox:
    """Frames on their way out; takes more while they wait, up to a limit."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        os.set_blocking(descriptor, False)

    def put(self, kind: bytes, number: int = 0, payload: bytes = b"") -> None:
        self._waiting += _FRAME.pack(kind, number, len(payload)) + payload
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
