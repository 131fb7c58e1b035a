"""Rows of the official files, refused files, and items."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.data import (
    ANSWERED_SHA256,
    COLUMNS,
    FORMS,
    QUESTIONS_SHA256,
    demo_documents,
    demo_ids,
    demo_rows,
    load_items,
    question_form,
    question_id,
    read_gold_file,
    read_rows,
)
from medical_tasks.benchmarks.kqa.declarations import DATASET
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import UsageError
from medical_tasks.spec import Row
from tests.benchmarks.common import write_jsonl
from tests.benchmarks.kqa.kqa_judges import cases
from tests.io.test_tables import as_csv, as_parquet, as_xlsx
from tests.support import SHARED, needs_shared

FOLDER = SHARED / "data" / "kqa"
ANSWERED = FOLDER / "questions_w_answers.jsonl"
QUESTIONS = FOLDER / "questions.jsonl"
CASES = cases("data")
NAMES = [column.name for column in COLUMNS]


# Lines of the official files' form, with invented content.


def answered_line(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "Question": f"Is invented question {number} fine?",
        "Free_form_answer": "It is.",
        "Must_have": [" It is fine.", "It is invented."],
        "Nice_to_have": ["It has a number."],
        "Sources": "https://a.example/x?\n y=1\n \n\n https://b.example/",
        "ICD_10_diag": None,
        **changes,
    }


def question_line(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "Question": f"Is invented question {number} fine?",
        "ICD_10_diag": "Cough",
        "entity_text": ["cough"],
        "matched_entity": "cough",
        "entity_tag": ["problem"],
        **changes,
    }


def rows_of(config: str, path: Path) -> list[Row]:
    return list(read_rows(config, "test", {"test": path}))


def test_lines_become_rows(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "x.jsonl",
        [answered_line(), answered_line(2, ICD_10_diag="Cough", Nice_to_have=[])],
    )
    first, second = rows_of("answered", path)
    assert list(first) == list(second) == NAMES
    assert first == {
        "id": question_id("Is invented question 1 fine?"),
        "question": "Is invented question 1 fine?",
        "answer": "It is.",
        "must_have": [" It is fine.", "It is invented."],
        "nice_to_have": ["It has a number."],
        # The release breaks addresses over lines.
        "sources": ["https://a.example/x?y=1", "https://b.example/"],
        "icd_10_diag": "",
        "entity_text": [],
        "matched_entity": "",
        "entity_tag": [],
    }
    assert (second["icd_10_diag"], second["nice_to_have"]) == ("Cough", [])
    without_labels = question_line(
        2, ICD_10_diag=None, entity_text=None, matched_entity=None, entity_tag=None
    )
    first, second = rows_of(
        "questions",
        write_jsonl(tmp_path / "x.jsonl", [question_line(), without_labels]),
    )
    assert list(first) == list(second) == NAMES
    assert (first["entity_text"], first["matched_entity"], first["entity_tag"]) == (
        ["cough"],
        "cough",
        ["problem"],
    )
    assert (
        first["answer"],
        first["must_have"],
        first["nice_to_have"],
        first["sources"],
    ) == (
        "",
        [],
        [],
        [],
    )
    assert (second["icd_10_diag"], second["entity_text"], second["matched_entity"]) == (
        "",
        [],
        "",
    )


def test_ids_depend_on_the_question_and_repeats_on_the_whole_row(
    tmp_path: Path,
) -> None:
    lines = [
        question_line(1, ICD_10_diag=diagnosis)
        for diagnosis in ("Cough", "Fever", None)
    ]
    ids = [
        row["id"]
        for row in rows_of("questions", write_jsonl(tmp_path / "x.jsonl", lines))
    ]
    plain = question_id("Is invented question 1 fine?")
    assert ids[0] == plain
    assert len(set(ids)) == 3
    assert all(name.startswith(f"{plain}-") for name in ids[1:])
    # The id does not depend on the position: a repeat keeps it without the others.
    again = rows_of(
        "questions", write_jsonl(tmp_path / "y.jsonl", [lines[0], lines[2]])
    )
    assert [row["id"] for row in again] == [ids[0], ids[2]]
    assert question_id("Is it?") == hashlib.sha256(b"Is it?").hexdigest()[:16]
    assert question_id(" Is\u00a0 it?\n") == question_id("Is it?")
    assert question_id("Is it") != question_id("Is it?")


@pytest.mark.parametrize(("changes", "message"), CASES["wrong_answered"])
def test_a_wrong_answered_line_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = write_jsonl(
        tmp_path / "x.jsonl", [answered_line(1), answered_line(2, **changes)]
    )
    with pytest.raises(UsageError, match=f"x.jsonl: .*{message}"):
        rows_of("answered", path)


@pytest.mark.parametrize(("changes", "message"), CASES["wrong_question"])
def test_a_wrong_question_line_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    repeat = question_line(1, ICD_10_diag="Fever")
    lines = [
        question_line(1),
        repeat,
        question_line(3, **{"ICD_10_diag": "Fever", **changes}),
    ]
    path = write_jsonl(tmp_path / "x.jsonl", lines)
    with pytest.raises(UsageError, match=f"line 3, {message}|line 3.*{message}"):
        rows_of("questions", path)


@pytest.mark.parametrize(
    ("content", "message"),
    [*CASES["no_file"], ("[" * 100_000, r"line 1 is not whole JSON")],
)
def test_a_file_of_another_format_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError, match=message):
        rows_of("answered", path)


def test_a_folder_and_an_incomplete_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        rows_of("answered", tmp_path)
    path = write_jsonl(
        tmp_path / "questions_w_answers.jsonl",
        [answered_line(number) for number in range(200)],
    )
    with pytest.raises(
        UsageError,
        match=r"config answered: split test has 200 rows, 201 were published",
    ):
        build_dataset("kqa", source=path, config="answered", out=tmp_path / "out")


def test_line_separators_within_texts_end_no_line(tmp_path: Path) -> None:
    text = "one\u2028two\x85three"
    path = tmp_path / "x.jsonl"
    content = json.dumps(answered_line(1, Free_form_answer=text), ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf" + content.encode() + b"\r\n")
    assert rows_of("answered", path)[0]["answer"] == text


def test_files_of_the_users_own(tmp_path: Path) -> None:
    full = answered_line(1)
    short = {
        name: answered_line(2)[name]
        for name in ("Question", "Free_form_answer", "Must_have", "Nice_to_have")
    }
    rows = read_gold_file(write_jsonl(tmp_path / "own.jsonl", [full, short]))
    assert [list(row) for row in rows] == [NAMES, NAMES]
    assert (rows[1]["sources"], rows[1]["icd_10_diag"]) == ([], "")
    assert [item.id for item in load_items(KQA, rows)] == [row["id"] for row in rows]
    full["Nice_to_haves"] = full.pop("Nice_to_have")
    with pytest.raises(
        UsageError, match=r"missing: 'Nice_to_have'; unexpected: 'Nice_to_haves'"
    ):
        read_gold_file(write_jsonl(tmp_path / "typo.jsonl", [full]))


def test_a_table_of_the_users_own(tmp_path: Path) -> None:
    rows = [
        ["Question", "Must have", "nice_to_have_1", "nice_to_have_2"],
        ["Why?", "one; two\n three \n", "four", ""],
    ]
    listed: list[list[Any]] = [
        ["Question", "must_have", "nice_to_have", "id"],
        ["Why?", ["one; two", "three"], ["four"], "ignored"],
    ]
    for content in (
        as_csv(rows, ";"),
        as_xlsx(rows),
        as_parquet(rows),
        as_parquet(listed),
    ):
        (tmp_path / "own").write_bytes(content)
        (row,) = read_gold_file(tmp_path / "own")
        assert (row["must_have"], row["nice_to_have"], row["answer"]) == (
            ["one; two", "three"],
            ["four"],
            "",
        )
    (tmp_path / "own").write_bytes(b"question,must_haev\nWhy?,x\n")
    with pytest.raises(UsageError, match="row 2 .*unexpected: 'must_haev'"):
        read_gold_file(tmp_path / "own")


def test_items(tmp_path: Path) -> None:
    lines = [
        answered_line(number, Must_have=["a"] * number + [" "])
        for number in range(1, 7)
    ]
    items = load_items(
        KQA, rows_of("answered", write_jsonl(tmp_path / "x.jsonl", lines))
    )
    assert [item.groups["must_haves"] for item in items] == [
        *["up to 2"] * 2,
        *["3 to 4"] * 2,
        *["5 or more"] * 2,
    ]
    assert {item.groups["question_form"] for item in items} == {"yes or no"}
    assert all(item.cluster == item.id for item in items)
    assert set(items[0].groups) == set(KQA.groups)
    rows = rows_of("questions", write_jsonl(tmp_path / "x.jsonl", [question_line()]))
    with pytest.raises(
        UsageError,
        match=r"kqa: question [0-9a-f]{16} has no statements .*--config answered or",
    ):
        load_items(KQA, rows)


@pytest.mark.parametrize(("question", "form"), CASES["forms"])
def test_question_forms(question: str, form: str) -> None:
    assert question_form(question) == form


@given(st.text())
def test_every_text_has_a_form_and_an_id(text: str) -> None:
    assert question_form(text) in FORMS
    if "\ud800" <= max(text, default="") <= "\udfff":
        return
    assert len(question_id(text)) == 16


@needs_shared
@pytest.mark.upstream
def test_the_release(tmp_path: Path) -> None:
    assert (file_sha256(ANSWERED), file_sha256(QUESTIONS)) == (
        ANSWERED_SHA256,
        QUESTIONS_SHA256,
    )
    # 201 answers, 892 and 697 statements, 1,212 questions (paper, table 2).
    answered, questions = rows_of("answered", ANSWERED), rows_of("questions", QUESTIONS)
    assert (len(answered), len(questions)) == (201, 1212)
    assert sum(len(row["must_have"]) for row in answered) == 892
    assert sum(len(row["nice_to_have"]) for row in answered) == 697
    # Three of the 892 are blank.
    assert sum(not text.strip() for row in answered for text in row["must_have"]) == 3
    assert all(text.strip() for row in answered for text in row["nice_to_have"])
    assert len({row["question"] for row in questions}) == 1167
    assert len({row["id"] for row in questions}) == 1212
    assert sum("-" in row["id"] for row in questions) == 1212 - 1167
    assert {row["id"] for row in answered} <= {row["id"] for row in questions}
    official = [
        json.loads(line) for line in ANSWERED.read_text(encoding="utf-8").splitlines()
    ]
    for name, column in (
        ("Question", "question"),
        ("Free_form_answer", "answer"),
        ("Must_have", "must_have"),
        ("Nice_to_have", "nice_to_have"),
    ):
        assert [line[name] for line in official] == [row[column] for row in answered]
    for line, row in zip(official, answered, strict=True):
        assert row["sources"]
        assert "".join(row["sources"]) == "".join(line["Sources"].split())
        assert all(address.startswith("http") for address in row["sources"])
    for config, rows, other in (
        ("answered", answered, QUESTIONS),
        ("questions", questions, ANSWERED),
    ):
        built = build_dataset("kqa", source=FOLDER, config=config, out=tmp_path / "kqa")
        assert (built.rows, built.notes) == (len(rows), ())
        assert built_rows(built.folder, config, "test", spec=DATASET) == rows
        with pytest.raises(
            UsageError,
            match=f"is the official file of config (answered|questions), not of {config}",
        ):
            build_dataset("kqa", source=other, config=config, out=tmp_path / "out")


DEMO_ROWS = demo_rows()
DEMO_ITEMS = load_items(KQA, DEMO_ROWS)


def test_the_demo() -> None:
    assert len(DEMO_ROWS) == 13
    for row in DEMO_ROWS:
        assert list(row) == NAMES
        for column in COLUMNS:
            assert isinstance(dict(row)[column.name], list if column.repeated else str)
    assert demo_ids() == {item.id for item in DEMO_ITEMS}
    assert len(demo_ids()) == 13
    for row in DEMO_ROWS:
        for statement in [*row["must_have"], *row["nice_to_have"]]:
            assert statement == statement.strip()
            assert statement.endswith(".")
            assert "\n" not in statement
    assert len(demo_documents()) == 9
    assert len({document.name for document in demo_documents()}) == 9
    for document in demo_documents():
        assert document.name.startswith("demo/")
        assert 30 <= len(document.text.split()) <= 150
