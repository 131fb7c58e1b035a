"""Files of runs that many tests read or write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from medical_tasks.runs.results import RESULTS_FILE, TaskEntry, read_results
from tests.case_tables import json_of


def task_entry(folder: str | Path, task: str) -> TaskEntry:
    """Reads the results of a run's task."""
    return read_results(Path(folder))["tasks"][task]


@contextmanager
def edited_entry(folder: Path, task: str) -> Iterator[dict[str, Any]]:
    """The results of a run's task; edits are written back."""
    results = json_of(folder / RESULTS_FILE)
    yield results["tasks"][task]
    (folder / RESULTS_FILE).write_text(json.dumps(results), encoding="utf-8")


def write_responses(path: str | Path, answers: Mapping[str, str]) -> None:
    """Writes answers by item id, as `score --responses` reads them."""
    records = [{"id": name, "response": text} for name, text in answers.items()]
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    Path(path).write_text(lines, encoding="utf-8")


def contains(folder: str | Path, text: bytes) -> bool:
    """Whether a file below a folder, which must have files, has this text."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    assert files
    return any(text in path.read_bytes() for path in files)
