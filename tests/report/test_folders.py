"""The folders of a report: runs that are read, and where a report is written."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.report.folders import (
    MARK,
    check_answers,
    read_run,
    report_places,
    short_names,
    without_repeats,
    write_report,
)
from tests.case_tables import json_of, tabled
from tests.support import write_run


def entry() -> dict[str, Any]:
    value = {
        "value": 0.5,
        "ci_low": 0.1,
        "ci_high": 0.9,
        "n": 2,
        "bound_low": 0.5,
        "bound_high": None,
    }
    return {
        "n_items": 2,
        "metrics": {"accuracy": value},
        "coverage": {"asked": 2, "answered": 2, "scored": 2, "unscored": {}},
        "breakdown": {"kind": {"a": {"accuracy": dict(value)}}},
        "recipe": {"model": {"name": "baseline/x"}},
    }


def written(folder: Path, tasks: dict[str, Any]) -> Path:
    rows = [
        {"task": "toy", "id": name, "cluster": name, "accuracy": 1.0}
        for name in ("1", "2")
    ]
    write_run(
        folder,
        {"schema_version": 1, "tasks": tasks},
        rows,
        verdicts=[{"task": "toy", "id": "1/a", "value": True}],
    )
    return folder


def test_a_run_is_read_by_task(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "r", {"toy": entry()}))
    assert [row["id"] for row in run.rows["toy"]] == ["1", "2"]
    assert [line["id"] for line in run.verdicts["toy"]] == ["1/a"]
    assert read_run(tmp_path / "r", items=False).verdicts == {}


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        # The value "-" deletes the field.
        ("metrics", "-", "toy: metrics: is missing"),
        ("recipe.model", "-", "toy: recipe, model: is missing"),
        ("coverage.scored", "-", "toy: coverage, scored: is missing"),
        ("cut_at_length", "x", "toy: cut_at_length: must be a valid integer, got 'x'"),
        ("judge", [1], "toy: judge: must be an object"),
        ("judge", {"name": "lexical"}, "toy: judge, check: is missing"),
        (
            "shortened",
            2,
            "toy: has shortened questions, and its recipe has no truncation, .*",
        ),
        ("metrics.accuracy.ci_low", "-", "toy: metrics, accuracy, ci_low: is missing"),
        (
            "metrics.accuracy.value",
            "high",
            "toy: metrics, accuracy, value: must be a number, got 'high'",
        ),
        (
            "metrics.accuracy.value",
            math.nan,
            "toy: metrics, accuracy, value: must be a number, got nan",
        ),
        ("breakdown.kind", 3, "toy: breakdown, kind: must be an object"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_file(
    tmp_path: Path, path: str, value: Any, reason: str
) -> None:
    folder = written(tmp_path / "r", {"toy": entry()})
    file = folder / "results.json"
    results = json_of(file)
    *above, last = path.split(".")
    parent = functools.reduce(dict.__getitem__, above, results["tasks"]["toy"])
    parent[last] = value
    if value == "-":
        del parent[last]
    file.write_text(json.dumps(results))
    with pytest.raises(
        UsageError,
        match=rf"results\.json: damaged \({reason}\)\. Give the run's command again",
    ):
        read_run(folder)


def test_folders_without_run_or_task_or_with_other_items_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(MissingError, match="Give the folder that `medical-tasks run`"):
        read_run(tmp_path)
    with pytest.raises(UsageError, match="it has no task"):
        read_run(written(tmp_path / "none", {}))
    folder = written(tmp_path / "r", {"toy": entry()})
    (folder / "items.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="not of the same run"):
        read_run(folder)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"task": "toy", "id"', "line 1 is not JSON"),
        (b'{"task": "toy", "id": "1/a"}\n[]\n', "line 2 is no verdict"),
        (b'{"task": "toy", "id": 1}\n', "line 1 is no verdict"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b"\xff\n", "it is not UTF-8 text"),
    ],
)
def test_damaged_verdicts(tmp_path: Path, content: bytes, reason: str) -> None:
    folder = written(tmp_path / "r", {"toy": entry()})
    (folder / "verdicts.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match=rf"verdicts\.jsonl: damaged \({reason}\)"):
        read_run(folder)


def test_names_are_as_short_as_possible_and_distinct(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a/run", "b/run", "other", "x/b/run")]
    assert short_names(folders) == [
        "a/run",
        f"{tmp_path.name}/b/run",
        "other",
        "x/b/run",
    ]
    assert short_names([tmp_path / "a" / ".." / "run"]) == ["run"]
    assert short_names([Path("/")]) == ["/"]


def test_a_folder_that_is_given_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    folders = [
        tmp_path / "run",
        tmp_path / "other",
        tmp_path / "x" / ".." / "run",
        tmp_path / "link",
    ]
    assert without_repeats(folders) == (folders[:2], folders[2:])


@tabled("runs", "out", "file_format", "files")
def test_paths_of_the_written_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: int,
    out: str | None,
    file_format: str | None,
    files: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.html").mkdir()
    folders = [Path(f"run{number}") for number in range(runs)]
    places = report_places(folders, Path(out) if out else None, file_format)
    assert [str(path) for path in places.values()] == files


@tabled("out", "file_format", "message")
def test_a_suffix_and_a_format_must_agree(
    tmp_path: Path, out: str, file_format: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        report_places([tmp_path], tmp_path / out, file_format)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!DOCTYPE html>\n<p>mine",
        b"# Results\nmine",
        b"\xff\xfe",
        b" " + MARK.encode(),
    ],
)
def test_only_a_report_is_overwritten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "report.html").write_bytes(content)
    with pytest.raises(
        UsageError, match=r"report\.html: exists and is not a report of this suite"
    ):
        report_places([tmp_path], None, None)
    assert (tmp_path / "report.html").read_bytes() == content
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(UsageError, match="exists and cannot be read"):
        report_places([tmp_path], None, "html")


def test_reports_are_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# Results\n\n## medcalc\n")  # of `run`
    for text in ("one", "two"):
        for path in report_places([tmp_path], None, None).values():
            write_report(path, text)
    assert (tmp_path / "report.html").read_text() == f"{MARK}\ntwo"
    assert (tmp_path / "report.md").read_text() == f"{MARK}\ntwo"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_page_with_answers_is_not_overwritten_by_one_without(
    tmp_path: Path,
) -> None:
    page = tmp_path / "report.html"
    check_answers(page, 0)  # nothing is there yet
    write_report(page, "first", answers=31)
    check_answers(page, 1)
    with pytest.raises(
        UsageError,
        match=r"report\.html: this report has 31 answers, and the new one would have "
        r"none\. Give --responses",
    ):
        check_answers(page, 0)
    assert page.read_text() == f"{MARK}\n<!-- answers: 31 -->\nfirst"
    write_report(page, "second")
    check_answers(page, 0)
