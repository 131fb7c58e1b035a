"""How long a program takes in the sandbox, and how long finding out whether there is one.

python measurements/sandbox.py [PROGRAMS]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from medical_tasks.sandbox import run_code
from medical_tasks.sandbox.probe import probe

PROGRAM = "import math\nage, weight, creatinine = 64, 80, 1.1\nprint((140 - age) * weight / (72 * creatinine))"


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _on_all(pool: ThreadPoolExecutor, count: int) -> None:
    list(pool.map(run_code, [PROGRAM] * count))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    reason = probe()
    if reason is not None:
        print(f"no sandbox on this machine: {reason}")
        return
    print(f"probe: {timed(probe) * 1000:.0f} ms")
    print(
        f"one after the other: {timed(lambda: [run_code(PROGRAM) for _ in range(count)]) / count * 1000:.0f} ms a program"
    )
    for workers in (2, 4):
        with ThreadPoolExecutor(max_workers=workers) as pool:
            seconds = timed(partial(_on_all, pool, count))
        print(f"{workers} at once: {seconds / count * 1000:.0f} ms a program")
    print(
        f"{count} programs, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
