"""The files of a construction, one folder each: what they are called; `data.construction_files` reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from medical_tasks.data import construction_files
from medical_tasks.data.construction_files import make_folder, private_field, text_sha256, write_json, write_lines
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.json_records import Field, Record

__all__ = [
    "AGREEMENT",
    "ALIGNMENT",
    "CANDIDATES",
    "CANDIDATES_SHEET",
    "EXPANSION",
    "FILTER",
    "GENERATION",
    "NOTES",
    "NOTE_CODES",
    "POSTS",
    "POST_CODES",
    "RELEASE",
    "checked_step",
    "make_folder",
    "private_field",
    "read_json",
    "read_lines",
    "text_sha256",
    "write_guidelines",
    "write_json",
    "write_lines",
]

FILTER: Final = "filter.json"
POSTS: Final = "posts.jsonl"
EXPANSION: Final = "expand.json"
NOTE_CODES: Final = "note_codes.jsonl"
POST_CODES: Final = "post_codes.jsonl"
GENERATION: Final = "generation"
ALIGNMENT: Final = "align.json"
CANDIDATES: Final = "candidates.jsonl"
CANDIDATES_SHEET: Final = "candidates.csv"
NOTES: Final = "notes"
RELEASE: Final = "release"
AGREEMENT: Final = "agreement.json"
_GUIDELINES: Final = "guidelines.txt"


def read_json(path: Path, *, step: str) -> dict[str, Any]:
    """Reads a JSON file that an earlier step wrote; see `files.read_json`."""
    return construction_files.read_json(path, step=f"archehr {step}")


def read_lines(path: Path, fields: Mapping[str, Field], *, step: str) -> list[Record]:
    """Reads a JSON Lines file that an earlier step wrote; see `files.read_lines`."""
    return construction_files.read_lines(path, fields, step=f"archehr {step}")


def checked_step(path: Path, made: Mapping[str, Any], *, step: str) -> None:
    """Refuses to go on with a file that is not the one its step wrote.

    Args:
        path: the file.
        made: what the step wrote about it; `sha256` has file name to hash.
        step: which step.

    Raises:
        UsageError: It was changed, or is gone.
    """
    digests = made.get("sha256")
    known = digests.get(path.name) if isinstance(digests, dict) else None
    if known is None or not path.exists() or text_sha256(path) != known:
        raise UsageError(
            f"{path}: was changed or moved away since it was written. Do this step again: construct archehr {step}."
        )


def write_guidelines(folder: Path) -> None:
    """Puts the annotators' guidelines beside their sheets; those that are there, perhaps a hospital's own, stay."""
    place = folder / _GUIDELINES
    if not place.exists():
        text = resources.files(__package__).joinpath(_GUIDELINES).read_text(encoding="utf-8")
        with WholeFile(place, private=True) as part:
            part.write(text)
