r"""Writes a package for the leaderboard Space from a finished run. Nothing is sent anywhere.

    medical-tasks submit runs/my-run --to space --model-name "My Model 7B"
    medical-tasks submit runs/my-run --to space --model-name "My Model 7B" \
        --organisation "My Lab" --url https://example.org/model --open-weights yes \
        --parameters 7 --out my-model.zip

The package holds the results with their recipe, a line for each item with hashes of
answer and verdicts, and for open data the answers themselves, so that anybody with the
same data can check it: medical-tasks verify my-model.zip. For credentialed data it holds
no text. Paths, addresses and file names of this machine are removed from the recipe. The
submitter's statements are shown unchanged.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.output import tell
from medical_tasks.leaderboard.options import SubmitSpace
from medical_tasks.leaderboard.submission_package.contents import (
    Submitter,
    VerifyOptions,
)
from medical_tasks.leaderboard.submission_package.package_file import write_package
from medical_tasks.runs.results import read_results

DEFAULT_OUT: Final = Path("submission.zip")


def run(arguments: SubmitSpace) -> int:
    """Writes the package."""
    if not arguments.model_name:
        raise UsageError(
            '--model-name: give the name that the leaderboard shows, such as --model-name "My Model 7B".'
        )

    submitter = Submitter(
        model=arguments.model_name,
        organisation=arguments.organisation,
        url=arguments.url,
        notes=arguments.notes,
        open_weights=None
        if arguments.open_weights is None
        else arguments.open_weights == "yes",
        parameters=arguments.parameters,
        licence=arguments.licence,
    )
    folder: Path = arguments.run
    out: Path = arguments.out or DEFAULT_OUT
    needed = [
        arguments.responses,
        *(
            folder / name
            for name in ("results.json", "items.parquet", "verdicts.jsonl")
        ),
    ]
    if any(
        path is not None and out.expanduser().resolve() == path.expanduser().resolve()
        for path in needed
    ):
        raise UsageError(f"{out}: is a file that the run needs. Choose another --out.")

    names = [task.name for path in arguments.task for task in parse_task_names(path)]
    ran = parse_task_names(",".join(names or read_results(folder)["tasks"]))
    options = VerifyOptions(
        **{
            name: getattr(arguments, name)
            for name in ("data", "source", "responses", "upstream")
        }
    )
    with policy.protect(
        [policy.Subject.of(dataset_spec(task.dataset), task=task.name) for task in ran]
    ):
        package = write_package(
            folder,
            out,
            submitter,
            tasks=names,
            options=options,
            allow_partial=arguments.allow_partial,
            answers=not arguments.no_answers,
            judged=not arguments.no_judge,
        )

    for name, reasons in package.manifest.partial.items():
        print(
            f"warning: {name}: {' '.join(reasons)} Leaderboards may refuse it.",
            file=sys.stderr,
        )

    counts = ", ".join(
        f"{name} ({package.results['tasks'][name]['n_items']} items)"
        for name in package.manifest.tasks
    )
    tell(
        f"{out}: {counts}; {out.expanduser().stat().st_size:,} bytes, id {package.manifest.id}",
        file=out,
        id=package.manifest.id,
    )
    tell(f"Nothing was sent anywhere. Check it: medical-tasks verify {out}")

    return 0
