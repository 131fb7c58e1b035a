"""The commands, one module each: `run(options) -> exit code`."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command with `cli.entry.main`, and returns its exit code.

    Args:
        argv: The arguments after the program's name; by default those of this process.
    """
    if argv is None:
        _spare_collections()
    from medical_tasks.cli.entry import main as run

    return run(argv)


def _spare_collections() -> None:
    """Makes the garbage collector run less often, and not at all at the end.

    Importing large libraries creates many permanent objects: examining them repeatedly
    takes a sixth of that time, and once more at the end a fifth of a second.
    """
    gc.set_threshold(100_000, 20, 20)
    atexit.register(gc.freeze)
