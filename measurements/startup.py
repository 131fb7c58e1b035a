"""How long the command line takes to answer, and how large an installation is.

    python measurements/startup.py [ENVIRONMENT]

Times whole processes: `--help`, `list` and `doctor`, beside `python -c pass` and beside
importing the libraries that are put off (datasets, torch). With the folder of a virtual
environment as argument, uses its interpreter and adds up the sizes of its installed
packages; make a fresh one with `pip install .` to see the core.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 7


def seconds(command: list[str]) -> list[float]:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
        if done.returncode not in (0, 3):
            raise SystemExit(
                f"{command}: exit {done.returncode}: {done.stderr.decode()[-500:]}"
            )
    return times


def show(name: str, command: list[str]) -> None:
    times = seconds(command)
    print(
        f"{name:<28} first {times[0]:6.2f} s   median {statistics.median(times):6.2f} s   worst {max(times):6.2f} s"
    )


def megabytes(folder: Path) -> float:
    total = 0
    for base, _, names in os.walk(folder):
        total += sum((Path(base) / name).lstat().st_size for name in names)
    return total / 1e6


def main() -> None:
    environment = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    python = str(environment / "bin" / "python") if environment else sys.executable
    show("python -c pass", [python, "-c", "pass"])
    for words in (["--help"], ["list"], ["doctor"]):
        show(f"medical-tasks {words[0]}", [python, "-m", "medical_tasks", *words])
    for package in ("datasets", "torch", "lighteval"):
        done = subprocess.run(
            [
                python,
                "-c",
                f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)",
            ],
            check=False,
        )
        if done.returncode == 0:
            show(f"import {package}", [python, "-c", f"import {package}"])
    if environment:
        (packages,) = environment.glob("lib/python*/site-packages")
        tools = sum(
            megabytes(path)
            for name in ("pip", "setuptools")
            for path in packages.glob(f"{name}*")
        )
        print(f"installed packages           {megabytes(packages) - tools:.0f} MB")


if __name__ == "__main__":
    main()
