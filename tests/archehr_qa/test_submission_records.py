"""The file of a submission, read strictly and never quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.archehr_qa.submission_records import LARGEST, of_case, read_records
from medical_tasks.errors import MissingError, UsageError


def file(folder: Path, content: Any) -> Path:
    path = folder / "s.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_reads_records_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    content = [{"case_id": "1", "answer": "A. |1|", "model": 7}, {"case_id": "2", "answer": ""}]
    for start in ("", "\ufeff", " \n"):
        found = read_records(file(tmp_path, start + json.dumps(content)))
        assert [(each.number, each.case_id, each.answer, each.problems) for each in found] == [
            (1, "1", "A. |1|", ()),
            (2, "2", "", ()),
        ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("SECRET", "not JSON"),
        ('[{"case_id": "1", "answer": "SECRET"', "not JSON"),
        ("[" * 100_000, "not JSON .nested too deeply"),
        ({"1": "SECRET"}, "a list of records is needed, got an object of 1"),
        ([], "a list of records is needed, got a list of 0"),
        (["SECRET", "SECRET"], "record 1: an object is needed, got a text of 6 characters"),
        ([{"case_id": "1", "answer": "A."}, None], "record 2: an object is needed, got null"),
        ("NaN", "a list of records is needed, got a number"),
        ("[NaN]", "record 1: an object is needed, got a number"),
        ('[{"case_id": "1", "answer": "SECRET", "answer": "B."}]', "a name stands twice in one object"),
        ('[{"case_id": ' + "9" * 5000 + "}]", "not JSON"),
    ],
)
def test_what_is_no_list_of_records_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_records(file(tmp_path, content))
    assert "SECRET" not in str(caught.value)
    assert "s.json" in str(caught.value)


@pytest.mark.parametrize(
    ("record", "problems"),
    [
        ('{"case_id": "1"}', ["case 1: its 'answer' must be a text, there is none"]),
        ('{"case_id": "1", "answer": null}', ["case 1: its 'answer' must be a text, got null"]),
        ('{"case_id": "1", "answer": NaN}', ["case 1: its 'answer' must be a text, got a number"]),
        ('{"case_id": "1", "answer": ["SECRET", "B"]}', ["case 1: its 'answer' must be a text, got a list of 2"]),
        ('{"case_id": 1, "answer": "A. |1|"}', ["case 1: its 'case_id' must be a text, got a number"]),
        ('{"case_id": 1.5, "answer": "A. |1|"}', ["record 1: its 'case_id' must be a text, got a number"]),
        ('{"case_id": true, "answer": "A. |1|"}', ["record 1: its 'case_id' must be a text, got true or false"]),
        (
            '{"id": "1", "response": "SECRET"}',
            [
                "record 1: its 'case_id' must be a text, there is none",
                "record 1: its 'answer' must be a text, there is none",
            ],
        ),
    ],
)
def test_fields_that_are_wrong_are_problems_of_their_record(tmp_path: Path, record: str, problems: list[str]) -> None:
    first, second = read_records(file(tmp_path, f'[{record}, {{"case_id": "2", "answer": "B. |1|"}}]'))
    assert [str(problem) for problem in first.problems] == problems
    assert all(problem.fatal for problem in first.problems)
    assert (second.case_id, second.answer, second.problems) == ("2", "B. |1|", ())


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = file(tmp_path, json.dumps([{"case_id": "1", "answer": "x" * LARGEST}]))
    with pytest.raises(UsageError, match=r"s.json: has more than 10,000,000 bytes, the most that is read"):
        read_records(path)
    room = LARGEST - len(json.dumps([{"case_id": "1", "answer": ""}]))
    assert len(read_records(file(tmp_path, [{"case_id": "1", "answer": "x" * room}]))) == 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="none.json: no such file. Give a JSON list of records like"):
        read_records(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_records(tmp_path)
    (tmp_path / "s.json").write_bytes(b'[{"case_id": "1", "answer": "\xe9"}]')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 29"):
        read_records(tmp_path / "s.json")


def test_a_case_is_named_by_what_can_be_no_text_of_a_note() -> None:
    assert of_case("12") == "case 12"
    assert of_case("case-3") == "case 'case-3'"
    assert of_case("9" * 7) == "case '9999999'"
    assert of_case("of three words") == "case a text of 14 characters"
