from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.responses import parse_answers, read_responses
from tests.case_tables import tabled

IDS = ["1", "2", "3"]


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


@tabled("forms", "records", "read")
def test_names_of_fields(tmp_path: Path, forms: list[str], records: list[Any], read: dict[str, str]) -> None:
    for form in forms:
        lines = [*map(json.dumps, records), ""] if form == "lines" else [f"\ufeff \n{json.dumps(records, indent=2)}\n"]
        file = write(tmp_path / "r.json", *lines)
        assert read_responses(file, IDS) == read
        kind = "line" if form == "lines" else "record"
        places = [answer.place for answer in parse_answers(file, file.read_bytes())]
        assert places == [f"{kind} {number}" for number in range(1, len(records) + 1)]


@tabled("text", "message")
def test_bad_lists_by_message_without_a_word_of_them(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_responses(write(tmp_path / "r.json", text), IDS)
    assert "SECRET" not in str(caught.value)


@tabled("lines", "message")
def test_bad_files_by_message(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_responses(write(tmp_path / "r.jsonl", *lines), IDS)


def test_files_of_windows_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1, "response": "a"}\r\n{"id": 2, "response": "b"}\r\n')
    assert read_responses(tmp_path / "w.jsonl", IDS) == {"1": "a", "2": "b"}
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_responses(tmp_path, IDS)
    with pytest.raises(MissingError, match=r"r\.jsonl: no such file. Give --responses"):
        read_responses(tmp_path / "r.jsonl", IDS)
    (tmp_path / "r.jsonl").write_bytes(b'{"id": 1, "response": "\xe9"}')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 23"):
        read_responses(tmp_path / "r.jsonl", IDS)
