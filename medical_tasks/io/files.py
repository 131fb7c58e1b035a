"""Reads and writes files, whole or in chunks.

Pipes, sockets and devices, which may never end, are refused.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import json
import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, cast

from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    MissingError,
    UsageError,
    doing,
    system_reason,
)

LONGEST_LINE: Final = 1 << 24
MOST_COLUMNS: Final = 2_000
_LONGEST_NAME: Final = 60
_KINDS: Final = {
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextlib.contextmanager
def readable(
    path: Path,
    *,
    missing: str = "",
    again: str = "",
    error: type[MedicalTasksError] = UsageError,
) -> Iterator[None]:
    """Turns errors of the system or of decoding in the block into errors for the user.

    `missing`: what to do about a missing file; `again`: about one that cannot be read, or is not
    UTF-8.
    """
    step = f" {again}" if again else ""
    try:
        yield
    except OSError as problem:
        if missing and isinstance(problem, FileNotFoundError):
            raise MissingError(f"{path}: no such file. {missing}") from problem

        raise error(
            f"{path}: cannot be read ({system_reason(problem)}).{step}"
        ) from problem
    except UnicodeDecodeError as problem:
        byte = problem.object[problem.start]
        raise UsageError(
            f"{path}: not UTF-8 (byte 0x{byte:02x}).{step or ' Save it as UTF-8.'}"
        ) from problem


def named_path(text: str) -> Path:
    """Makes a path of a user's text; `~name` stays unchanged if there is no such user."""
    with contextlib.suppress(RuntimeError):
        return Path(text).expanduser()
    return Path(text)


def found_at(path: Path) -> str:
    """Says what is at a path: `file`, `folder`, `other`; "" for nothing or an invalid name."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def checked_file(path: Path) -> Path:
    """Returns a path unless it is a pipe, socket or device, which may block or never end."""
    path = path.expanduser()
    kind = _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    if kind is not None:
        raise UsageError(
            f"{path}: is {kind}, and a file is needed. Write its content into a file, and name "
            "that."
        )

    return path


def open_file(path: Path, *, stdin: bool = False) -> io.BufferedReader:
    """Opens a file to read its bytes; with `stdin` it may be `/dev/stdin`."""
    if stdin and path == Path("/dev/stdin"):
        return path.open("rb")
    return cast(io.BufferedReader, _opened(path, "rb"))


def open_text(
    path: Path,
    *,
    encoding: str = "utf-8",
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper:
    """Opens a file to read its text; errors as `checked_file` and `open` raise them."""
    return cast(
        io.TextIOWrapper,
        _opened(path, "r", encoding=encoding, errors=errors, newline=newline),
    )


def _opened(path: Path, mode: str, **how: Any) -> Any:
    # Without blocking, in case it has become a pipe since the check.
    return open(
        checked_file(path),
        mode,
        opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK),
        **how,
    )


def read_bytes(path: Path) -> bytes:
    """Reads a whole file; errors as `checked_file` and `open` raise them."""
    with doing(f"read {path}"), open_file(path) as stream:
        return stream.read()


def read_text(path: Path, *, encoding: str = "utf-8", errors: str | None = None) -> str:
    """Reads a whole file of text; errors as `checked_file` and `open` raise them."""
    with (
        doing(f"read {path}"),
        open_text(path, encoding=encoding, errors=errors) as stream,
    ):
        return stream.read()


def one_line(text: str) -> str:
    """Replaces white space by single spaces, and strips both ends."""
    return " ".join(text.split())


@functools.cache
def packaged(module: str, name: str) -> Any:
    """Reads the JSON file next to a module (its `__file__`), once."""
    return json.loads(read_text(Path(module).with_name(name)))


@contextlib.contextmanager
def folder_lock(
    folder: Path,
    *,
    shared: bool = False,
    wait: bool = True,
    opened: Callable[[Path], int] = lambda folder: os.open(folder, os.O_RDONLY),
) -> Iterator[bool]:
    """Locks a folder itself: no file remains, and the system unlocks it however the process ends.

    Yields whether it is locked.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system: the user must avoid concurrent commands
        yield True
        return

    handle = opened(folder)
    try:
        try:
            fcntl.flock(
                handle,
                (fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
                | (0 if wait else fcntl.LOCK_NB),
            )
            locked = True
        except BlockingIOError:
            locked = False

        yield locked
    finally:
        os.close(handle)


def csv_lines(path: Path, stream: io.TextIOBase) -> Iterator[str]:
    """Yields the lines of a CSV file, for `csv.reader`, and refuses absurdly wide ones."""
    first = True
    while line := stream.readline(LONGEST_LINE + 1):
        check_line(path, line)
        if first and line.count(",") >= MOST_COLUMNS:
            problem = f"about {line.count(',') + 1:,} columns in its first line, and at most {MOST_COLUMNS:,} are read"
            raise UsageError(
                f"{path}: has {problem}. Keep the columns that are needed, or transpose the table."
            )

        first = False
        yield line


def check_line(path: Path, line: str | bytes, *, where: str = "") -> None:
    """Refuses a line of more than 16 Mi characters or bytes, before it is parsed."""
    if len(line) > LONGEST_LINE:
        raise UsageError(
            f"{path}{where}: a line has more than {LONGEST_LINE:,} characters, the most that is "
            "read. Is it a text file with line ends, and the right one?"
        )


def check_columns(
    path: Path,
    header: Sequence[str],
    columns: Sequence[str],
    *,
    release: str,
    others: bool = False,
    private: bool = False,
) -> None:
    """Refuses a header without these columns, or with others.

    Messages show no names of a `private` file, which could be a row's text.
    """
    missing = [name for name in columns if name not in header]
    unexpected = [] if others else [name for name in header if name not in columns]
    twice = sorted({name for name in columns if header.count(name) > 1})
    shown = (
        repr(name)
        if len(name) <= _LONGEST_NAME
        else f"a text of {len(name)} characters"
        for name in unexpected
    )
    problems = [f"missing: {', '.join(map(repr, missing))}"] if missing else []
    if unexpected:
        problems.append(
            f"{len(unexpected)} unexpected"
            if private
            else f"unexpected: {', '.join(shown)}"
        )

    problems += [f"twice: {', '.join(map(repr, twice))}"] if twice else []
    if problems:
        raise UsageError(
            f"{path}: wrong columns for the {release}. {'; '.join(problems)}. Expected: "
            f"{', '.join(map(repr, columns))}. Give the file as its source publishes it."
        )


def make_folder(path: Path) -> Path:
    """Makes a folder that only its owner can enter; an existing one is left unchanged."""
    path = path.expanduser()
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file; a folder is needed. Give another name.")

    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
    except OSError as error:
        raise IncompleteError(
            f"{path}: cannot be made ({system_reason(error)}). Give another name."
        ) from error

    return path


def append_line(path: Path, line: bytes, *, mode: int = 0o644) -> None:
    """Appends a line to a file, and returns when it is on the disk.

    A line that a kill left incomplete is ended first, so that it does not spoil the new one. A
    link is not followed, since others might read its target.

    Args:
        path: the file; it is created with the permissions `mode` if missing.
        line: the line without its end.
        mode: the permissions of a new file.

    Raises:
        OSError: the line is not, or not completely, on the disk.
    """
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags, mode)
    try:
        size = os.fstat(handle).st_size
        unfinished = size and os.pread(handle, 1, size - 1) != b"\n"
        content = b"\n" * bool(unfinished) + line + b"\n"
        if os.write(handle, content) != len(content):
            raise OSError(None, "only a part of the line was written")

        os.fsync(handle)
    finally:
        os.close(handle)

    if is_new:
        _sync(path.parent)


def _sync(folder: Path) -> None:
    """Flushes the name of a new file to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class WholeFile:
    """A file, of text or bytes, that replaces the old one only when the `with` block succeeds.

    Missing folders are made, a link is followed; a `private` file has mode 0600 from its first
    byte on.

    Example: `results.json` is written as `.results.json.4711.part` next to it (4711 is the
    process). A kill leaves the old `results.json` intact; an error removes the part; the end of
    the block renames it, once it is on the disk.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self._private = private
        self.path = path.expanduser()
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{path}: is a folder or a device. Name a file to write.")
        self._place = self.path.resolve()
        self._part = self._place.with_name(f".{self._place.name}.{os.getpid()}.part")
        self._stream: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            if self._private:
                self._part.unlink(missing_ok=True)
                self._part.touch(mode=0o600, exist_ok=False)
            self._stream = self._part.open("wb")
        except OSError as error:
            raise self._failed(error) from error
        return self

    def write(self, text: str) -> int:
        """Adds text with its line ends unchanged.

        Returns the number of characters, like any text stream.
        """
        self.write_bytes(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def write_bytes(self, content: bytes) -> None:
        """Adds bytes."""
        if self._stream is None:
            raise ValueError(f"{self.path}: not open; use it in a with block")
        try:
            self._stream.write(content)
        except OSError as error:
            raise self._failed(error) from error

    def __exit__(self, kind: object, *_: object) -> None:
        """Renames the finished file, or removes an unfinished one."""
        stream, self._stream = self._stream, None
        if stream is None:
            return

        try:
            with stream:  # closed whatever happens; closing writes too
                if kind is None:
                    stream.flush()
                    os.fsync(stream.fileno())

            if kind is None:
                self._part.replace(self._place)
        except OSError as problem:
            if kind is None:
                raise self._failed(problem) from problem
        finally:
            self._part.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> IncompleteError:
        return IncompleteError(
            f"{self.path}: cannot be written ({system_reason(error)}). Free some space or choose "
            "another --out, and give the command again."
        )


CHUNK_BYTES: Final = 4 * 1024 * 1024  # unpacked
_GZIP_MAGIC = b"\x1f\x8b"


def read_chunks(
    path: Path, *, again: str, on_read: Callable[[int], None] = lambda _: None
) -> Generator[bytes, None, None]:
    """Yields the content of a plain or gzip file, also with several members, in nonempty chunks.

    `again`: the next step if the file is damaged; `on_read`: called with the number of bytes read
    so far.
    """
    # Two to three times as fast as Python's own.
    gzip: Any = importlib.import_module("zlib_ng.gzip_ng")
    # glibc keeps freed memory up to the largest size ever freed; otherwise each chunk is
    # allocated by the system page by page.
    bytearray(4 * CHUNK_BYTES)
    try:
        with open_file(path) as packed:
            stream: BinaryIO = packed
            if packed.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=packed))

            while chunk := stream.read(CHUNK_BYTES):
                on_read(packed.tell())
                yield chunk
    except EOFError as error:
        raise UsageError(f"{path}: cut off, the gzip data end amid. {again}") from error
    except (gzip.BadGzipFile, gzip.zlib_ng.error) as error:
        raise UsageError(f"{path}: damaged, cannot be unpacked. {again}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
