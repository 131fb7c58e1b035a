"""Rows as items: ids, groups, clusters and the same fields in every form."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.data import load_items, read_aci_rows
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, numbered_dialogue
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.task_items import BY_NAME, demo_rows, items_of, report
from tests.support import SHARED, needs_shared

FIELDS = {"form", "sentences", "reference"}


def test_every_task_has_the_items_that_it_says() -> None:
    assert len(TASKS) == 13
    for task in TASKS:
        items = load_items(task, demo_rows(task, task.split))
        assert items
        assert len({item.id for item in items}) == len(items)
        for item in items:
            assert set(item.fields) == (FIELDS | {"sections"} if task.options["form"] == "note" else FIELDS)
            assert item.fields["form"] == task.options["form"]
            assert item.fields["sentences"]
            assert all(isinstance(each, str) for each in item.fields["sentences"])
            assert set(item.groups) == set(task.groups)
            assert task.cluster or item.cluster == item.id


def test_a_note() -> None:
    row = demo_rows(BY_NAME["aci_bench"], "test1")[0]
    (item,) = load_items(BY_NAME["aci_bench"], [row])
    assert (item.id, item.cluster, item.groups) == (row["id"], row["id"], {"dataset": row["dataset"]})
    assert item.fields["sentences"] == row["turns"]
    assert item.fields["reference"] == row["note"]
    assert item.fields["sections"] == {section: row[section] for section in SECTIONS}
    assert "".join(item.fields["sections"].values()) == row["note"]


def test_the_sections_of_a_visit() -> None:
    row = demo_rows(BY_NAME["aci_bench"], "test1")[0] | {"objective_results": ""}
    items = load_items(BY_NAME["aci_bench_section"], [row])
    assert [item.id for item in items] == [f"{row['id']}/{section}" for section in SECTIONS]
    assert [item.groups["section"] for item in items] == list(SECTIONS)
    assert {item.cluster for item in items} == {row["id"]}
    assert [item.fields["reference"] for item in items] == [row[section] for section in SECTIONS]
    assert items[2].fields["reference"] == ""


def test_a_report() -> None:
    row = report(7, "MR", "spine", patient="p1")
    (item,) = load_items(BY_NAME["mimic_rrs_six_shot"], [row])
    assert (item.id, item.cluster, item.groups) == ("7", "p1", {"modality": "MR", "anatomy": "spine"})
    assert item.fields == {"form": "impression", "sentences": row["sentences"], "reference": row["impression"]}


def test_a_question_and_a_text_of_ones_own() -> None:
    question = items_of("meqsum")[0]
    row = demo_rows(BY_NAME["meqsum"], "test")[0]
    assert question.fields == {"form": "question", "sentences": row["sentences"], "reference": row["summary"]}
    text = items_of("doclens_own")[0]
    assert text.id == "a"
    assert text.fields["sentences"] == ["Seen for gout.", "Uric acid is 9.", "Allopurinol was started."]
    assert text.fields["reference"] == "Gout. Allopurinol started."


@pytest.mark.parametrize("name", ["aci_bench", "aci_bench_section", "mimic_rrs", "meqsum", "doclens_own"])
def test_an_id_that_stands_twice(name: str) -> None:
    row = demo_rows(BY_NAME[name], BY_NAME[name].split)[0]
    with pytest.raises(UsageError, match=f"{name}: two rows of the built dataset have the same id. Build it again"):
        load_items(BY_NAME[name], [row, row])


@needs_shared
@pytest.mark.upstream
def test_the_forty_visits_have_the_numbered_input_of_doclens() -> None:
    path = SHARED / "data" / "aci_bench" / "challenge_data" / "clinicalnlp_taskB_test1.csv"
    items = load_items(BY_NAME["aci_bench"], list(read_aci_rows("doclens", "test1", {"test1": path})))
    file: Path = SHARED / "data" / "doclens" / "ACI-Bench-TestSet-1_clean.json"
    released = {row["example_id"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    assert len(items) == len(released) == 40
    for item in items:
        assert numbered_dialogue(item.fields["sentences"]) == released[item.id]["input"]
    with path.open(encoding="utf-8", newline="") as lines:
        assert [row["encounter_id"] for row in csv.DictReader(lines)] == [item.id for item in items]
