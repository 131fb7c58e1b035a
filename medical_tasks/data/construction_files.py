"""How the files of a construction are written and read.

Every file that can hold words of a note, and every one with patients' ids, is readable by its owner alone from its first byte on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.errors import IncompleteError, MissingError, UsageError, system_reason
from medical_tasks.io.files import WholeFile, open_file, read_text
from medical_tasks.io.json_records import Field, Record, read_records

__all__ = [
    "lines_sha256",
    "make_folder",
    "private_field",
    "read_json",
    "read_lines",
    "text_sha256",
    "write_json",
    "write_lines",
]


def make_folder(path: Path) -> Path:
    """Makes a folder that only its owner can enter; one that is there is left as it is.

    Raises:
        UsageError: There is a file under that name.
        IncompleteError: It cannot be made.
    """
    path = path.expanduser()
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file; a folder is needed. Give another name.")
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
    except OSError as error:
        raise IncompleteError(f"{path}: cannot be made ({system_reason(error)}). Give another name.") from error
    return path


def private_field(field: Field) -> Field:
    """The same field, whose values no message shows."""
    return dataclasses.replace(field, private=True)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> str:
    """Writes a JSON Lines file, whole and for its owner alone.

    Returns:
        SHA-256 of its content.
    """
    digest = hashlib.sha256()
    with WholeFile(path, private=True) as part:
        for record in records:
            digest.update(_line(record).encode())
            part.write(_line(record))
    return digest.hexdigest()


def lines_sha256(records: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of the file that `write_lines` would write."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(_line(record).encode())
    return digest.hexdigest()


def _line(record: Mapping[str, Any]) -> str:
    # ASCII: some readers take other signs than line feeds for line ends.
    return json.dumps(record, ensure_ascii=True) + "\n"


def write_json(path: Path, values: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Writes a JSON file, whole and for its owner alone."""
    with WholeFile(path, private=True) as part:
        part.write(json.dumps(values, indent=indent, ensure_ascii=True) + "\n")


def read_json(path: Path, *, step: str) -> dict[str, Any]:
    """Reads a JSON file that an earlier step wrote.

    Args:
        path: the file.
        step: which step that is, behind `medical-tasks construct`, for the message.

    Raises:
        MissingError: It is not there.
        UsageError: It is not as it was written.
    """
    try:
        values = json.loads(read_text(path))
    except FileNotFoundError as error:
        raise MissingError(
            f"{path}: not there. Do the step before: medical-tasks construct {step}, with the same folder."
        ) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UsageError(f"{path}: not as medical-tasks wrote it. Do this step again: construct {step}.")
    return values


def read_lines(path: Path, fields: Mapping[str, Field], *, step: str) -> list[Record]:
    """Reads a JSON Lines file that an earlier step wrote.

    Args:
        path: the file.
        fields: what its records have.
        step: which step wrote it, behind `medical-tasks construct`, for messages.

    Raises:
        MissingError: It is not there.
        UsageError: It is not of the form; no message shows a text.
    """
    if not path.exists():
        raise MissingError(
            f"{path}: not there. Do the step before: medical-tasks construct {step}, with the same folder."
        )
    again = f"Do this step again: construct {step}."
    return list(read_records(path, fields, release=f"file of the step {step}", again=again))


def text_sha256(path: Path) -> str:
    """Hashes a file that is known to be there, of any size."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
