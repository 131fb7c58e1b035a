from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.questions import OWN_FIELDS, read_own_rows
from medical_tasks.errors import UsageError
from tests.benchmarks.ehrnoteqa.twin_files import SECRET


def note(**changes: Any) -> dict[str, Any]:
    return {"note_id": "n1", "hadm_id": "2", "charttime": "2150-01-02 00:00:00", "text": f"It {SECRET}."} | changes


def row(**changes: Any) -> dict[str, Any]:
    return {
        "id": "q1",
        "patient_id": "100",
        "level": 1,
        "num_notes": 1,
        "clinician": "ann",
        "question": f"What was the treatment after the patient {SECRET}?",
        "choices": [f"{letter}, {SECRET}" for letter in "ABCDE"],
        "answer": "C",
        "categories": ["plan"],
        "evidence": [],
        "notes": [note()],
    } | changes


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def test_rows_as_they_are(tmp_path: Path) -> None:
    second = row(id="q2", num_notes=2, notes=[note(), note(note_id="n2")])  # another question about the patient
    assert list(read_own_rows(write(tmp_path, row(), second))) == [row(), second]


def test_what_may_be_absent(tmp_path: Path) -> None:
    short = {name: value for name, value in row().items() if name not in ("categories", "evidence")}
    found = next(read_own_rows(write(tmp_path, short)))
    assert found["evidence"] == []
    assert "treatment" in found["categories"]
    assert tuple(found) == tuple(OWN_FIELDS)


LATER = note(note_id="n2", charttime="2149-01-01 00:00:00")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, "field 'id': must be an id"),
        ({"id": f"a {SECRET}"}, "field 'id': must be an id .*, got a str of 22 characters"),
        ({"level": 3}, "field 'level': must be 0, 1 or 2"),
        ({"level": True}, "field 'level'"),
        ({"level": SECRET}, "field 'level'"),
        ({"num_notes": [SECRET]}, "field 'num_notes'"),
        ({"categories": SECRET}, "field 'categories'"),
        ({"num_notes": 2}, "field 'num_notes': must be the number of notes, which is 1"),
        ({"question": " "}, "field 'question': must be a text"),
        ({"choices": ["a", "b", "c", "d"]}, "field 'choices': must be a list of 5 texts"),
        ({"choices": ["a", "b", "c", "d", "A "]}, "field 'choices': must be five different texts"),
        ({"answer": "F"}, "field 'answer': must be one of A, B, C, D, E"),
        ({"answer": SECRET}, "field 'answer'"),
        ({"categories": ["treatments"]}, "field 'categories': must be a list, each element one of"),
        ({"categories": ["plan", "plan"]}, "field 'categories': must not name one twice"),
        ({"notes": []}, "field 'num_notes'"),
        ({"notes": [note(charttime="2150-1-2 00:00:00")]}, "field 'notes': must be a list, each element an object"),
        ({"notes": [note(text="")]}, "field 'notes'"),
        ({"notes": [note(more=SECRET)]}, "field 'notes'"),
        ({"num_notes": 2, "notes": [note(), note()]}, "must each have another note_id"),
        ({"num_notes": 2, "notes": [note(), LATER]}, "must stand in the order of their charttime"),
    ],
)
def test_rows_that_are_wrong(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(read_own_rows(write(tmp_path, row(id="q0"), row(**changes))))
    assert "line 2" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_ids_are_unique_and_fields_complete(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 2, field 'id': must be unique, it stands on line 1 already"):
        list(read_own_rows(write(tmp_path, row(), row())))
    with pytest.raises(UsageError, match="missing: 'question'"):
        list(read_own_rows(write(tmp_path, {name: value for name, value in row().items() if name != "question"})))
    with pytest.raises(UsageError, match="is empty"):
        list(read_own_rows(write(tmp_path)))
