"""Options of `list` and `build`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option, Options
from medical_tasks.options.shared import WithTables


@dataclass(frozen=True, kw_only=True)
class List(Options):
    """List every task: whether its dataset is built, how to get it, its access class, and its judge."""


@dataclass(frozen=True, kw_only=True)
class Build(WithTables):
    """Build a dataset for load_dataset and `medical-tasks run`: parquet, card and Croissant file.

    medical-tasks build kqa --fetch
    medical-tasks build medcalc_bench --config demo
    medical-tasks build medcalc_bench --config v1.0 --source DIR_OR_CSV
    medical-tasks build medcalc_bench --config fresh --seed 7 --n 1100
    """

    dataset: Annotated[
        str,
        Option(
            "name of the dataset, as in `medical-tasks list`",
            metavar="DATASET",
            positional=True,
        ),
    ]
    source: Annotated[
        Path | None,
        Option("the official file, or its folder", metavar="PATH"),
    ] = None
    fetch: Annotated[
        bool, Option("download the official files of an open dataset from GitHub")
    ] = False
    config: Annotated[
        str | None,
        Option(
            "configuration to build (default: the dataset's default)",
            metavar="NAME",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option("generated configurations: seed of the rows", metavar="S"),
    ] = None
    n: Annotated[
        int | None, Option("generated configurations: number of rows", metavar="N")
    ] = None
    level: Annotated[
        int | None,
        Option("generated configurations: difficulty of the rows", metavar="L"),
    ] = None
    partial: Annotated[
        bool,
        Option("build an incomplete release that is still being corrected"),
    ] = False
    out: Annotated[
        Path | None,
        Option("folder to write to (default: the user's data home)", metavar="DIR"),
    ] = None
