"""How fast MedCalc-Bench answers are scored.

    python benchmarks/medcalc_scoring.py --source test_data.csv [--recorded gpt-4o-mini_direct_answer.csv]

Scores the golds of the authors' CSV in three forms of reply, and their recorded answers where given. The time is CPU time of
the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medical_tasks.medcalc_bench.decision import Decision
from medical_tasks.medcalc_bench.official import official_check, official_decision
from medical_tasks.medcalc_bench.scoring import decide

Row = dict[str, str]
Scorer = Callable[..., Decision]

FORMS: dict[str, Callable[[Row], str]] = {
    "JSON, the answer only": lambda row: json.dumps({"answer": row["Ground Truth Answer"]}),
    "JSON with reasoning": lambda row: json.dumps(
        {"step_by_step_thinking": row["Ground Truth Explanation"], "answer": row["Ground Truth Answer"]}
    ),
    "reasoning without JSON": lambda row: row["Ground Truth Explanation"],
}


def read(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def measure(name: str, scorer: Scorer, replies: list[str], rows: list[Row], rounds: int) -> None:
    """Prints how many rows a second a scorer decides."""
    arguments: list[dict[str, Any]] = [
        {
            "calculator_id": int(row["Calculator ID"]),
            "gold": row["Ground Truth Answer"],
            "lower": row["Lower Limit"],
            "upper": row["Upper Limit"],
        }
        for row in rows
    ]
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        correct = sum(scorer(reply, **row).correct for reply, row in zip(replies, arguments, strict=True))
        best = min(best, time.process_time() - start)
    print(f"{name:<45} {correct:>5} of {len(rows)} right  {best * 1000:8.1f} ms  {len(rows) / best:10,.0f} rows/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--source", type=Path, required=True, help="the authors' test_data.csv")
    parser.add_argument(
        "--recorded", type=Path, help="a CSV of recorded answers, with the columns Row Number and LLM Answer"
    )
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    rows = read(options.source)
    for form, write in FORMS.items():
        replies = [write(row) for row in rows]
        measure(f"accuracy, {form}", decide, replies, rows, options.rounds)
        measure(f"accuracy_official, {form}", official_decision, replies, rows, options.rounds)
    if options.recorded:
        golds = {row["Row Number"]: row for row in rows}
        recorded = read(options.recorded)
        answers, wanted = [row["LLM Answer"] for row in recorded], [golds[row["Row Number"]] for row in recorded]
        measure("accuracy, recorded answers", decide, answers, wanted, options.rounds)
        measure("accuracy_official, recorded answers", official_check, answers, wanted, options.rounds)


if __name__ == "__main__":
    main()
