"""A table of findings and impressions that somebody has, CSV or JSON Lines, as a configuration of `mimic_rrs`.

Columns `id`, `findings` and `impression`; where known also `patient_id`, `modality`, `anatomy`, `split`. With `split` every row is
taken as it stands. Without, splits are drawn as from the notes, and rows that could not be used there are left out here.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medical_tasks.csv_table import read_csv
from medical_tasks.doclens.mimic_kinds import ANATOMIES, MODALITIES, TRAIN_KINDS, Kind
from medical_tasks.doclens.mimic_lines import joined_lines
from medical_tasks.doclens.mimic_report import Report, check_report
from medical_tasks.doclens.mimic_rows import SPLITS, Rows, file_stamp, report_row, sampled_rows
from medical_tasks.doclens.mimic_sample import SAMPLE, SEED, TRAIN_EACH, Candidate, Sampler
from medical_tasks.errors import UsageError
from medical_tasks.json_list import LONGEST_ID
from medical_tasks.json_records import Field, is_text, is_text_or_null, optional, read_records

__all__ = ["OPTIONAL", "REQUIRED", "read_table_rows"]

REQUIRED = ("id", "findings", "impression")
OPTIONAL = ("patient_id", "modality", "anatomy", "split")

_RELEASE = "table of findings and impressions"
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

    Args:
        path: the table; JSON Lines if its name says so (`.jsonl`), else CSV.
        split: `train` or `test`.
        sample: reports of `test`, where the table has no splits.
        train_each: most reports of a kind in `train`, likewise.
        seed: of the sample, likewise.

    Yields:
        Rows with the names and types of `mimic_rows.MIMIC_COLUMNS`: of a table with splits in its order, else by growing id.

    Raises:
        UsageError: The table is not as it must be, has no row of the split, or fewer than the sample; the message names line,
            column and rule, never a text.
    """
    stamp = file_stamp(path)
    first = next(_lines(path))
    if not first.split:
        yield from _drawn(path, stamp, sample, train_each, seed)[split]
        return
    patients: dict[str, set[str]] = {each: set() for each in SPLITS}
    found = False
    for line in _lines(path):
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
def _drawn(path: Path, stamp: tuple[int, ...], sample: int, train_each: int, seed: int) -> Rows:
    del stamp  # for the cache alone
    return sampled_rows(
        path,
        (check_report(line.candidate.report) or line.candidate for line in _lines(path)),
        Sampler(sample=sample, train_each=train_each, train_kinds=(*TRAIN_KINDS, _UNKNOWN), seed=seed),
        advice="Give a larger table, or one with a column 'split' that says of each row whether it is of train or test.",
    )


def _lines(path: Path) -> Iterator[_Line]:
    """Checks a table line by line; there is one at least."""
    records = _json_lines(path) if path.suffix == ".jsonl" else _csv_lines(path)
    seen: set[str] = set()
    splits: bool | None = None
    for number, values in records:
        for name in REQUIRED:
            if not values.get(name, "").strip():
                raise _wrong(path, number, name, "must not be empty", values)
        row_id = values["id"]
        if len(row_id) > LONGEST_ID or row_id != row_id.strip() or not row_id.isprintable():
            rule = f"must be 1 to {LONGEST_ID} characters on one line without spaces at its ends, since it stands in results"
            raise _wrong(path, number, "id", rule, values)
        if row_id in seen:
            raise _wrong(path, number, "id", "must be unique, it stands in the table already", values)
        seen.add(row_id)
        spelt = {name: _spelt(path, number, name, values) for name in _ALLOWED}
        if splits is None:
            splits = bool(spelt["split"])
        if bool(spelt["split"]) != splits:
            raise _wrong(path, number, "split", "must be there in all rows or in none", values)
        if bool(spelt["modality"]) != bool(spelt["anatomy"]):
            raise _wrong(path, number, "anatomy", "must be there where modality is, and only there", values)
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
        raise _wrong(path, number, name, f"must be one of {', '.join(_ALLOWED[name])}, or empty", values)
    return found or ""


def _csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    for row in read_csv(path, REQUIRED, release=_RELEASE, others=True):
        yield row.line, row.cells


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    fields = dict.fromkeys((*REQUIRED, *OPTIONAL), _JSON_TEXT) | {"id": _JSON_ID, "patient_id": _JSON_PATIENT}
    fields |= {name: optional(fields[name]) for name in OPTIONAL}
    for record in read_records(path, fields, release=_RELEASE, again="Write the table again."):
        yield record.line, {name: str(value) for name, value in record.values.items() if value is not None}


def _wrong(path: Path, number: int, name: str, rule: str, values: Mapping[str, str]) -> UsageError:
    # Columns that are swapped may hold a report in any cell: lengths are told, no texts.
    length = len(values.get(name, ""))
    return UsageError(f"{path}: line {number}, column {name!r}: {rule}, got a text of {length} characters.")
