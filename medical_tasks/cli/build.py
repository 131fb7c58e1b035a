"""Build a dataset: parquet, card and Croissant file, for load_dataset and for `medical-tasks run`.

medical-tasks build kqa --fetch
medical-tasks build medcalc_bench --config demo
medical-tasks build medcalc_bench --config v1.0 --source DIR_OR_CSV
medical-tasks build medcalc_bench --config fresh --seed 7 --n 1100
"""

from __future__ import annotations

import argparse
from pathlib import Path

from medical_tasks._api import built
from medical_tasks.io.output import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument(
        "dataset", metavar="DATASET", help="name of the dataset, as `medical-tasks list` shows it"
    )
    parser.add_argument(
        "--source", type=Path, metavar="PATH", help="the official file, or the folder that holds it"
    )
    parser.add_argument(
        "--fetch",
        action="store_true",
        help="fetch the official files of an open dataset, from GitHub",
    )
    parser.add_argument(
        "--config",
        metavar="NAME",
        help="configuration to build (default: the dataset's default one)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="S", help="generated configurations: which set of rows"
    )
    parser.add_argument(
        "--n", type=int, metavar="N", help="generated configurations: how many rows"
    )
    parser.add_argument(
        "--level", type=int, metavar="L", help="generated configurations: how hard the rows are"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="build a part of a release that is still corrected, as it is",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to write (default: the user's data home)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Builds, and says what was built and how to use it."""
    made = built(arguments)
    lines = [
        f"built {arguments.dataset}, configuration {made.config}: {made.rows} rows in {made.folder}",
        f'  load_dataset("{made.folder}", "{made.config}")',
    ]
    if arguments.fetch:
        lines.append(
            f"official files: {made.place} (other verbs take it as --source or --upstream)"
        )
    tell("\n".join([*lines, *(f"note: {note}" for note in made.notes)]), made)
    return 0
