"""Commands of this suite and of inspect, run to their end in a warm process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.case_tables import json_of
from tests.fault_server import FaultServer
from tests.warm_process import WarmProcess


def demo_environment(data: Path, **variables: str) -> dict[str, str]:
    """The variables of a command that reads the demo configurations in a data home."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("INSPECT")
    }
    return inherited | {
        "MEDICAL_TASKS_DATA": str(data),
        "HF_HUB_OFFLINE": "1",
        **variables,
    }


def endpoint(server: FaultServer) -> dict[str, str]:
    """The variables by which `openai-api/script/m` is a server of the test."""
    return {"SCRIPT_BASE_URL": server.base_url, "SCRIPT_API_KEY": "x"}


def run(
    warm: WarmProcess, words: list[str], *, cwd: Path, environment: dict[str, str]
) -> None:
    """Runs `python -m WORDS`, which must succeed."""
    done = warm.run(["-m", *words], cwd=cwd, environment=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def inspect_eval(*tasks: str, logs: Path) -> list[str]:
    """The words of an inspect evaluation of `openai-api/script/m`."""
    words = ["inspect_ai", "eval", *tasks, "--model", "openai-api/script/m"]
    return [*words, "--log-dir", str(logs), "--log-format", "json", "--display", "none"]


def log_means(log: dict[str, Any]) -> dict[str, float]:
    """The means of a log of inspect, by metric."""
    return {
        score["name"]: score["metrics"]["mean"]["value"]
        for score in log["results"]["scores"]
    }


def only_log(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*.json")
    log: dict[str, Any] = json_of(file)
    return log
