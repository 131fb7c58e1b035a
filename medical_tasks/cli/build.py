"""The command `build`."""

from __future__ import annotations

from medical_tasks.data.fetching import build
from medical_tasks.io.output import tell
from medical_tasks.options import Build


def run(arguments: Build) -> int:
    """Builds a dataset, and reports what was built and how to use it."""
    built = build(arguments)
    lines = [
        f"built {arguments.dataset}, configuration {built.config}: {built.rows} rows in {built.folder}",
        f'  load_dataset("{built.folder}", "{built.config}")',
    ]
    if arguments.fetch:
        lines.append(
            f"official files: {built.place} (for --source or --upstream of other commands)"
        )

    tell("\n".join([*lines, *(f"note: {note}" for note in built.notes)]), built)
    return 0
