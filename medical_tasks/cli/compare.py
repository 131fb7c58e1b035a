"""Compare runs on the same items: difference, interval, test, what flipped, and the difference so many items can detect.

    medical-tasks compare runs/model-a runs/model-b
    medical-tasks compare runs/model-a runs/model-b --by category --flips
    medical-tasks compare runs/model-a runs/model-b runs/model-c --all-pairs --out comparison.md
    medical-tasks compare --memory-gap runs/published runs/fresh

Refuses tasks of different data, versions, metrics or scoring; says other differences of their recipes, and why they matter.
Exit code 2 when nothing can be compared; 0 when something can, with the reasons for the rest.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from medical_tasks._api import compared
from medical_tasks.io.output import tell

_FLIPS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folders of two or more runs; the first is A",
    )
    parser.add_argument(
        "--all-pairs", action="store_true", help="every two runs, not only each against the first"
    )
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="NAME",
        help="only this task; may be repeated",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="only this metric; may be repeated",
    )
    parser.add_argument(
        "--by",
        default="none",
        metavar="BREAKDOWN",
        help="group by group too: a breakdown's name, all, or none (default)",
    )
    parser.add_argument(
        "--flips",
        nargs="?",
        type=_count,
        const=_FLIPS,
        metavar="N",
        help=f"list the items that changed, at most N each way (default {_FLIPS}); of --metric, or of each task's first one",
    )
    parser.add_argument(
        "--equivalence",
        type=_margin,
        metavar="M",
        help="say whether the runs are equivalent: their difference is smaller than M (0.03: three points), by two one-sided tests",
    )
    parser.add_argument(
        "--memory-gap",
        action="store_true",
        help="a model's run on published rows, then on fresh ones: how much it remembers",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write it as Markdown too")


def _margin(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = math.nan
    if not 0.0 < margin < math.inf:
        raise argparse.ArgumentTypeError(
            f"takes a difference above 0, such as 0.03 for three points, got {text!r}"
        )
    return margin


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise argparse.ArgumentTypeError(
            f"takes a number of items, 1 or more, got {text!r}; write it behind the runs, or as --flips={_FLIPS}"
        )
    return int(text[:9])


def run(arguments: argparse.Namespace) -> int:
    """Prints the comparison; exit code 2 when nothing can be compared."""
    found, text = compared(arguments)
    tell(text, found)
    return 0
