"""What is left of an unexpected error, and of a crash, while credentialed text is held: where it happened, and no words.

The message of a parser, a scorer or a library often quotes what it stumbled over, and a traceback goes to a job's log.
"""

from __future__ import annotations

import contextlib
import errno
import traceback
from collections.abc import Iterator
from pathlib import Path

__all__ = ["WithheldError", "is_full_disk", "no_core_files", "told"]

_FRAMES = 8  # the innermost ones of each error


class WithheldError(RuntimeError):
    """A fault of the program, told without the words of the error it was."""


def is_full_disk(error: BaseException) -> bool:
    """Says whether an error is the system's, that no more can be written to where the output goes."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None


def told(error: BaseException) -> str:
    """Says of what kinds an error and those behind it are, and where in the code they were raised.

    Args:
        error: any error.

    Returns:
        Lines with class names, source files, lines and functions; nothing that an error says.
    """
    lines = ["an unexpected error; its words are left out, since they may quote text of credentialed data."]
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        system = errno.errorcode.get(found.errno or 0) if isinstance(found, OSError) else None
        reason = f" ({system})" if system is not None else ""
        lines.append(f"{type(found).__module__}.{type(found).__qualname__}{reason}, raised in")
        frames = traceback.extract_tb(found.__traceback__)[-_FRAMES:]
        lines += [f"  {Path(frame.filename).name}, line {frame.lineno}, {frame.name}" for frame in frames]
        inner = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        waiting += [each for each in (*inner, found.__cause__, found.__context__) if each is not None]
    return "\n".join(lines)


@contextlib.contextmanager
def no_core_files() -> Iterator[None]:
    """Keeps this process, and those started meanwhile, from writing their memory to a file when they crash."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
