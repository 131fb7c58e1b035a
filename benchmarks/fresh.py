"""Fresh MedCalc questions: how fast they are made, and whether their golds hold.

    python benchmarks/fresh.py
    python benchmarks/fresh.py --n 10000 --seed 7

Prints wall-clock and processor seconds for generating, for building the parquet folder, and for checking; then for how many
items each independent path agrees with the gold: the last line of the explanation, the entities typed as texts at the
command line, and the two scorers on the gold's own reply.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.medcalc_bench.data import load_items
from medical_tasks.benchmarks.medcalc_bench.fresh import fresh_rows
from medical_tasks.benchmarks.medcalc_bench.prompts import gold_response
from medical_tasks.benchmarks.medcalc_bench.scoring import score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.calculators import calculate
from medical_tasks.cli.calc import from_arguments

Row = dict[str, Any]


def timed(what: str, work: Callable[[], Any]) -> Any:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    print(f"{what}: {time.perf_counter() - wall:.1f} s, {time.process_time() - processor:.1f} s of processor time")
    return result


def told(row: Row) -> bool:
    """Whether the explanation's last line ends in the gold."""
    line, gold = row["ground_truth_explanation"].splitlines()[-1], row["ground_truth_answer"]
    answer = line.removeprefix(f"{row['calculator_name']} = ")
    if answer == line:
        return False
    if row["calculator_id"] == 69:
        return bool(re.findall(r"\d+", answer) == re.findall(r"\d+", gold))
    if row["output_type"] == "date":
        return bool(answer == f"{gold}.")
    number = re.match(r"-?\d+(\.\d+)?(e[+-]?\d+)?", answer)
    return number is not None and math.isclose(float(number[0]), float(gold), rel_tol=1e-5)


def typed(row: Row) -> bool:
    """Whether the entities, as texts a person would type, give the gold."""
    arguments = []
    for name, value in json.loads(row["relevant_entities"]).items():
        if isinstance(value, bool):
            text = "yes" if value else "no"
        else:
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        arguments.append(f"{name}={text}")
    entities = from_arguments(row["calculator_id"], arguments)
    return bool(calculate(row["calculator_id"], entities).answer_text == row["ground_truth_answer"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="items")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rows = timed(f"{options.n:,} items generated", lambda: list(fresh_rows(options.seed, options.n)))
    with tempfile.TemporaryDirectory() as folder:
        timed(
            f"{options.n:,} items built into a folder (imports and writing included)",
            lambda: build_dataset(
                "medcalc_bench",
                source=None,
                config="fresh",
                out=Path(folder) / "medcalc_bench",
                options={"seed": options.seed, "n": options.n},
            ),
        )
    lengths = [len(row["patient_note"].split()) for row in rows]
    calculators = Counter(row["calculator_id"] for row in rows)
    print(f"words of a note: {min(lengths)} to {max(lengths)}, {sum(lengths) / len(lengths):.0f} on average")
    print(f"{len(calculators)} calculators, {min(calculators.values())} to {max(calculators.values())} items each")
    agreed = timed("golds checked", lambda: (sum(map(told, rows)), sum(map(typed, rows))))
    print(f"last line of the explanation agrees: {agreed[0]:,} of {len(rows):,}")
    print(f"entities typed as texts agree: {agreed[1]:,} of {len(rows):,}")
    items = load_items(MEDCALC, rows)
    replies = [gold_response(MEDCALC, item) for item in items]
    scores = timed("gold replies scored", lambda: score_items(MEDCALC, items, replies))
    for metric in ("accuracy", "accuracy_official"):
        print(f"{metric} of the gold replies: {sum(score.values[metric] for score in scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
