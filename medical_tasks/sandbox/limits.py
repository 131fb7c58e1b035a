"""What a program may use, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from medical_tasks.errors import UsageError

__all__ = ["MAX_PROGRAM_BYTES", "SANDBOX_VERSION", "Exit", "Limits", "Outcome"]

SANDBOX_VERSION: Final = 1
"""Changes whenever the same program could end otherwise."""

MAX_PROGRAM_BYTES: Final = 1 << 20

Exit = Literal["ok", "error", "timeout", "memory", "output"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one program may use.

    Attributes:
        cpu_seconds: processor time.
        wall_seconds: time from start to end, waiting included.
        memory_mb: address space in MiB, the interpreter's own included.
        output_bytes: standard output, and likewise standard error.
        folder_mb: size of all files it writes, in MiB; they are in memory.
        open_files: files open at once.

    Raises:
        UsageError: A limit is not above its smallest useful value.
    """

    cpu_seconds: int = 5
    wall_seconds: float = 20.0
    memory_mb: int = 512
    output_bytes: int = 65_536
    folder_mb: int = 8
    open_files: int = 32

    def __post_init__(self) -> None:
        """Refuse limits under which no program could start."""
        least = {
            "cpu_seconds": 1,
            "wall_seconds": 0.1,
            "memory_mb": 64,
            "output_bytes": 1,
            "folder_mb": 1,
            "open_files": 16,
        }
        for name, smallest in least.items():
            if not getattr(self, name) >= smallest:
                raise UsageError(f"sandbox limit {name} must be {smallest} or more, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a program ended.

    Attributes:
        stdout: what it printed, up to the limit.
        stderr_tail: the end of what it wrote to standard error; for a program that was stopped, why.
        exit: `ok`; `error` (an exception, an exit code, a crash); `timeout` (processor or wall-clock time); `memory`;
            `output` (more than it may print).
        seconds: from start to end.
    """

    stdout: str
    stderr_tail: str
    exit: Exit
    seconds: float
