"""The user's discharge notes: MIMIC-IV-Note's `discharge.csv`, MIMIC-III's `NOTEEVENTS.csv`, or a table of the same meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.construction.tables import header_of, table_columns
from medical_tasks.benchmarks.archehr_qa.construction.texts import is_id
from medical_tasks.errors import UsageError
from medical_tasks.io.csv_files import stream_rows

__all__ = ["Note", "read_notes"]

_RELEASE: Final = "file of discharge notes"
_COLUMNS: Final = {"note_id": ("note_id", "row_id"), "hadm_id": ("hadm_id",), "text": ("text",)}
_OPTIONAL: Final = {"category": ("category",), "error": ("iserror",), "row_id": ("row_id",)}
_CATEGORY: Final = "Discharge summary"


@dataclass(frozen=True, kw_only=True)
class Note:
    """A discharge note.

    Attributes:
        id: the note's.
        hadm_id: the admission's; "" where it is not known.
        document_id: as ArchEHR-QA's mapping names notes: `HADM_ID_ROW_ID` for files of MIMIC-III's columns, else the admission,
            or the note where that is not known.
        text: as it stands in the file.
    """

    id: str
    hadm_id: str
    document_id: str
    text: str


def read_notes(
    path: Path, *, only: Collection[str] | None = None, on_read: Callable[[int], None] = lambda _: None
) -> Iterator[Note]:
    """Yields notes one by one, in constant memory.

    A file with a column `category` holds notes of all kinds, and its discharge summaries are taken; rows that are marked as errors
    (`iserror` 1) are not.

    Args:
        path: CSV, plain or gzip, with the columns `note_id` (or `row_id`), `hadm_id` and `text`; others are passed over.
        only: ids of notes; the others are not yielded.
        on_read: called with the number of bytes read so far.

    Raises:
        MissingError: There is no such file.
        UsageError: It is damaged, lacks a column, or has an id that is none; the message holds no text.
    """
    header = header_of(path, release=_RELEASE)
    columns = table_columns(header, {**_COLUMNS, **_OPTIONAL})
    missing = [" or ".join(names) for use, names in _COLUMNS.items() if use not in columns]
    if missing:
        raise UsageError(f"{path}: wrong columns for the {_RELEASE}; missing, or more than once: {', '.join(missing)}.")
    wanted: dict[str, Collection[str]] = {columns["category"]: (_CATEGORY,)} if "category" in columns else {}
    if only is not None:
        wanted[columns["note_id"]] = only
    found = False
    for row in stream_rows(path, header, wanted=wanted, release=_RELEASE, on_read=on_read):
        cells = {use: row.cells[name] for use, name in columns.items()}
        if cells.get("error", "").strip() != "1":
            found = True
            yield _note(path, row.line, cells)
    if not found:
        which = f"no note of the category {_CATEGORY!r}" if "category" in columns else "no note"
        raise UsageError(f"{path}: has {which}{' with the ids looked for' if only is not None else ''}.")


def _note(path: Path, line: Callable[[], int], cells: Mapping[str, str]) -> Note:
    name, hadm_id = cells["note_id"].strip(), cells["hadm_id"].strip().removesuffix(".0")
    for use, value in (("note_id", name), ("hadm_id", hadm_id)):
        if not is_id(value) and not (use == "hadm_id" and not value):
            raise UsageError(f"{path}: line {line()}: {use} must be an id, got a text of {len(value)} characters.")
    document = f"{hadm_id}_{name}" if "row_id" in cells and hadm_id else hadm_id or name
    return Note(id=name, hadm_id=hadm_id, document_id=document, text=cells["text"])
