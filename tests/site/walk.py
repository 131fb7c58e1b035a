"""The walk of docs/hospital.md on invented notes, as its tests give it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from medical_tasks.cli.entry import main

STEPS = (
    ("plan",),
    ("sample",),
    ("make",),
    ("review", "--import", "demo/labels_items.csv"),
    ("run",),
    ("review", "--import", "demo/labels_labels.csv"),
    ("judge",),
)


def new(folder: Path, use: str, *words: str) -> Path:
    """Makes the folder of a demo."""
    code = main(["site", "new", str(folder), "--use", use, "--demo", *words])
    assert code == 0
    return folder


def give(folder: Path, step: str, *words: str) -> int:
    """Gives a step in this process; files are seen from the folder."""
    seen = [str(folder / word) if word.startswith("demo/") else word for word in words]
    return main(["site", step, str(folder), *seen])


def started(folder: Path, step: str, *words: str) -> subprocess.Popen[bytes]:
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


def killed_at(folder: Path, there: Callable[[], bool], step: str, *words: str) -> bool:
    """Kills a step as soon as something is there; False where it ended before."""
    process = started(folder, step, *words)
    while process.poll() is None:
        if there():
            process.send_signal(signal.SIGKILL)
            process.wait()
            return process.returncode == -signal.SIGKILL
    return False


def headline(folder: Path, role: str, metric: str) -> dict[str, float]:
    """A metric of a role's run."""
    content = json.loads((folder / "runs" / role / "results.json").read_text())
    (entry,) = content["tasks"].values()
    found: dict[str, float] = entry["metrics"][metric]
    return found


def figures(folder: Path, role: str, metric: str) -> tuple[object, ...]:
    """Value, interval and number of a metric; sums of floats may differ in their last digits."""
    found = headline(folder, role, metric)
    return tuple(
        round(value, 12) if isinstance(value := found[name], float) else value
        for name in ("value", "ci_low", "ci_high", "n")
    )


def states(folder: Path, capsys: object) -> dict[str, str]:
    """Step to kind of state, as `site status --json` says it."""
    read = capsys.readouterr  # type: ignore[attr-defined]
    read()
    assert main(["site", "status", str(folder), "--json"]) == 0
    return {each["step"]: each["kind"] for each in json.loads(read().out)["steps"]}
