"""CPU time of the whole command `score medcalc` on 1,047 answers, beside another checkout in turn.

    python -m measurements.score_command --source test_data_v1.csv --other CHECKOUT [--runs N]

The golds of the authors' CSV are answered as objects ("objects") and by their
explanations, as running text ("prose"). Each run is a process of its own; the two
checkouts take turns. Printed are medians of the CPU time, user and system, the median
of the pairs' ratios, and the ratio of each checkout's fastest run. With
--no-bytecode Python compiles every module anew, as where `PYTHONDONTWRITEBYTECODE` is
set and nothing was compiled before.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parents[1]


def write_answers(source: Path, folder: Path) -> dict[str, Path]:
    """Writes the two files of answers."""
    with source.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    files = {name: folder / f"{name}.jsonl" for name in ("objects", "prose")}
    for name, path in files.items():
        with path.open("w", encoding="utf-8") as file:
            for row in rows:
                answer = json.dumps({"answer": row["Ground Truth Answer"]})
                text = answer if name == "objects" else row["Ground Truth Explanation"]
                file.write(
                    json.dumps({"id": row["Row Number"], "response": text}) + "\n"
                )
    return files


def environment(tree: Path, cache: Path, *, bytecode: bool) -> dict[str, str]:
    """Returns the environment for a command of a checkout."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
    }
    kept |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(cache)}
    return kept if bytecode else {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


def cpu_seconds(command: list[str], variables: dict[str, str], folder: Path) -> float:
    """Measures the CPU time of a command, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, env=variables, cwd=folder, stdout=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Prints a line for each file of answers."""
    parser = argparse.ArgumentParser(
        description="Times `score medcalc` beside another checkout."
    )
    parser.add_argument(
        "--source", type=Path, required=True, help="the authors' test_data_v1.csv"
    )
    parser.add_argument("--other", type=Path, required=True, help="another checkout")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument(
        "--no-bytecode", action="store_true", help="compile modules in every run"
    )
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = {"this": HERE, "other": options.other.resolve()}
        bytecode = not options.no_bytecode
        variables = {
            tree: environment(path, folder / f"cache-{tree}", bytecode=bytecode)
            for tree, path in trees.items()
        }
        verb = [sys.executable, "-m", "medical_tasks"]
        config = ["--config", "v1.0"]
        for tree in trees:
            build = [
                "build",
                "medcalc_bench",
                "--source",
                str(options.source.resolve()),
            ]
            out = ["--out", f"data-{tree}/medcalc_bench"]
            cpu_seconds([*verb, *build, *config, *out], variables[tree], folder)
        for answers, path in write_answers(options.source, folder).items():
            times: dict[str, list[float]] = {tree: [] for tree in trees}
            for number in range(options.runs + 1):
                for tree in trees:
                    score = [
                        "score",
                        "medcalc",
                        "--responses",
                        str(path),
                        "--data",
                        f"data-{tree}",
                    ]
                    out = ["--out", f"out-{answers}-{tree}-{number}"]
                    took = cpu_seconds(
                        [*verb, *score, *config, *out], variables[tree], folder
                    )
                    if number:  # the first one of each fills the caches
                        times[tree].append(took)
            pairs = zip(times["this"], times["other"], strict=True)
            ratios = [this / other for this, other in pairs]
            least = min(times["this"]) / min(times["other"])
            print(
                f"{answers}: {statistics.median(times['this']):.2f} s, other "
                f"{statistics.median(times['other']):.2f} s, ratio {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f}), of the fastest runs {least:.2f}"
            )


if __name__ == "__main__":
    main()
