from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.spec import BENCHMARK as DOCLENS
from medical_tasks.benchmarks.kqa.data import demo_rows
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.benchmarks.medcalc_bench.demo import demo_rows as medcalc_rows
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_CODE
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.runs.responses import GivenAnswers, parse_answers, read_responses
from medical_tasks.spec import Item, TaskSpec
from tests.benchmarks.ehrnoteqa.tiny_items import item, task_of
from tests.case_tables import tabled

IDS = ["1", "2", "3"]


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "\n".join(
            line if isinstance(line, str) else json.dumps(line) for line in lines
        ),
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
        places = [answer.position for answer in parse_answers(file, file.read_bytes())]
        assert places == [f"{kind} {number}" for number in range(1, len(records) + 1)]


@tabled("text", "message")
def test_bad_lists_by_message_without_a_word_of_them(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_responses(write(tmp_path / "r.json", text), IDS)
    assert "SECRET" not in str(caught.value)


@tabled("lines", "message")
def test_bad_files_by_message(
    tmp_path: Path, lines: list[object], message: str
) -> None:
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
    with pytest.raises(
        UsageError, match="line 1 is not UTF-8 .byte 0xe9., as JSON must be"
    ):
        read_responses(tmp_path / "r.jsonl", IDS)


@tabled("table", "read")
def test_columns_and_ids_as_people_and_spreadsheets_write_them(
    table: str, read: dict[str, str]
) -> None:
    ids = ["17", "0071", "71-a", "9"]
    assert (
        read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC) == read
    )


@tabled("table", "message")
def test_tables_that_can_mean_two_things_are_refused_by_name(
    table: str, message: str
) -> None:
    ids = ["17", "007", "07", "9"]
    with pytest.raises(UsageError, match=f"t.csv.*{message}"):
        read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC)


def test_a_question_names_its_item_where_it_has_its_own() -> None:
    items = KQA.benchmark.load_items(KQA, demo_rows())
    first = items[0]
    typed = (
        str(first.fields["question"])
        .replace("'", "\u2019")
        .replace(" ", "\u00a0 ")
        .upper()
    )
    table = f'question,answer\n"{typed}",Yes.\n'
    known = [item.id for item in items]
    assert read_responses(
        Path("t"), known, content=table.encode(), task=KQA, items=items
    ) == {first.id: "Yes."}
    with pytest.raises(
        UsageError, match="1 question is none of the task.s: .What did nobody ever ask"
    ):
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
        read_responses(
            Path("t"), known, content=table.encode(), task=KQA, items=[*items, first]
        )
    with pytest.raises(
        UsageError,
        match="'answer' looks like its own answers. Name the model's column 'response'",
    ):
        read_responses(
            Path("t"),
            known,
            content=b"id,answer,must_have\n1,x,y\n",
            task=KQA,
            items=items,
        )


def kqa_items() -> list[Item]:
    return KQA.benchmark.load_items(KQA, demo_rows())


def read_published(
    task: TaskSpec, items: Sequence[Item], name: str, text: str
) -> dict[str, str]:
    ids = [item.id for item in items]
    return dict(
        read_responses(Path(name), ids, content=text.encode(), task=task, items=items)
    )


def test_files_as_the_authors_of_kqa_write_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second, *_ = items = kqa_items()
    records: list[dict[str, Any]] = [
        {"Question": f" {first.fields['question']}\n", "result": " \n"},
        {"Question": second.fields["question"], "result": None},
    ]
    assert read_published(KQA, items, "r.json", json.dumps(records)) == {
        first.id: " \n"
    }
    table = f'Question,result\n"{second.fields["question"]}",Yes.\n'
    assert read_published(KQA, items, "r.csv", table) == {second.id: "Yes."}
    assert capsys.readouterr().err == ""
    beside = [*records, {"Question": "Who asks?", "result": "x"}]
    assert read_published(KQA, items, "r.json", json.dumps(beside)) == {first.id: " \n"}
    told = "note: r.json: 1 answers are left out: they answer no item of the task"
    assert told in (note := capsys.readouterr().err)
    assert "(record 3)" in note
    for wrong, message in (
        (beside[2:], r"r.json: 1 id is no item of the task: 'Who asks\?' \(record 1\)"),
        (records[:1] * 2, "records 1 and 2 both answer id"),
        (
            [records[0], {"id": "1", "response": "x"}],
            "record 2: its fields differ from the first",
        ),
        (
            [{**records[0], "result": 5}],
            "record 1: must be the model's raw text .* got a number",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            read_published(KQA, items, "r.json", json.dumps(wrong))
    twice = [*items, replace(first, id="other")]
    with pytest.raises(
        UsageError, match="record 1: could answer .* or other. Say which"
    ):
        read_published(KQA, twice, "r.json", json.dumps(records))


def test_files_as_the_authors_of_ehrnoteqa_write_them() -> None:
    """The questions and notes as processed, and a column that is called as the model."""
    task = task_of("mc")
    items = [
        replace(item(question=f"What of {patient}?"), id=patient)
        for patient in ("100", "200")
    ]
    released = [
        {
            "patient_id": int(each.id),
            "num_notes": 1,
            "question": each.fields["question"],
        }
        | {f"choice_{letter}": "x" for letter in "ABCDE"}
        | {"answer": "B", "category": "Level1", "clinician": 1, "note_1": "n"}
        for each in items
    ]

    def table(**models: Sequence[str]) -> str:
        rows = [
            {**each, **{name: texts[place] for name, texts in models.items()}}
            for place, each in enumerate(released)
        ]
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()

    judged = table(**{"Llama-2": ["B.\nSo.", ""], "Llama-2_gpt4_eval": ["yes", "no"]})
    assert read_published(task, items, "r.csv", judged) == {"100": "B.\nSo."}
    lines = "".join(json.dumps({**each, "gpt-4": "C"}) + "\n" for each in released)
    assert read_published(task, items, "r.jsonl", lines) == {"100": "C", "200": "C"}
    other = [
        replace(items[0], fields={**items[0].fields, "question": "Another?"}),
        items[1],
    ]
    assert read_published(task, other, "r.jsonl", lines) == {"200": "C"}
    with pytest.raises(
        UsageError, match="answers of several models: 'a', 'b'. Leave out all but"
    ):
        read_published(task, items, "r.csv", table(a=["A", "A"], b=["B", "B"]))
    both = table(a=["A", "A"], response=["B", "D"])
    assert read_published(task, items, "r.csv", both) == {"100": "B", "200": "D"}


def test_files_as_the_authors_of_medcalc_bench_write_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not replies, but what was taken out of them; a row of another release has other texts under its number."""
    first, second, *_ = items = MEDCALC.benchmark.load_items(MEDCALC, medcalc_rows())
    records = [
        {
            "Row Number": int(each.id),
            "Question": each.fields["question"],
            "Note ID": note,
        }
        | {"LLM Answer": '7 "x"', "LLM Explanation": "It is {7}.", "Result": "Correct"}
        for each, note in ((first, first.fields["note_id"]), (second, "pmc-1-1"))
    ]
    lines = "".join(json.dumps(each) + "\n" for each in records)
    found = read_published(MEDCALC, items, "r.jsonl", lines)
    assert {name: json.loads(text) for name, text in found.items()} == {
        first.id: {"step_by_step_thinking": "It is {7}.", "answer": '7 "x"'}
    }
    assert f"'{second.id} otherwise' (line 2)" in capsys.readouterr().err
    own = "".join(
        json.dumps({**each, "id": each["Row Number"], "response": "9"}) + "\n"
        for each in records
    )
    assert read_published(MEDCALC, items, "r.jsonl", own) == {
        first.id: "9",
        second.id: "9",
    }
    assert read_published(MEDCALC_CODE, items[:1], "r.jsonl", lines.split("\n")[0]) == {
        first.id: '7 "x"'
    }


def test_files_as_the_authors_of_doclens_write_them() -> None:
    section = next(task for task in DOCLENS.tasks if task.name == "aci_bench_section")
    names = ("subjective", "objective_exam", "objective_results", "assessment_and_plan")
    record = {"example_id": "D2N1", "input": "i", "reference": "r", "output": "whole"}
    divided = record | {f"output_{name}": f"its {name}" for name in names}
    items = [
        Item(id=f"D2N1/{name}", fields={}, groups={}, cluster="D2N1") for name in names
    ]
    assert read_published(section, items, "r.json", json.dumps([divided])) == {
        f"D2N1/{name}": f"its {name}" for name in names
    }
    whole = next(task for task in DOCLENS.tasks if task.name == "aci_bench")
    note = Item(id="D2N1", fields={}, groups={}, cluster="D2N1")
    assert read_published(whole, [note], "r.json", json.dumps([divided])) == {
        "D2N1": "whole"
    }


def test_answers_given_in_python_are_called_so() -> None:
    import pandas as pd

    frame = pd.DataFrame({"Row Number": [17.0, 9], "Model Answer": [25.0, None]})
    assert read_responses(GivenAnswers.of(frame), ["17", "9"], task=MEDCALC) == {
        "17": "25"
    }
    assert read_responses(
        GivenAnswers.of(frame.set_index("Row Number")), ["17", "9"], task=MEDCALC
    ) == {"17": "25"}
    with pytest.raises(
        UsageError, match="^the answers given: 1 id is no item of the task: '18'"
    ):
        read_responses(GivenAnswers.of({18: "x"}), ["17"])
    with pytest.raises(
        UsageError,
        match="^the answers given, row 1, column 'response': must be the model's raw text .* got a list",
    ):
        read_responses(
            GivenAnswers.of(pd.DataFrame({"id": ["1"], "response": [["a"]]})), ["1"]
        )
