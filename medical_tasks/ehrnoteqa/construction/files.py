"""The files of a construction, one folder each: what they are called; `medical_tasks.construction.files` writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.construction import files
from medical_tasks.construction.files import (
    lines_sha256,
    make_folder,
    private_field,
    text_sha256,
    write_json,
    write_lines,
)
from medical_tasks.json_records import Field, Record

__all__ = [
    "DRAFTS",
    "DRAFTS_RECIPE",
    "GENERATION",
    "HISTORY",
    "LENGTHS",
    "NOTES",
    "PATIENTS",
    "QUESTIONS",
    "REVIEW",
    "SAMPLE",
    "SHARES",
    "SHEETS",
    "lines_sha256",
    "make_folder",
    "private_field",
    "read_json",
    "read_lines",
    "text_sha256",
    "write_json",
    "write_lines",
]

SAMPLE: Final = "sample.json"
LENGTHS: Final = "lengths.json"
PATIENTS: Final = "patients.jsonl"
NOTES: Final = "notes.jsonl"
GENERATION: Final = "generation"
DRAFTS: Final = "drafts.jsonl"
DRAFTS_RECIPE: Final = "drafts.json"
SHEETS: Final = "sheets"
SHARES: Final = "shares.json"
HISTORY: Final = "history.jsonl"
QUESTIONS: Final = "questions.jsonl"
REVIEW: Final = "review.json"


def read_json(path: Path, *, step: str) -> dict[str, Any]:
    """Reads a JSON file that an earlier step wrote; see `files.read_json`."""
    return files.read_json(path, step=f"ehrnoteqa {step}")


def read_lines(path: Path, fields: Mapping[str, Field], *, step: str) -> list[Record]:
    """Reads a JSON Lines file that an earlier step wrote; see `files.read_lines`."""
    return files.read_lines(path, fields, step=f"ehrnoteqa {step}")
