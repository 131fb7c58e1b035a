"""The verb `new-benchmark`: the skeleton of a benchmark of one's own, which runs at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from medical_tasks.construct.options import NewBenchmark
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, make_folder, read_text
from medical_tasks.io.output import tell

_SKELETON: Final = Path(__file__).with_name("skeleton")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{1,47}")
_OF_YAML: Final = {"{name}.yaml": "benchmark.yaml", "{name}.csv": "questions.csv"}
_OF_PACKAGE: Final = {
    "{name}/pyproject.toml": "pyproject.toml",
    "{name}/{name}/__init__.py": "package.py.txt",
    "{name}/{name}/{name}.yaml": "benchmark.yaml",
    "{name}/{name}/{name}.csv": "questions.csv",
    "{name}/test_{name}.py": "test.py.txt",
}
"""Paths of the files, with the skeleton of each."""


def run(options: NewBenchmark) -> int:
    """Writes the skeleton, and prints the next two commands."""
    written = write(options)
    folder = options.out or Path()
    plugin_path = folder / (options.name if options.package else f"{options.name}.yaml")
    commands = [
        f"medical-tasks --plugin {plugin_path} build {options.name}",
        f"medical-tasks --plugin {plugin_path} run --tasks {options.name} --model baseline/reference",
    ]
    lines = [
        "written:",
        *(f"  {path}" for path in written),
        "next:",
        *(f"  {c}" for c in commands),
    ]
    tell("\n".join(lines), {"written": written, "next": commands})

    return 0


def write(options: NewBenchmark) -> list[Path]:
    """Writes the files of a skeleton.

    Raises:
        UsageError: The name is invalid, both forms are requested, or a file exists.
    """
    name = options.name
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"new-benchmark {name!r}: a name has 2 to 48 small letters, digits and _, and begins "
            "with a letter. Give for example first_aid."
        )

    if options.yaml and options.package:
        raise UsageError(
            "--yaml and --package are two forms of a skeleton. Give one of them."
        )

    files = _texts(
        name, _OF_PACKAGE if options.package else _OF_YAML, options.out or Path()
    )
    for path in files:
        if path.exists():
            raise UsageError(
                f"{path}: already exists and is not overwritten. Give another name, or "
                "another folder with --out."
            )

    for path, text in files.items():
        make_folder(path.parent)
        with WholeFile(path) as stream:
            stream.write(text)

    return list(files)


def _texts(name: str, files: Mapping[str, str], out: Path) -> dict[Path, str]:
    """Returns the files with their texts, in which `NAME` is replaced by the name."""
    return {
        out / path.format(name=name): read_text(_SKELETON / skeleton).replace(
            "NAME", name
        )
        for path, skeleton in files.items()
    }
