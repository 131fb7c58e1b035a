"""MedCalc-Bench's own gold answers, scored by the metric of medhelm 0.8.0 from its wheel, and by ours.

    python measurements/peer_medcalc.py --source test_data.csv [--wheel medhelm-0.8.0-py3-none-any.whl] [--venv FOLDER]

Their wheel and the few packages that its metric imports go into an environment of their
own (79 MB), from the package index or from `--wheel`. Each gold answer is passed to
their `MedCalcBenchMetric` as the model's completion, with the instance that their
scenario makes of the row (that module itself needs `datasets`), and to our `accuracy`
as the reply.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from medical_tasks.benchmarks.medcalc_bench.scoring import decide

# What the metric's module and its base classes import, of any version; torch and the
# rest of the wheel's requirements do without.
IMPORTS = "cattrs colorlog dacite filelock mako pyhocon pyyaml retrying sqlitedict tqdm zstandard".split()
METRIC_SHA256 = "daf884098123f32eb9ff0e4c3c7dbde59d4e80b4cdae03ff88ccf361281cda14"

THEIRS = """
import hashlib, json, sys
from helm.benchmark.adaptation.adapter_spec import AdapterSpec
from helm.benchmark.adaptation.request_state import RequestState
from helm.benchmark.metrics import medcalc_bench_metrics
from helm.benchmark.scenarios.scenario import CORRECT_TAG, Input, Instance, Output, Reference
from helm.common.request import GeneratedOutput, Request, RequestResult

def state(row):
    limits = {"category": row["Category"], "upper_limit": row["Upper Limit"], "lower_limit": row["Lower Limit"]}
    gold = row["Ground Truth Answer"]
    instance = Instance(Input(text=""), [Reference(Output(text=gold), tags=[CORRECT_TAG])], extra_data=limits)
    result = RequestResult(True, [], [GeneratedOutput(gold, 0, [])], False)
    return RequestState(instance, None, None, 0, None, Request(), result, 0, False)

with open(medcalc_bench_metrics.__file__, "rb") as file:
    print(hashlib.sha256(file.read()).hexdigest())
metric = medcalc_bench_metrics.MedCalcBenchMetric()
marks = [metric.evaluate_generation(AdapterSpec(), state(row), None, "")[0].mean for row in json.load(sys.stdin)]
print(json.dumps(marks))
"""


def their_marks(rows: list[dict[str, str]], wheel: str, venv: Path) -> list[float]:
    """Scores each gold answer by their metric."""
    python = str(venv / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *IMPORTS], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    result = subprocess.run(
        [python, "-c", THEIRS],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=True,
    )
    digest, marks = result.stdout.splitlines()[-2:]
    if digest != METRIC_SHA256:
        raise SystemExit(
            f"{wheel}: its medcalc_bench_metrics.py has the SHA-256 {digest}, not medhelm 0.8.0's."
        )
    return list(json.loads(marks))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--source", type=Path, required=True, help="the authors' CSV file of v1.0"
    )
    parser.add_argument(
        "--wheel",
        default="medhelm==0.8.0",
        help="the wheel, instead of the package index",
    )
    parser.add_argument("--venv", type=Path, help="folder to keep the environment in")
    options = parser.parse_args()
    with options.source.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    with tempfile.TemporaryDirectory() as scratch:
        theirs = their_marks(rows, options.wheel, options.venv or Path(scratch))
    golds, peer, ours = Counter[str](), Counter[str](), Counter[str]()
    for row, mark in zip(rows, theirs, strict=True):
        gold = row["Ground Truth Answer"]
        limits = {"lower": row["Lower Limit"], "upper": row["Upper Limit"]}
        right = decide(
            gold, calculator_id=int(row["Calculator ID"]), gold=gold, **limits
        ).correct
        for name in (row["Category"], "all"):
            golds[name] += 1
            peer[name] += int(mark)
            ours[name] += right
    print(
        f"{'gold answers':<13} {'number':>6} {'medhelm 0.8.0':>14} {'medical-tasks':>14}"
    )
    for name in sorted(golds, key=lambda name: (name == "all", name)):
        print(f"{name:<13} {golds[name]:>6,} {peer[name]:>14,} {ours[name]:>14,}")


if __name__ == "__main__":
    main()
