"""How many labels of a MedCalc-Bench split the label rules reproduce, and how fast.

    python measurements/v1_labels.py path/to/test_data_v1.csv

Prints a row for each calculator (rows, labels within the dataset's tolerance, labels
equal to the last digit, labels that the published calculators give too, rows on which a
quirk took effect), the sums, and rows a second.
"""

from __future__ import annotations

import argparse
import ast
import csv
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.lab.v1_labels import RULES, LabelResult, label

ROUNDS = 5


def agrees(row: dict[str, str], answer: object) -> bool:
    """Compares an answer with a row's label, as the dataset does."""
    stated = row["Ground Truth Answer"]
    if isinstance(answer, str):
        return [int(number) for number in answer.split("/")] == [
            int(number) for number in stated.split("/")
        ]
    if not isinstance(answer, int | float):
        return str(answer) == stated
    if row["Output Type"] == "decimal":
        low, high = sorted((float(row["Lower Limit"]), float(row["Upper Limit"])))
        return low <= answer <= high
    return round(answer) == int(stated)


def published(calculator_id: int, entities: dict[str, object]) -> object:
    """Returns the published rule's answer, or None."""
    try:
        return calculate(calculator_id, entities).answer
    except CalculatorInputError:
        return None


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    with parser.parse_args().source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    work = [
        (int(row["Calculator ID"]), ast.literal_eval(row["Relevant Entities"]))
        for row in rows
    ]

    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for row, (calculator_id, entities) in zip(rows, work, strict=True):
        result: LabelResult = label(calculator_id, entities)
        seen = (
            True,
            agrees(row, result.answer),
            result.answer_text == row["Ground Truth Answer"],
            agrees(row, published(calculator_id, entities)),
            result.note is not None,
        )
        counts[calculator_id] = [
            count + hit for count, hit in zip(counts[calculator_id], seen, strict=True)
        ]

    print(
        f"{'id':>3} {'rows':>5} {'label':>6} {'digits':>7} {'published':>10} {'noted':>6}  name"
    )
    for calculator_id, figures in sorted(counts.items()):
        print(
            "{:>3} {:>5} {:>6} {:>7} {:>10} {:>6}".format(calculator_id, *figures),
            "",
            RULES[calculator_id].name,
        )
    sums = [sum(figures[i] for figures in counts.values()) for i in range(5)]
    print("{:>3} {:>5} {:>6} {:>7} {:>10} {:>6}".format("sum", *sums))

    started = time.perf_counter()
    for _ in range(ROUNDS):
        for calculator_id, entities in work:
            label(calculator_id, entities)
    print(f"{ROUNDS * len(work) / (time.perf_counter() - started):,.0f} rows a second")


if __name__ == "__main__":
    main()
