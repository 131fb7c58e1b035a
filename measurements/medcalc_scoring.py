"""How fast MedCalc-Bench answers are scored.

    python measurements/medcalc_scoring.py --source test_data.csv [--recorded gpt-4o-mini_direct_answer.csv] [--upstream DIR]

With a checkout of the authors' repository, their `extract_answer` (which evaluates
replies as code) reads the same golds in the same run, beside ours. Scores the golds of
the authors' CSV in three forms of reply, and their recorded answers where given. The
time is CPU time of the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.data import load_items, read_rows
from medical_tasks.benchmarks.medcalc_bench.gold import Decision, answer_kind
from medical_tasks.benchmarks.medcalc_bench.official import (
    official_answer,
    official_check,
    official_decision,
)
from medical_tasks.benchmarks.medcalc_bench.scoring import decide, score_items
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC

Row = dict[str, str]
Scorer = Callable[..., Decision]

FORMS: dict[str, Callable[[Row], str]] = {
    "JSON, the answer only": lambda row: json.dumps(
        {"answer": row["Ground Truth Answer"]}
    ),
    "JSON with reasoning": lambda row: json.dumps(
        {
            "step_by_step_thinking": row["Ground Truth Explanation"],
            "answer": row["Ground Truth Answer"],
        }
    ),
    "reasoning without JSON": lambda row: row["Ground Truth Explanation"],
}


def read(path: Path) -> list[Row]:
    """Reads the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def measure(
    name: str, scorer: Scorer, replies: list[str], rows: list[Row], rounds: int
) -> None:
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
        correct = sum(
            scorer(reply, **row).correct
            for reply, row in zip(replies, arguments, strict=True)
        )
        best = min(best, time.process_time() - start)
    print(
        f"{name:<45} {correct:>5} of {len(rows)} right  {best * 1000:8.1f} ms  {len(rows) / best:10,.0f} rows/s"
    )


def measure_items(source: Path, rows: list[Row], rounds: int) -> None:
    """Prints how many rows a second are scored by all four metrics."""
    items = load_items(MEDCALC, list(read_rows("v1.0", "test", {"test": source})))
    for form, write in FORMS.items():
        replies = [write(row) for row in rows]
        best = float("inf")
        for _ in range(rounds):
            start = time.process_time()
            score_items(MEDCALC, items, replies)
            best = min(best, time.process_time() - start)
        print(
            f"{'all four metrics, ' + form:<45} {best * 1000:24.1f} ms  {len(rows) / best:10,.0f} rows/s"
        )


def load_authors_reader(checkout: Path) -> Callable[[str, int], tuple[str, str]]:
    """Loads their `extract_answer`, with empty modules instead of imports that it does not need."""
    for name in ("llm_inference", "evaluate", "table_stats"):
        stand_in = ModuleType(name)
        stand_in.__dict__.update(
            LLMInference=None, check_correctness=None, compute_overall_accuracy=None
        )
        sys.modules[name] = stand_in
    spec = importlib.util.spec_from_file_location(
        "authors_run", checkout / "evaluation" / "run.py"
    )
    if spec is None or spec.loader is None:
        raise SystemExit(f"{checkout}: no evaluation/run.py there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reader: Callable[[str, int], tuple[str, str]] = module.extract_answer
    return reader


def measure_reading(
    checkout: Path, replies: list[str], rows: list[Row], rounds: int
) -> None:
    """Prints how many replies a second the authors' reader and ours read."""
    theirs = load_authors_reader(checkout)
    identifiers = [int(row["Calculator ID"]) for row in rows]
    kinds = [answer_kind(identifier) for identifier in identifiers]
    best: dict[str, float] = {"authors": float("inf"), "ours": float("inf")}
    for _ in range(rounds):
        start = time.process_time()
        read_by_authors = [
            theirs(reply, number)[0]
            for reply, number in zip(replies, identifiers, strict=True)
        ]
        best["authors"] = min(best["authors"], time.process_time() - start)
        start = time.process_time()
        read_by_us = [
            official_answer(reply, kind)
            for reply, kind in zip(replies, kinds, strict=True)
        ]
        best["ours"] = min(best["ours"], time.process_time() - start)
    same = sum(
        their == our for their, our in zip(read_by_authors, read_by_us, strict=True)
    )
    print(
        f"reading alone: authors {len(rows) / best['authors']:,.0f} rows/s, ours {len(rows) / best['ours']:,.0f} rows/s, "
    )
    print(
        f"  {best['authors'] / best['ours']:.2f} times as fast; {same} of {len(rows)} answers read alike"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "--source", type=Path, required=True, help="the authors' test_data.csv"
    )
    parser.add_argument(
        "--recorded",
        type=Path,
        help="a CSV of recorded answers, with the columns Row Number and LLM Answer",
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--upstream", type=Path, help="a checkout of the authors' repository"
    )
    options = parser.parse_args()
    rows = read(options.source)
    for form, write in FORMS.items():
        replies = [write(row) for row in rows]
        measure(f"accuracy, {form}", decide, replies, rows, options.rounds)
        measure(
            f"accuracy_official, {form}",
            official_decision,
            replies,
            rows,
            options.rounds,
        )
    measure_items(options.source, rows, options.rounds)
    if options.upstream:
        measure_reading(
            options.upstream,
            [FORMS["JSON, the answer only"](row) for row in rows],
            rows,
            options.rounds,
        )
    if options.recorded:
        golds = {row["Row Number"]: row for row in rows}
        recorded = read(options.recorded)
        answers, answered_rows = (
            [row["LLM Answer"] for row in recorded],
            [golds[row["Row Number"]] for row in recorded],
        )
        measure(
            "accuracy, recorded answers", decide, answers, answered_rows, options.rounds
        )
        measure(
            "accuracy_official, recorded answers",
            official_check,
            answers,
            answered_rows,
            options.rounds,
        )


if __name__ == "__main__":
    main()
