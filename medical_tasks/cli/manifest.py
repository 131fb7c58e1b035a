"""The command `manifest`."""

from __future__ import annotations

from pathlib import Path

import medical_tasks.plugins as plugins
from medical_tasks.catalog import benchmarks, package_of
from medical_tasks.data.manifest import (
    check_cards,
    check_manifest,
    write_cards,
    write_manifest,
    write_package,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.output import tell
from medical_tasks.options import Manifest


def run(arguments: Manifest) -> int:
    """Writes or checks the files; exit code 2 if one differs."""
    if arguments.package is not None:
        written = _write_package(arguments.package)
        tell("\n".join(f"wrote {path}" for path in written), written=written)
        return 0

    root: Path = arguments.root
    if not (root / "dataset_builders").is_dir():
        raise UsageError(
            f"{root.resolve()}: not the project's folder (it has no dataset_builders/). Give --root DIR."
        )

    if arguments.write == arguments.check:
        raise UsageError("manifest needs one of --check, --write, --package FOLDER.")

    if arguments.write:
        written = [*write_manifest(root), *write_cards(root / "dataset_builders")]
        tell("\n".join(f"wrote {path}" for path in written), written=written)
        return 0

    problems = [*check_manifest(root), *check_cards(root / "dataset_builders")]
    if problems:
        raise UsageError("\n".join(problems))

    tell(
        "tasks.json, the table of README, the packages of setup.cfg, cards, Croissant files "
        "and eval.yaml match the code",
        problems=[],
    )
    return 0


def _write_package(folder: Path) -> list[Path]:
    """Writes the generated files of a package that need not be installed.

    A benchmark that violates the contract is not registered, so the message includes the
    reasons.
    """
    with plugins.using([str(folder)]):
        package = plugins.package_in(folder)
        own = [
            benchmark for benchmark in benchmarks() if package_of(benchmark) == package
        ]
        if not own:
            reasons = [
                str(problem)
                for problem in plugins.problems()
                if problem.package == package
            ]
            raise UsageError(
                f"{folder}: registers no usable benchmark. {' '.join(reasons)}".rstrip()
            )

        return write_package(folder, own)
