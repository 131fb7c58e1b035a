from __future__ import annotations

import gzip
import json
import random
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS, prepared_text
from medical_tasks.construct.ehrnoteqa.files import load_patients
from medical_tasks.construct.ehrnoteqa.sample import (
    BOUNDS,
    CELLS,
    ESTIMATE,
    PatientLength,
    SampleSpec,
    draw,
    estimate_tokens,
    level_of,
    make_sample,
    measure_patients,
    open_counter,
    parse_bounds,
    parse_cells,
)
from medical_tasks.errors import MedicalTasksError
from tests.benchmarks.ehrnoteqa.twin_files import SECRET, csv_bytes, note
from tests.case_tables import json_of, tabled
from tests.construct.ehrnoteqa.construction_files import twin_notes


def make_spec(
    cells: str = "1:1=2,1:2=1", **more: int | bool | tuple[int, int]
) -> SampleSpec:
    return SampleSpec(cells=parse_cells(cells), **more)  # type: ignore[arg-type]


def test_the_papers_table() -> None:
    # Table 2 and section 3.1: 550 patients of level 1, 450 of level 2.
    assert sum(CELLS.values()) == 1000
    assert sum(count for (level, _), count in CELLS.items() if level == 1) == 550
    assert [level_of(tokens, BOUNDS) for tokens in (0, 3000, 3001, 7000, 7001)] == [
        1,
        1,
        2,
        2,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("  \t ", 0),
        ("abcdef", 1),
        ("abcdefg", 2),
        ("123", 1),
        ("1234", 2),
        ("___", 1),
        ("_____", 2),
        # The tokens are K, +, 4, ., 1 and the line end.
        ("K+ 4.1\n", 6),
        ("Größe", 1),
    ],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
    assert open_counter(ESTIMATE).count([text, text]) == [tokens, tokens]


def test_a_tokenizer_of_transformers(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    folder.mkdir()
    tokenizer = Tokenizer(
        WordLevel({"[UNK]": 0, "the": 1, "patient": 2}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=20)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 4,
        "unk_token": "[UNK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    counter = open_counter(str(folder))
    # longer than its context: no warning
    assert counter.count(["the patient\nwas seen " * 3, ""]) == [12, 0]
    assert counter.identity["tokenizer"] == "words"
    assert len(counter.identity["tokenizer.json"]) == 64
    for damaged in ("{", "{}"):
        (folder / "tokenizer.json").write_text(damaged)
        with pytest.raises(MedicalTasksError, match="cannot be read"):
            open_counter(str(folder))
    with pytest.raises(MedicalTasksError, match="no such folder"):
        open_counter(str(tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(MedicalTasksError, match="holds no tokenizer"):
        open_counter(str(tmp_path / "empty"))


@given(st.data())
def test_the_draw_depends_on_seed_and_ids_alone(data: st.DataObject) -> None:
    ids = data.draw(
        st.lists(st.integers(1, 10**8).map(str), min_size=1, max_size=30, unique=True)
    )
    lengths = {patient: PatientLength(1, 100) for patient in ids}
    count = data.draw(st.integers(1, len(ids)))
    seed = data.draw(st.integers(0, 3))
    drawn = draw(lengths, make_spec(f"1:1={count}", seed=seed))[1, 1]
    mixed = dict(random.Random(0).sample(list(lengths.items()), len(ids)))
    assert draw(mixed, make_spec(f"1:1={count}", seed=seed))[1, 1] == drawn
    assert draw(lengths, make_spec(f"1:1={len(ids)}", seed=seed))[1, 1][:count] == drawn
    assert len(set(drawn)) == count


def test_too_few_patients() -> None:
    lengths = {
        "1": PatientLength(1, 10),
        "2": PatientLength(2, 10),
        "3": PatientLength(1, 5000),
    }
    with pytest.raises(
        MedicalTasksError,
        match="level 1 with 1 notes has 1, asked for 2.*--allow-fewer",
    ):
        draw(lengths, make_spec())
    assert draw(lengths, make_spec(allow_fewer=True)) == {(1, 1): ["1"], (1, 2): ["2"]}


@tabled("option", "texts")
def test_invalid_cells_and_bounds(option: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(MedicalTasksError, match=f"--{option}"):
            {"cells": parse_cells, "bounds": parse_bounds}[option](text)


def test_lengths_are_those_of_prepared_notes(tmp_path: Path) -> None:
    rows = [
        note(seq=2, text="one  two"),
        note(101, text="x"),
        note(seq=3, text='a "b",\n\n c'),
    ]
    path = tmp_path / "discharge.csv"
    path.write_bytes(csv_bytes(*rows))
    counter = open_counter(ESTIMATE)
    prepared = [
        prepared_text(row[-1], patient_id=row[1], hadm_id=row[2], charttime=row[5])
        for row in (rows[0], rows[2])
    ]
    measured = measure_patients(path, counter)
    assert measured["100"] == PatientLength(2, sum(counter.count(prepared)))
    assert measured["101"].num_notes == 1
    packed = tmp_path / "discharge.csv.gz"
    packed.write_bytes(
        gzip.compress(csv_bytes(*rows[:2]))
        + gzip.compress(csv_bytes(rows[2]).split(b"\n", 1)[1])
    )
    # two members, the form of files put together
    assert measure_patients(packed, counter) == measured


LONG = f"{SECRET} " * 40


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (csv_bytes(note(), columns=COLUMNS[:-1]), "missing: 'text'"),
        (f"{SECRET},b\n1,2\n".encode(), "wrong columns"),
        (gzip.compress(csv_bytes(note()))[:-20], "cut off, the gzip data end"),
        (csv_bytes(note(patient=LONG)), "row 2, field 'subject_id': must be an id"),
        (csv_bytes(note(patient=" ")), "field 'subject_id'"),
    ],
)
def test_invalid_files_of_notes(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "discharge.csv"
    path.write_bytes(content)
    with pytest.raises(MedicalTasksError, match=message) as caught:
        measure_patients(path, open_counter(ESTIMATE))
    assert SECRET not in str(caught.value)


def test_sample_files_are_complete_private_and_reproducible(tmp_path: Path) -> None:
    source, folder = twin_notes(tmp_path), tmp_path / "own"
    counter, sample_spec = (
        open_counter(ESTIMATE),
        make_spec("1:1=3,2:2=2", bounds=(600, 1200), seed=4),
    )
    sample = make_sample(source, folder, counter, sample_spec)
    assert {path.name for path in folder.iterdir()} == {
        "sample.json",
        "lengths.json",
        "patients.jsonl",
        "notes.jsonl",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    patients = load_patients(folder)
    assert [(patient.level, patient.num_notes) for patient in patients] == [
        (1, 1)
    ] * 3 + [(2, 2)] * 2
    assert all(len(patient.notes) == patient.num_notes for patient in patients)
    assert all(
        sum(counter.count([n["text"] for n in patient.notes])) == patient.tokens
        for patient in patients
    )
    table = sample["table"][0]
    assert (
        table["level"],
        table["num_notes"],
        table["asked_for"],
        table["sampled"],
    ) == (
        1,
        1,
        3,
        3,
    )
    assert (
        sum(row["patients"] for row in sample["table"])
        + sample["beyond_bounds"]
        + sample["in_no_cell"]
        == sample["patients"]
    )
    assert sample["notes"] == 60
    assert "Discharge" not in (folder / "sample.json").read_text()
    # The recipe has everything that decides which patients are drawn.
    assert sample["recipe"]["seed"] == 4
    assert sample["recipe"]["tokenizer"]["tokenizer"] == "estimate"
    # The same settings again change nothing; other settings are refused.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert make_sample(source, folder, counter, sample_spec) == sample
    with pytest.raises(MedicalTasksError, match=r"holds another sample \(other seed\)"):
        make_sample(
            source,
            folder,
            counter,
            make_spec("1:1=3,2:2=2", bounds=(600, 1200), seed=5),
        )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # A larger one holds the smaller.
    larger = tmp_path / "larger"
    make_sample(
        source, larger, counter, make_spec("1:1=5,2:2=3", bounds=(600, 1200), seed=4)
    )
    assert {patient.id for patient in patients} < {
        patient.id for patient in load_patients(larger)
    }


def test_a_stopped_step_continues_and_changed_files_are_reported(
    tmp_path: Path,
) -> None:
    source, folder = twin_notes(tmp_path), tmp_path / "own"
    counter, sample_spec = (
        open_counter(ESTIMATE),
        make_spec("1:1=3", bounds=(600, 1200)),
    )
    sample = make_sample(source, folder, counter, sample_spec)
    (folder / "sample.json").unlink()
    with pytest.raises(
        MedicalTasksError,
        match="Do the step before: medical-tasks construct ehrnoteqa sample",
    ):
        load_patients(folder)
    # Measured lengths are reused: a planted one changes the counts.
    kept = json_of(folder / "lengths.json")
    kept["patients"]["77"] = [1, 10**6]
    (folder / "lengths.json").write_text(json.dumps(kept))
    again = make_sample(source, folder, counter, sample_spec)
    assert (again["beyond_bounds"], again["sha256"]) == (
        sample["beyond_bounds"] + 1,
        sample["sha256"],
    )
    path = folder / "notes.jsonl"
    path.write_text(path.read_text().replace("the", "The", 1))
    with pytest.raises(
        MedicalTasksError, match=r"notes.jsonl: was changed since it was written"
    ):
        load_patients(folder)


def test_notes_that_fit_no_row(tmp_path: Path) -> None:
    path = tmp_path / "discharge.csv"
    path.write_bytes(csv_bytes(note(note_id="an id with spaces")))
    with pytest.raises(
        MedicalTasksError, match="the notes of patient 100 cannot be used"
    ):
        make_sample(path, tmp_path / "own", open_counter(ESTIMATE), make_spec("1:1=1"))
    assert not (tmp_path / "own" / "notes.jsonl").exists()
