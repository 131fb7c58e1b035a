"""Reads the patients' discharge summaries from MIMIC-IV-Note's `discharge.csv.gz`, prepared as in the paper.

White space is reduced (appendix C.1). Each note begins with patient id, admission id and
chart date, as in the authors' script; figure 2 of the paper shows a time in these headers
as well, figure 5 does not. Notes are ordered by `charttime`, then `note_seq`, then
`note_id` (the authors: by `charttime` alone).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from medical_tasks.errors import UsageError, listed
from medical_tasks.io.csv_files import StreamedRow, stream_rows
from medical_tasks.io.progress import reading

COLUMNS = (
    "note_id",
    "subject_id",
    "hadm_id",
    "note_type",
    "note_seq",
    "charttime",
    "storetime",
    "text",
)

_RELEASE = "MIMIC-IV-Note file of discharge summaries"
_TYPES = ("DS", "AD")  # discharge summaries, and addenda to them
# `\s\s+` searches for white space first; `\s{2,}` would try every character
_GAP = re.compile(r"\s\s+")
_NUMBER = re.compile(r"[0-9]{1,18}")
_SHOWN_CHARS = 30


class NoteRow(TypedDict):
    """A note in a row of the dataset."""

    note_id: str
    hadm_id: str
    charttime: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """A discharge summary. `charttime`: `YYYY-MM-DD HH:MM:SS`, as released."""

    note_id: str
    hadm_id: str
    charttime: str
    seq: int
    text: str

    @property
    def row(self) -> NoteRow:
        """The note in a row of the dataset."""
        return {
            "note_id": self.note_id,
            "hadm_id": self.hadm_id,
            "charttime": self.charttime,
            "text": self.text,
        }


def reduced_space(text: str) -> str:
    """Reduces white space as appendix C.1 does, in linear time.

    A run becomes a line end if it begins or ends with one; any other run of two or more
    becomes a space, even around a line end.
    """
    return _GAP.sub(
        lambda gap: "\n" if "\n" in (gap[0][0], gap[0][-1]) else " ", text
    ).strip()


def prepared_text(text: str, *, patient_id: str, hadm_id: str, charttime: str) -> str:
    """Adds the paper's header to a note, and reduces its white space."""
    return f"Patient ID : {patient_id}\nAdmission ID : {hadm_id}\nChartdate : {charttime[:10]}\n{reduced_space(text)}"


def read_notes(path: Path, expected: Mapping[str, int]) -> dict[str, list[Note]]:
    """Reads the expected number of notes of each patient; only these are held in memory."""
    notes: dict[str, list[Note]] = {patient: [] for patient in expected}
    counts = dict.fromkeys(expected, 0)
    seen: set[str] = set()
    with reading(path) as on_read:
        patients = {"subject_id": expected.keys()}
        for row in stream_rows(
            path, COLUMNS, selected=patients, release=_RELEASE, on_read=on_read
        ):
            patient = row.cells["subject_id"]
            note = _note(path, row)
            if note.note_id in seen:
                raise _wrong(
                    path,
                    row,
                    "note_id",
                    "must be unique, it stands in the file already",
                )

            seen.add(note.note_id)
            counts[patient] += 1
            # Superfluous notes are not held; `_check_numbers` refuses such a file.
            if counts[patient] <= expected[patient]:
                notes[patient].append(note)

    _check_numbers(path, counts, expected)
    for own_notes in notes.values():
        own_notes.sort(key=lambda note: (note.charttime, note.seq, note.note_id))

    return notes


def _note(path: Path, row: StreamedRow) -> Note:
    """Reads a row of the discharge table, and prepares its text as in the paper."""
    cells = row.cells
    if not cells["note_id"].strip():
        raise _wrong(path, row, "note_id", "must not be empty")

    if cells["note_type"] not in _TYPES:
        raise _wrong(
            path,
            row,
            "note_type",
            "must be DS (discharge summary) or AD (its addendum), as RR is a radiology report",
        )

    for field in ("hadm_id", "note_seq"):
        if not _NUMBER.fullmatch(cells[field]):
            raise _wrong(path, row, field, "must be a whole number")

    try:
        datetime.datetime.strptime(cells["charttime"], "%Y-%m-%d %H:%M:%S")
    except ValueError as error:
        raise _wrong(path, row, "charttime", "must be YYYY-MM-DD HH:MM:SS") from error

    if not cells["text"].strip():
        raise _wrong(path, row, "text", "must not be empty")

    return Note(
        note_id=cells["note_id"],
        hadm_id=cells["hadm_id"],
        charttime=cells["charttime"],
        seq=int(cells["note_seq"]),
        text=prepared_text(
            cells["text"],
            patient_id=cells["subject_id"],
            hadm_id=cells["hadm_id"],
            charttime=cells["charttime"],
        ),
    )


def _wrong(path: Path, row: StreamedRow, field: str, rule: str) -> UsageError:
    # If columns are swapped, any field may hold a note, so nothing longer than an id or a
    # time is shown.
    value = row.cells[field]
    shown = (
        repr(value)
        if len(value) <= _SHOWN_CHARS
        else f"a text of {len(value)} characters"
    )
    return UsageError(
        f"{path}: row {row.number:,}, patient {row.cells['subject_id']}, field {field!r}: "
        f"{rule}, got {shown}. Download the "
        f"{_RELEASE} again."
    )


def _check_numbers(
    path: Path, counts: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    problems = [
        f"patient {patient}: {counts[patient]:,} found, {count:,} expected"
        for patient, count in expected.items()
        if counts[patient] != count
    ]
    if not problems:
        return

    lines = listed(problems, 10, between="\n  ")
    raise UsageError(
        f"{path}: {len(problems):,} of {len(expected):,} patients do not have the number of notes "
        "that num_notes of their question "
        f"gives:\n  {lines}\nThe file is truncated or from another release. The questions are about "
        "MIMIC-IV-Note 2.2: "
        "https://physionet.org/content/mimic-iv-note/2.2/ (331,794 notes)."
    )
