"""Rows of the official files, of DiSCQ and of the demo, and refused files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.data import (
    DISCQ_ROWS,
    SOURCES,
    load_items,
    paper_clinicians,
    read_discq_rows,
    read_rows,
    with_respect_to,
)
from medical_tasks.benchmarks.ehrnoteqa.notes import prepared_text, reduced_space
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    COLUMNS,
    question_categories,
    read_questions,
)
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError
from medical_tasks.spec import Row
from tests.benchmarks.common import refusal_message
from tests.benchmarks.ehrnoteqa.set_files import (
    DISCQ_COLUMNS,
    NOTE,
    discq_row,
    write_discq,
)
from tests.benchmarks.ehrnoteqa.twin_files import (
    SECRET,
    csv_bytes,
    note,
    question,
    write_files,
)
from tests.case_tables import cases, tabled
from tests.support import SHARED, needs_shared


def rows_of(folder: Path, config: str = "all") -> list[Row]:
    return list(read_rows(config, "test", find_files(SOURCES[0], config, folder)))


def refusal(folder: Path, config: str = "all") -> str:
    return refusal_message(lambda: rows_of(folder, config))


@pytest.mark.parametrize(("packed", "line_end"), [(True, "\n"), (False, "\r\n")])
def test_notes_are_prepared_and_joined_in_order_of_time(
    tmp_path: Path, packed: bool, line_end: str
) -> None:
    notes = csv_bytes(
        note(7, 5, text="of another patient"),
        note(
            100,
            2,
            charttime="2151-06-01 00:00:00",
            text='  later,\n \n  with "quotes"   and  \n\n lines ',
        ),
        note(100, 3, charttime="2150-01-02 00:00:00", text="earlier"),
        note(100, 11, charttime="2150-01-02 00:00:00", text="same time, higher number"),
        note(1000, 2, text="id that begins alike"),
        line_end=line_end,
    )
    folder = write_files(tmp_path, [question(num_notes=3)], notes, packed=packed)
    (row,) = rows_of(folder)
    assert list(row) == [column.name for column in COLUMNS]
    assert (
        row["id"],
        row["level"],
        row["num_notes"],
        row["clinician"],
        row["answer"],
    ) == (
        "100",
        1,
        3,
        "1",
        "B",
    )
    assert row["choices"] == [f"choice {letter}, {SECRET}" for letter in "ABCDE"]
    assert (row["patient_id"], row["evidence"]) == ("100", [])
    assert [joined_note["note_id"] for joined_note in row["notes"]] == [
        "100-DS-3",
        "100-DS-11",
        "100-DS-2",
    ]
    assert (
        row["notes"][0]["text"]
        == "Patient ID : 100\nAdmission ID : 23\nChartdate : 2150-01-02\nearlier"
    )
    assert row["notes"][2] == cases(__file__, "prepared_note")


def test_categories_come_from_the_file_or_the_rule(tmp_path: Path) -> None:
    file_categories = [None, ["plan", "vitals"], []]
    questions = [
        question(
            100 + number, **({} if categories is None else {"categories": categories})
        )
        for number, categories in enumerate(file_categories)
    ]
    rows = rows_of(
        write_files(
            tmp_path, questions, csv_bytes(*(note(100 + number) for number in range(3)))
        )
    )
    by_rule = list(question_categories(questions[0]["question"]))
    assert by_rule
    assert [row["categories"] for row in rows] == [by_rule, ["plan", "vitals"], []]
    demo = list(read_rows("demo", "test", {}))
    assert all(
        row["categories"] == list(question_categories(row["question"])) for row in demo
    )
    assert all(row["patient_id"] == row["id"] for row in demo)


def test_items_of_each_task_are_clustered_by_patient(tmp_path: Path) -> None:
    questions = [
        question(100, categories=["plan", "vitals"]),
        question(101, category="Level2", num_notes=2, categories=[]),
    ]
    rows = rows_of(
        write_files(tmp_path, questions, csv_bytes(note(100), note(101), note(101, 3)))
    )
    rows += [{**rows[0], "id": "own-1", "level": 0}]
    assert len(TASKS) == 8
    for task in TASKS:
        items = {
            item.id: (item.cluster, item.groups) for item in load_items(task, rows)
        }
        assert items.pop("own-1") == (
            "100",
            {"num_notes": "1", "category": ("plan", "vitals")},
        )
        assert items == (
            {"100": ("100", {"num_notes": "1", "category": ("plan", "vitals")})}
            if task.options["level"] == "1"
            else {"101": ("101", {"num_notes": "2", "category": ("none",)})}
        )


def test_a_patient_with_too_few_or_too_many_notes_is_refused(tmp_path: Path) -> None:
    questions = [question(patient, num_notes=2) for patient in range(100, 120)]
    notes = csv_bytes(
        *(note(patient, seq) for patient in range(100, 105) for seq in (2, 3)),
        *(note(105, seq) for seq in range(2, 30)),
        note(106),
    )
    message = refusal(write_files(tmp_path, questions, notes))
    assert "15 of 20 patients do not have the number of notes" in message
    assert (
        "\n  patient 105: 28 found, 2 expected\n  patient 106: 1 found, 2 expected\n  patient "
        "107: 0 found" in message
    )
    assert "patient 114: 0 found" in message
    assert "patient 115" not in message
    assert "\n  and 5 more\n" in message


@tabled("changes", "message")
def test_a_wrong_question_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = write_files(
        tmp_path,
        [question(), question(**({"patient_id": 101} | changes))],
        csv_bytes(note()),
    )
    assert message in refusal(folder)


def test_empty_and_unusual_question_files(tmp_path: Path) -> None:
    assert "is empty" in refusal(write_files(tmp_path, [], csv_bytes(note())))
    assert "has no question of category Level2" in refusal(
        write_files(tmp_path, [question()], csv_bytes(note())), "level2"
    )
    (tmp_path / "EHRNoteQA.jsonl").write_text(f'"{SECRET}"')
    assert "line 1 is not a JSON object, got a str of 20 characters" in refusal(
        tmp_path
    )
    numbers = write_files(
        tmp_path,
        [question(patient_id="0100", num_notes="1", clinician=2)],
        csv_bytes(note()),
    )
    assert rows_of(numbers)[0]["clinician"] == "2"
    assert [
        read_question.patient_id
        for read_question in read_questions(numbers / "EHRNoteQA.jsonl")
    ] == ["100"]


@tabled("changes", "message")
def test_a_wrong_note_is_named_by_its_line(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    notes = csv_bytes(note(), note(7), note(100, 3, **changes))
    error = refusal(write_files(tmp_path, [question(num_notes=2)], notes))
    assert f"discharge.csv.gz: row 4, patient 100, {message}" in error


def discq_rows_of(path: Path) -> list[Row]:
    return list(read_discq_rows(path))


def discq_refusal(path: Path, error: type[MedicalTasksError] = UsageError) -> str:
    return refusal_message(lambda: discq_rows_of(path), error)


@pytest.mark.parametrize(
    ("trigger", "question", "joined"),
    [
        # The example in table 11 of the paper.
        (
            "atrial fibrillation",
            "Were interventions done?",
            "With respect to atrial fibrillation, were interventions done?",
        ),
        (
            "a\n  fall ",
            " What\nhappened?  How? ",
            "With respect to a fall, what happened? How?",
        ),
        # An abbreviation keeps its capital, and so does a single letter that begins a
        # term.
        ("pain", "CT done?", "With respect to pain, CT done?"),
        ("sugar", "HbA1c?", "With respect to sugar, HbA1c?"),
        ("sugar", "Hgb then?", "With respect to sugar, Hgb then?"),
        ("cough", "X-ray findings?", "With respect to cough, X-ray findings?"),
        ("cough", "T wave changes?", "With respect to cough, T wave changes?"),
        # The first part of a compound decides.
        ("pain", "Post-CABG course?", "With respect to pain, post-CABG course?"),
        # Ordinary words begin in lower case, even if they are short.
        ("pain", "Why?", "With respect to pain, why?"),
        ("pain", "A cause?", "With respect to pain, a cause?"),
        ("pain", "Is/was it worse?", "With respect to pain, is/was it worse?"),
        # A word with a capital in the trigger is a name, unless it begins questions.
        (
            "Tylenol dose",
            "Tylenol for what?",
            "With respect to Tylenol dose, Tylenol for what?",
        ),
        ("tylenol", "Tylenol for what?", "With respect to tylenol, tylenol for what?"),
        (
            "Was given aspirin.",
            "Was it enough?",
            "With respect to Was given aspirin., was it enough?",
        ),
        # Names of the calendar keep their capital; what has none is unchanged.
        ("seen", "January or later?", "With respect to seen, January or later?"),
        ("seen", "EKG/CT?", "With respect to seen, EKG/CT?"),
        ("seen", "2 or 3?", "With respect to seen, 2 or 3?"),
        ("seen", "?", "With respect to seen, ?"),
        ("seen", "Énergie?", "With respect to seen, énergie?"),
        ("seen", "how many?", "With respect to seen, how many?"),
    ],
)
def test_a_question_is_joined_with_its_trigger(
    trigger: str, question: str, joined: str
) -> None:
    assert with_respect_to(trigger, question) == joined


@pytest.mark.parametrize(
    ("line_end", "byte_order_mark"), [("\n", ""), ("\r\n", "\ufeff")]
)
def test_rows_of_discq(tmp_path: Path, line_end: str, byte_order_mark: str) -> None:
    file_rows = [
        discq_row(question='Why\n"so, then"?', reasoning='the "fall",\r\nhere'),
        discq_row("56"),
        discq_row(question="What is his\nblood pressure?"),
    ]
    texts = {
        "train/12_34.txt": "\ufeffOne\r\n\r\n  two \n",
        "test/56.txt": NOTE,
        "test/other.txt": "x",
    }
    path = write_discq(
        tmp_path,
        file_rows,
        columns=("", *DISCQ_COLUMNS, "note"),
        texts=texts,
        line_end=line_end,
        byte_order_mark=byte_order_mark,
    )
    first, second, third = discq_rows_of(path)
    assert first == cases(__file__, "row_of_discq")
    assert list(first) == [column.name for column in COLUMNS]
    assert (second["id"], second["patient_id"], second["notes"][0]["text"]) == (
        "1",
        "56",
        NOTE,
    )
    assert (third["id"], third["notes"][0]["text"]) == ("2", "One\n\n  two \n")
    assert third["categories"] == ["vitals"]  # of the question, not of its trigger


def test_texts_are_found_by_name_and_behind_links(tmp_path: Path) -> None:
    path = write_discq(
        tmp_path / "names",
        [discq_row("a"), discq_row("a.txt")],
        texts={"a": "one", "a.txt": "two"},
    )
    assert [row["notes"][0]["text"] for row in discq_rows_of(path)] == ["one", "two"]
    (tmp_path / "n2c2").mkdir()
    (tmp_path / "n2c2" / "12_34.txt").write_text(NOTE)
    path = write_discq(tmp_path / "discq", [discq_row()], texts={})
    (tmp_path / "discq" / "texts").symlink_to(tmp_path / "n2c2")
    (tmp_path / "n2c2" / "back").symlink_to(tmp_path / "discq")
    assert discq_rows_of(path)[0]["notes"][0]["text"] == NOTE


def test_texts_that_are_missing_are_listed(tmp_path: Path) -> None:
    path = write_discq(
        tmp_path,
        [discq_row(f"{number}.txt") for number in (*range(20, 35), 20)],
        texts={"20.txt": NOTE},
    )
    message = discq_refusal(path, MissingError)
    assert (
        "14 of the 15 texts that its questions are about are not below its folder:\n  21.txt\n  "
        "22.txt\n" in message
    )
    assert (
        "\n  30.txt\n  and 4 more\nPut the texts of the n2c2 2010 challenge" in message
    )


def test_unusable_texts_are_refused(tmp_path: Path) -> None:
    path = write_discq(
        tmp_path, [discq_row()], texts={"one/12_34.txt": NOTE, "two/12_34.txt": NOTE}
    )
    message = discq_refusal(path)
    assert "1 texts are in its folder more than once:\n  12_34.txt: " in message
    assert "two/12_34.txt\nKeep one of each there." in message
    (tmp_path / "two" / "12_34.txt").unlink()
    (tmp_path / "one" / "12_34.txt").write_bytes(
        f"he {SECRET} \u00e9".encode("latin-1")
    )
    assert discq_refusal(path).endswith(
        "12_34.txt: not UTF-8 (byte 0xe9). Get the text again."
    )
    (tmp_path / "one" / "12_34.txt").write_text(" \n")
    assert discq_refusal(path).endswith("12_34.txt: is empty. Get the text again.")


@tabled("changes", "message")
def test_a_wrong_row_of_discq_is_named(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    path = write_discq(tmp_path, [discq_row(), discq_row() | changes])
    assert message in discq_refusal(path)


def test_the_file_of_discq_is_found_and_its_columns_are_checked(tmp_path: Path) -> None:
    (source,) = SOURCES
    path = write_discq(tmp_path / "discq" / "1.0", [discq_row()])
    assert (
        find_files(source, "discq", tmp_path)
        == find_files(source, "discq", path)
        == {"questions": path}
    )
    with pytest.raises(
        MissingError,
        match=r"DiSCQ's questions, a CSV file .*with the texts they are about",
    ):
        find_files(source, "discq", None)
    message = discq_refusal(
        write_discq(tmp_path, [discq_row()], columns=("id", "question", "start_index"))
    )
    expected = "wrong columns for the question file of DiSCQ 1.0. missing: 'reasoning'. Expected: 'id', 'question', 'reasoning'"
    assert expected in message


def test_the_sample_has_one_hundred_rows_a_clinician() -> None:
    sample = paper_clinicians()
    assert Counter(sample.values()) == {"A": 100, "B": 100, "C": 100}
    assert all(0 <= row < DISCQ_ROWS for row in sample)
    assert list(sample)[:3] == [519, 0, 276]


@pytest.mark.upstream
@needs_shared
def test_the_sample_equals_that_of_the_paper() -> None:
    paper = (SHARED / "seeds" / "000_16628310939a6eff.txt").read_text(encoding="utf-8")
    lines = paper[paper.index("Clinician\tIndex") :].splitlines()[1:4]
    rows = [int(row) for line in lines for row in line.partition("\t")[2].split(", ")]
    assert len(lines) == 3
    assert list(paper_clinicians()) == rows


@pytest.mark.parametrize("count", [DISCQ_ROWS, DISCQ_ROWS - 1])
def test_the_clinician_is_known_only_in_a_file_with_the_paper_s_number_of_rows(
    tmp_path: Path, count: int
) -> None:
    path = write_discq(
        tmp_path, [discq_row(question=f"Why {number}?") for number in range(count)]
    )
    rows = discq_rows_of(path)
    judged = {int(row["id"]): row["clinician"] for row in rows if row["clinician"]}
    assert judged == (paper_clinicians() if count == DISCQ_ROWS else {})
    assert [row["id"] for row in rows] == [str(number) for number in range(count)]
    assert rows[519]["question"] == f"With respect to he {SECRET}, why 519?"


@pytest.mark.parametrize(
    ("text", "reduced"),
    [
        ("a  b\t\tc", "a b c"),
        ("a\tb", "a\tb"),
        ("a\n\n\nb", "a\nb"),
        ("a \n \nb", "a\nb"),
        ("a\n   b", "a\nb"),
        ("a\r\nb", "a\nb"),
        # A line end is lost if it has white space on both sides.
        ("a \n b", "a b"),
        ("a  \n\n  b", "a b"),
        (" \n \n a \n", "a"),
        ("a\xa0\xa0b\u2003c", "a b\u2003c"),
        ("", ""),
    ],
)
def test_reduced_space(text: str, reduced: str) -> None:
    assert reduced_space(text) == reduced


@given(st.text(st.sampled_from(list("ab \n\t\r\xa0\x1f")), max_size=40))
def test_reduced_space_keeps_the_words_and_is_idempotent(text: str) -> None:
    reduced = reduced_space(text)
    assert reduced.split() == text.split()
    assert reduced_space(reduced) == reduced
    assert len(reduced) <= len(text)
    assert reduced == reduced.strip()


def test_a_megabyte_of_spaces_takes_linear_time() -> None:
    # A search for a line end after each of them would take hours; the suite's time
    # limit would stop it.
    assert reduced_space("a" + " " * 1_000_000 + "b") == "a b"


def test_a_prepared_note_has_a_header() -> None:
    text = prepared_text(
        " x  y ", patient_id="1", hadm_id="2", charttime="2150-01-02 03:04:05"
    )
    assert text == "Patient ID : 1\nAdmission ID : 2\nChartdate : 2150-01-02\nx y"
