"""The synthetic twin of the file of notes: the same bytes from the same seed, and the shape of the official file."""

from __future__ import annotations

import csv
import gzip
import statistics
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.mimic_data import NOTE_COLUMNS
from medical_tasks.benchmarks.doclens.mimic_report import Kind, kind_of
from medical_tasks.benchmarks.doclens.mimic_twin import NOTES_FILE, main, twin_notes, twin_words, write_twin
from medical_tasks.errors import UsageError


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second, third = (
        (write_twin(tmp_path / name, seed=seed, notes=50, compresslevel=1) / NOTES_FILE).read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == second != third


def test_the_file_holds_the_notes(tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--seed", "6", "--notes", "80", "--ct-mr", "0.3"]) == 0
    with gzip.open(tmp_path / NOTES_FILE, "rt", encoding="utf-8", newline="") as stream:
        header = stream.readline()
        rows = list(csv.reader(stream))
    assert header == ",".join(f'"{name}"' for name in NOTE_COLUMNS) + "\n"
    notes = list(twin_notes(seed=6, notes=80, ct_mr=0.3))
    assert rows == [[note.cells[name] for name in NOTE_COLUMNS] for note in notes]
    assert (tmp_path / "SHA256SUMS.txt").read_text().endswith(f" {NOTES_FILE}\n")


def test_its_shape_is_near_the_release() -> None:
    notes = list(twin_notes(seed=7, notes=3_000))
    shares = Counter(note.cells["CATEGORY"] for note in notes)
    assert len(shares) == 8
    assert 0.2 < shares["Radiology"] / len(notes) < 0.3  # 25 % of the release
    assert shares["Physician "]  # with its space
    assert 1_500 < statistics.mean(len(note.cells["TEXT"]) for note in notes) < 2_400
    assert any('"' in note.cells["TEXT"] for note in notes)
    assert any("(Over)" in note.cells["TEXT"] for note in twin_notes(seed=7, notes=300, ct_mr=1))


def test_its_words() -> None:
    words = twin_words()
    examinations = words["examinations"]
    assert {Kind(each.modality, each.anatomy) for each in examinations} == {
        kind_of(each.description) for each in examinations
    }
    assert len(examinations) == 16
    assert set(words["seen"]) == set(words["normal"]) == {each.anatomy for each in examinations}


@pytest.mark.parametrize(("notes", "share"), [(0, 0.1), (5, 1.5)])
def test_what_cannot_be(notes: int, share: float) -> None:
    with pytest.raises(UsageError, match=f"at least 1 note and a share from 0 to 1, got {notes} and {share}"):
        next(twin_notes(seed=0, notes=notes, ct_mr=share))
