"""The verb `build` on the command line; `Build` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.data.fetching import build
from medical_tasks.io.output import tell
from medical_tasks.options import Build


def run(arguments: Build) -> int:
    """Builds, and says what was built and how to use it."""
    made = build(arguments)
    lines = [
        f"built {arguments.dataset}, configuration {made.config}: {made.rows} rows in {made.folder}",
        f'  load_dataset("{made.folder}", "{made.config}")',
    ]
    if arguments.fetch:
        lines.append(
            f"official files: {made.place} (other verbs take it as --source or --upstream)"
        )

    tell("\n".join([*lines, *(f"note: {note}" for note in made.notes)]), made)
    return 0
