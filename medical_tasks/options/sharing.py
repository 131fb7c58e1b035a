"""Options of `leakcheck` and `purge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option, Options


@dataclass(frozen=True, kw_only=True)
class Leakcheck(Options):
    """Check that no 12 consecutive words of a source's text are in any file of a run's folder.

        medical-tasks leakcheck RUN --source DATASET
        medical-tasks leakcheck RUN --source FOLDER_WITH_OFFICIAL_FILES

    Every file is searched, including hidden ones: parquet, Arrow, SQLite, JSON, archives,
    and the bytes of all others after decoding escapes. Exit code 0: no text was found. 4:
    text was found; files and row ids are listed, never the text. 5: no text was found,
    but a file could not be read.
    """

    run: Annotated[
        Path,
        Option(
            "folder written by `run` or `score`, or any other folder",
            metavar="RUN",
            positional=True,
        ),
    ]
    source: Annotated[
        str,
        Option(
            "a built dataset's name or folder, or csv, jsonl, json, txt or parquet files",
            metavar="DATASET_OR_PATH",
        ),
    ]
    words: Annotated[
        int, Option("number of consecutive words that count (default: 12)", metavar="N")
    ] = 12


@dataclass(frozen=True, kw_only=True)
class Purge(Options):
    """Empty the private store: answers, verdicts and server logs of tasks on credentialed data.

        medical-tasks purge --dry-run
        medical-tasks purge

    Runs in use by another command are skipped and listed. Results, reports and the audit
    log are not touched. A run without its answers keeps its results; repeating its command
    queries the model again.
    """

    dry_run: Annotated[bool, Option("only list the runs to delete")] = False
