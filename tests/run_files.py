"""Files of runs that many tests read or write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from medical_tasks.runs.results import TaskEntry, read_results


def task_entry(folder: str | Path, task: str) -> TaskEntry:
    """Reads the results of a run's task."""
    return read_results(Path(folder))["tasks"][task]


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
