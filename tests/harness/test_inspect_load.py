from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.markup import render

from medical_tasks.cli import main
from medical_tasks.medcalc_bench.spec import DATASET, MEDCALC


@pytest.mark.parametrize(
    ("config", "prompts", "message"),
    [
        ("nope", "own", "has no configuration 'nope'"),
        ("verified", "own", "configuration verified, is not in {folder}"),
        ("demo", "nope", "unknown prompt set 'nope'"),
    ],
)
def test_a_users_mistake_is_inspects_own_kind_of_message(
    tmp_path: Path, config: str, prompts: str, message: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from medical_tasks.harness.inspect_adapter import load

    folder = tmp_path / "with [brackets]"
    assert main(["build", "medcalc_bench", "--config", "demo", "--out", str(folder)]) == 0
    with pytest.raises(PrerequisiteError) as caught:
        load(MEDCALC, DATASET, config=config, data=str(folder), prompts=prompts, upstream=None)
    # As inspect prints it: rich swallows square brackets that are not escaped.
    told = render(str(caught.value.message)).plain
    assert message.format(folder=folder) in told
    assert "written -T config=demo" in told


@pytest.mark.slow
def test_the_command_shows_no_traceback(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT")}
    words = ["eval", "medical_tasks/medcalc", "--model", "mockllm/model", "-T", "config=nope"]
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", *words],
        capture_output=True,
        text=True,
        env=environment | {"MEDICAL_TASKS_DATA": str(tmp_path)},
        cwd=tmp_path,
        timeout=240,
        check=False,
    )
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert "has no configuration 'nope'" in " ".join(told.split())
