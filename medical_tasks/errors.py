"""Errors that a user can cause or meet, each with the exit code of the command line.

    MedicalTasksError
    ├── UsageError       2  unknown task, bad option, malformed input file
    ├── MissingError     3  data, judge, model or optional package is missing; has the
    │                       steps to get it
    ├── RefusedError     4  refused by the data guard
    └── IncompleteError  5  finished, but some items could not be answered or scored, or
                            disk or memory was too small

`medical-tasks verify` exits with 6 for a mismatch, which is an outcome, not an error.

Every message names the thing, the rule, the value received and the next step. Any other
exception is a bug of this package and keeps its traceback.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = [
    "IncompleteError",
    "MedicalTasksError",
    "MissingError",
    "RefusedError",
    "UsageError",
    "did_you_mean",
    "doing",
    "install_command",
    "memory_error",
    "system_reason",
]


# The messages of threads, library loaders, pyarrow and torch.
_NO_MEMORY: Final = re.compile(
    "can't start new thread|Failed to launch worker thread|failed to map "
    "segment|(?:can't|[Cc]annot) allocate memory"
)


class MedicalTasksError(Exception):
    """Base of all errors that are shown to the user as one message without a traceback."""

    exit_code = 1


class UsageError(MedicalTasksError):
    """The command or its input is invalid."""

    exit_code = 2


class MissingError(MedicalTasksError):
    """Something required is not on this machine; the message has the exact steps to get it."""

    exit_code = 3


class RefusedError(MedicalTasksError):
    """The data guard refused to let text leave this machine."""

    exit_code = 4


class IncompleteError(MedicalTasksError):
    """The run ended and its results are written, but some items have no answer or no score."""

    exit_code = 5


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Returns ` Did you mean 'x'?` to append to a message about an unknown name.

    It is "" if no candidate is similar.
    """
    import difflib

    near = difflib.get_close_matches(name, list(candidates), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """Lists the first names and the number of the others."""
    more = (
        f"{between.removeprefix(',')}and {len(names) - most:,} more"
        if len(names) > most
        else ""
    )
    return between.join(names[:most]) + more


def check_least(values: Mapping[str, float | None], least: float = 1) -> None:
    """Refuses options whose values are too small; None is no value."""
    for name, value in values.items():
        if value is not None and value < least:
            raise UsageError(f"{name} must be {least} or more, got {value}.")


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Adds a note on the current action to memory errors in the block; that of an inner block is first.

    Args:
        what: The action, as in "not enough memory to ...".
    """
    try:
        yield
    except Exception as error:
        if memory_error(error):
            error.add_note(what)

        raise


def memory_error(error: BaseException | None) -> bool:
    """Whether an error or its cause is due to lack of memory, also for a thread or a library."""
    if error is None:
        return False

    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (
            not isinstance(error, MedicalTasksError)
            and _NO_MEMORY.search(str(error)) is not None
        )
        or memory_error(error.__cause__)
    )


def system_reason(error: OSError) -> str:
    """Returns the system's reason in a few words (`No space left on device`)."""
    return os.strerror(error.errno) if error.errno else str(error)


_NO_ROOM: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EMFILE}
)
"""Errors due to limits of the machine: the same command may work elsewhere, or later."""
_LONGEST_NAME: Final = 60


def of_system(error: BaseException) -> MedicalTasksError | None:
    """Converts a system error about a user's file to a user error; None for any other error.

    Commands and functions pass their errors through this, so that a name of 300
    letters, a folder instead of a file, or a full disk gives a message wherever it
    occurs. Errors of sockets and pipes have no file name and are not converted, nor are
    errors about files of this package, which are bugs.

    >>> str(of_system(OSError(errno.ENAMETOOLONG, "", "n" * 300)))
    "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'... (300 letters): File name too long. Give another name."
    """
    # Python 3.13 says "stat: embedded null character in path".
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return UsageError("a file's name contains a null character. Give another name.")

    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):
        return UsageError(f"{error}. Give the file itself.")
    if not isinstance(error, OSError) or not error.errno or error.filename is None:
        return None
    if memory_error(error) or _is_ours(error.filename):
        return None

    where, reason = _short_name(error.filename), system_reason(error)
    if error.errno in _NO_ROOM:
        return IncompleteError(
            f"{where}: {reason}. Finished work is kept. Free some space or use another folder, "
            "and repeat the command."
        )

    if error.errno == errno.ENOENT:
        return MissingError(f"{where}: {reason}. Give an existing file or folder.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return UsageError(
            f"{where}: {reason}. Make it readable and writable for yourself."
        )

    return UsageError(f"{where}: {reason}. Give another name.")


def _is_ours(name: object) -> bool:
    """Whether a file is in the folder of this package."""
    package = Path(__file__).resolve().parent
    return isinstance(name, str | os.PathLike) and Path(name).absolute().is_relative_to(
        package
    )


def _short_name(name: object) -> str:
    """Returns a file's name for a message, shortened if it is very long."""
    text = (
        os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(name)
    )
    if len(text.rpartition(os.sep)[2]) <= _LONGEST_NAME * 2:
        return text
    return f"{text[:_LONGEST_NAME]!r}... ({len(text)} letters)"


def failure_kind(error: Exception) -> str:
    """Returns the kind of an error without its message, which may quote data."""
    if isinstance(error, OSError) and error.errno:
        return system_reason(error)
    return type(error).__name__


def install_command(extra: str, *more: str) -> str:
    """Returns the command that installs an extra's packages by name, however this suite was installed.

    Args:
        extra: The name of the extra in `setup.cfg`.
        more: Further packages.
    """
    return " ".join(
        ["pip install", *map(shlex.quote, dict.fromkeys((*_packages(extra), *more)))]
    )


def _packages(extra: str) -> list[str]:
    import importlib.metadata  # slow to import

    try:
        stated = importlib.metadata.requires("medical-tasks") or []
    except importlib.metadata.PackageNotFoundError:  # a checkout that is not installed
        return [f".[{extra}]"]

    requirements = []
    for line in stated:
        package, _, marker = line.partition(";")
        if re.fullmatch(rf"\s*extra == .{extra}.", marker):
            own = re.fullmatch(r"medical-tasks\[(.*)\]", package)
            requirements += (
                [
                    requirement
                    for name in own[1].split(",")
                    for requirement in _packages(name)
                ]
                if own
                else [package]
            )

    return requirements
