"""What `list` and `build` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option, Options
from medical_tasks.options.shared import WithTables


@dataclass(frozen=True, kw_only=True)
class List(Options):
    """List every task: is its dataset built here, how to get it, access class, need of a judge."""


@dataclass(frozen=True, kw_only=True)
class Build(WithTables):
    """Build a dataset: parquet, card and Croissant file, for load_dataset and `medical-tasks run`.

    medical-tasks build kqa --fetch
    medical-tasks build medcalc_bench --config demo
    medical-tasks build medcalc_bench --config v1.0 --source DIR_OR_CSV
    medical-tasks build medcalc_bench --config fresh --seed 7 --n 1100
    """

    dataset: Annotated[
        str,
        Option(
            "name of the dataset, as `medical-tasks list` shows it",
            metavar="DATASET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option("the official file, or the folder that holds it", metavar="PATH"),
    ] = None
    fetch: Annotated[
        bool, Option("fetch the official files of an open dataset, from GitHub")
    ] = False
    config: Annotated[
        str | None,
        Option(
            "configuration to build (default: the dataset's default one)",
            metavar="NAME",
        ),
    ] = None
    seed: Annotated[
        int | None, Option("generated configurations: which set of rows", metavar="S")
    ] = None
    n: Annotated[
        int | None, Option("generated configurations: how many rows", metavar="N")
    ] = None
    level: Annotated[
        int | None,
        Option("generated configurations: how hard the rows are", metavar="L"),
    ] = None
    partial: Annotated[
        bool, Option("build a part of a release that is still corrected, as it is")
    ] = False
    out: Annotated[
        Path | None,
        Option("where to write (default: the user's data home)", metavar="DIR"),
    ] = None
