"""Reports out of a file of notes: against the twin's own account, small files written by hand, and bad files by their message."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.mimic_data import NOTE_COLUMNS, read_note_rows, stream_reports
from medical_tasks.benchmarks.doclens.mimic_report import LeftOut
from medical_tasks.benchmarks.doclens.mimic_sample import MIMIC_COLUMNS, Candidate
from medical_tasks.benchmarks.doclens.mimic_twin import NOTES_FILE, twin_notes, write_twin
from medical_tasks.errors import UsageError

SECRET = "swallowed a marble"
TEXT = (
    f'FINDINGS: The patient {SECRET}, which lies in the stomach, as was "seen"\nbefore.\n'
    "IMPRESSION: Marble in the stomach."
)


def row(number: int, **changes: str) -> list[str]:
    cells = dict.fromkeys(NOTE_COLUMNS, "")
    cells |= {"ROW_ID": str(number), "SUBJECT_ID": str(number), "CHARTDATE": "2150-01-02", "CATEGORY": "Radiology"}
    cells |= {"DESCRIPTION": "CT ABDOMEN W/CONTRAST", "TEXT": TEXT}
    return list((cells | changes).values())


def write(folder: Path, *rows: list[str], columns: tuple[str, ...] = NOTE_COLUMNS, packed: bool = True) -> Path:
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows([columns, *rows])
    path = folder / (NOTES_FILE if packed else "NOTEEVENTS.csv")
    content = stream.getvalue().encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def reports(path: Path) -> list[Candidate | LeftOut]:
    return list(stream_reports(path, size=path.stat().st_size))


def test_a_twin(tmp_path: Path) -> None:
    path = write_twin(tmp_path, seed=4, notes=500, ct_mr=0.6, compresslevel=1) / NOTES_FILE
    notes = {note.cells["ROW_ID"]: note for note in twin_notes(seed=4, notes=500, ct_mr=0.6)}
    assert len(notes) == 500
    found = [each for each in reports(path) if isinstance(each, Candidate)]
    assert [each.id for each in found] == [key for key, note in notes.items() if note.sentences]
    assert len(found) > 150
    rows = read_note_rows(path, sample=50, train_each=4)
    assert {split: len(each) for split, each in rows.items()} == {"train": 24, "test": 50}
    for each in (*rows["train"], *rows["test"]):
        assert list(each) == [column.name for column in MIMIC_COLUMNS]
        note = notes[each["id"]]
        assert (each["modality"], each["anatomy"], each["patient_id"]) == (
            note.modality,
            note.anatomy,
            note.cells["SUBJECT_ID"],
        )
        assert tuple(each["sentences"]) == note.sentences
        assert " ".join(each["impression"].split()) == note.impression
    counts = Counter((note.modality, note.anatomy) for note in notes.values() if note.sentences)
    for kind, number in Counter((each["modality"], each["anatomy"]) for each in rows["test"]).items():
        assert abs(number - 50 * counts[kind] / len(found)) < 1
    assert {each["patient_id"] for each in rows["train"]}.isdisjoint(each["patient_id"] for each in rows["test"])


def test_the_order_of_the_file_does_not_count(tmp_path: Path) -> None:
    cells = [[note.cells[name] for name in NOTE_COLUMNS] for note in twin_notes(seed=5, notes=300, ct_mr=0.7)]
    before = read_note_rows(write(tmp_path, *cells), sample=30, train_each=3)
    after = read_note_rows(write(tmp_path, *reversed(cells), packed=False), sample=30, train_each=3)
    assert before == after
    assert before != read_note_rows(write(tmp_path, *cells), sample=30, train_each=3, seed=1)


def test_which_rows_count(tmp_path: Path) -> None:
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
    assert first.report.findings == f'The patient {SECRET}, which lies in the stomach, as was "seen" before.'
    assert left_out == [LeftOut.ERROR, LeftOut.OTHER_MODALITY, LeftOut.NO_IMPRESSION]


def test_counts_are_told_and_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, *(row(number) for number in range(8)), row(8, ISERROR="1"))
    read_note_rows(path, sample=3, train_each=2)
    told = capsys.readouterr().err
    assert "8 reports can be used (CT abdomen 8), 1 are left out (marked as an error by its hospital 1)." in told
    assert SECRET not in told


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, *(row(number) for number in range(8)))
    rows = read_note_rows(path, sample=3, train_each=2)
    assert read_note_rows(path, sample=3, train_each=2) is rows
    assert capsys.readouterr().err.count("can be used") == 1
    write(tmp_path, *(row(number) for number in range(10, 20)))
    assert {int(each["id"]) >= 10 for each in read_note_rows(path, sample=3, train_each=2)["test"]} == {True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ROW_ID": "5.0"}, "line 2, field 'ROW_ID': must be a whole number, got '5.0'"),
        ({"SUBJECT_ID": SECRET}, "line 2, field 'SUBJECT_ID': must be a whole number, got a text of 18 characters"),
        ({"SUBJECT_ID": TEXT}, r"line 2, field 'SUBJECT_ID': must be a whole number, got a text of \d+ characters"),
    ],
)
def test_wrong_ids(tmp_path: Path, change: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        reports(write(tmp_path, row(1, **change)))
    assert SECRET not in str(caught.value)


def test_too_few(tmp_path: Path) -> None:
    path = write(tmp_path, row(1), row(2, TEXT=TEXT.replace("IMPRESSION", "OPINION")))
    with pytest.raises(
        UsageError, match=r"1 reports can be used \(CT abdomen 1\), 1 are left out \(no impression section 1\)"
    ) as few:
        read_note_rows(path)
    assert "The sample has 200. Give the whole MIMIC-III file of notes" in str(few.value)
    assert SECRET not in str(few.value)
    with pytest.raises(UsageError, match=r"Behind the sample of 1 no report of another patient remains for train"):
        read_note_rows(path, sample=1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (tuple(map(str.lower, NOTE_COLUMNS)), "wrong columns for the MIMIC-III file of notes. missing: 'ROW_ID'"),
        ((*NOTE_COLUMNS[:-1], "NOTE"), "missing: 'TEXT'; 1 unexpected"),
    ],
)
def test_other_columns(tmp_path: Path, columns: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        reports(write(tmp_path, row(1), columns=columns))


def test_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path, *(row(number) for number in range(50)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    with pytest.raises(UsageError, match="NOTEEVENTS.csv.gz: cut off, the gzip data end amid"):
        read_note_rows(path, sample=3)
    path.write_bytes(gzip.compress(gzip.decompress(whole)[:-40]))
    with pytest.raises(UsageError, match="the row that begins on line 149 .*cut off or damaged") as caught:
        read_note_rows(path, sample=3)
    assert SECRET not in str(caught.value)
    path.unlink()
    with pytest.raises(UsageError, match="NOTEEVENTS.csv.gz: cannot be read"):
        read_note_rows(path)
