from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.responses import parse_answers, read_responses
from tests.case_tables import tabled

IDS = ["1", "2", "3"]


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_reads_text_and_number_ids_and_passes_over_empty_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", {"id": 1, "response": "a"}, "", {"id": "2", "response": "", "extra": 1})
    assert read_responses(file, IDS) == {"1": "a", "2": ""}


def test_a_json_list_with_the_authors_names_or_ours(tmp_path: Path) -> None:
    records = [
        {"example_id": 1, "output": "a", "prompt": "p"},
        {"id": "2", "response": ""},
        {"example_id": "3", "output": None},
    ]
    for text in (json.dumps(records), f"\ufeff \n{json.dumps(records, indent=2)}\n"):
        file = write(tmp_path / "r.json", text)
        assert read_responses(file, IDS) == {"1": "a", "2": ""}
    assert [answer.place for answer in parse_answers(file, file.read_bytes())] == ["record 1", "record 2", "record 3"]


def test_a_submission_to_a_shared_task(tmp_path: Path) -> None:
    records = [
        {"case_id": "1", "answer": "a |1|", "model": "m"},
        {"case_id": 2, "answer": ""},
        {"case_id": "3", "answer": None},
    ]
    file = write(tmp_path / "submission.json", json.dumps(records))
    assert read_responses(file, IDS) == {"1": "a |1|", "2": ""}
    assert read_responses(write(tmp_path / "r.jsonl", *records), IDS) == {"1": "a |1|", "2": ""}


def test_an_answer_beside_a_response_is_the_gold_and_passed_over(tmp_path: Path) -> None:
    records = [
        {"id": "1", "response": "a", "answer": "gold", "case_id": "9"},
        {"example_id": "2", "output": "b", "answer": "gold"},
    ]
    for texts in ([json.dumps(records)], [json.dumps(record) for record in records]):
        assert read_responses(write(tmp_path / "r.json", *texts), IDS) == {"1": "a", "2": "b"}


def test_lines_may_have_the_authors_names_too_and_ours_come_first(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", {"example_id": 1, "output": "a"}, {"id": 2, "response": "b", "output": {"n": 1}})
    assert read_responses(file, IDS) == {"1": "a", "2": "b"}


@tabled("text", "message")
def test_bad_lists_by_message_without_a_word_of_them(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_responses(write(tmp_path / "r.json", text), IDS)
    assert "SECRET" not in str(caught.value)


@tabled("lines", "message")
def test_bad_files_by_message(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_responses(write(tmp_path / "r.jsonl", *lines), IDS)


def test_a_byte_order_mark_and_windows_line_ends_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1, "response": "a"}\r\n{"id": 2, "response": "b"}\r\n')
    assert read_responses(tmp_path / "r.jsonl", IDS) == {"1": "a", "2": "b"}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_responses(tmp_path, IDS)
    with pytest.raises(MissingError, match=r"r\.jsonl: no such file. Give --responses"):
        read_responses(tmp_path / "r.jsonl", IDS)
    (tmp_path / "r.jsonl").write_bytes(b'{"id": 1, "response": "\xe9"}')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 23"):
        read_responses(tmp_path / "r.jsonl", IDS)
