"""`mimic_rrs`: rows of the file of notes, of a user's own table, and of the demo."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from measurements.mimic_twin import NOTES_FILE, twin_notes, write_twin
from medical_tasks.benchmarks.doclens.mimic_data import (
    MIMIC_COLUMNS,
    NOTE_COLUMNS,
    SPLITS,
    Candidate,
    Sampler,
    largest_remainder,
    read_mimic_rows,
    read_note_rows,
    read_table_rows,
    stream_reports,
)
from medical_tasks.benchmarks.doclens.mimic_report import (
    TRAIN_KINDS,
    Kind,
    LeftOut,
    Report,
    read_report,
)
from medical_tasks.errors import UsageError
from tests.benchmarks.common import write_csv, write_jsonl
from tests.benchmarks.doclens.task_items import cases

SECRET = "swallowed a marble"
TEXT = (
    f'FINDINGS: The patient {SECRET}, which lies in the stomach, as was "seen"\nbefore.\n'
    "IMPRESSION: Marble in the stomach."
)


def row(number: int, **changes: str) -> list[str]:
    cells = dict.fromkeys(NOTE_COLUMNS, "")
    cells |= {
        "ROW_ID": str(number),
        "SUBJECT_ID": str(number),
        "CHARTDATE": "2150-01-02",
        "CATEGORY": "Radiology",
    }
    cells |= {"DESCRIPTION": "CT ABDOMEN W/CONTRAST", "TEXT": TEXT}
    return list((cells | changes).values())


def write(folder: Path, *rows: list[str], packed: bool = True) -> Path:
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows([NOTE_COLUMNS, *rows])
    path = folder / (NOTES_FILE if packed else "NOTEEVENTS.csv")
    content = stream.getvalue().encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def reports(path: Path) -> list[Candidate | LeftOut]:
    return list(stream_reports(path))


def test_rows_of_a_twin(tmp_path: Path) -> None:
    path = (
        write_twin(tmp_path, seed=4, notes=500, ct_mr=0.6, compresslevel=1) / NOTES_FILE
    )
    notes = {
        note.cells["ROW_ID"]: note for note in twin_notes(seed=4, notes=500, ct_mr=0.6)
    }
    assert len(notes) == 500
    usable = [report for report in reports(path) if isinstance(report, Candidate)]
    assert [candidate.id for candidate in usable] == [
        key for key, note in notes.items() if note.sentences
    ]
    assert len(usable) > 150
    rows = read_note_rows(path, sample=50, train_each=4)
    assert {split: len(split_rows) for split, split_rows in rows.items()} == {
        "train": 24,
        "test": 50,
    }
    for read_row in (*rows["train"], *rows["test"]):
        assert list(read_row) == [column.name for column in MIMIC_COLUMNS]
        note = notes[read_row["id"]]
        assert (read_row["modality"], read_row["anatomy"], read_row["patient_id"]) == (
            note.modality,
            note.anatomy,
            note.cells["SUBJECT_ID"],
        )
        assert tuple(read_row["sentences"]) == note.sentences
        assert " ".join(read_row["impression"].split()) == note.impression
    counts = Counter(
        (note.modality, note.anatomy) for note in notes.values() if note.sentences
    )
    for kind, number in Counter(
        (read_row["modality"], read_row["anatomy"]) for read_row in rows["test"]
    ).items():
        assert abs(number - 50 * counts[kind] / len(usable)) < 1
    assert {read_row["patient_id"] for read_row in rows["train"]}.isdisjoint(
        read_row["patient_id"] for read_row in rows["test"]
    )


def test_the_sample_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    cells = [
        [note.cells[name] for name in NOTE_COLUMNS]
        for note in twin_notes(seed=5, notes=300, ct_mr=0.7)
    ]
    before = read_note_rows(write(tmp_path, *cells), sample=30, train_each=3)
    after = read_note_rows(
        write(tmp_path, *reversed(cells), packed=False), sample=30, train_each=3
    )
    assert before == after
    assert before != read_note_rows(
        write(tmp_path, *cells), sample=30, train_each=3, seed=1
    )


def test_reports_that_are_used_and_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        row(1),
        row(2, CATEGORY="Nursing/other"),
        row(3, CATEGORY="Radiology "),
        row(4, ISERROR="1"),
        row(5, DESCRIPTION="CHEST (PORTABLE AP)"),
        row(6, TEXT="FINDINGS: None."),
        row(7, CATEGORY="Discharge summary", ROW_ID="x"),
    )
    first, third, *left_out = reports(path)
    assert isinstance(first, Candidate)
    assert isinstance(third, Candidate)
    assert (first.id, third.id) == ("1", "3")
    assert (
        first.report.findings
        == f'The patient {SECRET}, which lies in the stomach, as was "seen" before.'
    )
    assert left_out == [LeftOut.ERROR, LeftOut.OTHER_MODALITY, LeftOut.NO_IMPRESSION]


def test_a_file_is_read_once_and_again_when_it_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, *(row(number) for number in range(8)), row(8, ISERROR="1"))
    rows = read_note_rows(path, sample=3, train_each=2)
    assert read_note_rows(path, sample=3, train_each=2) is rows
    stderr = capsys.readouterr().err
    assert (
        stderr.count(
            "8 reports can be used (CT abdomen 8), 1 are left out (marked as an error by its "
            "hospital 1)."
        )
        == 1
    )
    assert SECRET not in stderr
    write(tmp_path, *(row(number) for number in range(10, 20)))
    assert {
        int(read_row["id"]) >= 10
        for read_row in read_note_rows(path, sample=3, train_each=2)["test"]
    } == {True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ROW_ID": "5.0"}, "row 2, field 'ROW_ID': must be a whole number, got '5.0'"),
        (
            {"SUBJECT_ID": SECRET},
            "row 2, field 'SUBJECT_ID': must be a whole number, got a text of 18 characters",
        ),
        (
            {"SUBJECT_ID": TEXT},
            r"row 2, field 'SUBJECT_ID': must be a whole number, got a text of \d+ characters",
        ),
    ],
)
def test_wrong_ids_are_refused(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        reports(write(tmp_path, row(1, **change)))
    assert SECRET not in str(caught.value)


def test_too_few_reports_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, row(1), row(2, TEXT=TEXT.replace("IMPRESSION", "OPINION")))
    with pytest.raises(
        UsageError,
        match=r"1 reports can be used \(CT abdomen 1\), 1 are left out \(no impression section 1\)",
    ) as few:
        read_note_rows(path)
    assert "The sample has 200. Give the whole MIMIC-III file of notes" in str(
        few.value
    )
    assert SECRET not in str(few.value)
    with pytest.raises(
        UsageError,
        match=r"After the sample of 1, no report from another patient remains for train",
    ):
        read_note_rows(path, sample=1)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, *(row(number) for number in range(50)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    with pytest.raises(
        UsageError, match="NOTEEVENTS.csv.gz: cut off, the gzip data end amid"
    ):
        read_note_rows(path, sample=3)
    path.write_bytes(gzip.compress(gzip.decompress(whole)[:-40]))
    with pytest.raises(
        UsageError, match="the row that begins on line 149 .*cut off or damaged"
    ) as caught:
        read_note_rows(path, sample=3)
    assert SECRET not in str(caught.value)
    path.unlink()
    with pytest.raises(UsageError, match="NOTEEVENTS.csv.gz: cannot be read"):
        read_note_rows(path)


SEEN = f"The patient {SECRET}. It lies in the stomach, as it did before."
Cells = dict[str, Any]


def cells(number: int, **changes: Any) -> Cells:
    return {
        "id": f"r{number}",
        "findings": SEEN,
        "impression": "Marble in the stomach.",
    } | changes


def whole(number: int, **changes: Any) -> Cells:
    values = {
        "patient_id": f"p{number}",
        "modality": "CT",
        "anatomy": "abdomen",
        "split": "test" if number % 2 else "train",
    }
    return cells(number, **values) | changes


def write_table(folder: Path, rows: Sequence[Cells], form: str = "csv") -> Path:
    path = folder / f"reports.{form}"
    if form == "jsonl":
        return write_jsonl(path, rows)
    return write_csv(path, list(rows[0]), rows)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_with_splits_is_read(tmp_path: Path, form: str) -> None:
    short = whole(
        3,
        findings="A\n marble.",
        impression="Marble.",
        modality="mr",
        anatomy="Head",
        split="TEST",
    )
    path = write_table(tmp_path, [whole(1), whole(2), short], form)
    assert list(read_table_rows(path, "train")) == [
        {
            "id": "r2",
            "patient_id": "p2",
            "modality": "CT",
            "anatomy": "abdomen",
            "findings": SEEN,
            "sentences": [
                f"The patient {SECRET}.",
                "It lies in the stomach, as it did before.",
            ],
            "impression": "Marble in the stomach.",
        }
    ]
    first, third = read_table_rows(path, "test")
    assert (first["id"], third["id"]) == ("r1", "r3")
    assert (
        third["modality"],
        third["anatomy"],
        third["findings"],
        third["impression"],
    ) == (
        "MR",
        "head",
        "A marble.",
        "Marble.",
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_table_without_splits_is_sampled(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        cells(number, **({"note": SECRET} if form == "csv" else {}))
        for number in range(30)
    ]
    rows += [dict(rows[0], id="short", impression="As above.")]
    path = write_table(tmp_path, rows, form)
    drawn = {
        split: list(read_table_rows(path, split, sample=10, train_each=5))
        for split in ("train", "test")
    }
    assert {split: len(drawn_row) for split, drawn_row in drawn.items()} == {
        "train": 5,
        "test": 10,
    }
    assert {
        drawn_row["modality"] + drawn_row["anatomy"] for drawn_row in drawn["test"]
    } == {"unknownunknown"}
    assert all(
        drawn_row["patient_id"] == f"report {drawn_row['id']}"
        for drawn_row in drawn["test"]
    )
    assert {drawn_row["id"] for drawn_row in drawn["test"]}.isdisjoint(
        drawn_row["id"] for drawn_row in drawn["train"]
    )
    stderr = capsys.readouterr().err
    assert (
        stderr.count(
            "30 reports can be used (unknown 30), 1 are left out (impression that only points"
        )
        == 1
    )
    with pytest.raises(
        UsageError,
        match=r"The sample has 200. Give a larger table, or one with a column 'split'",
    ):
        list(read_table_rows(path, "test"))


@pytest.mark.parametrize("unknown", [None, ""])
def test_a_row_without_a_patient_has_a_patient_of_its_own(
    tmp_path: Path, unknown: str | None
) -> None:
    rows = [
        whole(1, id="7", patient_id=unknown),
        whole(3, id="8", patient_id="7"),
        whole(2, modality=None, anatomy=None),
    ]
    numbers = [row | {"id": int(row["id"].removeprefix("r"))} for row in rows]
    for form, table_rows in (("csv", rows), ("jsonl", rows), ("jsonl", numbers)):
        path = write_table(tmp_path, table_rows, form)
        patients = {
            row["id"]: row["patient_id"] for row in read_table_rows(path, "test")
        }
        assert patients == {"7": "report 7", "8": "7"}
        assert [row["modality"] for row in read_table_rows(path, "train")] == [
            "unknown"
        ]
    (row,) = read_table_rows(
        write_table(tmp_path, [whole(1, id=7, patient_id=8), whole(2)], "jsonl"), "test"
    )
    assert (row["id"], row["patient_id"]) == ("7", "8")


def test_patients_in_both_splits_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_table(
        tmp_path, [whole(1, patient_id="p"), whole(2, patient_id="p"), whole(4)]
    )
    assert (
        len(
            [row for split in ("train", "test") for row in read_table_rows(path, split)]
        )
        == 3
    )
    assert (
        capsys.readouterr().err
        == "note: reports.csv: 1 patients have reports in more than one split\n"
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("rows", "message"), cases("mimic_data", "test_bad_tables_are_refused")
)
def test_bad_tables_are_refused(
    tmp_path: Path, rows: list[Cells], message: str, form: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(read_table_rows(write_table(tmp_path, rows, form), "test"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "form", "message"), cases("mimic_data", "test_wrong_cells_are_refused")
)
def test_wrong_cells_are_refused(
    tmp_path: Path, cells: Cells, form: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(read_table_rows(write_table(tmp_path, [cells], form), "test"))
    assert SECRET not in str(caught.value)
    with pytest.raises(UsageError, match="none.csv: cannot be read"):
        list(read_table_rows(tmp_path / "none.csv", "test"))


def test_the_demo_has_rows_like_those_of_notes() -> None:
    for split in SPLITS:
        rows = list(read_mimic_rows("demo", split, {}))
        assert len(rows) == 12
        for row in rows:
            assert list(row) == [column.name for column in MIMIC_COLUMNS]
            assert len(row["sentences"]) >= 5
            assert " ".join(row["sentences"]) == " ".join(row["findings"].split())
            text = f"FINDINGS: {row['findings']}\n\nIMPRESSION:\n{row['impression']}"
            assert read_report(text) == Report(
                findings=row["findings"], impression=row["impression"]
            )


HEAD, CHEST, NECK = Kind("CT", "head"), Kind("CT", "chest"), Kind("MR", "neck")
REPORT = Report(findings="", impression="")


def candidates(seed: int, *, patients: int, reports: int) -> list[Candidate]:
    draw = random.Random(seed)
    return [
        Candidate(
            id=str(number),
            patient_id=str(draw.randrange(patients)),
            kind=draw.choices([HEAD, CHEST, NECK], [7, 3, 1])[0],
            report=REPORT,
        )
        for number in range(reports)
    ]


def drawn(
    reports: list[Candidate], *, sample: int = 20, train_each: int = 5, seed: int = 0
) -> dict[str, list[Candidate]]:
    sampler = Sampler(
        sample=sample, train_each=train_each, train_kinds=TRAIN_KINDS, seed=seed
    )
    for report in reports:
        sampler.add(report)
    return sampler.split()


@given(st.lists(st.integers(1, 500), min_size=1, max_size=14), st.data())
def test_largest_remainders_are_within_one_of_proportion(
    numbers: list[int], data: st.DataObject
) -> None:
    counts = {Kind("CT", str(index)): number for index, number in enumerate(numbers)}
    size = data.draw(st.integers(0, sum(numbers)))
    shares = largest_remainder(counts, size)
    assert sum(shares.values()) == size
    for kind, count in counts.items():
        assert 0 <= shares[kind] <= count
        assert abs(shares[kind] - size * count / sum(numbers)) < 1


def by_rank(split: str, reports: list[Candidate]) -> list[Candidate]:
    return sorted(
        reports,
        key=lambda report: hashlib.sha256(f"0/{split}/{report.id}".encode()).digest(),
    )


@settings(max_examples=30)
@example(1, 1)  # a patient with all reports has no train split
@given(st.integers(0, 1000), st.integers(5, 200))
def test_the_sample_equals_one_drawn_from_all_reports(seed: int, patients: int) -> None:
    reports = candidates(seed, patients=patients, reports=150)
    of_kind: dict[Kind, list[Candidate]] = defaultdict(list)
    for report in reports:
        of_kind[report.kind].append(report)
    counts = {kind: len(same_kind) for kind, same_kind in of_kind.items()}
    shares = largest_remainder(counts, 20)
    test = [
        report
        for kind, share in shares.items()
        for report in by_rank("test", of_kind[kind])[:share]
    ]
    patients_of_test = {report.patient_id for report in test}
    train = []
    for kind in (HEAD, CHEST):
        first: dict[str, Candidate] = {}
        for report in by_rank("train", of_kind[kind]):
            first.setdefault(report.patient_id, report)
        train += [
            report
            for report in first.values()
            if report.patient_id not in patients_of_test
        ][:5]
    random.Random(seed).shuffle(reports)
    sample = drawn(reports)
    assert sample["test"] == sorted(test, key=lambda report: int(report.id))
    assert sample["train"] == sorted(train, key=lambda report: int(report.id))


def test_the_sampler_holds_a_bounded_number_of_reports() -> None:
    sampler = Sampler(sample=4, train_each=3, train_kinds=(HEAD,), seed=0)
    for candidate in candidates(2, patients=5_000, reports=20_000):
        sampler.add(candidate)
    assert sampler.counts.total() == 20_000
    assert all(4 <= len(lowest._held) <= 8 for lowest in sampler._test.values())
    assert 7 <= len(sampler._train[HEAD]._held) <= 14
