"""The verb `compare` on the command line; `Compare` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.comparison.comparing import compare
from medical_tasks.io.output import tell
from medical_tasks.options import Compare


def run(arguments: Compare) -> int:
    """Prints the comparison; exit code 2 when nothing can be compared."""
    found, text = compare(arguments)
    tell(text, found)
    return 0
