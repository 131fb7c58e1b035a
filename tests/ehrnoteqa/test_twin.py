"""The twin: same seed, same bytes; the official shape; golds that stand in the notes."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.ehrnoteqa.demo import DEMO_QUESTIONS, demo_pairs
from medical_tasks.ehrnoteqa.notes import COLUMNS
from medical_tasks.ehrnoteqa.questions import LETTERS
from medical_tasks.ehrnoteqa.twin import main, twin_patients, write_twin
from medical_tasks.ehrnoteqa.twin_words import STAYS, VALUES
from medical_tasks.errors import UsageError


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    one, two, other = (
        write_twin(tmp_path / name, seed=seed, questions=7, notes=40, scale=0.3)
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    names = sorted(path.name for path in one.iterdir())
    assert names == ["EHRNoteQA.jsonl", "SHA256SUMS.txt", "discharge.csv.gz"]
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()
        assert (one / name).read_bytes() != (other / name).read_bytes()


@pytest.mark.parametrize(("questions", "notes"), [(1, 1), (1, 2), (7, 12), (7, 13), (8, 500)])
def test_any_number_of_notes_and_questions(tmp_path: Path, questions: int, notes: int) -> None:
    folder = write_twin(tmp_path, seed=0, questions=questions, notes=notes, scale=0.1)
    text = gzip.decompress((folder / "discharge.csv.gz").read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == notes
    assert tuple(rows[0]) == COLUMNS
    assert len({row["note_id"] for row in rows}) == len({row["hadm_id"] for row in rows}) == notes
    patients = [int(row["subject_id"]) for row in rows]
    assert patients == sorted(patients)
    assert len((folder / "EHRNoteQA.jsonl").read_text().splitlines()) == questions


def test_lengths_are_those_of_discharge_summaries() -> None:
    lengths = [len(note.text) for patient in twin_patients(seed=0, questions=1, notes=400) for note in patient.notes]
    assert len(lengths) == 400
    assert 9_000 < sum(lengths) / len(lengths) < 11_500
    assert min(lengths) < 4_000
    assert max(lengths) > 15_000


def test_levels_are_lengths() -> None:
    for patient in twin_patients(seed=0, questions=70):
        assert patient.question is not None
        tokens = sum(len(note.text) for note in patient.notes) / 4
        assert (tokens > 3_000) == (patient.question.level == 2), patient.question
        assert tokens < 7_300


def test_the_right_choice_stands_in_the_notes_and_the_wrong_ones_of_one_note_do_not() -> None:
    asked: Counter[bool] = Counter()
    for question, notes in demo_pairs():
        right = question.choices[LETTERS.index(question.answer)]
        assert len(set(question.choices)) == 5
        both = right.startswith("first ")
        asked[both] += 1
        if both:
            first, last = right.removeprefix("first ").split(", last ")
            assert f"PRIMARY: {first}\n" in notes[0].text
            assert f"PRIMARY: {last}\n" in notes[-1].text
            continue
        meant = [note for note in notes if note.charttime[:10] in question.question]
        assert len(meant) == 1
        text = " ".join(meant[0].text.split())
        assert [choice for choice in question.choices if choice in text] == [right]
    assert sum(asked.values()) == DEMO_QUESTIONS
    assert min(asked[True], asked[False]) >= 1


def test_the_demo_has_every_shape_of_the_real_set() -> None:
    shapes = Counter((question.level, question.num_notes) for question, _ in demo_pairs())
    assert shapes == {(1, 1): 4, (1, 2): 4, (2, 1): 2, (2, 2): 2, (2, 3): 2}
    for question, notes in demo_pairs():
        assert len(notes) == question.num_notes


def test_stays_can_be_told_apart() -> None:
    assert len(STAYS) == 14
    for name in ("diagnosis", "procedure", "drug", "clinic"):
        assert len({getattr(stay, name) for stay in STAYS}) == 14
    assert len(set(VALUES)) == len(VALUES) == 19


def test_numbers_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"7 questions have 12 notes in all; --notes must not be less, got 11"):
        write_twin(tmp_path, seed=0, questions=7, notes=11)
    with pytest.raises(UsageError, match="at least 1 question"):
        list(twin_patients(seed=0, questions=0))


def test_the_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "twin"), "--questions", "2", "--scale", "0.1"]) == 0
    assert "discharge.csv.gz" in capsys.readouterr().out
    assert (tmp_path / "twin" / "SHA256SUMS.txt").is_file()
