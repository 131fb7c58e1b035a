"""DiSCQ: questions joined with their triggers and texts, the paper's sample, and every way to be wrong."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.data import (
    DISCQ_ROWS,
    SOURCES,
    paper_clinicians,
    read_discq_rows,
    with_respect_to,
)
from medical_tasks.benchmarks.ehrnoteqa.questions import COLUMNS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from tests.benchmarks.ehrnoteqa.set_files import DISCQ_COLUMNS, NOTE, discq_row, write_discq
from tests.benchmarks.ehrnoteqa.twin_files import SECRET
from tests.support import SHARED, needs_shared


def rows_of(path: Path) -> list[dict[str, Any]]:
    return list(read_discq_rows(path))


def refusal(path: Path, kind: type[MedicalTasksError] = UsageError) -> str:
    with pytest.raises(kind) as caught:
        rows_of(path)
    assert "marble" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("trigger", "question", "joined"),
    [
        # The paper's table 11.
        (
            "atrial fibrillation",
            "Were interventions done?",
            "With respect to atrial fibrillation, were interventions done?",
        ),
        ("a\n  fall ", " What\nhappened?  How? ", "With respect to a fall, what happened? How?"),
        ("pain", "CT done?", "With respect to pain, CT done?"),
        ("sugar", "HbA1c?", "With respect to sugar, HbA1c?"),
        ("sugar", "Hgb then?", "With respect to sugar, Hgb then?"),
        ("cough", "X-ray findings?", "With respect to cough, X-ray findings?"),
        ("cough", "T wave changes?", "With respect to cough, T wave changes?"),
        ("pain", "Post-CABG course?", "With respect to pain, post-CABG course?"),
        ("pain", "Why?", "With respect to pain, why?"),
        ("pain", "A cause?", "With respect to pain, a cause?"),
        ("pain", "Is/was it worse?", "With respect to pain, is/was it worse?"),
        ("Tylenol dose", "Tylenol for what?", "With respect to Tylenol dose, Tylenol for what?"),
        ("tylenol", "Tylenol for what?", "With respect to tylenol, tylenol for what?"),
        ("Was given aspirin.", "Was it enough?", "With respect to Was given aspirin., was it enough?"),
        ("seen", "January or later?", "With respect to seen, January or later?"),
        ("seen", "EKG/CT?", "With respect to seen, EKG/CT?"),
        ("seen", "2 or 3?", "With respect to seen, 2 or 3?"),
        ("seen", "?", "With respect to seen, ?"),
        ("seen", "Énergie?", "With respect to seen, énergie?"),
        ("seen", "how many?", "With respect to seen, how many?"),
    ],
)
def test_a_question_is_joined_with_its_trigger(trigger: str, question: str, joined: str) -> None:
    assert with_respect_to(trigger, question) == joined


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_row_of_the_file_is_a_row(tmp_path: Path, line_end: str, mark: str) -> None:
    asked = [
        discq_row(question='Why\n"so, then"?', reasoning='the "fall",\r\nhere'),
        discq_row("56"),
        discq_row(question="What is his\nblood pressure?"),
    ]
    texts = {"train/12_34.txt": "\ufeffOne\r\n\r\n  two \n", "test/56.txt": NOTE, "test/other.txt": "x"}
    path = write_discq(tmp_path, asked, columns=("", *DISCQ_COLUMNS, "note"), texts=texts, line_end=line_end, mark=mark)
    first, second, third = rows_of(path)
    assert first == {
        "id": "0",
        "patient_id": "12_34.txt",
        "level": 0,
        "num_notes": 1,
        "clinician": "",
        "question": 'With respect to the "fall", here, why "so, then"?',
        "choices": [],
        "answer": "",
        "categories": first["categories"],
        "evidence": [],
        "notes": [{"note_id": "12_34.txt", "hadm_id": "", "charttime": "", "text": "One\n\n  two \n"}],
    }
    assert list(first) == [column.name for column in COLUMNS]
    assert (second["id"], second["patient_id"], second["notes"][0]["text"]) == ("1", "56", NOTE)
    assert (third["id"], third["notes"][0]["text"]) == ("2", "One\n\n  two \n")
    assert third["categories"] == ["vitals"]  # of the question, not of what prompted it


def test_a_name_with_its_ending_is_not_that_of_another_text(tmp_path: Path) -> None:
    path = write_discq(tmp_path, [discq_row("a"), discq_row("a.txt")], texts={"a": "one", "a.txt": "two"})
    assert [row["notes"][0]["text"] for row in rows_of(path)] == ["one", "two"]


def test_texts_behind_links(tmp_path: Path) -> None:
    (tmp_path / "n2c2").mkdir()
    (tmp_path / "n2c2" / "12_34.txt").write_text(NOTE)
    path = write_discq(tmp_path / "discq", [discq_row()], texts={})
    (tmp_path / "discq" / "texts").symlink_to(tmp_path / "n2c2")
    (tmp_path / "n2c2" / "back").symlink_to(tmp_path / "discq")
    assert rows_of(path)[0]["notes"][0]["text"] == NOTE


def test_texts_that_are_missing_are_listed(tmp_path: Path) -> None:
    path = write_discq(
        tmp_path, [discq_row(f"{number}.txt") for number in (*range(20, 35), 20)], texts={"20.txt": NOTE}
    )
    told = refusal(path, MissingError)
    assert "14 of the 15 texts that its questions are about are not below its folder:\n  21.txt\n  22.txt\n" in told
    assert "\n  30.txt\n  and 4 more\nPut the texts of the n2c2 2010 challenge" in told


def test_texts_that_cannot_be_used(tmp_path: Path) -> None:
    path = write_discq(tmp_path, [discq_row()], texts={"one/12_34.txt": NOTE, "two/12_34.txt": NOTE})
    told = refusal(path)
    assert "1 texts lie below its folder more than once:\n  12_34.txt: " in told
    assert "two/12_34.txt\nKeep one of each there." in told
    (tmp_path / "two" / "12_34.txt").unlink()
    (tmp_path / "one" / "12_34.txt").write_bytes(f"he {SECRET} \u00e9".encode("latin-1"))
    assert refusal(path).endswith("12_34.txt: not UTF-8 (byte 0xe9). Get the text again.")
    (tmp_path / "one" / "12_34.txt").write_text(" \n")
    assert refusal(path).endswith("12_34.txt: is empty. Get the text again.")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"id": " "},
            "the row that ends on line 3, field 'id': must be the name of a text, got a text of 0 characters",
        ),
        ({"id": f"he {SECRET}"}, "field 'id': must be the name of a text, got a text of 21 characters"),
        ({"id": "../secret.txt"}, "field 'id': must be the name of a text, got a text of 13 characters"),
        ({"question": "\n"}, "the row that ends on line 4, field 'question': must not be empty, got a text of 1 char"),
        ({"reasoning": ""}, "the row that ends on line 3, field 'reasoning': must not be empty, got a text of 0 char"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    path = write_discq(tmp_path, [discq_row(), discq_row() | changes])
    assert message in refusal(path)


def test_a_wrong_file_is_told(tmp_path: Path) -> None:
    path = write_discq(tmp_path, [discq_row()], columns=("id", "question", "start_index"))
    assert (
        "wrong columns for the question file of DiSCQ 1.0. missing: 'reasoning'. Expected: 'id', 'question', 'reasoning'"
        in refusal(path)
    )
    path = write_discq(tmp_path, [discq_row()], columns=("id", "question", "question", "reasoning"))
    assert "twice: 'question'" in refusal(path)
    path = write_discq(tmp_path, [])
    assert "has a header and no rows" in refusal(path)
    path.write_bytes(b"")
    assert "is empty" in refusal(path)
    path = write_discq(tmp_path, [discq_row(), discq_row()])
    path.write_bytes(path.read_bytes()[:-30] + b'"')
    assert re.search(r"line \d", refusal(path))


def test_the_file_is_found(tmp_path: Path) -> None:
    (source,) = SOURCES
    path = write_discq(tmp_path / "discq" / "1.0", [discq_row()])
    assert find_files(source, "discq", tmp_path) == find_files(source, "discq", path) == {"questions": path}
    with pytest.raises(MissingError, match=r"DiSCQ's questions, a CSV file .*with the texts they are about"):
        find_files(source, "discq", None)


def test_the_sample_is_three_hundred_rows() -> None:
    sample = paper_clinicians()
    assert Counter(sample.values()) == {"A": 100, "B": 100, "C": 100}
    assert all(0 <= row < DISCQ_ROWS for row in sample)
    assert list(sample)[:3] == [519, 0, 276]


@pytest.mark.upstream
@needs_shared
def test_the_sample_is_the_paper_s() -> None:
    paper = (SHARED / "seeds" / "000_16628310939a6eff.txt").read_text(encoding="utf-8")
    lines = paper[paper.index("Clinician\tIndex") :].splitlines()[1:4]
    rows = [int(row) for line in lines for row in line.partition("\t")[2].split(", ")]
    assert len(lines) == 3
    assert list(paper_clinicians()) == rows


@pytest.mark.parametrize("count", [DISCQ_ROWS, DISCQ_ROWS - 1])
def test_who_judged_is_told_where_the_file_has_the_paper_s_rows(tmp_path: Path, count: int) -> None:
    path = write_discq(tmp_path, [discq_row(question=f"Why {number}?") for number in range(count)])
    rows = rows_of(path)
    judged = {int(row["id"]): row["clinician"] for row in rows if row["clinician"]}
    assert judged == (paper_clinicians() if count == DISCQ_ROWS else {})
    assert [row["id"] for row in rows] == [str(number) for number in range(count)]
    assert rows[519]["question"] == f"With respect to he {SECRET}, why 519?"
