"""Memory and time of runs, and of a report, by how many items they have: fresh MedCalc questions, baselines, a file, a server.

    python measurements/large_runs.py [ITEMS ...] [--data FOLDER] [--asked N]

Peak memory and processor seconds are those of the command alone, a process of its own,
with everything it loads. The server runs here and answers at once with a line of text;
it is asked about the first set of at most `--asked` items. With `--data` the sets are
kept, so that another version of the suite can be measured on the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.benchmarks.medcalc_bench.declarations import MEDCALC_BENCH
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.data.fetching import build_dataset
from medical_tasks.data.task_data import load_task_data
from tests.fault_server import FaultServer

COMMAND = (sys.executable, "-m", "medical_tasks")


def measure(label: str, *words: str | Path, report: Path | None = None) -> None:
    """Prints time and memory of a command, then of the report of its run, with the data in `report`."""
    with tempfile.TemporaryDirectory() as out:
        taken(label, *words, "--config", "fresh", "--out", f"{out}/run")
        if report is not None:
            taken(f"{label}, report", "report", f"{out}/run", "--data", report)


def taken(label: str, *words: str | Path) -> None:
    """Runs a command and prints its time and memory."""
    process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.DEVNULL)
    # of this child alone, unlike RUSAGE_CHILDREN
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{label}: exit code {process.returncode}")
    print(
        f"{label}: {used.ru_maxrss / 1024:.0f} MiB, {used.ru_utime + used.ru_stime:.1f} s of processor time",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="*", type=int, default=[20_000, 50_000, 200_000])
    parser.add_argument(
        "--data", type=Path, help="where the built sets are, or are put"
    )
    parser.add_argument(
        "--asked",
        type=int,
        default=20_000,
        help="largest set that a server is asked about",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for count in options.items:
            home = (options.data or Path(scratch)) / str(count)
            folder, answers = home / "medcalc_bench", home / "answers.jsonl"
            if not folder.exists():
                build_dataset(
                    "medcalc_bench",
                    source=None,
                    config="fresh",
                    out=folder,
                    options={"seed": 1, "n": count},
                )
            if not answers.exists():
                items = load_task_data(
                    MEDCALC, MEDCALC_BENCH, data=folder, config="fresh"
                ).items
                with answers.open("w", encoding="utf-8") as file:
                    for item in items:
                        gold = MEDCALC.benchmark.gold_response(MEDCALC, item)
                        file.write(json.dumps({"id": item.id, "response": gold}) + "\n")
            run = ("run", "--tasks", "medcalc", "--data", folder, "--model")
            for name in ("reference", "random"):
                measure(
                    f"{count:,} items, baseline/{name}",
                    *run,
                    f"baseline/{name}",
                    report=folder,
                )
            measure(
                f"{count:,} items, score",
                "score",
                "medcalc",
                "--responses",
                answers,
                "--data",
                folder,
            )
            if count <= options.asked:
                with FaultServer(answer=lambda call: "The answer is 17.") as server:
                    os.environ |= {
                        "LARGE_BASE_URL": server.base_url,
                        "LARGE_API_KEY": "none",
                    }
                    measure(f"{count:,} items, a server", *run, "openai-api/large/m")


if __name__ == "__main__":
    main()
