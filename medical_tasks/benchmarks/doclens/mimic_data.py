"""`mimic_rrs`: radiology reports with findings in numbered sentences, and the impression that a model is to write of them.

DocLens evaluates 200 reports, drawn in proportion to modality and anatomy (Xie et al. 2024, appendix on the experiments), of the
reports that Van Veen et al. 2023 used (https://aclanthology.org/2023.bionlp-1.42/). This is a sample of the same kind, drawn from
the official `NOTEEVENTS.csv.gz`, or from a user's table. Rows of a table with a column `split` are used as they are.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.datasets import MIMIC_RRS, demo_entries
from medical_tasks.benchmarks.doclens.mimic_report import (
    ANATOMIES,
    MODALITIES,
    TRAIN_KINDS,
    Kind,
    LeftOut,
    Report,
    check_report,
    joined_lines,
    kind_of,
    read_report,
)
from medical_tasks.benchmarks.doclens.mimic_sample import (
    MIMIC_COLUMNS,
    SAMPLE,
    SEED,
    SPLITS,
    TRAIN_EACH,
    Candidate,
    Rows,
    Sampler,
    file_stamp,
    report_row,
    sampled_rows,
)
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.csv_files import StreamedRow, read_csv, stream_rows
from medical_tasks.io.json_records import LONGEST_ID, Field, is_text, is_text_or_null, optional, read_records
from medical_tasks.io.progress import Progress

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

_NOTES = "MIMIC-III file of notes"
# Some categories of the release end in a space (`Physician `); this one is taken with and without.
_RADIOLOGY = tuple(name + end for name in ("Radiology", "radiology", "RADIOLOGY") for end in ("", " "))
_ERRORS = frozenset(("1", "1.0"))
_NUMBER = re.compile(r"[0-9]{1,18}")
_SHOWN = re.compile(r"[0-9.,+\- ]{0,30}")
_MEGABYTE = 1_000_000


def read_note_rows(path: Path, *, sample: int = SAMPLE, train_each: int = TRAIN_EACH, seed: int = SEED) -> Rows:
    """Reads the rows of both splits; the memory is that of a few thousand reports, whatever the size of the file.

    The result of the last file is kept, for splits are asked for one after another.

    Returns:
        Split to rows, by growing ROW_ID.

    Raises:
        UsageError: The file is not of the official form (the message names line, field, rule and value, never the text), or has
            fewer reports that can be used than the sample.
    """
    return _drawn_notes(path, file_stamp(path), sample, train_each, seed)


@lru_cache(maxsize=1)
def _drawn_notes(path: Path, stamp: tuple[int, ...], sample: int, train_each: int, seed: int) -> Rows:
    return sampled_rows(
        path,
        stream_reports(path, size=stamp[0]),
        Sampler(sample=sample, train_each=train_each, train_kinds=TRAIN_KINDS, seed=seed),
        advice=f"Give the whole {_NOTES}, NOTEEVENTS.csv.gz of version 1.4.",
    )


def stream_reports(path: Path, *, size: int) -> Iterator[Candidate | LeftOut]:
    """Reads the radiology reports, with progress on standard error."""
    megabytes = size // _MEGABYTE + 1
    with Progress(f"{path.name}, MB read", megabytes) as progress:
        rows = stream_rows(
            path,
            NOTE_COLUMNS,
            wanted={"CATEGORY": _RADIOLOGY},
            release=_NOTES,
            on_read=lambda read: progress.advance_to(read // _MEGABYTE),
        )
        for row in rows:
            yield _report(path, row)
        progress.advance_to(megabytes)


def _report(path: Path, row: StreamedRow) -> Candidate | LeftOut:
    cells = row.cells
    for field in ("ROW_ID", "SUBJECT_ID"):
        if not _NUMBER.fullmatch(cells[field]):
            raise _wrong_note(path, row, field)
    if cells["ISERROR"].strip() in _ERRORS:
        return LeftOut.ERROR
    kind = kind_of(cells["DESCRIPTION"])
    if isinstance(kind, LeftOut):
        return kind
    report = read_report(cells["TEXT"])
    if isinstance(report, LeftOut):
        return report
    return Candidate(id=cells["ROW_ID"], patient_id=cells["SUBJECT_ID"], kind=kind, report=report)


def _wrong_note(path: Path, row: StreamedRow, field: str) -> UsageError:
    # Columns that are swapped may hold a note or a name in any field: nothing but digits is shown.
    value = row.cells[field]
    shown = repr(value) if _SHOWN.fullmatch(value) else f"a text of {len(value)} characters"
    return UsageError(
        f"{path}: line {row.line()}, field {field!r}: must be a whole number, got {shown}. Download the {_NOTES} again."
    )


REQUIRED = ("id", "findings", "impression")
OPTIONAL = ("patient_id", "modality", "anatomy", "split")

_TABLE = "table of findings and impressions"
_ALLOWED = {"modality": MODALITIES, "anatomy": ANATOMIES, "split": SPLITS}
_UNKNOWN = Kind("unknown", "unknown")
_JSON_TEXT = dataclasses.replace(is_text_or_null(), private=True)
_JSON_ID = Field(
    holds=lambda value: type(value) is int or is_text().holds(value),
    rule="a text that is not empty, or a whole number",
    private=True,
)
_JSON_PATIENT = Field(
    holds=lambda value: type(value) is int or is_text_or_null().holds(value),
    rule="a text, a whole number or null",
    private=True,
)


@dataclass(frozen=True, kw_only=True)
class _Line:
    candidate: Candidate
    split: str  # "" where the table has no splits
    told_patient: bool


def read_table_rows(
    path: Path, split: str, *, sample: int = SAMPLE, train_each: int = TRAIN_EACH, seed: int = SEED
) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split; of a CSV table the memory is that of its ids, or of what may be sampled.

    `path`: the table; JSON Lines if its name says so (`.jsonl`), else CSV.

    Yields:
        Rows with the names and types of `MIMIC_COLUMNS`: of a table with splits in its order, else by growing id.
    """
    stamp = file_stamp(path)
    first = next(_table_lines(path))
    if not first.split:
        yield from _drawn_table(path, stamp, sample, train_each, seed)[split]
        return
    patients: dict[str, set[str]] = {each: set() for each in SPLITS}
    found = False
    for line in _table_lines(path):
        if line.told_patient:
            patients[line.split].add(line.candidate.patient_id)
        if line.split == split:
            found = True
            yield report_row(line.candidate)
    if not found:
        raise UsageError(
            f"{path}: has no row whose 'split' is {split!r}; each of {', '.join(SPLITS)} needs one at least. Leave the column out "
            "to have both drawn."
        )
    shared = len(set.intersection(*patients.values()))
    if shared and split == SPLITS[-1]:
        print(f"note: {path.name}: {shared:,} patients have reports in more than one split", file=sys.stderr)


@lru_cache(maxsize=1)
def _drawn_table(path: Path, stamp: tuple[int, ...], sample: int, train_each: int, seed: int) -> Rows:
    del stamp  # for the cache alone
    return sampled_rows(
        path,
        (check_report(line.candidate.report) or line.candidate for line in _table_lines(path)),
        Sampler(sample=sample, train_each=train_each, train_kinds=(*TRAIN_KINDS, _UNKNOWN), seed=seed),
        advice="Give a larger table, or one with a column 'split' that says of each row whether it is of train or test.",
    )


def _table_lines(path: Path) -> Iterator[_Line]:
    """Checks a table line by line; there is one at least."""
    records = _json_lines(path) if path.suffix == ".jsonl" else _csv_lines(path)
    seen: set[str] = set()
    splits: bool | None = None
    for number, values in records:
        for name in REQUIRED:
            if not values.get(name, "").strip():
                raise _wrong_line(path, number, name, "must not be empty", values)
        row_id = values["id"]
        if len(row_id) > LONGEST_ID or row_id != row_id.strip() or not row_id.isprintable():
            rule = f"must be 1 to {LONGEST_ID} characters on one line without spaces at its ends, since it stands in results"
            raise _wrong_line(path, number, "id", rule, values)
        if row_id in seen:
            raise _wrong_line(path, number, "id", "must be unique, it stands in the table already", values)
        seen.add(row_id)
        spelt = {name: _spelt(path, number, name, values) for name in _ALLOWED}
        if splits is None:
            splits = bool(spelt["split"])
        if bool(spelt["split"]) != splits:
            raise _wrong_line(path, number, "split", "must be there in all rows or in none", values)
        if bool(spelt["modality"]) != bool(spelt["anatomy"]):
            raise _wrong_line(path, number, "anatomy", "must be there where modality is, and only there", values)
        patient = values.get("patient_id", "").strip()
        yield _Line(
            candidate=Candidate(
                id=row_id,
                patient_id=patient or f"report {row_id}",  # not the id alone: a patient may have the same number
                kind=Kind(spelt["modality"], spelt["anatomy"]) if spelt["modality"] else _UNKNOWN,
                report=Report(findings=joined_lines(values["findings"]), impression=joined_lines(values["impression"])),
            ),
            split=spelt["split"],
            told_patient=bool(patient),
        )


def _spelt(path: Path, number: int, name: str, values: Mapping[str, str]) -> str:
    """The allowed name that a cell means whatever its case, or ''."""
    text = values.get(name, "").strip()
    found = next((each for each in _ALLOWED[name] if each.lower() == text.lower()), None)
    if text and found is None:
        raise _wrong_line(path, number, name, f"must be one of {', '.join(_ALLOWED[name])}, or empty", values)
    return found or ""


def _csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    for row in read_csv(path, REQUIRED, release=_TABLE, others=True):
        yield row.line, row.cells


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    fields = dict.fromkeys((*REQUIRED, *OPTIONAL), _JSON_TEXT) | {"id": _JSON_ID, "patient_id": _JSON_PATIENT}
    fields |= {name: optional(fields[name]) for name in OPTIONAL}
    for record in read_records(path, fields, release=_TABLE, again="Write the table again."):
        yield record.line, {name: str(value) for name, value in record.values.items() if value is not None}


def _wrong_line(path: Path, number: int, name: str, rule: str, values: Mapping[str, str]) -> UsageError:
    # Columns that are swapped may hold a report in any cell: lengths are told, no texts.
    length = len(values.get(name, ""))
    return UsageError(f"{path}: line {number}, column {name!r}: {rule}, got a text of {length} characters.")


def demo_reports(split: str) -> list[Candidate]:
    """The synthetic reports of a split, in order; two of `test` are of one patient."""
    return [
        Candidate(
            id=each["id"],
            patient_id=each["patient_id"],
            kind=Kind(each["modality"], each["anatomy"]),
            report=Report(findings=each["findings"], impression=each["impression"]),
        )
        for each in demo_entries("reports", split)
    ]


def read_mimic_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split."""
    if config == "demo":
        yield from map(report_row, demo_reports(split))
    elif config == "table":
        yield from read_table_rows(files["table"], split)
    else:
        yield from read_note_rows(files["notes"])[split]


# Below physionet.org/files as wget lays the project out, or any end of that.
_PLACES = tuple(f"mimiciii/1.4/{name}" for name in ("NOTEEVENTS.csv.gz", "NOTEEVENTS.csv"))

MIMIC_SOURCE = DatasetSource(
    spec=MIMIC_RRS,
    summary=(
        "CT and MR reports of MIMIC-III, each with its findings in numbered sentences and its impression: what a radiologist "
        "concludes from the findings. A generated impression is compared with the reference, and its citations with the sentences "
        "they name. The test split is a sample in proportion to modality and anatomy, as DocLens evaluates; the train split has "
        "what worked examples are drawn from."
    ),
    changes=(
        "Of the notes, radiology reports alone, of CT and MR and of one of seven anatomies; a rule of this package tells this from "
        "their DESCRIPTION.",
        "Findings and impression are found by their headings, without wet reads and addenda, and their wrapped lines are joined; "
        "else their text is as released, marks of de-identification included. `sentences` is new: a rule of this package splits "
        "the findings.",
        "Reports without both sections, with too short ones, or whose impression only points to the findings are left out.",
        "`test` is 200 reports by a seeded sample, in proportion to modality and anatomy; `train` up to 50 reports of other "
        "patients of each of six kinds. They are not the reports of DocLens's own sample.",
        "`demo` is not from the release: it was written for this package, describes nobody, and is under the package's licence, "
        "Apache-2.0.",
    ),
    licence_note="PhysioNet asks that credentialed data go to no service that keeps them.",
    columns=MIMIC_COLUMNS,
    key="id",
    splits=dict.fromkeys(MIMIC_RRS.configs, SPLITS),
    published_rows={"notes": {"test": SAMPLE}, "demo": {"train": 12, "test": 12}},
    files={
        "notes": {"notes": OfficialFile(places=_PLACES, description="MIMIC-III's notes, a CSV file")},
        "table": {
            "table": OfficialFile(
                places=("reports.csv", "reports.jsonl"),
                description="a table of findings and impressions, CSV or JSON Lines",
            )
        },
        "demo": {},
    },
    read=read_mimic_rows,
    published="2016-09-04",
    creators=(
        "Alistair E. W. Johnson",
        "Tom J. Pollard",
        "Lu Shen",
        "Li-wei H. Lehman",
        "Mengling Feng",
        "Mohammad Ghassemi",
        "Benjamin Moody",
        "Peter Szolovits",
        "Leo Anthony Celi",
        "Roger G. Mark",
    ),
    task_categories=("summarization",),
    tags=("medical", "radiology reports", "summarization", "benchmark"),
)
