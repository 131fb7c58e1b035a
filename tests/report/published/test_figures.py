"""Published figures: their tasks, metrics and groups exist, and values are within their limits."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from medical_tasks.benchmarks.medcalc_bench.data import CATEGORIES
from medical_tasks.catalog import dataset_spec, tasks
from medical_tasks.report.published.figures import (
    PublishedResult,
    all_published,
    published_results,
    read_figures,
)
from tests.case_tables import json_of, tables
from tests.support import ROOT

CASES: dict[str, Any] = tables(__file__, "figures")
ROWS: dict[str, int] = CASES["rows"]  # of each table
FILE: dict[str, Any] = CASES["file"]  # a small file of figures
TEAMS = {source for source in ROWS if source.endswith(", teams")}
GROUPS = {"category": set(CATEGORIES)}


def figures(result: PublishedResult) -> list[tuple[str, float]]:
    """All values of a result with their metrics, those of groups too."""
    of_groups = [
        item
        for groups in result.breakdown.values()
        for metrics in groups.values()
        for item in metrics.items()
    ]
    return [*result.metrics.items(), *of_groups]


def test_row_counts_match_the_tables() -> None:
    assert Counter(result.source for result in all_published()) == ROWS
    assert sum(ROWS.values()) == 291
    assert sum(len(figures(result)) for result in all_published()) == 979


def test_tasks_metrics_groups_and_limits_are_those_of_the_catalogue() -> None:
    catalogue = tasks()
    assert [
        result.task for result in all_published() if result.task not in catalogue
    ] == []
    for result in all_published():
        task = catalogue[result.task]
        metrics = {metric.name: metric for metric in task.metrics}
        for name, value in figures(result):
            low, high = metrics[name].limits
            assert math.isfinite(value)
            assert low <= value <= high
        assert set(result.breakdown) <= set(task.groups)
        assert set() < set(result.configs) < set(dataset_spec(task.dataset).configs)
        for by, groups in result.breakdown.items():
            assert set(groups) == GROUPS[by]
        # A metric beside another is the other one by the authors' rules: same
        # direction, same unit, and ours comes first.
        for official, own in result.beside.items():
            assert official in result.metrics
            assert official.endswith("_official")
            assert metrics[own].higher_is_better == metrics[official].higher_is_better
            assert metrics[own].unit == metrics[official].unit
        if task.judge and result.judge == "":
            assert not any(metrics[name].judged for name in result.metrics)


def test_every_headline_that_is_published_is_found_from_the_headline_metric() -> None:
    """A board that shows a task's first metric finds the papers' figure for it, where they have one.

    Teams may give the overall score alone.
    """
    without = {
        result.source
        for result in all_published()
        if tasks()[result.task].metrics[0].name
        not in {*result.metrics, *result.beside.values()}
    }
    # Tables of text metrics alone.
    text_metrics = {f"DocLens, table {number}" for number in (20, 28, 32)} | {
        "EHRNoteQA, table 15 (text metrics)"
    }
    assert without - TEAMS == text_metrics


def test_each_row_names_its_source_and_differences() -> None:
    for result in all_published():
        if result.source not in TEAMS:
            assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", result.link)
            assert result.link == tasks()[result.task].benchmark.paper
        assert result.link.startswith("https://")
        assert result.differences
        assert all(sentence.endswith(".") for sentence in result.differences)
        assert len(set(result.differences)) == len(result.differences)


def test_a_tasks_results_are_its_own_and_unpublished_tasks_have_none() -> None:
    assert [result.model for result in published_results("kqa_icl_rag")] == [
        "GPT-3.5",
        "GPT-4",
    ]
    assert published_results("medcalc_open_book") == ()
    assert published_results("no such task") == ()
    assert sum(len(published_results(name)) for name in tasks()) == len(all_published())


def test_the_overall_scores_of_teams_are_the_means_of_their_parts() -> None:
    """Where a team gives all parts; 2025's overall is of factuality and the mean of six, 2026's the mean of the subtask's."""
    all_six = ("bleu", "rougeLsum", "sari", "bertscore", "alignscore", "medcon")
    parts = {
        "archehr_together": all_six,
        "archehr_question": ("rougeLsum", "bertscore", "alignscore", "medcon"),
        "archehr_answer": all_six,
    }
    checked = 0
    for result in all_published():
        names = [f"{name}_official" for name in parts.get(result.task, ())]
        if result.source in TEAMS and names and set(names) < set(result.metrics):
            checked += 1
            mean = sum(result.metrics[name] for name in names) / len(names)
            if result.task == "archehr_together":
                mean = (mean + result.metrics["factuality_official"]) / 2
            assert abs(mean - result.metrics["overall_score_official"]) < 0.0006
    assert checked == 3


def test_counts_in_the_document_are_right() -> None:
    text = (ROOT / "docs" / "published_results.md").read_text(encoding="utf-8")
    values = sum(len(figures(result)) for result in all_published())
    assert f"Together {sum(ROWS.values())} rows and {values} figures." in text


def test_a_row_is_read_with_the_attributes_of_its_table() -> None:
    first, second = read_figures(FILE)
    assert (first.model, first.setting, first.task) == ("M", "7B", "t")
    assert (first.source, first.link, first.judge) == (
        "Paper, table 1",
        "https://example.org/1",
        "Somebody",
    )
    assert first.metrics == {"accuracy_official": 0.1234}
    assert first.breakdown == {"kind": {"a": {"accuracy_official": 1.0}}}
    assert first.beside == {"accuracy_official": "accuracy"}
    assert first.differences == ("It was asked otherwise.", "It was counted otherwise.")
    assert (first.n_items, second.n_items) == (10, None)
    assert second.metrics == {"accuracy_official": 0.0, "bleu": 0.0589}
    assert (second.setting, second.breakdown) == ("", {})


def test_the_file_has_no_duplicates_and_no_unused_entries() -> None:
    content = json_of(ROOT / "medical_tasks" / "report" / "published" / "figures.json")
    rows = [(table, row) for table in content["tables"] for row in table["rows"]]
    keys = [
        (table["source"], row["task"], row["model"], row.get("setting", ""))
        for table, row in rows
    ]
    assert len(keys) == len(set(keys)) == 291
    used = {
        key
        for table, row in rows
        for key in (*table.get("differences", ()), *row.get("differences", ()))
    }
    assert used == set(content["differences"])
    for table in content["tables"]:
        columns = [
            (column["metric"], column.get("by"), column.get("group"))
            for column in table["columns"]
        ]
        assert len(columns) == len(set(columns))
        assert set(table) <= {
            *"source link configs judge n_items differences beside columns rows".split()
        }
    assert all(
        set(row) <= {*"task model setting link values differences n_items".split()}
        for _, row in rows
    )
