"""Which files of this machine's Python a program can read, for each kind of Python there is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.sandbox.execution import INTERPRETER, find_runtime
from tests.support import ROOT

# Another Python and another user import the sandbox from a copy that they may read.
CHECK = """
from medical_tasks.sandbox.probe import probe
from medical_tasks.sandbox import run_code
missing = probe()
import os
print(missing, os.getuid(), run_code("import os, sys, math, ctypes; print(sys.version_info[:2], os.getuid())").stdout)
"""


def test_only_the_standard_library_is_mounted() -> None:
    runtime = find_runtime()
    sources = [Path(source) for source, _ in runtime.binds]
    folders = [path for path in sources if path.is_dir()]
    assert [folder.resolve() for folder in folders] == [
        Path(os.__file__).resolve().parent
    ]
    assert all(
        path.name.count(".so") or path == Path(runtime.binds[0][0])
        for path in sources
        if path.is_file()
    )
    assert runtime.binds[0][1] == INTERPRETER
    assert [
        withheld for withheld in runtime.withheld if withheld.endswith("site-packages")
    ] != []
    assert not any("site-packages" in source for source, _ in runtime.binds)
    assert runtime.version == ".".join(map(str, sys.version_info[:3]))


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """Copies what the sandbox needs to where every user may read it; pytest's own folders are for their owner alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "medical_tasks").mkdir()
        (folder / "medical_tasks" / "__init__.py").touch()
        shutil.copy(ROOT / "medical_tasks" / "errors.py", folder / "medical_tasks")
        shutil.copytree(
            ROOT / "medical_tasks" / "sandbox", folder / "medical_tasks" / "sandbox"
        )
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield folder


def _pythons() -> list[str]:
    """Finds the Pythons of this machine, 3.11 or newer, each kind once."""
    by_version: dict[str, str] = {}
    paths = [
        "/usr/bin/python3",
        *map(str, Path.home().glob(".pyenv/versions/3.*/bin/python3")),
    ]
    for path in paths:
        if Path(path).is_file():
            code = "import sys; print(sys.version_info >= (3, 11), sys.version, sys._base_executable)"
            output = subprocess.run(
                [path, "-I", "-S", "-c", code],
                capture_output=True,
                text=True,
                check=False,
            ).stdout
            if output.startswith("True"):
                by_version.setdefault(output, path)
    return list(by_version.values())


@pytest.mark.slow
def test_every_python_of_this_machine(copy: Path, sandbox: None) -> None:
    pythons = _pythons()
    if not pythons:
        pytest.skip("no other Python, 3.11 or newer, on this machine")
    for python in pythons:
        process = subprocess.run(
            [python, "-c", CHECK],
            capture_output=True,
            text=True,
            cwd=copy,
            timeout=120,
            check=False,
        )
        assert process.stdout.startswith("None "), (
            python,
            process.stdout,
            process.stderr,
        )
        assert process.stdout.strip().endswith("65534")


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0, reason="run as an ordinary user, which all other tests then show"
)
def test_an_ordinary_user(copy: Path, sandbox: None) -> None:
    python = next(
        (path for path in ("/usr/bin/python3", sys.executable) if path in _pythons()),
        None,
    )
    if python is None:
        pytest.skip("no Python, 3.11 or newer, that every user may start")
    process = subprocess.run(
        [python, "-c", CHECK], capture_output=True, text=True, cwd=copy, timeout=120, check=False, user=54321, group=54321,
        extra_groups=[],
    )  # fmt: skip
    command = [python, "-c", "import sys; print(sys.version_info[:2])"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert process.stdout.split() == [
        "None",
        "54321",
        *version.split(),
        "65534",
    ], process.stderr
