"""How long `compare` takes for two runs of all five MedCalc-Bench tasks, with every breakdown. Prints figures.

    python measurements/compare.py [items] [calculators]

The runs are generated: right and wrong at random, items of one note in a cluster. Each
step is timed by itself, and the groups also with as many draws as a whole task gets.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from medical_tasks.catalog import tasks
from medical_tasks.comparison import statistics
from medical_tasks.comparison.compared import Compared, Selection
from medical_tasks.comparison.comparing import compare_pairs
from medical_tasks.comparison.statistics import RESAMPLES
from medical_tasks.comparison.tables import (
    add_flips,
    as_markdown,
    as_text,
    run_names,
    sections,
)

TASKS = (
    "medcalc",
    "medcalc_direct",
    "medcalc_one_shot",
    "medcalc_open_book",
    "medcalc_code",
)


def main(items: int, calculators: int) -> None:
    runs = [make_run(f"model-{seed}", seed, items, calculators) for seed in range(3)]
    specs, everything = tasks(), Selection(by="all")
    two = runs[:2]
    rows = sum(len(run.rows) for run in two)
    groups = calculators + 7
    print(
        f"{len(TASKS)} tasks, {items} items each ({rows} rows in two runs), 4 metrics, {groups} groups in 2 breakdowns"
    )
    steps: dict[str, Callable[[], Any]] = {
        "without breakdowns": lambda: compare_pairs(two, specs),
        "with all breakdowns": lambda: compare_pairs(two, specs, selection=everything),
        "three runs, all pairs, all breakdowns": lambda: compare_pairs(
            runs, specs, all_pairs=True, selection=everything
        ),
    }
    for name, work in steps.items():
        print(f"  {name:40s} {seconds(work):6.2f} s")
    pairs = compare_pairs(two, specs, selection=everything)
    add_flips(pairs[0], two, specs, most=20, parsed=TASKS)
    print(
        f"  {'tables on the terminal and in Markdown':40s} {seconds(lambda: shown(two, pairs)):6.2f} s"
    )
    statistics.GROUP_RESAMPLES = RESAMPLES  # type: ignore[misc]
    whole = seconds(lambda: compare_pairs(two, specs, selection=everything))
    print(f"  {f'all breakdowns, {RESAMPLES:,} draws a group':40s} {whole:6.2f} s")


def shown(runs: list[Compared], pairs: Any) -> int:
    parts = sections(pairs)
    return len(as_text(run_names(runs), parts)) + len(
        as_markdown(run_names(runs), parts)
    )


def make_run(label: str, seed: int, items: int, calculators: int) -> Compared:
    draw = random.Random(seed)
    recipe = {
        "task_version": "1-A",
        "data": {"rows_sha256": "a"},
        "metrics": {},
        "model": {"name": label},
    }
    rows = [
        {
            "task": task,
            "id": str(index),
            "cluster": f"note-{index * 9 // 10}",
            "group_calculator": f"calculator {index % calculators}",
            "group_category": f"category {index % calculators % 7}",
            **{name: float(draw.random() < 0.5) for name in METRICS},
            "parsed": str(index),
        }
        for task in TASKS
        for index in range(items)
    ]
    results: Any = {"tasks": {task: {"recipe": recipe} for task in TASKS}}
    return Compared(label=label, results=results, rows=rows)


METRICS = ("accuracy", "accuracy_official", "accuracy_recomputed", "accuracy_agreed")


def seconds(work: Callable[[], object]) -> float:
    """Returns the faster of two times; for the second one everything is imported."""
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1047,
        int(sys.argv[2]) if len(sys.argv) > 2 else 55,
    )
