"""The steps of docs/hospital.md on invented notes, for tests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from medical_tasks.cli.entry import main
from tests.case_tables import json_of

STEPS = (
    ("plan",),
    ("sample",),
    ("make",),
    ("review", "--import", "demo/labels_items.csv"),
    ("run",),
    ("review", "--import", "demo/labels_labels.csv"),
    ("judge",),
)

# Short beside the time that a step takes, and long beside the time of a look.
_BETWEEN_LOOKS_S = 0.002


def make_demo(folder: Path, use: str, *words: str) -> Path:
    """Creates the folder of a demo."""
    code = main(["site", "new", str(folder), "--use", use, "--demo", *words])
    assert code == 0
    return folder


def run_step(folder: Path, step: str, *words: str) -> int:
    """Runs a step in this process; paths of the demo are relative to the folder."""
    paths = [str(folder / word) if word.startswith("demo/") else word for word in words]
    return main(["site", step, str(folder), *paths])


def start_step(folder: Path, step: str, *words: str) -> subprocess.Popen[bytes]:
    """Starts a step as a process of its own, in the folder."""
    command = [sys.executable, "-m", "medical_tasks", "site", step, *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=os.environ,
    )


def kill_when(folder: Path, exists: Callable[[], bool], step: str, *words: str) -> bool:
    """Kills a step as soon as `exists` is true; False if the step ended before."""
    process = start_step(folder, step, *words)
    while True:
        if exists():
            process.kill()
            return process.wait() == -signal.SIGKILL
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_BETWEEN_LOOKS_S)
            return False


def headline(folder: Path, role: str, metric: str) -> dict[str, float]:
    """A metric of a role's run."""
    content = json_of(folder / "runs" / role / "results.json")
    (entry,) = content["tasks"].values()
    values: dict[str, float] = entry["metrics"][metric]
    return values


def figures(folder: Path, role: str, metric: str) -> tuple[object, ...]:
    """Value, interval and number of a metric, rounded since sums of floats may differ in their last digits."""
    values = headline(folder, role, metric)
    return tuple(
        round(value, 12) if isinstance(value := values[name], float) else value
        for name in ("value", "ci_low", "ci_high", "n")
    )


def states(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The kind of state of every step in `site status --json`."""
    capsys.readouterr()
    assert main(["site", "status", str(folder), "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    return {step["step"]: step["kind"] for step in steps}
