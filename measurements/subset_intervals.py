"""How often the interval of `--subset N` holds the score of the whole set: `python measurements/subset_intervals.py RECORDED.csv`.

Every draw is that of `run --subset N --seed S`, with seeds from 0 on. RECORDED.csv is
the authors' file of one model's answers to the 1,047 rows of MedCalc-Bench v1.0 (Row
Number, Calculator ID, Category, Note ID, LLM Answer, Ground Truth Answer, Result):

- right or wrong: a proportion, stratified by category and calculator
- error: how far an answer is from the truth in shares of it, 1 at most: a mean, of a skewed distribution
- by note: right answers over answers, with notes drawn whole: a ratio of sums over clusters
- rare: right answers of one in eight, so that 3 % of the rows have what is counted
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from medical_tasks.catalog import tasks
from medical_tasks.data.task_data import TaskData, draw
from medical_tasks.scoring.finite import strata_of, whole_set_estimate
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.spec import Item, TaskSpec


def covered(
    task: TaskSpec,
    items: list[Item],
    values: Sequence[float],
    size: int,
    draws: int,
    *,
    proportion: bool,
) -> tuple[float, float, float, float]:
    """Returns coverage, mean error and half the mean width, and half the width for independent items of an endless set."""
    data = TaskData(items=items, config="", folder=Path(), revision={"split": "test"})
    value_of = dict(zip((item.id for item in items), values, strict=True))
    truth = float(np.mean(values))
    rows = []
    for seed in range(draws):
        sample = draw(task, data, (size, seed))
        assert sample.subset is not None
        taken = [value_of[item.id] for item in sample.items]
        estimate = whole_set_estimate(
            [taken, np.ones(len(taken))],
            [1.0],
            *strata_of(task, sample.items, sample.subset),
            clusters=[item.cluster for item in sample.items]
            if task.drawn_whole
            else None,
            proportion=proportion,
        )
        plain = proportion_interval(taken) if proportion else estimate
        rows.append(
            (
                estimate.ci_low <= truth <= estimate.ci_high,
                estimate.value - truth,
                (estimate.ci_high - estimate.ci_low) / 2,
                (plain.ci_high - plain.ci_low) / 2,
            )
        )
    held, error, half, plain_half = np.mean(rows, axis=0)
    return held, error, half, plain_half


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--draws", type=int, default=2000)
    arguments = parser.parse_args()
    with arguments.recorded.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    task = tasks()["medcalc_direct"]
    items = [
        Item(
            id=row["Row Number"],
            fields={},
            groups={"category": row["Category"], "calculator": row["Calculator ID"]},
            # A number is no id: every calculator counts its notes from 1.
            cluster=row["Note ID"]
            if not row["Note ID"].isdigit()
            else f"{row['Calculator ID']}-{row['Note ID']}",
        )
        for row in rows
    ]
    right = [float(row["Result"] == "Correct") for row in rows]
    rare = [
        value * (hashlib.sha256(item.id.encode()).digest()[0] < 32)
        for item, value in zip(items, right, strict=True)
    ]
    cases = {
        "right or wrong": (task, right, True),
        "rare": (task, rare, True),
        "by note": (replace(task, drawn_whole=True), right, True),
        "error": (task, [_error(row) for row in rows], False),
    }
    print(f"{len(items)} items; {arguments.draws} draws")
    print(
        f"{'what':>14} {'set %':>6} {'n':>5} {'coverage %':>10} {'bias':>6} {'half width':>10} {'plain':>6}"
    )
    for name, (spec, values, proportion) in cases.items():
        for size in (50, 100, 200, 400):
            held, error, half, plain = (
                100 * value
                for value in covered(
                    spec, items, values, size, arguments.draws, proportion=proportion
                )
            )
            plain_text = f"{plain:6.2f}" if proportion else ""
            print(
                f"{name:>14} {100 * np.mean(values):6.1f} {size:5} {held:10.1f} {error:6.2f} {half:10.2f} {plain_text}"
            )
            sys.stdout.flush()


def _error(row: dict[str, str]) -> float:
    try:
        truth, answer = float(row["Ground Truth Answer"]), float(row["LLM Answer"])
    except ValueError:
        return 1.0 - (row["Result"] == "Correct")
    return min(1.0, abs(answer - truth) / max(abs(truth), 1e-9))


if __name__ == "__main__":
    main()
