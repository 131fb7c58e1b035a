"""What `leakcheck` and `purge` take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from medical_tasks.options.base import Option, Options


@dataclass(frozen=True, kw_only=True)
class Leakcheck(Options):
    """Prove that no 12 words in a row of a source's text are in any file of a run's folder.

        medical-tasks leakcheck RUN --source DATASET
        medical-tasks leakcheck RUN --source FOLDER_WITH_OFFICIAL_FILES

    Every file is searched, hidden ones too: parquet, Arrow, SQLite, JSON, archives, and
    the bytes of everything else with escapes undone. Exit code 0: no text was found. 4:
    text was found; files and row ids are named, never the text. 5: no text was found,
    but a file could not be read.
    """

    run: Annotated[
        Path,
        Option(
            "folder that `run` or `score` wrote, or any other",
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
        int, Option("words in a row that count (default: 12)", metavar="N")
    ] = 12


@dataclass(frozen=True, kw_only=True)
class Purge(Options):
    """Empty the private store: the answers, verdicts and server logs of tasks on credentialed data.

        medical-tasks purge --dry-run
        medical-tasks purge

    Runs that a command is using are left, and named. Results, reports and the audit log
    are not touched. A run whose answers are gone keeps its numbers; giving its command
    again asks the model again.
    """

    dry_run: Annotated[bool, Option("only list what would be deleted")] = False
