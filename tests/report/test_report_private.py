"""Credentialed data: no text of a note, question, answer or judge gets into a report, not even from unredacted files."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leak_sources import source_rows
from medical_tasks.guard.leakcheck import words_of
from medical_tasks.leaderboard.export import export_formats
from medical_tasks.report.collect import report_data
from medical_tasks.report.markdown import render_report
from medical_tasks.report.page import render_page
from medical_tasks.report.texts import TextPlaces
from medical_tasks.runs.results import read_items
from tests.case_tables import json_of
from tests.report.tiny_runs import ran
from tests.support import write_run

TASKS = "ehrnoteqa_open_level1,ehrnoteqa_open_level2,mimic_rrs,archehr_together,medcalc"
CREDENTIALED = ("ehrnoteqa", "mimic_rrs", "archehr_qa")


@pytest.fixture(scope="module")
def run(demos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDICAL_TASKS_HOME", str(tmp_path_factory.mktemp("private")))
        out = tmp_path_factory.mktemp("runs") / "run"
        return ran(
            demos,
            out,
            TASKS,
            "baseline/reference",
            ("--judge", "lexical", "--judging", "single"),
        )


def runs_of_words(text: str) -> set[tuple[bytes, ...]]:
    words = words_of(text)
    return {tuple(words[start : start + 12]) for start in range(len(words) - 11)}


def leaks(text: str, demos: Path, *datasets: str) -> int:
    """Counts the runs of 12 words of the sources in a text, as it is and as a browser reads it."""
    files = [file for name in datasets for file in source_files(str(demos / name))]
    texts = [
        passage for file in files for row in source_rows(file) for passage in row.texts
    ]
    assert len(texts) >= 10
    source = set().union(*map(runs_of_words, texts))
    assert len(source) > 500
    return len(source & (runs_of_words(text) | runs_of_words(html.unescape(text))))


def test_no_twelve_words_of_the_source_are_in_a_report(
    demos: Path, run: Path, tmp_path: Path
) -> None:
    assert (
        main(["report", str(run), "--data", str(demos), "--out", str(tmp_path / "out")])
        == 0
    )
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == ["report.html", "report.md"]
    for path in written:
        assert leaks(path.read_text(), demos, *CREDENTIALED) == 0
    # The same check finds the texts of open data.
    page = render_page(
        report_data(
            [ran(demos, tmp_path / "open", "medcalc", "baseline/reference")],
            TextPlaces(data=demos),
        )
    )
    assert leaks(page, demos, "medcalc_bench") > 1000


def exported(run: Path, demos: Path, out: Path) -> dict[str, str]:
    """Every file of every form that a run can be exported in."""
    pytest.importorskip("inspect_ai")
    for form in export_formats():
        assert (
            main(
                [
                    "export",
                    str(run),
                    "--data",
                    str(demos),
                    "--to",
                    form,
                    "--out",
                    str(out / form),
                ]
            )
            == 0
        )
    files = {
        str(path.relative_to(out)): path.read_text()
        for path in out.rglob("*")
        if path.is_file()
    }
    assert {name.partition("/")[0] for name in files} == set(export_formats())
    return files


def test_no_export_has_words_of_the_source(
    demos: Path, run: Path, tmp_path: Path
) -> None:
    files = exported(run, demos, tmp_path)
    assert sum(leaks(text, demos, *CREDENTIALED) for text in files.values()) == 0
    ids = {row["id"] for row in read_items(run)}
    items = list(csv.DictReader(io.StringIO(files["csv/items.csv"])))
    assert {row["id"] for row in items} == ids
    assert not any(
        row[name] for row in items for name in ("question", "answer", "gold")
    )
    assert all(re.fullmatch("[0-9a-f]{64}", row["response_sha256"]) for row in items)


def test_items_of_credentialed_data_have_ids_scores_and_hashes(
    demos: Path, run: Path
) -> None:
    data = report_data([run], TextPlaces(data=demos))
    rows = {(row["task"], row["id"]): row for row in read_items(run)}
    assert len(data.tasks) == 5
    for task in data.tasks:
        spec = dataset_spec(task_spec(task.name).dataset)
        assert task.access == spec.access
        assert "credentialed" in task.texts
        assert task.items
        for item in task.items:
            assert (item.question, item.answer, item.gold) == ("", "", "")
            assert (
                item.answer_sha256 == rows[task.name, item.id]["response_sha256"] != ""
            )
            assert not any(verdict.text for verdict in item.verdicts)
    assert any(item.verdicts for task in data.tasks for item in task.items)
    # numbers that hold no text
    assert any(item.parsed for task in data.tasks for item in task.items)
    plots = {task.name: task.plots for task in data.tasks}
    # MedCalc-Bench's own data are open, so their attributes can be counted; only this
    # run's texts are kept back.
    assert len(plots["medcalc"]) == 2


def test_unredacted_files_of_a_run_reveal_nothing(
    demos: Path, run: Path, tmp_path: Path
) -> None:
    """items.parquet, verdicts.jsonl and results.json hold text of the patient."""
    secret = "the old fisherman complained of a burning pain behind his left ear since the wedding of his niece"
    folder = tmp_path / "forged"
    rows = [
        {
            **row,
            **dict.fromkeys(("parsed", "why", "sources", "response_sha256"), secret),
            "unscored": f"judge: {secret}",
        }
        for row in read_items(run)
        if row["task"] == "ehrnoteqa_open_level1"
    ]
    assert len(rows) == 8
    results: dict[str, Any] = json_of(run / "results.json")
    entry = results["tasks"]["ehrnoteqa_open_level1"]
    entry["coverage"]["unscored"] = {
        f"no answer: {secret}": 1,
        f"judge: {secret}": 2,
        secret: 3,
    }
    entry["judge"]["verdicts"]["unscored"] = {f"judge: {secret}": 1}
    results["tasks"] = {"ehrnoteqa_open_level1": entry}
    line = {
        "task": "ehrnoteqa_open_level1",
        "id": f"{rows[0]['id']}/open",
        "value": secret,
        "text": secret,
    }
    write_run(
        folder,
        results,
        rows,
        verdicts=[{**line, "votes": [secret, secret], "unscored": f"judge: {secret}"}],
    )
    assert (
        file_sha256(folder / "items.parquet")
        == json_of(folder / "results.json")["items_sha256"]
    )
    data = report_data([folder], TextPlaces(data=demos))
    (task,) = data.tasks
    assert {item.answer_sha256 for item in task.items} == {""}
    assert task.entry["coverage"]["unscored"] == {
        "judge: other": 2,
        "no answer: other": 1,
        "other": 3,
    }
    assert task.items[0].verdicts[0].unscored == "judge: other"
    files = exported(folder, demos, tmp_path / "exported").values()
    for text in (
        json.dumps(asdict(data)),
        render_page(data),
        render_report(data),
        *files,
    ):
        assert "fisherman" not in text
        assert "niece" not in text
