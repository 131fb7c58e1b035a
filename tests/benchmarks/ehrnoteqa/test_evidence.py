"""Questions whose gold is a passage, read as a stream from files in the form of SQuAD."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa import evidence
from medical_tasks.benchmarks.ehrnoteqa.data import SOURCES, load_items
from medical_tasks.benchmarks.ehrnoteqa.evidence import read_evidence_rows
from medical_tasks.benchmarks.ehrnoteqa.questions import COLUMNS
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Row
from tests.benchmarks.common import refusal_message
from tests.benchmarks.ehrnoteqa.set_files import (
    squad_entry,
    squad_question,
    write_squad,
)
from tests.benchmarks.ehrnoteqa.twin_files import SECRET
from tests.case_tables import cases, tabled


def rows_of(path: Path) -> list[Row]:
    return list(read_evidence_rows(path))


def rows(folder: Path, *entries: Any) -> list[Row]:
    return rows_of(write_squad(folder / "test.final.json", *entries))


def refusal(folder: Path, *entries: Any) -> str:
    message = refusal_message(lambda: rows(folder, *entries))
    assert "aspirin" not in message
    return message


def test_a_question_becomes_a_row(tmp_path: Path) -> None:
    entry = squad_entry(
        "24080-1",
        squad_question("q1", " aspirin 81 mg", "aspirin 81 mg", 'daily,\n"as told"'),
    )
    assert rows(tmp_path, entry) == cases(__file__, "test_a_question_becomes_a_row")
    assert list(rows(tmp_path, entry)[0]) == [column.name for column in COLUMNS]


def test_the_form_of_emrqa(tmp_path: Path) -> None:
    questions = cases(__file__, "test_the_form_of_emrqa")
    paragraphs = [
        {"note_id": 28, "context": ["Line one\n", "line two\n"], "qas": questions}
    ]
    path = tmp_path / "medication-qa.json"
    path.write_text(json.dumps({"paragraphs": paragraphs, "title": "medication"}))
    first, second, third = rows_of(path)
    assert (first["patient_id"], first["question"]) == ("28", "What dose was given?")
    assert first["evidence"] == ["Given  Aspirin 81 mg daily.", "daily"]
    assert len(first["id"]) == 16
    assert (second["id"], second["evidence"]) == ("2", ["Known hypertension.", "no"])
    assert (third["id"], third["evidence"]) == ("3", ["never"])
    assert first["notes"][0]["text"] == "Line one\nline two\n"
    paragraphs[0]["context"] = ["Line one", "line two"]
    path.write_text(json.dumps([{"paragraphs": paragraphs, "title": "risk-dataset"}]))
    assert rows_of(path)[0]["notes"][0]["text"] == "Line one\nline two"
    assert rows_of(path)[0]["id"] == first["id"]


def test_notes_are_named_by_note_id_or_title(tmp_path: Path) -> None:
    question = squad_question()
    two_notes = {
        "title": "t",
        "paragraphs": [{"context": text, "qas": [question]} for text in ("one", "two")],
    }
    title_last = dict(reversed(two_notes.items()))
    entries = [
        two_notes, title_last, squad_entry("t", question, note_id="n"), squad_entry(7, question), squad_entry("a b", question),
    ]  # fmt: skip
    assert [row["patient_id"] for row in rows(tmp_path, *entries)][:-1] == [
        "t",
        "t/2",
        "t",
        "t/2",
        "n",
        "7",
    ]
    # A title with a space could be text of a note.
    (hashed,) = (row["patient_id"] for row in rows(tmp_path, entries[-1]))
    assert len(hashed) == 16
    assert " " not in hashed
    # Each challenge in emrQA numbers its notes, and the same note may be repeated.
    texts = ("one", "two", "one", "three")
    entries = [
        squad_entry("t", squad_question(number), context=text)
        for number, text in enumerate(texts)
    ]
    assert [row["patient_id"] for row in rows(tmp_path, *entries)] == [
        "t",
        "t#2",
        "t",
        "t#3",
    ]


def test_ids_are_unique_and_stable(tmp_path: Path) -> None:
    numbers: list[Any] = ["a", "a", "a#2", "a", 1, "1", None, None, f"he {SECRET}", "ü"]
    entry = squad_entry("t", *(squad_question(number) for number in numbers))
    ids = [row["id"] for row in rows(tmp_path, entry)]
    assert ids[:6] == ["a", "a#2", "a#2#2", "a#3", "1", "1#2"]
    assert ids[7] == f"{ids[6]}#2"
    assert {len(name) for name in (ids[6], ids[8], ids[9])} == {16}
    assert len(set(ids)) == len(numbers)
    assert [row["id"] for row in rows(tmp_path, entry)] == ids
    # Only the open tasks use them.
    items_of_task = {
        task.name: load_items(task, rows(tmp_path, entry)) for task in TASKS
    }
    assert {name for name, items in items_of_task.items() if items} == {
        "ehrnoteqa_open_level1",
        "ehrnoteqa_open_level2",
    }
    described = [
        (item.id, item.cluster, item.groups["num_notes"])
        for item in items_of_task["ehrnoteqa_open_level1"]
    ]
    assert described == [(name, "t", "1") for name in ids]


def test_questions_without_a_passage_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = squad_entry(
        "t",
        squad_question(1),
        squad_question(2, is_impossible=True, plausible_answers=[]),
        squad_question(3, answers=[]),
        squad_question(4, " "),
        {"id": 5, "question": "none?", "is_impossible": True},
        squad_question(6, is_impossible=False),
    )
    assert [row["id"] for row in rows(tmp_path, entry)] == ["1", "6"]
    assert (
        "note: test.final.json: 4 of 6 questions have no passage that answers them and are left out"
        in capsys.readouterr().err
    )
    assert "none of its 1 questions has a passage" in refusal(
        tmp_path, squad_entry("t", squad_question(3, answers=[]))
    )
    assert "has no question." in refusal(tmp_path, squad_entry("t"))
    assert "has no question." in refusal(tmp_path)
    rows(tmp_path, squad_entry("t", squad_question(1)))
    assert "left out" not in capsys.readouterr().err


@tabled("entry", "message")
def test_an_error_names_entry_and_paragraph(
    tmp_path: Path, entry: Any, message: str
) -> None:
    assert message in refusal(tmp_path, squad_entry("first", squad_question()), entry)


def test_the_file_is_found_in_a_folder_or_named(tmp_path: Path) -> None:
    (source,) = SOURCES
    tree = tmp_path / "mimic-iii-question-answer" / "1.0.0"
    tree.mkdir(parents=True)
    path = write_squad(tree / "test.final.json", squad_entry("t", squad_question()))
    assert (
        find_files(source, "evidence", tmp_path)
        == find_files(source, "evidence", path)
        == {"questions": path}
    )
    with pytest.raises(
        MissingError,
        match=r"a SQuAD-form JSON file: .*mimic-iii-question-answer.*emrQA.*test.final.json",
    ):
        find_files(source, "evidence", None)
    (tmp_path / "data.json").write_text("[]")
    with pytest.raises(
        UsageError, match="several files .*Give --source the right one itself"
    ):
        find_files(source, "evidence", tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        rows_of(tmp_path / "none.json")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"title": st.text(), "paragraphs": st.lists(VALUES, max_size=3)}
    ),
    max_size=3,
)


def write(folder: Path, text: str) -> Path:
    path = folder / "file.json"
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> list[tuple[int, int, Any, Any]]:
    return [
        (element.entry, element.number, element.title, element.value)
        for element in evidence._walk(path)
        if element.number
    ]


def read_titles(path: Path) -> dict[int, Any]:
    return {
        element.entry: element.title
        for element in evidence._walk(path)
        if not element.number
    }


def stream_refusal(folder: Path, text: str) -> str:
    return refusal_message(lambda: read(write(folder, text)))


@settings(max_examples=25)
@given(entries=ENTRIES, indent=st.sampled_from([None, 1]), plain=st.booleans())
def test_the_stream_yields_what_json_loads(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[dict[str, Any]],
    indent: int | None,
    plain: bool,
) -> None:
    folder = tmp_path_factory.mktemp("squad")
    expected = [
        (
            number,
            paragraph,
            entry["title"] if next(iter(entry)) == "title" else None,
            value,
        )
        for number, entry in enumerate(entries, start=1)
        for paragraph, value in enumerate(entry["paragraphs"], start=1)
    ]
    for whole in ({"version": 12.5, "data": entries, "more": [1]}, entries):
        path = write(folder, json.dumps(whole, indent=indent, ensure_ascii=plain))
        assert read(path) == expected
        assert read_titles(path) == dict(
            enumerate((entry["title"] for entry in entries), start=1)
        )


def test_the_outer_forms_of_a_file(tmp_path: Path) -> None:
    entry = {"title": "t", "paragraphs": [{"a": 1}]}
    title_last = dict(reversed(entry.items()))
    for whole in ({"data": [entry]}, [entry], entry):
        assert read(write(tmp_path, json.dumps(whole))) == [(1, 1, "t", {"a": 1})]
    assert read(write(tmp_path, json.dumps([title_last, entry]))) == [
        (1, 1, None, {"a": 1}),
        (2, 1, "t", {"a": 1}),
    ]
    assert read_titles(write(tmp_path, json.dumps([title_last, entry]))) == {
        1: "t",
        2: "t",
    }
    assert (
        read(
            write(
                tmp_path,
                "\ufeff"
                + json.dumps({"data": []}, indent=3).replace("\n", "\r\n")
                + "\r\n\r\n",
            )
        )
        == []
    )


TEXT = json.dumps(
    {
        "data": [
            {
                "title": "t",
                "paragraphs": [{"context": f"he {SECRET} " * 9, "n": [1, 2]}],
            }
        ]
    },
    indent=1,
)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    for end in range(len(TEXT)):
        message = stream_refusal(tmp_path, TEXT[:end])
        assert re.search(
            r"not a SQuAD-form JSON file: it is cut off, .* (at its beginning|entry 1, paragraph "
            r"[01])\.",
            message,
        ), (end, message)


@tabled("text", "message")
def test_damage_names_entry_and_paragraph(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in stream_refusal(tmp_path, text)


def test_damage_stops_the_reading(tmp_path: Path) -> None:
    read_bytes: list[int] = []
    path = write(
        tmp_path, '[{"title": "t", "paragraphs": [{"a" 1' + " " * 1_000_000 + "}]}]"
    )
    with pytest.raises(
        UsageError,
        match=r"it is cut off, damaged or not UTF-8, after entry 1, paragraph 0\. Download",
    ):
        list(evidence._walk(path, read_bytes.append))
    assert max(read_bytes) < 200_000


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes('[{"paragraphs": ["é"]}]'.encode("latin-1"))
    with pytest.raises(
        UsageError, match="it is cut off, damaged or not UTF-8, at its beginning"
    ):
        read(path)
