"""`--json`: a single JSON value on standard output, of every verb and also of errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.models.opener import full_name
from medical_tasks.runs.results import read_results
from tests.case_tables import tabled


@pytest.fixture
def run_json(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(line: str, code: int = 0) -> Any:
        assert main([*line.split(), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return run


def test_the_way_from_data_to_a_verified_package(
    run_json: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    build = run_json("build kqa --config demo")
    assert (build["config"], build["rows"]) == ("demo", 13)
    assert build["splits"] == {"test": 13}
    run = run_json("run --tasks kqa --config demo --model baseline/reference --out a")
    assert run["tasks"] == read_results(Path("a"))["tasks"]
    assert (run["folder"], run["report"]) == ("a", "a/report.md")
    run_json("run --tasks kqa --config demo --model baseline/empty --out b")
    assert run_json("compare a b")["kqa"]["n_items"] == 13
    assert run_json("report a b --out r.html") == {"html": "r.html"}
    assert (
        run_json("submit a --to space --allow-partial --model-name m --out m.zip")[
            "file"
        ]
        == "m.zip"
    )
    assert {check["outcome"] for check in run_json("verify m.zip")["checks"]} == {
        "match"
    }
    assert run_json("leakcheck a --source kqa")["found"] == {}
    assert run_json("calc cha2ds2_vasc age=72 sex=female")["answer"] == 2
    assert main(["doctor", "--json"]) in {0, 3}  # by what is installed here
    findings = json.loads(capsys.readouterr().out)
    assert {"subject", "level", "text"} == set(findings[0])


def test_errors_are_json_too(run_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "medcal", "--responses", "x", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "error": captured.err.removeprefix("error: ").rstrip("\n"),
        "exit_code": 2,
    }
    # Finished but incomplete: the results and the reason.
    run_json("build medcalc_bench --config demo")
    first = run_json(
        "run --tasks medcalc --config demo --model baseline/reference --out a"
    )["tasks"]["medcalc"]
    none = {"id": "1", "response": None}
    Path("none.jsonl").write_text(json.dumps(none), encoding="utf-8")
    scored = run_json(
        "score medcalc --config demo --responses none.jsonl --out b", code=5
    )
    assert scored["exit_code"] == 5
    assert "not every item is scored" in scored["error"]
    assert scored["tasks"]["medcalc"]["coverage"]["asked"] == first["coverage"]["asked"]


@tabled("name", "full")
def test_model_names_of_other_harnesses_are_accepted(name: str, full: str) -> None:
    Path("checkpoint").mkdir()
    Path("checkpoint/config.json").write_text("{}", encoding="utf-8")
    assert full_name(name) == full
