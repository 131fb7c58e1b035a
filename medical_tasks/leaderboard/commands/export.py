"""The verb `export` on the command line; `options.Export` has its options."""

from __future__ import annotations

from medical_tasks.io.output import tell
from medical_tasks.leaderboard.export import Exported, export_run
from medical_tasks.leaderboard.options import Export
from medical_tasks.report.texts import TextPlaces


def run(arguments: Export) -> int:
    """Writes the files, and lists the fields that were left open."""
    files, left_open = exported(arguments)
    tell("\n".join(map(str, files)), files=files, left_open=left_open)
    if left_open:
        tell("left open:\n" + "\n".join(f"  {name}" for name in left_open))
    return 0


def exported(arguments: Export) -> Exported:
    """Writes the files, and returns them with the fields that were left open."""
    places = TextPlaces(
        data=arguments.data,
        source=arguments.source,
        responses=arguments.responses,
        upstream=arguments.upstream,
    )
    return export_run(
        arguments.run,
        arguments.to,
        arguments.out,
        places=places,
        model_name=arguments.model_name,
        force=arguments.force,
    )
