"""Errors a user can cause or meet, each with the exit code the command line ends with.

    MedicalTasksError
    ├── UsageError       2  unknown task, bad option, malformed input file
    ├── MissingError     3  data, judge, model or optional package is not there; says how
    │                       to get it
    ├── RefusedError     4  the data guard said no
    └── IncompleteError  5  the work ended, but some items could not be answered or
                            scored, or disk or memory was too small

`medical-tasks verify` ends with 6 when something does not match: an outcome, not an
error.

Every message names the thing, the rule, the value received and the next step. Anything
else that is raised is a fault of this package and keeps its traceback.
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


# As threads, loaders of libraries, pyarrow and torch say it.
_NO_MEMORY: Final = re.compile(
    "can't start new thread|Failed to launch worker thread|failed to map "
    "segment|(?:can't|[Cc]annot) allocate memory"
)


class MedicalTasksError(Exception):
    """Base of all errors that are told to the user as one message, without a traceback."""

    exit_code = 1


class UsageError(MedicalTasksError):
    """The command or its input does not follow the stated form."""

    exit_code = 2


class MissingError(MedicalTasksError):
    """Something needed is not on this machine; the message holds the exact steps to get it."""

    exit_code = 3


class RefusedError(MedicalTasksError):
    """The data guard refused to let text leave this machine."""

    exit_code = 4


class IncompleteError(MedicalTasksError):
    """The run ended and its results are written, but some items have no answer or no score."""

    exit_code = 5


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, to stand behind a message about a name that nobody knows.

    "" where no known one is near.
    """
    import difflib

    near = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """Names the first few, and how many more there are."""
    more = (
        f"{between.removeprefix(',')}and {len(names) - most:,} more"
        if len(names) > most
        else ""
    )
    return between.join(names[:most]) + more


def check_least(values: Mapping[str, float | None], least: float = 1) -> None:
    """Refuses options, given with their values, that are too small.

    One that was not given is none.
    """
    for name, value in values.items():
        if value is not None and value < least:
            raise UsageError(f"{name} must be {least} or more, got {value}.")


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Notes what was being done on an error of memory that comes out of the block; an inner block's word comes first.

    Args:
        what: as in "not enough memory to ...".
    """
    try:
        yield
    except Exception as error:
        if memory_error(error):
            error.add_note(what)

        raise


def memory_error(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that there is no memory left, also for a thread or a library to be loaded."""
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
    """Says in a few words why the system refused (`No space left on device`), whoever raised it."""
    return os.strerror(error.errno) if error.errno else str(error)


_NO_ROOM: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG, errno.EMFILE}
)
"""What the machine lacks: the same command may do elsewhere, or later."""
_LONGEST_NAME: Final = 60


def of_system(error: BaseException) -> MedicalTasksError | None:
    """What the system says of a file that a user named, as an error for them; None for any other error.

    Commands and functions pass their errors through this, so that a name of 300
    letters, a folder in place of a file, or a full disk is a message wherever it comes
    up. What a socket or a pipe says has no file name, and stays what it is. So does what
    is said of a file of this package, which no user named: that is an error of ours.

    >>> str(of_system(OSError(errno.ENAMETOOLONG, "", "n" * 300)))
    "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'... (300 letters): File name too long. Give another name."
    """
    # Python 3.13 says "stat: embedded null character in path".
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return UsageError(
            "a file's name has a character with the code 0. Give another name."
        )

    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):
        return UsageError(f"{error}. Give the file itself.")
    if not isinstance(error, OSError) or not error.errno or error.filename is None:
        return None
    if memory_error(error) or _is_ours(error.filename):
        return None

    where, reason = _short_name(error.filename), system_reason(error)
    if error.errno in _NO_ROOM:
        return IncompleteError(
            f"{where}: {reason}. Finished work is kept. Free some space or choose another place, "
            "and give the same command again."
        )

    if error.errno == errno.ENOENT:
        return MissingError(f"{where}: {reason}. Give a file or folder that is there.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return UsageError(f"{where}: {reason}. Make it readable and writable for you.")

    return UsageError(f"{where}: {reason}. Give another name.")


def _is_ours(name: object) -> bool:
    """Whether a file is one of this package's own, or would be."""
    package = Path(__file__).resolve().parent
    return isinstance(name, str | os.PathLike) and Path(name).absolute().is_relative_to(
        package
    )


def _short_name(name: object) -> str:
    """A file's name as a message shows it; of a very long one the beginning."""
    text = (
        os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(name)
    )
    if len(text.rpartition(os.sep)[2]) <= _LONGEST_NAME * 2:
        return text
    return f"{text[:_LONGEST_NAME]!r}... ({len(text)} letters)"


def failure_kind(error: Exception) -> str:
    """Says what kind of error it is, without its own words, which may quote what was read."""
    if isinstance(error, OSError) and error.errno:
        return system_reason(error)
    return type(error).__name__


def install_command(extra: str, *more: str) -> str:
    """Returns the command that installs an extra's packages by their own names, wherever this suite was installed from.

    Args:
        extra: of `setup.cfg`.
        more: further packages.
    """
    return " ".join(
        ["pip install", *map(shlex.quote, dict.fromkeys((*_packages(extra), *more)))]
    )


def _packages(extra: str) -> list[str]:
    import importlib.metadata  # slow to import

    try:
        stated = importlib.metadata.requires("medical-tasks") or []
    except (
        importlib.metadata.PackageNotFoundError
    ):  # run from a checkout that is not installed
        return [f".[{extra}]"]

    found = []
    for line in stated:
        package, _, marker = line.partition(";")
        if re.fullmatch(rf"\s*extra == .{extra}.", marker):
            own = re.fullmatch(r"medical-tasks\[(.*)\]", package)
            found += (
                [one for name in own[1].split(",") for one in _packages(name)]
                if own
                else [package]
            )

    return found
