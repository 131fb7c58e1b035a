"""The commands of docs/hospital.md, each step once in a shell as it is printed, and their output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.settings import SETTINGS_NAME
from tests.support import ROOT, run_in_shell

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "hospital.md").read_text(encoding="utf-8")
MOST_COMMANDS = 12
EXIT_CODES = {"medical-tasks site gate clinic": 7}


@pytest.fixture
def working_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "bin").mkdir()
    script = here / "bin" / "medical-tasks"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m medical_tasks "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return here


def steps_of(block: str) -> set[str]:
    """The steps of a block's commands."""
    return {line.split()[2] for line in block.splitlines()}


def run_as_printed(line: str) -> tuple[int, str, str]:
    """The exit code and what was printed."""
    process = run_in_shell(line)
    return process.returncode, process.stdout, process.stderr


def run_here(line: str) -> tuple[int, str, str]:
    """The same without a process, for a step that the page's other block runs in a shell."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main(shlex.split(line)[1:])
    return code, out.getvalue(), error.getvalue()


@pytest.mark.parametrize("number", [0, 1])
def test_the_commands_of_the_page_alone_lead_to_a_gate(
    working_folder: Path, number: int
) -> None:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    commands = blocks[number].splitlines()
    gate = next(index for index, line in enumerate(commands) if " gate " in line)
    assert gate < MOST_COMMANDS
    outputs = {}
    for line in commands:
        is_shown = number == 1 and line.split()[2] in steps_of(blocks[0])
        code, outputs[line], error = (run_here if is_shown else run_as_printed)(line)
        assert code == EXIT_CODES.get(line, 0), (line, outputs[line], error)
    if number == 0:
        (verdict,) = re.findall(r"```text\n(GO .*)\n```", PAGE)
        assert verdict in outputs[commands[gate]]
        status = outputs["medical-tasks site status ward"]
        (shown,) = re.findall(r"```text\n(step .*?)```", PAGE, re.DOTALL)
        for line in re.findall(r"(?m)^(?:check|evidence|Next) .*", shown):
            assert line in status
    else:
        assert "INCONCLUSIVE (" in outputs[commands[gate]]
        assert "a judge by words" in outputs[commands[gate]]
    # The file that the page tells to edit exists; the folder's README has the same steps.
    folder = working_folder / ("ward", "clinic")[number]
    assert (folder / SETTINGS_NAME).is_file()
    readme = (folder / "README.md").read_text()
    for line in commands[1:]:
        assert f"medical-tasks site {line.split()[2]}" in readme
