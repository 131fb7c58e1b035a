"""Small finished runs on demo data, made by the command line itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medical_tasks.cli.entry import main
from medical_tasks.data.fetching import build_dataset


def built(home: Path, *datasets: str) -> Path:
    for name in datasets:
        build_dataset(name, source=None, config="demo", out=home / name)
    return home


def ran(
    home: Path, out: Path, tasks: str, model: str, more: Sequence[str] = ()
) -> Path:
    words = ("run", "--tasks", tasks, "--model", model, "--config", "demo")
    assert main([*words, "--data", str(home), "--out", str(out), *more]) == 0
    return out


def scored(
    home: Path, out: Path, task: str, responses: Path, more: Sequence[str] = ()
) -> Path:
    words = ("score", task, "--responses", str(responses))
    assert main([*words, "--data", str(home), "--out", str(out), *more]) == 0
    return out
