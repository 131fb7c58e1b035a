"""Calculations with explanations a second, over the rows of the v1.0 test split.

    python measurements/calculators.py ../shared/data/medcalc/test_data_v1.csv

Prints wall-clock and processor figures: rows of one pass, calculations a second with
entities read, converted, calculated and explained in one process, and the slowest
calculators.
"""

from __future__ import annotations

import argparse
import ast
import csv
import time
from collections import defaultdict
from pathlib import Path

from medical_tasks.calculators import AnyCalculator, CalculatorInputError, find


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path, help="test_data_v1.csv of MedCalc-Bench")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="how long to measure"
    )
    options = parser.parse_args()
    with options.csv.open(encoding="utf-8", newline="") as file:
        rows = [
            (
                find(int(row["Calculator ID"])),
                ast.literal_eval(row["Relevant Entities"]),
            )
            for row in csv.DictReader(file)
        ]
    answerable = [
        (entry, entities) for entry, entities in rows if answers(entry, entities)
    ]
    print(f"{len(rows)} rows, {len(answerable)} with an answer")

    done, wall, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < options.seconds:
        for entry, entities in answerable:
            entry.calculate(entities)
        done += len(answerable)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"{done / wall:,.0f} calculations with explanation a second ({done / processor:,.0f} a processor second)"
    )

    spent: dict[str, list[float]] = defaultdict(list)
    for entry, entities in answerable:
        begin = time.process_time_ns()
        for _ in range(50):
            entry.calculate(entities)
        spent[entry.slug].append((time.process_time_ns() - begin) / 50_000)
    slowest = sorted(
        ((sum(times) / len(times), slug) for slug, times in spent.items()), reverse=True
    )
    print(
        "slowest, microseconds each: "
        + ", ".join(f"{slug} {mean:.0f}" for mean, slug in slowest[:5])
    )


def answers(entry: AnyCalculator, entities: dict[str, object]) -> bool:
    try:
        entry.calculate(entities)
    except CalculatorInputError:
        return False
    return True


if __name__ == "__main__":
    main()
