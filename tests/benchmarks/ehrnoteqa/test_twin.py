"""The twin: same seed, same bytes; the official shape; golds that stand in the notes."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.data import DEMO_QUESTIONS, demo_pairs
from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS
from medical_tasks.benchmarks.ehrnoteqa.questions import CATEGORIES, LETTERS, Question, question_categories
from medical_tasks.benchmarks.ehrnoteqa.twin import KINDS, TwinNote, main, twin_patients, write_twin
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


def test_lengths_are_those_of_discharge_summaries_and_make_the_levels() -> None:
    lengths = [len(note.text) for patient in twin_patients(seed=0, questions=1, notes=400) for note in patient.notes]
    assert len(lengths) == 400
    assert 9_000 < sum(lengths) / len(lengths) < 11_500
    assert min(lengths) < 4_000
    assert max(lengths) > 15_000
    for patient in twin_patients(seed=0, questions=70):
        assert patient.question is not None
        tokens = sum(len(note.text) for note in patient.notes) / 4
        assert (tokens > 3_000) == (patient.question.level == 2), patient.question
        assert tokens < 7_300


def pairs_of(*, seed: int, questions: int) -> list[tuple[Question, list[TwinNote]]]:
    """Questions with their notes, the oldest first."""
    return [
        (patient.question, sorted(patient.notes, key=lambda note: note.charttime))
        for patient in twin_patients(seed=seed, questions=questions, scale=0.1)
        if patient.question is not None
    ]


def has_answer(question: Question, texts: list[str], dates: list[str]) -> bool:
    """Whether the right choice can be found in the notes, and no other choice in the note that is asked about."""
    right = question.choices[LETTERS.index(question.answer)]
    assert len(set(question.choices)) == 5
    both = re.fullmatch(r"first (.+), last (.+)|from (.+) to (.+)", right)
    if both is None:
        (text,) = [text for text, date in zip(texts, dates, strict=True) if date in question.question]
        return [choice for choice in question.choices if choice in " ".join(text.split())] == [right]
    form = "PRIMARY: {}\n" if both[1] else "Discharge labs: creatinine {}."
    first, last = (form.format(part) for part in both.groups() if part)
    # None of the notes alone is enough.
    return (first in texts[0], last in texts[-1], first in texts[-1], last in texts[0]) == (True, True, False, False)


def test_the_demo_has_every_shape_of_the_real_set_and_all_categories() -> None:
    pairs = list(demo_pairs())
    assert len(pairs) == DEMO_QUESTIONS == 14
    shapes = Counter((question.level, question.num_notes) for question, _ in pairs)
    assert shapes == {(1, 1): 4, (1, 2): 4, (2, 1): 2, (2, 2): 2, (2, 3): 2}
    asked = [question_categories(question.question) for question, _ in pairs]
    assert {category for each in asked for category in each} == set(CATEGORIES)
    # By what the kinds of questions are meant to ask about, most have one category.
    assert sum(map(len, asked)) == 17
    for question, notes in pairs:
        assert len(notes) == question.num_notes
        assert has_answer(question, [note.text for note in notes], [note.charttime[:10] for note in notes]), question


def test_so_can_those_of_any_twin() -> None:
    pairs = pairs_of(seed=1, questions=140)
    assert len(pairs) == 140
    asked = Counter(question.question.split(" the discharge summar")[0] for question, _ in pairs)
    assert len(asked) == KINDS + 2
    for question, notes in pairs:
        assert has_answer(question, [note.text for note in notes], [note.charttime[:10] for note in notes]), question


def test_the_entry_and_numbers_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "twin"), "--questions", "2", "--scale", "0.1"]) == 0
    assert "discharge.csv.gz" in capsys.readouterr().out
    assert (tmp_path / "twin" / "SHA256SUMS.txt").is_file()
    with pytest.raises(UsageError, match=r"7 questions have 12 notes in all; --notes must not be less, got 11"):
        write_twin(tmp_path, seed=0, questions=7, notes=11)
    with pytest.raises(UsageError, match="at least 1 question"):
        list(twin_patients(seed=0, questions=0))
