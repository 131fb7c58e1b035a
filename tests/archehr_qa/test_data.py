"""Rows of a split, what is built from which folders, and the items of each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.archehr_qa.data import COLUMNS, SOURCES, load_items, read_rows, source_at
from medical_tasks.archehr_qa.key_file import KEY_FILE
from medical_tasks.archehr_qa.spec import ANSWER_TASKS, SUBTASKS, TASKS
from medical_tasks.archehr_qa.twin import write_twin
from medical_tasks.dataset_source import find_files
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import TaskSpec
from tests.archehr_qa.release_files import NARRATIVE, SECRET, case, key, write_cases, write_json

NAMES = [column.name for column in COLUMNS]
SUBTASK = {task.options["form"]: task for task in SUBTASKS}


def demo(split: str = "test") -> list[dict[str, Any]]:
    return list(read_rows("demo", split, {}))


def test_a_row(tmp_path: Path) -> None:
    path = write_cases(tmp_path, case("1"))
    answers = {
        "clinician_answer_without_citations": "It was removed. Well.",
        "clinician_answer_sentences": [
            {"id": "1", "text": "It was removed.", "citations": "2,3"},
            {"id": "2", "text": "Well."},
        ],
    }
    write_json(tmp_path, "key", [key("1", **answers)])
    write_json(tmp_path, "mapping", [{"case_id": "1", "document_id": "5_6", "document_source": "mimic-iii"}])
    (row,) = read_rows("official", "test", {"test": path})
    assert list(row) == NAMES
    assert row == {
        "id": "1",
        "source": "mimic-iii",
        "patient_narrative": NARRATIVE,
        "patient_question": "Is that bad?",
        "clinician_question": f"Is it bad that he {SECRET}?",
        "sentence_ids": ["1", "2", "3"],
        "sentences": ["Course:", f"He {SECRET}.", "It was\nremoved."],
        "paragraph_ids": ["0", "1", "1"],
        "relevance": ["not-relevant", "essential", "supplementary"],
        "clinician_answer": "It was removed. Well.",
        "answer_sentences": ["It was removed.", "Well."],
        "answer_citations": ["2,3", ""],
        "answer_sentence_ids": ["1", "2"],
        "document_id": "5_6",
    }


def test_a_row_without_key_and_mapping(tmp_path: Path) -> None:
    (row,) = read_rows("official", "dev", {"dev": write_cases(tmp_path, case("1"))})
    assert list(row) == NAMES
    assert {name for name, value in row.items() if value in ("", [])} == {
        "source",
        "relevance",
        "clinician_answer",
        "answer_sentences",
        "answer_citations",
        "answer_sentence_ids",
        "document_id",
    }


def test_what_is_built_is_what_is_there(tmp_path: Path) -> None:
    (whole,) = SOURCES
    assert source_at("demo", None) == source_at("official", None) == source_at("official", tmp_path) == whole
    both = source_at("official", write_twin(tmp_path / "1.2", seed=1, dev=2, test=3, keys=("dev",)))
    assert both.splits == {"official": ("dev", "test"), "demo": ("dev", "test")}
    assert list(both.files["official"]) == [
        "dev",
        "dev/archehr-qa_key.json",
        "dev/archehr-qa_mapping.json",
        "test",
        "test/archehr-qa_mapping.json",
    ]
    assert both.published_rows["official"] == {"dev": 20, "test": 100}
    assert source_at("official", tmp_path).files["official"]["dev"].places == ("1.2/dev/archehr-qa.xml",)
    alone = source_at("official", tmp_path / "1.2" / "test")
    assert alone.splits["official"] == ("test",)
    assert alone.published_rows["official"] == {}  # a folder alone may be of any release
    found = find_files(alone, "official", tmp_path / "1.2" / "test")
    assert [row["id"] for row in read_rows("official", "test", found)] == ["3", "4", "5"]


def test_the_later_test_split_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_twin(tmp_path, seed=1, dev=1, test=1)
    (tmp_path / "test").rename(tmp_path / "test-2026")
    assert source_at("official", tmp_path).splits["official"] == ("dev",)
    assert f"note: {tmp_path / 'test-2026'}: not built with the rest; give it as --source" in capsys.readouterr().err
    assert source_at("official", tmp_path / "test-2026").splits["official"] == ("test",)
    assert capsys.readouterr().err == ""


def test_a_split_without_a_key_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_twin(tmp_path, seed=1, dev=1, test=1)
    (tmp_path / "test" / KEY_FILE).rename(tmp_path / "test" / "archehr-qa_key (1).json")
    assert source_at("official", tmp_path).splits["official"] == ("dev", "test")
    said = f"note: {tmp_path / 'test'}: has no {KEY_FILE}, so that of answers to test only the form is scored\n"
    assert capsys.readouterr().err == said


def test_nothing_there_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"lacks\n(.|\n)*dev/archehr-qa.xml(.|\n)*How to get ArchEHR-QA"):
        find_files(source_at("official", tmp_path), "official", tmp_path)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_has_items_of_the_demo(task: TaskSpec) -> None:
    rows = demo()
    items = load_items(task, rows)
    assert [item.id for item in items] == [row["id"] for row in rows] == [str(number) for number in range(21, 27)]
    for item, row in zip(items, rows, strict=True):
        assert item.fields == row
        assert item.cluster == item.id
        assert item.groups == {"source": row["source"]}
    assert load_items(task, [rows[0] | {"source": ""}])[0].groups == {"source": "unknown"}


WITHOUT: dict[str, dict[str, Any]] = {
    "key": {"relevance": [], "clinician_answer": "", "answer_sentences": [], "answer_citations": []},
    "answers": {"clinician_answer": "", "answer_sentences": [], "answer_citations": []},
    "citations": {"answer_citations": []},
}


@pytest.mark.parametrize("lacking", WITHOUT)
def test_tasks_with_citations_take_every_case(lacking: str) -> None:
    assert len(ANSWER_TASKS) >= 3
    for task in ANSWER_TASKS:
        assert len(load_items(task, [demo()[0] | WITHOUT[lacking]])) == 1


@pytest.mark.parametrize(
    ("form", "lacking", "taken"),
    [
        ("question", "key", True),
        ("evidence", "key", False),
        ("evidence", "answers", True),
        ("answer", "key", False),
        ("answer", "answers", True),
        ("alignment", "answers", False),
        ("alignment", "citations", False),
    ],
)
def test_subtasks_leave_out_cases_without_their_gold(form: str, lacking: str, taken: bool) -> None:
    task = SUBTASK[form]
    first, second = demo()[:2]
    lacks = first | WITHOUT[lacking]
    assert [item.id for item in load_items(task, [lacks, second])] == (["21", "22"] if taken else ["22"])
    if not taken:
        with pytest.raises(
            UsageError, match=rf"{task.name}: none of the 2 cases has .*, which its score needs. Choose an"
        ):
            load_items(task, [lacks, lacks])
