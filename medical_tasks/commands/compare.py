"""Compare two runs on the same items: difference, interval, test, and the difference so many items can detect.

    medical-tasks compare runs/model-a runs/model-b

Refuses runs of different data or task versions; says other differences of their recipes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["add_arguments", "run"]

_HEADER = ("task", "metric", "by", "A %", "B %", "B - A", "95 % interval", "p", "detectable")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("first", type=Path, metavar="RUN_A", help="folder of the first run")
    parser.add_argument("second", type=Path, metavar="RUN_B", help="folder of the second run")
    parser.add_argument("--json", action="store_true", help="machine-readable")


def run(arguments: argparse.Namespace) -> int:
    """Prints the comparison."""
    from medical_tasks.catalog import tasks
    from medical_tasks.comparison import compare_runs
    from medical_tasks.report.table import align

    compared = compare_runs(arguments.first, arguments.second, tasks())
    if arguments.json:
        print(json.dumps(compared, indent=2, allow_nan=False))
        return 0
    rows = [_row(name, metric, entry) for name, task in compared.items() for metric, entry in task["metrics"].items()]
    print(f"A: {arguments.first}\nB: {arguments.second}\n")
    print("\n".join(align(_HEADER, rows)))
    print("\np: exact McNemar test for proportions, paired bootstrap otherwise; items that share a note move together.")
    print("detectable: the smallest true difference that so many items find in 4 of 5 cases.")
    for name, task in compared.items():
        for warning in task["warnings"]:
            print(f"note: {name}: {warning}")
    return 0


def _row(name: str, metric: str, entry: dict[str, Any]) -> tuple[str, ...]:
    from medical_tasks.report.numbers import NOT_COMPUTABLE, interval, metric_label, number

    test = entry.get("mcnemar")
    unit = entry.get("unit", "")
    p_value = entry["p_value"] if test is None else test["p_exact"]
    return (
        name,
        metric_label(metric, entry),
        "bootstrap" if test is None else "McNemar",
        number(entry["value_a"], unit),
        number(entry["value_b"], unit),
        number(entry["difference"], unit),
        interval(entry),
        NOT_COMPUTABLE if p_value is None else ("<1e-6" if p_value < 1e-6 else f"{p_value:.3g}"),
        number(entry["minimum_detectable_difference"], unit),
    )
