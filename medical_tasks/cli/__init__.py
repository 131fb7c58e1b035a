"""The verbs of the command line, one module each: `run(options) -> exit code`."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command, as `cli.entry.main` does, and returns its exit code.

    Args:
        argv: the arguments after the program's name; those of this process by default.
    """
    if argv is None:
        _spare_collections()
    from medical_tasks.cli.entry import main as run

    return run(argv)


def _spare_collections() -> None:
    """Lets the garbage collector run less often, and not at all at the end.

    Importing large libraries makes many objects that all stay: looking at them again
    and again takes a sixth of that time, and looking at them once more before the
    process ends as long as a fifth of a second.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)
