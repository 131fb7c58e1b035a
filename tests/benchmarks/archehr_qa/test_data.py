"""Rows of a split, the folders that they are built from, and the items of each task."""

from __future__ import annotations

import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from measurements.archehr_twin import write_twin
from medical_tasks.benchmarks.archehr_qa.data import (
    COLUMNS,
    SOURCES,
    load_items,
    read_rows,
    source_at,
)
from medical_tasks.benchmarks.archehr_qa.declarations import DATASET
from medical_tasks.benchmarks.archehr_qa.prompts import gold_response
from medical_tasks.benchmarks.archehr_qa.release import KEY_FILE
from medical_tasks.benchmarks.archehr_qa.scoring import score_items
from medical_tasks.benchmarks.archehr_qa.spec import ANSWER_TASKS, SUBTASKS, TASKS
from medical_tasks.data.dataset_source import find_files
from medical_tasks.data.fetching import build_dataset
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.spec import Row
from tests.benchmarks.archehr_qa.release_files import case, key, write_cases, write_json
from tests.case_tables import tables

CASES = tables(__file__, "data")

NAMES = [column.name for column in COLUMNS]
SUBTASK = {task.options["form"]: task for task in SUBTASKS}


def demo(split: str = "test") -> list[Row]:
    return list(read_rows("demo", split, {}))


def test_a_row_with_and_without_key_and_mapping(tmp_path: Path) -> None:
    path = write_cases(tmp_path, case("1"))
    (row,) = read_rows("official", "dev", {"dev": path})
    assert list(row) == NAMES
    empty = "source relevance clinician_answer answer_sentences answer_citations answer_sentence_ids document_id"
    assert {name for name, value in row.items() if value in ("", [])} == set(
        empty.split()
    )
    answers = {
        "clinician_answer_without_citations": "It was removed. Well.",
        "clinician_answer_sentences": [
            {"id": "1", "text": "It was removed.", "citations": "2,3"},
            {"id": "2", "text": "Well."},
        ],
    }
    write_json(tmp_path, "key", [key("1", **answers)])
    write_json(
        tmp_path,
        "mapping",
        [{"case_id": "1", "document_id": "5_6", "document_source": "mimic-iii"}],
    )
    (row,) = read_rows("official", "test", {"test": path})
    assert list(row) == NAMES
    assert row == CASES["row"]


def test_the_splits_in_a_folder_are_built(tmp_path: Path) -> None:
    (whole,) = SOURCES
    assert (
        source_at("demo", None)
        == source_at("official", None)
        == source_at("official", tmp_path)
        == whole
    )
    assert source_at("questions", tmp_path) == whole
    both = source_at(
        "official", write_twin(tmp_path / "1.2", seed=1, dev=2, test=3, keys=("dev",))
    )
    assert both.splits == {**whole.splits, "official": ("dev", "test")}
    assert list(both.files["official"]) == [
        "dev",
        "dev/archehr-qa_key.json",
        "dev/archehr-qa_mapping.json",
        "test",
        "test/archehr-qa_mapping.json",
    ]
    assert both.published_rows["official"] == {"dev": 20, "test": 100}
    assert source_at("official", tmp_path).files["official"]["dev"].places == (
        "1.2/dev/archehr-qa.xml",
    )
    alone = source_at("official", tmp_path / "1.2" / "test")
    assert alone.splits["official"] == ("test",)
    # a folder of one split may be of any release
    assert alone.published_rows["official"] == {}
    files = find_files(alone, "official", tmp_path / "1.2" / "test")
    assert [row["id"] for row in read_rows("official", "test", files)] == [
        "3",
        "4",
        "5",
    ]
    # The later test split can be built with the others or alone.
    tmp_path = write_twin(tmp_path / "later", seed=1, dev=1, test=1, test_2026=2)
    whole = source_at("official", tmp_path)
    assert whole.splits["official"] == ("dev", "test", "test_2026")
    assert whole.published_rows["official"] == {"dev": 20, "test": 100, "test_2026": 47}
    alone = source_at("official", tmp_path / "test-2026")
    assert alone.splits["official"] == ("test_2026",)
    for source, folder in ((whole, tmp_path), (alone, tmp_path / "test-2026")):
        files = find_files(source, "official", folder)
        assert [row["id"] for row in read_rows("official", "test_2026", files)] == [
            "3",
            "4",
        ]


def write_questions(folder: Path, *ids: str, **changes: str) -> Path:
    """A file as in the organizers' checkouts, without notes."""
    return write_cases(
        folder, *(case(id_, note="", numbered="", **changes) for id_ in ids)
    )


@pytest.mark.parametrize(
    "names",
    [("archehr-qa", "archehr-qa-2026"), ("archehr-qa-main", "archehr-qa-2026-main")],
)
def test_open_questions_are_found_from_every_folder_of_a_checkout(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    inner = {
        "dev": (names[0], "data", "dev"),
        "test_2026": (names[1], "data", "subtask_1", "test"),
    }
    write_questions(tmp_path.joinpath(*inner["dev"]), "1", "2")
    write_questions(
        tmp_path.joinpath(*inner["test_2026"]), "121", question="", clinician=""
    )
    mapping = [
        {"case_id": case_id, "document_id": "5_6", "document_source": "mimic-iv"}
        for case_id in ("1", "2")
    ]
    write_json(tmp_path.joinpath(*inner["dev"]), "mapping", mapping)
    folders: list[tuple[Path, tuple[str, ...]]] = [(tmp_path, ("dev", "test_2026"))]
    for split, parts in inner.items():
        folders += [
            (tmp_path.joinpath(*parts[:depth]), (split,))
            for depth in range(1, len(parts) + 1)
        ]
    assert len(folders) == 8
    for folder, splits in folders:
        source = source_at("questions", folder)
        assert (
            source.splits["questions"]
            == tuple(source.published_rows["questions"])
            == splits
        )
        files = find_files(source, "questions", folder)
        rows = {split: list(read_rows("questions", split, files)) for split in splits}
        assert all(
            list(row) == NAMES for split_rows in rows.values() for row in split_rows
        )
        if "dev" in rows:
            assert [(row["id"], row["source"]) for row in rows["dev"]] == [
                ("1", "mimic-iv"),
                ("2", "mimic-iv"),
            ]
            assert all(
                row["clinician_question"] and row["patient_question"]
                for row in rows["dev"]
            )
        if "test_2026" in rows:
            (row,) = rows["test_2026"]
            assert {name for name, value in row.items() if value} == {
                "id",
                "patient_narrative",
            }
        with pytest.raises(UsageError, match=r" as --config questions, or "):
            build_dataset(
                "archehr_qa", source=folder, config="official", out=tmp_path / "out"
            )


def test_a_release_is_refused_as_open_questions(tmp_path: Path) -> None:
    write_twin(tmp_path / "a" / "1.3", seed=1, dev=1, test=1)
    for folder in (
        tmp_path / "a",
        tmp_path / "a" / "1.3",
        tmp_path / "a" / "1.3" / "test",
    ):
        with pytest.raises(
            UsageError, match=r"PhysioNet's release[,.] .*Build it as --config official"
        ):
            source_at("questions", folder)
    for name in ("archehr-qa", "archehr-qa-main"):
        write_questions(tmp_path / "b" / name / "data" / "dev", "1")
    with pytest.raises(
        UsageError,
        match=r"has two files of the split dev: .*archehr-qa/.* and .*archehr-qa-main/",
    ):
        source_at("questions", tmp_path / "b")


def test_open_questions_have_items_of_the_question_task_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_questions(tmp_path, "121", "122", question="", clinician="")
    rows = list(read_rows("questions", "test_2026", {"test_2026": path}))
    refused = 0
    for task in TASKS:
        if task.name == "archehr_question":
            items = load_items(task, rows)
            assert [item.groups for item in items] == [{"source": "unknown"}] * 2
            assert (
                "note: archehr_question: 2 of the 2 cases lack a clinician's question"
                in capsys.readouterr().err
            )
            assert [gold_response(task, item) for item in items] == ["", ""]
            assert math.isnan(
                score_items(task, items, ["Why?", ""])[0].values["rougeLsum"]
            )
            continue
        with pytest.raises(
            UsageError,
            match=rf"{task.name}: none of the 2 cases has a (note|clinician).* --source FOLDER",
        ):
            load_items(task, rows)
        refused += 1
    assert refused == 7


def test_splits_can_be_added_to_one_set_of_items(tmp_path: Path) -> None:
    task = SUBTASK["alignment"]
    build_dataset("archehr_qa", source=None, config="demo", out=tmp_path / "archehr_qa")
    data_of_split = {
        split: load_task_data(task, DATASET, data=tmp_path, config="demo", split=split)
        for split in ("test", "test_2026")
    }
    whole = load_task_data(task, DATASET, data=tmp_path, config="demo")
    assert whole.items == [
        item for split_data in data_of_split.values() for item in split_data.items
    ]
    assert [item.id for item in whole.items] == [
        str(number) for number in range(21, 29)
    ]
    assert whole.revision["split"] == task.split == "test+test_2026"
    assert (
        load_task_data(
            task, DATASET, data=tmp_path, config="demo", split="test_2026 + test"
        )
        == whole
    )
    assert (
        len(
            {
                loaded.revision["rows_sha256"]
                for loaded in (whole, *data_of_split.values())
            }
        )
        == 3
    )
    # A release from before 2026, and one whose splits have cases in common.
    write_twin(tmp_path / "old", seed=1, dev=1, test=2)
    build_old = partial(
        build_dataset,
        "archehr_qa",
        source=tmp_path / "old",
        config="official",
        out=tmp_path / "archehr_qa",
        partial=True,
    )
    build_old()
    with pytest.raises(
        UsageError,
        match=r"split test_2026 is not built; it has dev, test. Use --split test, or",
    ):
        load_task_data(task, DATASET, data=tmp_path)
    shutil.copytree(tmp_path / "old" / "test", tmp_path / "old" / "test-2026")
    build_old()
    with pytest.raises(
        UsageError,
        match=r"2 ids are in more than one of the splits test\+test_2026 \(the first is 2\)",
    ):
        load_task_data(task, DATASET, data=tmp_path)


def test_a_split_without_a_key_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_twin(tmp_path, seed=1, dev=1, test=1)
    (tmp_path / "test" / KEY_FILE).rename(tmp_path / "test" / "archehr-qa_key (1).json")
    assert source_at("official", tmp_path).splits["official"] == ("dev", "test")
    message = f"note: {tmp_path / 'test'}: has no {KEY_FILE}, so that of answers to test only the form is scored\n"
    assert capsys.readouterr().err == message
    # The error for an empty folder lists the files.
    empty = tmp_path / "nothing"
    empty.mkdir()
    with pytest.raises(
        MissingError,
        match=r"lacks\n(.|\n)*dev/archehr-qa.xml(.|\n)*How to get ArchEHR-QA",
    ):
        find_files(source_at("official", empty), "official", empty)


WITHOUT: dict[str, dict[str, Any]] = {
    "key": {
        "relevance": [],
        "clinician_answer": "",
        "answer_sentences": [],
        "answer_citations": [],
    },
    "answers": {"clinician_answer": "", "answer_sentences": [], "answer_citations": []},
    "citations": {"answer_citations": []},
}


def test_every_task_has_items_of_the_demo_and_answer_tasks_need_no_gold() -> None:
    rows = demo()
    assert (len(TASKS), len(ANSWER_TASKS)) == (8, 4)
    for task in TASKS:
        items = load_items(task, rows)
        assert (
            [item.id for item in items]
            == [row["id"] for row in rows]
            == [str(number) for number in range(21, 27)]
        )
        assert [item.fields for item in items] == rows
        assert [(item.cluster, item.groups) for item in items] == [
            (row["id"], {"source": row["source"]}) for row in rows
        ]
        assert load_items(task, [{**rows[0], "source": ""}])[0].groups == {
            "source": "unknown"
        }
    for task in ANSWER_TASKS:
        assert (
            len(
                load_items(
                    task,
                    [{**rows[0], **empty_fields} for empty_fields in WITHOUT.values()],
                )
            )
            == 3
        )


@pytest.mark.parametrize(
    ("form", "missing", "note"),
    CASES["test_cases_without_gold_are_items_if_the_task_can_ask_them"],
)
def test_cases_without_gold_are_items_if_the_task_can_ask_them(
    form: str, missing: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    task = SUBTASK[form]
    first, second = demo()[:2]
    incomplete = {**first, **WITHOUT[missing]}
    has_item = not note.endswith("not asked")
    assert [item.id for item in load_items(task, [incomplete, second])] == (
        ["21", "22"] if has_item else ["22"]
    )
    assert capsys.readouterr().err == (
        f"note: {task.name}: 1 of the 2 cases {note}\n" if note else ""
    )
    if not has_item:
        with pytest.raises(
            UsageError,
            match=rf"{task.name}: none of the 2 cases has .*, which it asks about\. ",
        ):
            load_items(task, [incomplete, incomplete])
