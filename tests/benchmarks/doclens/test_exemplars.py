"""Which worked examples are drawn: by ids alone, one or two of each kind of report, never too few."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.data import MEQSUM_SOURCE, read_aci_rows, read_meqsum_rows
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.prompts import KINDS, draw_exemplars
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.errors import MissingError
from medical_tasks.spec import TaskSpec
from tests.benchmarks.doclens.task_items import BY_NAME, exemplar_rows, report, reports
from tests.benchmarks.doclens.task_items import KINDS as NAMES
from tests.support import SHARED, needs_shared

WITH_EXAMPLES = [task for task in TASKS if task.exemplars]


def ids(name: str, rows: list[dict[str, object]] | None = None) -> list[str]:
    drawn = draw_exemplars(BY_NAME[name], exemplar_rows(BY_NAME[name]) if rows is None else rows)
    return [item.id for items in drawn.values() for item in items]


def test_each_task_gets_as_many_as_it_says() -> None:
    assert [task.options["shots"] for task in WITH_EXAMPLES] == ["1", "2", "1", "2", "6", "12", "1", "2"]
    for task in WITH_EXAMPLES:
        drawn = draw_exemplars(task, exemplar_rows(task))
        assert list(drawn) == (list(SECTIONS) if task.options["form"] == "section" else [""])
        for section, items in drawn.items():
            assert len({item.id for item in items}) == int(task.options["shots"])
            assert all(item.fields["reference"].strip() for item in items)
            assert not section or all(item.groups["section"] == section for item in items)


@pytest.mark.parametrize("task", WITH_EXAMPLES, ids=lambda task: task.name)
def test_the_order_of_the_rows_does_not_matter(task: TaskSpec) -> None:
    name, rows = task.name, exemplar_rows(task)
    for seed in range(5):
        mixed = random.Random(seed).sample(rows, len(rows))
        assert ids(name, mixed) == ids(name)


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        ("aci_bench_one_shot", "aci_bench_two_shot"),
        ("meqsum_one_shot", "meqsum_two_shot"),
        ("mimic_rrs_six_shot", "mimic_rrs_twelve_shot"),
    ],
)
def test_fewer_are_the_first_of_more(fewer: str, more: str) -> None:
    assert ids(more)[: len(ids(fewer))] == ids(fewer)


def test_the_draw_is_pinned() -> None:
    assert ids("aci_bench_two_shot") == ["DEMO002", "DEMO001"]
    assert ids("meqsum_two_shot") == ["3", "1"]
    assert ids("mimic_rrs_six_shot") == ["101", "110", "122", "132", "141", "151"]


def test_reports_are_of_six_kinds_alike() -> None:
    for name, each in (("mimic_rrs_six_shot", 1), ("mimic_rrs_twelve_shot", 2)):
        items = draw_exemplars(BY_NAME[name], reports("train"))[""]
        kinds = [(item.groups["modality"], item.groups["anatomy"]) for item in items]
        assert Counter(kinds) == dict.fromkeys(NAMES, each)
        assert kinds == list(NAMES) * each
    # A seventh kind, which has fewer rows, takes no part; one that has more takes the place of the last by name.
    rare, often = [report(1, "MR", "neck")], [report(n, "CT", "aorta") for n in range(4)]
    assert ids("mimic_rrs_six_shot", [*reports("train"), *rare]) == ids("mimic_rrs_six_shot")
    items = draw_exemplars(BY_NAME["mimic_rrs_six_shot"], [*reports("train"), *often])[""]
    assert [item.groups["anatomy"] for item in items] == ["aorta", "abdomen", "chest", "head", "spine", "head"]
    assert len(NAMES) == KINDS


def test_visits_lacking_a_section_are_no_examples_of_sections() -> None:
    rows = [
        row | {"objective_results": " "} if row["id"] == "DEMO002" else row
        for row in exemplar_rows(BY_NAME["aci_bench_one_shot"])
    ]
    assert ids("aci_bench_section_one_shot", rows) == [f"DEMO001/{section}" for section in SECTIONS]
    assert ids("aci_bench_one_shot", rows) == ["DEMO002"]
    with pytest.raises(
        MissingError,
        match="2 worked examples whose note has all four sections are needed, split train of aci_bench has 1",
    ):
        ids("aci_bench_section_two_shot", rows)


@pytest.mark.parametrize("task", WITH_EXAMPLES, ids=lambda task: task.name)
def test_too_few_rows_say_what_to_do(task: TaskSpec) -> None:
    name, family = task.name, task.options["family"]
    expected = (
        rf"{name}: .*split {task.exemplars} of .* has 0\. Build .* again .*medical-tasks build .*"
        rf"use {family}, which shows no examples"
    )
    with pytest.raises(MissingError, match=expected):
        ids(name, [])
    # What has no reference is no example.
    column = {"meqsum": "summary", "mimic_rrs": "impression"}.get(family, "note")
    blank = [row | dict.fromkeys((column, *SECTIONS), "\n") for row in exemplar_rows(task)]
    with pytest.raises(MissingError, match=expected):
        ids(name, blank)


def test_a_kind_with_too_few_reports() -> None:
    rows = [row for row in reports("train") if row["id"] not in ("140", "141")]
    with pytest.raises(
        MissingError, match="2 worked examples of kind MR head are needed, split train of mimic_rrs has 1"
    ):
        ids("mimic_rrs_twelve_shot", rows)
    with pytest.raises(
        MissingError, match=r"of 6 kinds of reports \(modality and anatomy\), split train of mimic_rrs has 5"
    ):
        ids("mimic_rrs_six_shot", [row for row in rows if row["id"] != "142"])


@needs_shared
@pytest.mark.upstream
def test_the_examples_of_the_release() -> None:
    """Ids of the released files, which are public."""
    train: Path = SHARED / "data" / "aci_bench" / "challenge_data" / "train.csv"
    visits = list(read_aci_rows("doclens", "train", {"train": train}))
    assert len(visits) == 67
    assert ids("aci_bench_two_shot", visits) == ["D2N006", "D2N008"]
    assert ids("aci_bench_section_one_shot", visits) == [f"D2N006/{section}" for section in SECTIONS]
    name = MEQSUM_SOURCE.files["full"]["validation"].places[0].rpartition("/")[2]
    questions = list(read_meqsum_rows("full", "validation", {"validation": SHARED / "data" / "meqsum" / name}))
    assert len(questions) == 50
    assert ids("meqsum_two_shot", questions) == ["37", "62"]
