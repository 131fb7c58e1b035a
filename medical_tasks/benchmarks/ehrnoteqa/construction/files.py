"""The files of a construction, one folder each: what they are called; `data.construction_files` reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.data import construction_files
from medical_tasks.data.construction_files import (
    lines_sha256,
    make_folder,
    private_field,
    text_sha256,
    write_json,
    write_lines,
)
from medical_tasks.io.json_records import Field, Record

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
    return construction_files.read_json(path, step=f"ehrnoteqa {step}")


def read_lines(path: Path, fields: Mapping[str, Field], *, step: str) -> list[Record]:
    """Reads a JSON Lines file that an earlier step wrote; see `files.read_lines`."""
    return construction_files.read_lines(path, fields, step=f"ehrnoteqa {step}")
