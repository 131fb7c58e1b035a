"""Write or check the generated files of the repository: tasks.json, dataset cards, Croissant files and eval.yaml.

medical-tasks manifest --check
medical-tasks manifest --write
medical-tasks manifest --package FOLDER

The last writes another package's tasks.json, and in cards/ its datasets' cards; FOLDER is named as for --plugin.
"""

from __future__ import annotations

import argparse
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="write the files")
    mode.add_argument("--check", action="store_true", help="fail when one differs from the specs")
    mode.add_argument(
        "--package", type=Path, metavar="FOLDER", help="write the files of another package"
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the repository (default: this folder)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes or checks; exit code 2 when something differs."""
    if arguments.package is not None:
        written = _write_package(arguments.package)
        tell("\n".join(f"wrote {path}" for path in written), written=written)
        return 0
    root: Path = arguments.root
    if not (root / "dataset_builders").is_dir():
        raise UsageError(
            f"{root.resolve()}: not the project's folder (no dataset_builders/ there). Give --root DIR."
        )
    if arguments.write:
        written = [*write_manifest(root), *write_cards(root / "dataset_builders")]
        tell("\n".join(f"wrote {path}" for path in written), written=written)
        return 0
    problems = [*check_manifest(root), *check_cards(root / "dataset_builders")]
    if problems:
        raise UsageError("\n".join(problems))
    tell(
        "tasks.json, README's table, setup.cfg's packages, cards, Croissant files and eval.yaml are what the specs say",
        problems=[],
    )
    return 0


def _write_package(folder: Path) -> list[Path]:
    with plugins.using([str(folder)]):
        package = plugins.package_in(folder)
        own = [each for each in benchmarks() if package_of(each) == package]
        if not own:
            reasons = [str(problem) for problem in plugins.problems() if problem.package == package]
            raise UsageError(
                f"{folder}: registers no benchmark that can be used. {' '.join(reasons)}".rstrip()
            )
        return write_package(folder, own)
