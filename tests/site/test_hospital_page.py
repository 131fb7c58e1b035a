"""docs/hospital.md: its commands as they are printed, by a person with no Python, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from medical_tasks.site.settings import SETTINGS_NAME
from tests.support import ROOT

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "hospital.md").read_text(encoding="utf-8")
MOST_COMMANDS = 12
EXIT_CODES = {"medical-tasks site gate clinic": 7}


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "bin").mkdir()
    script = here / "bin" / "medical-tasks"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m medical_tasks "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return here


@pytest.mark.parametrize("number", [0, 1])
def test_the_commands_of_the_page_alone_lead_to_a_gate(
    place: Path, number: int
) -> None:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    commands = blocks[number].splitlines()
    gate = next(place for place, line in enumerate(commands) if " gate " in line)
    assert gate < MOST_COMMANDS
    said = {}
    for line in commands:
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, check=False
        )
        expected = EXIT_CODES.get(line, 0)
        assert done.returncode == expected, (line, done.stdout, done.stderr)
        said[line] = done.stdout
    if number == 0:
        (verdict,) = re.findall(r"```text\n(GO .*)\n```", PAGE)
        assert verdict in said[commands[gate]]
        status = said["medical-tasks site status ward"]
        (shown,) = re.findall(r"```text\n(step .*?)```", PAGE, re.DOTALL)
        for line in re.findall(r"(?m)^(?:check|evidence|Next) .*", shown):
            assert line in status
    else:
        assert "INCONCLUSIVE (" in said[commands[gate]]
        assert "a judge by words" in said[commands[gate]]
    # What the page tells to edit is there, and the folder's README has the same steps.
    folder = place / ("ward", "clinic")[number]
    assert (folder / SETTINGS_NAME).is_file()
    readme = (folder / "README.md").read_text()
    for line in commands[1:]:
        assert f"medical-tasks site {line.split()[2]}" in readme
