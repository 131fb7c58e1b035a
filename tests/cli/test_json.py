"""`--json`: one JSON value on standard output, whatever a verb says to people, and whatever goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.runs.results import read_results
from tests.case_tables import tabled


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def give(line: str, code: int = 0) -> Any:
        assert main([*line.split(), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return give


def test_the_way_from_data_to_a_verified_package(
    said: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    built = said("build kqa --config demo")
    assert (built["config"], built["rows"], built["splits"]) == (
        "demo",
        13,
        {"test": 13},
    )
    done = said("run --tasks kqa --config demo --model baseline/reference --out a")
    assert done["tasks"] == read_results(Path("a"))["tasks"]
    assert (done["folder"], done["report"]) == ("a", "a/report.md")
    said("run --tasks kqa --config demo --model baseline/empty --out b")
    assert said("compare a b")["kqa"]["n_items"] == 13
    assert said("report a b --out r.html") == {"html": "r.html"}
    assert (
        said("submit a --to space --allow-partial --model-name m --out m.zip")["file"]
        == "m.zip"
    )
    assert {each["outcome"] for each in said("verify m.zip")["checks"]} == {"match"}
    assert said("leakcheck a --source kqa")["found"] == {}
    assert said("calc cha2ds2_vasc age=72 sex=female")["answer"] == 2
    assert main(["doctor", "--json"]) in {0, 3}  # by what is installed here
    findings = json.loads(capsys.readouterr().out)
    assert {"subject", "level", "text"} == set(findings[0])


def test_what_goes_wrong_is_in_it_too(
    said: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "medcal", "--responses", "x", "--json"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "error": told.err.removeprefix("error: ").rstrip("\n"),
        "exit_code": 2,
    }
    # Finished but incomplete: the results are there, and the reason beside them.
    said("build medcalc_bench --config demo")
    first = said(
        "run --tasks medcalc --config demo --model baseline/reference --out a"
    )["tasks"]["medcalc"]
    none = {"id": "1", "response": None}
    Path("none.jsonl").write_text(json.dumps(none), encoding="utf-8")
    made = said("score medcalc --config demo --responses none.jsonl --out b", code=5)
    assert made["exit_code"] == 5
    assert "not every item is scored" in made["error"]
    assert made["tasks"]["medcalc"]["coverage"]["asked"] == first["coverage"]["asked"]


@tabled("given", "meant")
def test_the_names_that_other_harnesses_take(given: str, meant: str, said: Any) -> None:
    from medical_tasks.models.opener import full_name

    Path("checkpoint").mkdir()
    Path("checkpoint/config.json").write_text("{}", encoding="utf-8")
    assert full_name(given) == meant
