from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.data import demo_rows
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.responses import GivenAnswers, parse_answers, read_responses
from tests.case_tables import tabled

IDS = ["1", "2", "3"]


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    return path


@tabled("forms", "records", "read")
def test_names_of_fields(
    tmp_path: Path, forms: list[str], records: list[Any], read: dict[str, str]
) -> None:
    for form in forms:
        lines = (
            [*map(json.dumps, records), ""]
            if form == "lines"
            else [f"\ufeff \n{json.dumps(records, indent=2)}\n"]
        )
        file = write(tmp_path / "r.json", *lines)
        assert read_responses(file, IDS) == read
        kind = "line" if form == "lines" else "record"
        places = [answer.place for answer in parse_answers(file, file.read_bytes())]
        assert places == [f"{kind} {number}" for number in range(1, len(records) + 1)]


@tabled("text", "message")
def test_bad_lists_by_message_without_a_word_of_them(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_responses(write(tmp_path / "r.json", text), IDS)
    assert "SECRET" not in str(caught.value)


@tabled("lines", "message")
def test_bad_files_by_message(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_responses(write(tmp_path / "r.jsonl", *lines), IDS)


def test_files_of_windows_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_bytes(
        b'\xef\xbb\xbf{"id": 1, "response": "a"}\r\n{"id": 2, "response": "b"}\r\n'
    )
    assert read_responses(tmp_path / "w.jsonl", IDS) == {"1": "a", "2": "b"}
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory\)"):
        read_responses(tmp_path, IDS)
    with pytest.raises(MissingError, match=r"r\.jsonl: no such file. Give --responses"):
        read_responses(tmp_path / "r.jsonl", IDS)
    (tmp_path / "r.jsonl").write_bytes(b'{"id": 1, "response": "\xe9"}')
    with pytest.raises(UsageError, match="line 1 is not UTF-8 .byte 0xe9., as JSON must be"):
        read_responses(tmp_path / "r.jsonl", IDS)


@tabled("table", "read")
def test_columns_and_ids_as_people_and_spreadsheets_write_them(
    table: str, read: dict[str, str]
) -> None:
    ids = ["17", "0071", "71-a", "9"]
    assert read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC) == read


@tabled("table", "message")
def test_tables_that_can_mean_two_things_are_refused_by_name(table: str, message: str) -> None:
    ids = ["17", "007", "07", "9"]
    with pytest.raises(UsageError, match=f"t.csv.*{message}"):
        read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC)


def test_a_question_names_its_item_where_it_has_its_own() -> None:
    items = KQA.benchmark.load_items(KQA, demo_rows())
    first = items[0]
    typed = str(first.fields["question"]).replace("'", "\u2019").replace(" ", "\u00a0 ").upper()
    table = f'question,answer\n"{typed}",Yes.\n'
    known = [item.id for item in items]
    assert read_responses(Path("t"), known, content=table.encode(), task=KQA, items=items) == {
        first.id: "Yes."
    }
    with pytest.raises(UsageError, match="1 id is no item of the task: a text of 25 characters"):
        read_responses(
            Path("t"),
            known,
            content=b"question,answer\nWhat did nobody ever ask?,x\n",
            task=KQA,
            items=items,
        )
    with pytest.raises(
        UsageError, match="no column 'id' names the items"
    ):  # questions that two items share name none
        read_responses(Path("t"), known, content=table.encode(), task=KQA, items=[*items, first])
    with pytest.raises(
        UsageError, match="'answer' looks like its own answers. Name the model's 'response'"
    ):
        read_responses(
            Path("t"), known, content=b"id,answer,must_have\n1,x,y\n", task=KQA, items=items
        )


def test_answers_given_in_python_are_called_so() -> None:
    import pandas as pd

    frame = pd.DataFrame({"Row Number": [17.0, 9], "Model Answer": [25.0, None]})
    assert read_responses(GivenAnswers.of(frame), ["17", "9"], task=MEDCALC) == {"17": "25"}
    assert read_responses(
        GivenAnswers.of(frame.set_index("Row Number")), ["17", "9"], task=MEDCALC
    ) == {"17": "25"}
    with pytest.raises(UsageError, match="^the answers given: 1 id is no item of the task: '18'"):
        read_responses(GivenAnswers.of({18: "x"}), ["17"])
    with pytest.raises(
        UsageError,
        match="^the answers given, row 1, column 'response': must be a text, got a list of 1",
    ):
        read_responses(GivenAnswers.of(pd.DataFrame({"id": ["1"], "response": [["a"]]})), ["1"])
