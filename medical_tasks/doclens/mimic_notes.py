"""The notes: radiology reports out of MIMIC-III's `NOTEEVENTS.csv.gz`, which is read once, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from medical_tasks.csv_stream import StreamedRow, stream_rows
from medical_tasks.doclens.mimic_kinds import TRAIN_KINDS, kind_of
from medical_tasks.doclens.mimic_left_out import LeftOut
from medical_tasks.doclens.mimic_report import read_report
from medical_tasks.doclens.mimic_rows import Rows, file_stamp, sampled_rows
from medical_tasks.doclens.mimic_sample import SAMPLE, SEED, TRAIN_EACH, Candidate, Sampler
from medical_tasks.errors import UsageError
from medical_tasks.progress import Progress

__all__ = ["NOTE_COLUMNS", "read_note_rows", "stream_reports"]

NOTE_COLUMNS = (
    "ROW_ID",
    "SUBJECT_ID",
    "HADM_ID",
    "CHARTDATE",
    "CHARTTIME",
    "STORETIME",
    "CATEGORY",
    "DESCRIPTION",
    "CGID",
    "ISERROR",
    "TEXT",
)

_RELEASE = "MIMIC-III file of notes"
# Some categories of the release end in a space (`Physician `); this one is taken with and without.
_RADIOLOGY = tuple(name + end for name in ("Radiology", "radiology", "RADIOLOGY") for end in ("", " "))
_ERRORS = frozenset(("1", "1.0"))
_NUMBER = re.compile(r"[0-9]{1,18}")
_SHOWN = re.compile(r"[0-9.,+\- ]{0,30}")
_MEGABYTE = 1_000_000


def read_note_rows(path: Path, *, sample: int = SAMPLE, train_each: int = TRAIN_EACH, seed: int = SEED) -> Rows:
    """Reads the rows of both splits; the memory is that of a few thousand reports, whatever the size of the file.

    The result of the last file is kept, for splits are asked for one after another.

    Args:
        path: `NOTEEVENTS.csv.gz`, or the same unpacked.
        sample: reports of `test`.
        train_each: most reports of a kind in `train`.
        seed: of the sample.

    Returns:
        Split to rows, by growing ROW_ID.

    Raises:
        UsageError: The file is not of the official form (the message names line, field, rule and value, never the text), or has
            fewer reports that can be used than the sample.
    """
    return _drawn(path, file_stamp(path), sample, train_each, seed)


@lru_cache(maxsize=1)
def _drawn(path: Path, stamp: tuple[int, ...], sample: int, train_each: int, seed: int) -> Rows:
    return sampled_rows(
        path,
        stream_reports(path, size=stamp[0]),
        Sampler(sample=sample, train_each=train_each, train_kinds=TRAIN_KINDS, seed=seed),
        advice=f"Give the whole {_RELEASE}, NOTEEVENTS.csv.gz of version 1.4.",
    )


def stream_reports(path: Path, *, size: int) -> Iterator[Candidate | LeftOut]:
    """Reads the radiology reports, with progress on standard error.

    Args:
        path: the file.
        size: its bytes.

    Yields:
        Each report that can be used, for each other one the reason; in the order of the file.

    Raises:
        UsageError: As `read_note_rows`.
    """
    megabytes = size // _MEGABYTE + 1
    with Progress(f"{path.name}, MB read", megabytes) as progress:
        rows = stream_rows(
            path,
            NOTE_COLUMNS,
            wanted={"CATEGORY": _RADIOLOGY},
            release=_RELEASE,
            on_read=lambda read: progress.advance_to(read // _MEGABYTE),
        )
        for row in rows:
            yield _report(path, row)
        progress.advance_to(megabytes)


def _report(path: Path, row: StreamedRow) -> Candidate | LeftOut:
    cells = row.cells
    for field in ("ROW_ID", "SUBJECT_ID"):
        if not _NUMBER.fullmatch(cells[field]):
            raise _wrong(path, row, field)
    if cells["ISERROR"].strip() in _ERRORS:
        return LeftOut.ERROR
    kind = kind_of(cells["DESCRIPTION"])
    if isinstance(kind, LeftOut):
        return kind
    report = read_report(cells["TEXT"])
    if isinstance(report, LeftOut):
        return report
    return Candidate(id=cells["ROW_ID"], patient_id=cells["SUBJECT_ID"], kind=kind, report=report)


def _wrong(path: Path, row: StreamedRow, field: str) -> UsageError:
    # Columns that are swapped may hold a note or a name in any field: nothing but digits is shown.
    value = row.cells[field]
    shown = repr(value) if _SHOWN.fullmatch(value) else f"a text of {len(value)} characters"
    return UsageError(
        f"{path}: line {row.line()}, field {field!r}: must be a whole number, got {shown}. Download the {_RELEASE} again."
    )
