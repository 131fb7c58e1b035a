"""The verb `export` on the command line; `Export` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks._api import exported
from medical_tasks.io.output import tell
from medical_tasks.leaderboard.options import Export


def run(arguments: Export) -> int:
    """Writes the files, and says which fields are left open."""
    files, left_open = exported(arguments)
    tell("\n".join(map(str, files)), files=files, left_open=left_open)
    if left_open:
        tell("left open:\n" + "\n".join(f"  {name}" for name in left_open))
    return 0
