"""Reads `mimic_rrs`: radiology reports, from whose findings a model writes the impression.

The sample, by hashes of ids, resembles the 200 reports of Xie et al. 2024 from Van Veen
et al. 2023 (https://aclanthology.org/2023.bionlp-1.42/).

    medical-tasks build mimic_rrs --source NOTEEVENTS.csv.gz
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypedDict, cast

from medical_tasks.benchmarks.doclens.declarations import MIMIC_RRS, demo_entries
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
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import StreamedRow, read_csv, stream_rows
from medical_tasks.io.files import packaged, readable
from medical_tasks.io.json_records import (
    LONGEST_ID,
    Field,
    is_text,
    is_text_or_null,
    optional,
    read_records,
)
from medical_tasks.io.progress import reading
from medical_tasks.scoring.sentences import split_sentences

SAMPLE: Final = 200
"""Number of reports in `test` (paper, appendix on the experiments)."""

TRAIN_EACH: Final = 50
"""Largest number of reports of a kind in `train`, from which one or two worked examples are drawn."""

SEED: Final = 0


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A usable report."""

    id: str
    patient_id: str
    kind: Kind
    report: Report


def largest_remainder(counts: Mapping[Kind, int], size: int) -> dict[Kind, int]:
    """Divides a sample in proportion to counts; of equal remainders, the kind first by name gets one more."""
    total = sum(counts.values())
    shares = (
        {kind: size * count // total for kind, count in counts.items()} if total else {}
    )
    left = size - sum(shares.values())
    by_remainder = sorted(
        counts, key=lambda kind: (-(size * counts[kind] % total), kind)
    )
    for kind in by_remainder[:left]:
        shares[kind] += 1

    return shares


class Sampler:
    """Takes reports one by one, and holds those that may be sampled.

    Memory does not grow with the file. For each kind it holds as many as the whole
    sample, since shares are known only at the end, and for `train` enough to leave out
    the patients of `test`.
    """

    def __init__(
        self, *, sample: int, train_each: int, train_kinds: Collection[Kind], seed: int
    ) -> None:
        self.counts: Counter[Kind] = Counter()
        self._sample, self._train_each, self._seed = sample, train_each, seed
        self._test: dict[Kind, _Lowest] = defaultdict(lambda: _Lowest(sample))
        # one of each patient
        self._train = {kind: _Lowest(train_each + sample) for kind in train_kinds}

    def add(self, candidate: Candidate) -> None:
        """Adds a report."""
        self.counts[candidate.kind] += 1
        self._test[candidate.kind].add(
            self.counts[candidate.kind], self._rank("test", candidate), candidate
        )
        if candidate.kind in self._train:
            self._train[candidate.kind].add(
                candidate.patient_id, self._rank("train", candidate), candidate
            )

    def split(self) -> dict[str, list[Candidate]]:
        """The reports of `test` and `train`, by id.

        No patient is in both, and none is twice in one kind of `train`.
        """
        shares = largest_remainder(self.counts, self._sample)
        test: list[Candidate] = []
        for kind, share in shares.items():
            test += self._test[kind].best()[:share]

        patients = {candidate.patient_id for candidate in test}
        train: list[Candidate] = []
        for lowest in self._train.values():
            others = [
                candidate
                for candidate in lowest.best()
                if candidate.patient_id not in patients
            ]
            train += others[: self._train_each]

        return {"train": sorted(train, key=_by_id), "test": sorted(test, key=_by_id)}

    def _rank(self, split: str, candidate: Candidate) -> int:
        text = f"{self._seed}/{split}/{candidate.id}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def _by_id(candidate: Candidate) -> tuple[int, str]:
    """Sorts numbers by value, other ids alphabetically."""
    return len(candidate.id) if candidate.id.isdecimal() else 0, candidate.id


class _Lowest:
    """The candidate with the lowest rank for each key, while it may be among the lowest of all keys."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[object, tuple[int, Candidate]] = {}

    def add(self, key: object, rank: int, candidate: Candidate) -> None:
        if key not in self._held or rank < self._held[key][0]:
            self._held[key] = rank, candidate
            if len(self._held) > 2 * self._size:
                self._held = dict(self._sorted()[: self._size])

    def best(self) -> list[Candidate]:
        return [candidate for _, (_, candidate) in self._sorted()[: self._size]]

    def _sorted(self) -> list[tuple[object, tuple[int, Candidate]]]:
        return sorted(self._held.items(), key=lambda entry: entry[1][0])


SPLITS = ("train", "test")


class ReportRow(TypedDict):
    """A row of the dataset; see `MIMIC_COLUMNS`."""

    id: str
    patient_id: str
    modality: str
    anatomy: str
    findings: str
    sentences: list[str]
    impression: str


Rows = dict[str, tuple[ReportRow, ...]]
"""Split to its rows."""

MIMIC_COLUMNS = (
    Column(
        name="id",
        description="Of the report: MIMIC-III's ROW_ID, in `table` as the table has it",
    ),
    Column(
        name="patient_id",
        description="Whose report it is: MIMIC-III's SUBJECT_ID. Reports share it",
    ),
    Column(
        name="modality",
        description="`CT` or `MR`; `unknown` in a table that does not say it",
    ),
    Column(
        name="anatomy",
        description="`head`, `abdomen`, `chest`, `spine`, `neck`, `sinus` or `pelvis`; or "
        "`unknown`, likewise",
    ),
    Column(
        name="findings",
        about="note",
        description="What was seen: the findings section, its wrapped lines joined",
    ),
    Column(
        name="sentences",
        about="note",
        repeated=True,
        description="Its sentences, each on one line; a sentence's number is its place, from 0",
    ),
    Column(
        name="impression",
        about="other",
        description="What it means: the impression section, likewise; the reference",
    ),
)


def report_row(candidate: Candidate) -> ReportRow:
    """Builds a row, with the columns in order."""
    return {
        "id": candidate.id,
        "patient_id": candidate.patient_id,
        "modality": candidate.kind.modality,
        "anatomy": candidate.kind.anatomy,
        "findings": candidate.report.findings,
        "sentences": report_sentences(candidate.report.findings),
        "impression": candidate.report.impression,
    }


def report_sentences(findings: str) -> list[str]:
    """Splits findings into sentences, each on one line; a sentence's number is its index."""
    return [" ".join(sentence.split()) for sentence in split_sentences(findings)]


def file_stamp(path: Path) -> tuple[int, ...]:
    """Identifies the state of a file by the metadata of its folder."""
    with readable(path):
        state = path.stat()
    return state.st_size, state.st_dev, state.st_ino, state.st_mtime_ns


def _summary(sampler: Sampler, left_out: Counter[LeftOut]) -> str:
    """The numbers of usable reports by kind, and of others by reason."""
    kinds = ", ".join(
        f"{' '.join(dict.fromkeys(kind))} {count:,}"
        for kind, count in sampler.counts.most_common()
    )
    reasons = ", ".join(
        f"{reason} {count:,}" for reason, count in left_out.most_common()
    )
    return (
        f"{sampler.counts.total():,} reports can be used{f' ({kinds})' if kinds else ''}, "
        f"{left_out.total():,} are left out"
        f"{f' ({reasons})' if reasons else ''}."
    )


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
# Some categories of the release end in a space (`Physician `); this one is accepted with
# and without it.
_RADIOLOGY = tuple(
    name + end for name in ("Radiology", "radiology", "RADIOLOGY") for end in ("", " ")
)
_ERRORS = frozenset(("1", "1.0"))
_NUMBER = re.compile(r"[0-9]{1,18}")
_SHOWN = re.compile(r"[0-9.,+\- ]{0,30}")


def read_note_rows(path: Path, **sizes: int) -> Rows:
    """Reads the rows of both splits, sorted by ROW_ID; those of the last file are cached for the next split."""
    return _drawn(path, file_stamp(path), table=False, **sizes)


@lru_cache(maxsize=1)
def _drawn(
    path: Path,
    _stamp: tuple[int, ...],
    *,
    table: bool,
    sample: int = SAMPLE,
    train_each: int = TRAIN_EACH,
    seed: int = SEED,
) -> Rows:
    """Draws the splits, and notes on standard error what was left out and why."""
    reports: Iterator[Candidate | LeftOut] = stream_reports(path)
    kinds = TRAIN_KINDS
    advice = f"Give the whole {_NOTES}, NOTEEVENTS.csv.gz of version 1.4."
    if table:
        reports = (
            check_report(candidate.report) or candidate
            for candidate, _, _ in _table_lines(path)
        )
        kinds = *TRAIN_KINDS, _UNKNOWN
        advice = "Give a larger table, or one with a column 'split' that assigns each row to train or test."

    sampler = Sampler(
        sample=sample, train_each=train_each, train_kinds=kinds, seed=seed
    )
    left_out: Counter[LeftOut] = Counter()
    for report in reports:
        if isinstance(report, LeftOut):
            left_out[report] += 1
        else:
            sampler.add(report)

    summary = _summary(sampler, left_out)
    if sampler.counts.total() < sample:
        raise UsageError(f"{path}: {summary} The sample has {sample:,}. {advice}")

    drawn = sampler.split()
    if not drawn["train"]:
        raise UsageError(
            f"{path}: {summary} After the sample of {sample:,}, no report from another patient "
            f"remains for train. {advice}"
        )

    print(f"note: {path.name}: {summary}", file=sys.stderr)
    return {split: tuple(map(report_row, drawn[split])) for split in SPLITS}


def stream_reports(path: Path) -> Iterator[Candidate | LeftOut]:
    """Reads the radiology reports, with progress on standard error."""
    with reading(path) as on_read:
        categories = {"CATEGORY": _RADIOLOGY}
        for row in stream_rows(
            path, NOTE_COLUMNS, selected=categories, release=_NOTES, on_read=on_read
        ):
            yield _report(path, row)


def _report(path: Path, row: StreamedRow) -> Candidate | LeftOut:
    """Turns a row of NOTEEVENTS into a report, or into the reason for leaving it out.

    Reasons, in order: the row is marked as an error, its description is of no kind in
    the dataset, or its text has no separate findings and impression. An invalid row
    raises an error, since nothing after it can be trusted.
    """
    cells = row.cells
    for field in ("ROW_ID", "SUBJECT_ID"):
        if not _NUMBER.fullmatch(value := cells[field]):
            # If columns are swapped, any field may hold a note or a name, so only digits
            # are shown.
            shown = (
                repr(value)
                if _SHOWN.fullmatch(value)
                else f"a text of {len(value)} characters"
            )
            raise UsageError(
                f"{path}: row {row.number:,}, field {field!r}: must be a whole number, got "
                f"{shown}. Download the {_NOTES} again."
            )

    if cells["ISERROR"].strip() in _ERRORS:
        return LeftOut.ERROR

    kind = kind_of(cells["DESCRIPTION"])
    if isinstance(kind, LeftOut):
        return kind

    report = read_report(cells["TEXT"])
    if isinstance(report, LeftOut):
        return report

    return Candidate(
        id=cells["ROW_ID"], patient_id=cells["SUBJECT_ID"], kind=kind, report=report
    )


REQUIRED = ("id", "findings", "impression")
OPTIONAL = ("patient_id", "modality", "anatomy", "split")

_TABLE = "table of findings and impressions"
_ALLOWED = {"modality": MODALITIES, "anatomy": ANATOMIES, "split": SPLITS}
_UNKNOWN = Kind("unknown", "unknown")
_JSON_TEXT = dataclasses.replace(is_text_or_null(), private=True)


def _number_or(text: Field, rule: str) -> Field:
    return Field(
        holds=lambda value: type(value) is int or text.holds(value),
        rule=rule,
        private=True,
    )


_JSON_ID = _number_or(is_text(), "a text that is not empty, or a whole number")
_JSON_PATIENT = _number_or(is_text_or_null(), "a text, a whole number or null")

_Line = tuple[Candidate, str, bool]
"""A report, its split ("" if the table has none), and whether the table has its patient."""


def read_table_rows(path: Path, split: str, **sizes: int) -> Iterator[ReportRow]:
    """Reads the rows of a split of a table, JSON Lines (`.jsonl`) or CSV.

    They are in the table's order if it has splits, else sorted by id.
    """
    if not next(_table_lines(path))[1]:
        yield from _drawn(path, file_stamp(path), table=True, **sizes)[split]
        return

    patients: dict[str, set[str]] = {name: set() for name in SPLITS}
    any_row = False
    for candidate, own_split, has_patient in _table_lines(path):
        if has_patient:
            patients[own_split].add(candidate.patient_id)

        if own_split == split:
            any_row = True
            yield report_row(candidate)

    if not any_row:
        raise UsageError(
            f"{path}: has no row whose 'split' is {split!r}; each of {', '.join(SPLITS)} needs "
            "one at least. Leave the column out "
            "to have both drawn."
        )

    shared = len(set.intersection(*patients.values()))
    if shared and split == SPLITS[-1]:
        print(
            f"note: {path.name}: {shared:,} patients have reports in more than one split",
            file=sys.stderr,
        )


def _table_lines(path: Path) -> Iterator[_Line]:
    """Checks a table line by line; yields at least one."""
    cells = (
        (f"row {row.number}", row.cells)
        for row in read_csv(path, REQUIRED, release=_TABLE, others=True)
    )
    records = _json_lines(path) if path.suffix == ".jsonl" else cells
    seen: set[str] = set()
    splits: bool | None = None
    for where, values in records:
        for name in REQUIRED:
            if not values.get(name, "").strip():
                raise _wrong_line(path, where, name, "must not be empty", values)

        row_id = values["id"]
        if (
            len(row_id) > LONGEST_ID
            or row_id != row_id.strip()
            or not row_id.isprintable()
        ):
            rule = f"must be 1 to {LONGEST_ID} characters on one line without spaces at its ends, since it stands in results"
            raise _wrong_line(path, where, "id", rule, values)

        if row_id in seen:
            raise _wrong_line(
                path,
                where,
                "id",
                "must be unique, it stands in the table already",
                values,
            )

        seen.add(row_id)
        spelt = {name: _spelt(path, where, name, values) for name in _ALLOWED}
        if splits is None:
            splits = bool(spelt["split"])

        if bool(spelt["split"]) != splits:
            raise _wrong_line(
                path, where, "split", "must be there in all rows or in none", values
            )

        if bool(spelt["modality"]) != bool(spelt["anatomy"]):
            raise _wrong_line(
                path,
                where,
                "anatomy",
                "must be there where modality is, and only there",
                values,
            )

        patient = values.get("patient_id", "").strip()
        candidate = Candidate(
            id=row_id,
            patient_id=patient
            or f"report {row_id}",  # not the id alone: a patient may have the same number
            kind=Kind(spelt["modality"], spelt["anatomy"])
            if spelt["modality"]
            else _UNKNOWN,
            report=Report(
                findings=joined_lines(values["findings"]),
                impression=joined_lines(values["impression"]),
            ),
        )
        yield candidate, spelt["split"], bool(patient)


def _spelt(path: Path, where: str, name: str, values: Mapping[str, str]) -> str:
    text = values.get(name, "").strip()
    spelling = next(
        (allowed for allowed in _ALLOWED[name] if allowed.lower() == text.lower()), None
    )
    if text and spelling is None:
        raise _wrong_line(
            path,
            where,
            name,
            f"must be one of {', '.join(_ALLOWED[name])}, or empty",
            values,
        )

    return spelling or ""


def _json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    fields = dict.fromkeys((*REQUIRED, *OPTIONAL), _JSON_TEXT) | {
        "id": _JSON_ID,
        "patient_id": _JSON_PATIENT,
    }
    fields |= {name: optional(fields[name]) for name in OPTIONAL}
    for record in read_records(
        path, fields, release=_TABLE, again="Write the table again."
    ):
        yield (
            f"line {record.line}",
            {
                name: str(value)
                for name, value in record.values.items()
                if value is not None
            },
        )


def _wrong_line(
    path: Path, where: str, name: str, rule: str, values: Mapping[str, str]
) -> UsageError:
    # If columns are swapped, any cell may hold a report, so only its length is shown.
    length = len(values.get(name, ""))
    return UsageError(
        f"{path}: {where}, column {name!r}: {rule}, got a text of {length} characters."
    )


def read_mimic_rows(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[ReportRow]:
    """Reads the rows of a split."""
    if config == "demo":
        for demo_entry in demo_entries("reports", split):
            values = {
                **demo_entry,
                "sentences": report_sentences(demo_entry["findings"]),
            }
            yield cast(
                ReportRow,
                {column.name: values[column.name] for column in MIMIC_COLUMNS},
            )
    elif config == "table":
        yield from read_table_rows(files["table"], split)
    else:
        yield from read_note_rows(files["notes"])[split]


# Paths below physionet.org/files, as wget lays out the project; the end of one is enough.
_PLACES = tuple(
    f"mimiciii/1.4/{name}" for name in ("NOTEEVENTS.csv.gz", "NOTEEVENTS.csv")
)

MIMIC_SOURCE = DatasetSource(
    spec=MIMIC_RRS,
    summary=(
        "CT and MR reports of MIMIC-III, each with its findings in numbered sentences and its "
        "impression: what a radiologist "
        "concludes from the findings. A generated impression is compared with the reference, and "
        "its citations with the sentences "
        "they name. The test split is a sample in proportion to modality and anatomy, as DocLens "
        "evaluates; the train split has "
        "what worked examples are drawn from."
    ),
    changes=(
        "Of the notes, radiology reports alone, of CT and MR and of one of seven anatomies; a "
        "rule of this package tells this from "
        "their DESCRIPTION.",
        "Findings and impression are found by their headings, without wet reads and addenda, and "
        "their wrapped lines are joined; "
        "else their text is as released, marks of de-identification included. `sentences` is "
        "new: a rule of this package splits "
        "the findings.",
        "Reports without both sections, with too short ones, or whose impression only points to "
        "the findings are left out.",
        "`test` is 200 reports by a seeded sample, in proportion to modality and anatomy; "
        "`train` up to 50 reports of other "
        "patients of each of six kinds. They are not the reports of DocLens's own sample.",
        "`demo` is not from the release: it was written for this package, describes nobody, and "
        "is under the package's licence, "
        "Apache-2.0.",
    ),
    licence_note="PhysioNet asks that credentialed data go to no service that keeps them.",
    columns=MIMIC_COLUMNS,
    key="id",
    id_names=("row_id",),
    splits=dict.fromkeys(MIMIC_RRS.configs, SPLITS),
    published_rows={"notes": {"test": SAMPLE}, "demo": {"train": 12, "test": 12}},
    files={
        "notes": {
            "notes": OfficialFile(
                places=_PLACES, description="MIMIC-III's notes, a CSV file"
            )
        },
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
    responsible_ai=packaged(__file__, "responsible_ai.json")["mimic_rrs"],
)
