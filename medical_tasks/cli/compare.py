"""The command `compare`."""

from __future__ import annotations

from medical_tasks.comparison.comparing import compare
from medical_tasks.io.output import tell
from medical_tasks.options import Compare


def run(arguments: Compare) -> int:
    """Prints the comparison; exit code 2 if nothing can be compared."""
    comparison, text = compare(arguments)
    tell(text, comparison)
    return 0
