"""`new-benchmark`: both skeletons run as they are, and no file is overwritten."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import medical_tasks as mt
from medical_tasks.cli import main
from medical_tasks.errors import UsageError
from tests.support import ROOT


def run_module(*words: str, **environment: str) -> None:
    """Runs `python -m` with these words, which must succeed."""
    process = subprocess.run(
        [sys.executable, "-m", *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize("form", ["--yaml", "--package"])
def test_the_printed_commands_run(
    form: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"skeleton_{form[2:]}"
    assert main(["new-benchmark", name, form, "--out", "made"]) == 0
    commands = [
        line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()[-2:]
    ]
    for command in commands:
        assert main(shlex.split(command)) == 0
    assert "100.0 %" in capsys.readouterr().out
    assert main(["new-benchmark", name, form, "--out", "made"]) == 2
    assert "already exists and is not overwritten" in capsys.readouterr().err
    if form == "--package":
        path = f"{ROOT}{os.pathsep}{here / 'made' / name}"
        pytest_words = ["pytest", "-q", "-p", "no:cacheprovider", f"made/{name}"]
        run_module(*pytest_words, PYTHONPATH=path)


def test_the_python_function_and_wrong_arguments(here: Path) -> None:
    assert mt.new_benchmark("first_aid") == [
        Path("first_aid.yaml"),
        Path("first_aid.csv"),
    ]
    with pytest.raises(
        UsageError, match="new-benchmark 'First-Aid': a name has 2 to 48 small"
    ):
        mt.new_benchmark("First-Aid")
    with pytest.raises(UsageError, match="yaml and package are two forms"):
        mt.new_benchmark("aid", yaml=True, package=True)


@pytest.mark.slow
def test_the_skeleton_passes_the_projects_lint_and_types(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the cache that `make types` leaves this takes seconds."""
    assert main(["new-benchmark", "own_rule", "--package"]) == 0
    folder = here / "own_rule"
    monkeypatch.chdir(ROOT)
    settings = str(ROOT / "pyproject.toml")
    for words in (
        ["ruff", "check", "--config", settings],
        ["ruff", "format", "--check", "--config", settings],
        ["mypy", "--config-file", settings],
    ):
        run_module(*words, str(folder), MYPYPATH=str(folder))
