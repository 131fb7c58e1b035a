from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.responses import read_responses

IDS = ["1", "2", "3"]


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_reads_text_and_number_ids_and_passes_over_empty_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", {"id": 1, "response": "a"}, "", {"id": "2", "response": "", "extra": 1})
    assert read_responses(file, IDS) == {"1": "a", "2": ""}


def test_null_is_no_answer(tmp_path: Path) -> None:
    assert read_responses(write(tmp_path / "r.jsonl", {"id": 1, "response": None}), IDS) == {}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{not json"], "line 1: not JSON"),
        ([{"id": 1, "response": "a"}, "[" * 100_000], "line 2: not JSON"),
        ([["a"]], "line 1: needs the keys 'id' and 'response', got list"),
        ([{"id": 1}], r"line 1: needs the keys 'id' and 'response', got keys \['id'\]"),
        ([{"id": 1.5, "response": "a"}], "'id' must be text or a whole number, got 1.5"),
        ([{"id": True, "response": "a"}], "'id' must be text or a whole number, got True"),
        ([{"id": 1, "response": 5}], "'response' must be the model's raw text .* got int"),
        ([{"id": 1, "response": "a"}, {"id": "1", "response": "a"}], "lines 1 and 2 both answer id '1'"),
        (
            [{"id": 9, "response": "a"}],
            r"1 ids are not items of the task: '9' \(line 1\). Its ids look like '1', '2', '3'",
        ),
        ([{"id": n, "response": "a"} for n in range(10, 20)], "10 ids are not items .* and 5 more"),
        ([""], "no lines"),
        (['{"id": 1, "response": "a", "response": "b"}'], "a name stands twice in one object"),
        (['{"id": ' + "9" * 5000 + ', "response": "a"}'], "line 1: not JSON"),
    ],
)
def test_bad_files_by_message(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_responses(write(tmp_path / "r.jsonl", *lines), IDS)


def test_a_byte_order_mark_and_windows_line_ends_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b'\xef\xbb\xbf{"id": 1, "response": "a"}\r\n{"id": 2, "response": "b"}\r\n')
    assert read_responses(tmp_path / "r.jsonl", IDS) == {"1": "a", "2": "b"}


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_responses(tmp_path, IDS)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"r\.jsonl: no such file. Give --responses"):
        read_responses(tmp_path / "r.jsonl", IDS)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b'{"id": 1, "response": "\xe9"}')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 23"):
        read_responses(tmp_path / "r.jsonl", IDS)
