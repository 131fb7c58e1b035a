"""Compare runs on the same items: difference, interval, test, what flipped, and the difference so many items can detect.

    medical-tasks compare runs/model-a runs/model-b
    medical-tasks compare runs/model-a runs/model-b --by category --flips
    medical-tasks compare runs/model-a runs/model-b runs/model-c --all-pairs --out comparison.md

Refuses tasks of different data, versions, metrics or scoring; says other differences of their recipes, and why they matter.
Exit code 2 when nothing can be compared; 0 when something can, with the reasons for the rest.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError

__all__ = ["add_arguments", "run"]

_FLIPS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of two or more runs; the first is A")
    parser.add_argument("--all-pairs", action="store_true", help="every two runs, not only each against the first")
    parser.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task; may be repeated")
    parser.add_argument(
        "--metric", action="append", default=[], metavar="NAME", help="only this metric; may be repeated"
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
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write it as Markdown too")
    parser.add_argument("--json", action="store_true", help="machine-readable")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise argparse.ArgumentTypeError(
            f"takes a number of items, 1 or more, got {text!r}; write it behind the runs, or as --flips={_FLIPS}"
        )
    return int(text[:9])


def run(arguments: argparse.Namespace) -> int:
    """Prints the comparison; exit code 2 when nothing can be compared."""
    found, text = compared(arguments)
    print(json.dumps(found, indent=2, allow_nan=False) if arguments.json else text)
    return 0


def compared(arguments: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Compares the runs, and writes `--out`; returns what `--json` prints, and the tables."""
    from medical_tasks.benchmarks.catalog import dataset_spec, tasks
    from medical_tasks.comparison.comparing import Selection, compare_pairs, read_compared
    from medical_tasks.comparison.tables import add_flips, as_markdown, as_text, run_names, sections
    from medical_tasks.io.files import WholeFile

    folders: Sequence[Path] = arguments.runs
    if len(folders) < 2:
        raise UsageError(
            f"compare takes two or more runs, got only {', '.join(map(str, folders))}. Give the folder of another run too."
        )
    known = tasks()
    runs = [read_compared(folder) for folder in folders]
    selection = Selection(tasks=_task_names(arguments.task), metrics=_words(arguments.metric), by=arguments.by)
    _check(selection, [run.results for run in runs], known)
    pairs = compare_pairs(runs, known, all_pairs=arguments.all_pairs, selection=selection)
    if arguments.flips is not None:
        open_tasks = [name for name, task in known.items() if dataset_spec(task.dataset).access == "open"]
        for pair in pairs:
            add_flips(pair, runs, known, most=arguments.flips, metrics=selection.metrics, parsed=open_tasks)
    shown = run_names(runs), sections(pairs), _more(folders, pairs, known, arguments)
    if arguments.out is not None:
        with WholeFile(arguments.out) as file:
            file.write(as_markdown(*shown))
    return _json(folders, pairs), as_text(*shown)


def _json(folders: Sequence[Path], pairs: Sequence[Any]) -> dict[str, Any]:
    from medical_tasks.comparison.comparing import letter

    if len(folders) == 2:
        return dict(pairs[0].tasks)
    return {
        "runs": {letter(place): str(folder) for place, folder in enumerate(folders)},
        "pairs": [{"first": letter(pair.first), "second": letter(pair.second), "tasks": pair.tasks} for pair in pairs],
    }


def _words(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(word.strip() for text in given for word in text.split(",") if word.strip()))


def _task_names(given: Sequence[str]) -> list[str]:
    from medical_tasks.benchmarks.catalog import parse_task_names

    return list(dict.fromkeys(task.name for text in given for task in parse_task_names(text)))


def _check(selection: Any, results: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> None:
    """Refuses names that none of the runs has.

    Raises:
        UsageError: A task, metric or breakdown is in none of them; the message lists those that are.
    """
    from medical_tasks.comparison.statistics import breakdown_names

    there = list(dict.fromkeys(name for each in results for name in each["tasks"]))
    for name in selection.tasks:
        if name not in there:
            raise UsageError(f"--task {name}: no run has it. Tasks of the runs: {', '.join(there)}.")
    specs = [known[name] for name in there if name in known and name in (selection.tasks or there)]
    metrics = dict.fromkeys(metric.whole or metric.name for spec in specs for metric in spec.metrics)
    parts = {metric.name for spec in specs for metric in spec.metrics if metric.part}
    for name in selection.metrics:
        if specs and name not in metrics and name not in parts:
            raise UsageError(f"--metric {name}: no task of the runs has it. Metrics: {', '.join(metrics)}.")
    breakdowns = dict.fromkeys(by for spec in specs for by in breakdown_names(spec))
    if specs and selection.by not in ("none", "all", *breakdowns):
        told = ", ".join(breakdowns) if breakdowns else "the tasks of the runs have none"
        raise UsageError(f"--by {selection.by}: no such breakdown ({told}). Give one of these, all, or none.")


def _more(
    folders: Sequence[Path], pairs: Sequence[Any], known: Mapping[str, Any], arguments: argparse.Namespace
) -> list[str]:
    """What else to know: runs given twice, and what can be asked for."""
    from medical_tasks.comparison.comparing import letter
    from medical_tasks.comparison.statistics import breakdown_names

    more = []
    places: dict[Path, str] = {}
    for place, folder in enumerate(folders):
        whole = folder.expanduser().resolve()
        if whole in places:
            more.append(
                f"note: {places[whole]} and {letter(place)} are the same folder: a run does not differ from itself."
            )
        places.setdefault(whole, letter(place))
    compared = dict.fromkeys(name for pair in pairs for name, task in pair.tasks.items() if not task["refused"])
    breakdowns = dict.fromkeys(by for name in compared for by in breakdown_names(known[name]))
    if arguments.by == "none" and breakdowns:
        more.append(f"Group by group: --by {' or '.join(breakdowns)}, or --by all.")
    if arguments.flips is None:
        more.append("Which items changed: --flips.")
    return more
