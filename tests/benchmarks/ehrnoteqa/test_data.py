"""Questions joined with notes, from files of the official shape; every way in which they can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.data import SOURCES, load_items, read_rows
from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS as COLUMNS_OF_FILE
from medical_tasks.benchmarks.ehrnoteqa.questions import COLUMNS, question_categories, read_questions
from medical_tasks.benchmarks.ehrnoteqa.spec import BENCHMARK, TASKS
from medical_tasks.benchmarks.ehrnoteqa.twin import twin_patients, write_twin
from medical_tasks.data.dataset_source import find_files
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import Subject, text_allowed
from tests.benchmarks.ehrnoteqa.twin_files import SECRET, csv_bytes, note, question, write_files


def rows_of(folder: Path, config: str = "all") -> list[dict[str, Any]]:
    return list(read_rows(config, "test", find_files(SOURCES[0], config, folder)))


def refusal(folder: Path, config: str = "all") -> str:
    with pytest.raises(UsageError) as caught:
        rows_of(folder, config)
    told = str(caught.value)
    assert SECRET not in told
    assert "marble" not in told
    return told


def test_notes_are_joined_in_the_order_of_time_and_prepared(tmp_path: Path) -> None:
    notes = csv_bytes(
        note(7, 5, text="of another patient"),
        note(100, 2, charttime="2151-06-01 00:00:00", text='  later,\n \n  with "quotes"   and  \n\n lines '),
        note(100, 3, charttime="2150-01-02 00:00:00", text="earlier"),
        note(100, 11, charttime="2150-01-02 00:00:00", text="same time, higher number"),
        note(1000, 2, text="id that begins alike"),
    )
    folder = write_files(tmp_path, [question(num_notes=3)], notes)
    (row,) = rows_of(folder)
    assert list(row) == [column.name for column in COLUMNS]
    assert (row["id"], row["level"], row["num_notes"], row["clinician"], row["answer"]) == ("100", 1, 3, "1", "B")
    assert row["choices"] == [f"choice {letter}, {SECRET}" for letter in "ABCDE"]
    assert (row["patient_id"], row["evidence"]) == ("100", [])
    assert [each["note_id"] for each in row["notes"]] == ["100-DS-3", "100-DS-11", "100-DS-2"]
    assert row["notes"][0]["text"] == "Patient ID : 100\nAdmission ID : 23\nChartdate : 2150-01-02\nearlier"
    assert row["notes"][2] == {
        "note_id": "100-DS-2",
        "hadm_id": "22",
        "charttime": "2151-06-01 00:00:00",
        "text": 'Patient ID : 100\nAdmission ID : 22\nChartdate : 2151-06-01\nlater,\nwith "quotes" and lines',
    }


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_packed_or_not_and_either_line_end(tmp_path: Path, packed: bool, line_end: str) -> None:
    notes = csv_bytes(note(100), note(5), line_end=line_end)
    (row,) = rows_of(write_files(tmp_path, [question()], notes, packed=packed))
    assert row["notes"][0]["text"].endswith(f'\nThe "patient" {SECRET},\nthen ___.')


def test_columns_in_another_order(tmp_path: Path) -> None:
    values = note(100)
    notes = csv_bytes(
        values[::-1],
        columns=COLUMNS_OF_FILE[::-1],
    )
    (row,) = rows_of(write_files(tmp_path, [question()], notes))
    assert row["notes"][0]["note_id"] == "100-DS-2"


def test_a_twin_gives_back_what_was_generated(tmp_path: Path) -> None:
    folder = write_twin(tmp_path, seed=3, questions=15, notes=120, scale=0.3)
    patients = [each for each in twin_patients(seed=3, questions=15, notes=120, scale=0.3) if each.question is not None]
    rows = rows_of(folder)
    assert len(rows) == len(patients) == 15
    for row, patient in zip(rows, patients, strict=True):
        assert patient.question is not None
        assert (row["id"], row["question"], row["num_notes"]) == (
            patient.question.patient_id,
            patient.question.question,
            len(patient.notes),
        )
        assert [each["charttime"] for each in row["notes"]] == sorted(each.charttime for each in patient.notes)
        assert {each["note_id"] for each in row["notes"]} == {each.note_id for each in patient.notes}
    by_level = [rows_of(folder, f"level{level}") for level in (1, 2)]
    assert [{row["level"] for row in part} for part in by_level] == [{1}, {2}]
    assert sorted(row["id"] for part in by_level for row in part) == sorted(row["id"] for row in rows)


def test_categories_are_the_file_s_or_the_rule_s(tmp_path: Path) -> None:
    said = [None, ["plan", "vitals"], []]
    questions = [
        question(100 + number, **({} if categories is None else {"categories": categories}))
        for number, categories in enumerate(said)
    ]
    rows = rows_of(write_files(tmp_path, questions, csv_bytes(*(note(100 + number) for number in range(3)))))
    by_rule = list(question_categories(questions[0]["question"]))
    assert by_rule
    assert [row["categories"] for row in rows] == [by_rule, ["plan", "vitals"], []]
    demo = list(read_rows("demo", "test", {}))
    assert all(row["categories"] == list(question_categories(row["question"])) for row in demo)
    assert all(row["patient_id"] == row["id"] for row in demo)


def test_an_item_of_each_task_is_about_its_patient(tmp_path: Path) -> None:
    questions = [
        question(100, categories=["plan", "vitals"]),
        question(101, category="Level2", num_notes=2, categories=[]),
    ]
    rows = rows_of(write_files(tmp_path, questions, csv_bytes(note(100), note(101), note(101, 3))))
    rows += [{**rows[0], "id": "own-1", "level": 0}]
    assert len(TASKS) == 8
    for task in TASKS:
        items = {item.id: (item.cluster, item.groups) for item in load_items(task, rows)}
        assert items.pop("own-1") == ("100", {"num_notes": "1", "category": ("plan", "vitals")})
        assert items == (
            {"100": ("100", {"num_notes": "1", "category": ("plan", "vitals")})}
            if task.options["level"] == "1"
            else {"101": ("101", {"num_notes": "2", "category": ("none",)})}
        )


def test_every_question_needs_exactly_its_notes(tmp_path: Path) -> None:
    questions = [question(patient, num_notes=2) for patient in range(100, 120)]
    notes = csv_bytes(
        *(note(patient, seq) for patient in range(100, 105) for seq in (2, 3)),
        *(note(105, seq) for seq in range(2, 30)),
        note(106),
    )
    told = refusal(write_files(tmp_path, questions, notes))
    assert "15 of 20 patients have not the number of notes" in told
    assert "\n  patient 105: 28 found, 2 expected\n  patient 106: 1 found, 2 expected\n  patient 107: 0 found" in told
    assert "patient 114: 0 found" in told
    assert "patient 115" not in told
    assert "\n  and 5 more\n" in told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category": "Level3"}, "line 2, field 'category': must be one of Level1, Level2, got 'Level3'"),
        ({"num_notes": 0}, "line 2, field 'num_notes': must be a whole number from 1, got 0"),
        ({"num_notes": True}, "line 2, field 'num_notes'"),
        ({"patient_id": "x1"}, "line 2, field 'patient_id': must be a whole number, got 'x1'"),
        ({"patient_id": "100"}, "line 2, field 'patient_id': must be unique, it stands on line 1 already, got '100'"),
        ({"answer": "F"}, "line 2, field 'answer': must be one of A, B, C, D, E, got 'F'"),
        ({"answer": ["A"]}, "line 2, field 'answer'"),
        ({"choice_C": " "}, "line 2, field 'choice_C': must be a text that is not empty, got a str of 3 characters"),
        ({"question": [f"they {SECRET}"]}, "line 2, field 'question': must be a text that is not empty, got a list of"),
        (
            {"categories": ["plan", "marble"]},
            "line 2, field 'categories': must be a list, each element one of treatment,",
        ),
        ({"categories": ["plan", "plan"]}, "line 2, field 'categories': must not name one twice, got a list of 16"),
        ({"categories": None}, "line 2, field 'categories': must be a list"),
        ({"note_1": "x"}, "line 2 has the wrong fields for the EHRNoteQA question file. unexpected: 'note_1'"),
    ],
)
def test_a_wrong_question_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_files(tmp_path, [question(), question(**({"patient_id": 101} | changes))], csv_bytes(note()))
    assert message in refusal(folder)


def test_degenerate_question_files(tmp_path: Path) -> None:
    assert "is empty" in refusal(write_files(tmp_path, [], csv_bytes(note())))
    assert "has no question of category Level2" in refusal(
        write_files(tmp_path, [question()], csv_bytes(note())), "level2"
    )
    (tmp_path / "EHRNoteQA.jsonl").write_text(f'"{SECRET}"')
    assert "line 1 is not a JSON object, got a str of 20 characters" in refusal(tmp_path)
    numbers = write_files(tmp_path, [question(patient_id="0100", num_notes="1", clinician=2)], csv_bytes(note()))
    assert rows_of(numbers)[0]["clinician"] == "2"
    assert [each.patient_id for each in read_questions(numbers / "EHRNoteQA.jsonl")] == ["100"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"charttime": "2150-13-02 00:00:00"},
            "field 'charttime': must be YYYY-MM-DD HH:MM:SS, got '2150-13-02 00:00:00'",
        ),
        (
            {"charttime": f"He {SECRET} and then some more"},
            "field 'charttime': must be YYYY-MM-DD HH:MM:SS, got a text of",
        ),
        ({"hadm_id": ""}, "field 'hadm_id': must be a whole number, got ''"),
        ({"note_seq": "²"}, "field 'note_seq': must be a whole number, got '²'"),
        ({"note_id": " "}, "field 'note_id': must not be empty"),
        ({"note_type": "RR"}, "field 'note_type': must be DS (discharge summary) or AD (its addendum), as RR is a"),
        ({"note_type": "AR"}, "field 'note_type': must be DS"),
        ({"note_type": ""}, "field 'note_type': must be DS"),
        ({"text": " \n "}, "field 'text': must not be empty"),
        ({"note_id": "100-DS-2"}, "field 'note_id': must be unique, it stands in the file already, got '100-DS-2'"),
    ],
)
def test_a_wrong_note_is_named_by_its_line(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    notes = csv_bytes(note(), note(7), note(100, 3, **changes))
    told = refusal(write_files(tmp_path, [question(num_notes=2)], notes))
    assert f"discharge.csv.gz: line 6, patient 100, {message}" in told


def test_it_is_credentialed() -> None:
    (source,) = SOURCES
    assert source.spec is BENCHMARK.datasets[0]
    assert not text_allowed(source.spec)
    assert "PhysioNet's rule" in Subject.of(source.spec).rule
