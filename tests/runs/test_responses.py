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


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text(
        "\n".join(
            line if isinstance(line, str) else json.dumps(line) for line in lines
        ),
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("forms", "records", "expected"),
    [
        # Ids may be texts or numbers; other keys of a record are ignored.
        (
            ["lines", "list"],
            [{"id": 1, "response": "a"}, {"id": "2", "response": "", "extra": 1}],
            {"1": "a", "2": ""},
        ),
        (
            ["lines", "list"],
            [
                {"example_id": 1, "output": "a", "prompt": "p"},
                {"id": "2", "response": ""},
                {"example_id": "3", "output": None},
            ],
            {"1": "a", "2": ""},
        ),
        # The form of a submission to a shared task.
        (
            ["lines", "list"],
            [
                {"case_id": "1", "answer": "a |1|", "model": "m"},
                {"case_id": 2, "answer": ""},
                {"case_id": "3", "answer": None},
            ],
            {"1": "a |1|", "2": ""},
        ),
        # An 'answer' beside a response is the gold answer.
        (
            ["lines", "list"],
            [
                {"id": "1", "response": "a", "answer": "gold", "case_id": "9"},
                {"example_id": "2", "output": "b", "answer": "gold"},
            ],
            {"1": "a", "2": "b"},
        ),
        # In lines, our own names come before those of others.
        (
            ["lines"],
            [
                {"example_id": 1, "output": "a"},
                {"id": 2, "response": "b", "output": {"n": 1}},
            ],
            {"1": "a", "2": "b"},
        ),
    ],
)
def test_names_of_fields(
    tmp_path: Path, forms: list[str], records: list[Any], expected: dict[str, str]
) -> None:
    for form in forms:
        lines = (
            [*map(json.dumps, records), ""]
            if form == "lines"
            else [f"\ufeff \n{json.dumps(records, indent=2)}\n"]
        )
        file = write_lines(tmp_path / "r.json", *lines)
        assert read_responses(file, IDS) == expected
        kind = "line" if form == "lines" else "record"
        positions = [
            answer.position for answer in parse_answers(file, file.read_bytes())
        ]
        assert positions == [
            f"{kind} {number}" for number in range(1, len(records) + 1)
        ]


@tabled("text", "message")
def test_bad_lists_are_refused_without_quoting_them(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_responses(write_lines(tmp_path / "r.json", text), IDS)
    assert "SECRET" not in str(caught.value)


@tabled("lines", "message")
def test_bad_files_are_refused(
    tmp_path: Path, lines: list[object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_responses(write_lines(tmp_path / "r.jsonl", *lines), IDS)


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


@tabled("table", "expected")
def test_columns_and_ids_as_people_and_spreadsheets_write_them(
    table: str, expected: dict[str, str]
) -> None:
    ids = ["17", "0071", "71-a", "9"]
    assert (
        read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC)
        == expected
    )


@tabled("table", "message")
def test_ambiguous_tables_are_refused(table: str, message: str) -> None:
    ids = ["17", "007", "07", "9"]
    with pytest.raises(UsageError, match=f"t.csv.*{message}"):
        read_responses(Path("t.csv"), ids, content=table.encode(), task=MEDCALC)


def kqa_items() -> list[Item]:
    return KQA.benchmark.load_items(KQA, demo_rows())


def read_published(
    task: TaskSpec, items: Sequence[Item], name: str, text: str
) -> dict[str, str]:
    ids = [item.id for item in items]
    return dict(
        read_responses(Path(name), ids, content=text.encode(), task=task, items=items)
    )


def test_a_question_names_its_item_if_it_is_unique() -> None:
    items = kqa_items()
    first = items[0]
    typed = (
        str(first.fields["question"])
        .replace("'", "\u2019")
        .replace(" ", "\u00a0 ")
        .upper()
    )
    table = f'question,answer\n"{typed}",Yes.\n'
    assert read_published(KQA, items, "t", table) == {first.id: "Yes."}
    unknown = "question,answer\nWhat did nobody ever ask?,x\n"
    with pytest.raises(
        UsageError, match="1 question is none of the task.s: .What did nobody ever ask"
    ):
        read_published(KQA, items, "t", unknown)
    # A question that two items share names neither.
    with pytest.raises(UsageError, match="no column 'id' names the items"):
        read_published(KQA, [*items, first], "t", table)
    with pytest.raises(
        UsageError,
        match="'answer' looks like its own answers. Name the model's column 'response'",
    ):
        read_published(KQA, items, "t", "id,answer,must_have\n1,x,y\n")


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
    with_unknown = [*records, {"Question": "Who asks?", "result": "x"}]
    assert read_published(KQA, items, "r.json", json.dumps(with_unknown)) == {
        first.id: " \n"
    }
    note = capsys.readouterr().err
    assert (
        "note: r.json: 1 answers are left out: they answer no item of the task" in note
    )
    assert "(record 3)" in note
    for wrong, message in (
        (
            with_unknown[2:],
            r"r.json: 1 id is no item of the task: 'Who asks\?' \(record 1\)",
        ),
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
    """The processed questions and notes, and a column that is named after the model."""
    task = task_of("mc")
    items = [
        replace(item(question=f"What of {patient}?"), id=patient)
        for patient in ("100", "200")
    ]
    released = [
        {
            "patient_id": int(question.id),
            "num_notes": 1,
            "question": question.fields["question"],
        }
        | {f"choice_{letter}": "x" for letter in "ABCDE"}
        | {"answer": "B", "category": "Level1", "clinician": 1, "note_1": "n"}
        for question in items
    ]

    def table(**models: Sequence[str]) -> str:
        rows = [
            {**row, **{name: texts[number] for name, texts in models.items()}}
            for number, row in enumerate(released)
        ]
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()

    judged = table(**{"Llama-2": ["B.\nSo.", ""], "Llama-2_gpt4_eval": ["yes", "no"]})
    assert read_published(task, items, "r.csv", judged) == {"100": "B.\nSo."}
    lines = "".join(json.dumps({**row, "gpt-4": "C"}) + "\n" for row in released)
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
    """Answers extracted from replies; a row of another release has another text under the same number."""
    first, second, *_ = items = MEDCALC.benchmark.load_items(MEDCALC, medcalc_rows())
    records = [
        {
            "Row Number": int(question.id),
            "Question": question.fields["question"],
            "Note ID": note,
        }
        | {"LLM Answer": '7 "x"', "LLM Explanation": "It is {7}.", "Result": "Correct"}
        for question, note in ((first, first.fields["note_id"]), (second, "pmc-1-1"))
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    responses = read_published(MEDCALC, items, "r.jsonl", lines)
    assert {name: json.loads(text) for name, text in responses.items()} == {
        first.id: {"step_by_step_thinking": "It is {7}.", "answer": '7 "x"'}
    }
    assert f"'{second.id} otherwise' (line 2)" in capsys.readouterr().err
    own = "".join(
        json.dumps({**record, "id": record["Row Number"], "response": "9"}) + "\n"
        for record in records
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


def test_answers_passed_in_python_are_named_in_errors() -> None:
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
