from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.declarations import DATASET
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.data.task_data import load_task_data
from medical_tasks.runs.results import read_items
from tests.case_tables import json_of
from tests.fault_server import Call, FaultServer
from tests.report.tiny_runs import ran

pytestmark = pytest.mark.usefixtures("here")

VERDICT = '{"error_type": "C", "reason": "Wrong sum."}'


def answer(call: Call) -> str:
    if "You check medical calculations" in str(call.body["messages"][0]["content"]):
        return (
            "cannot say"
            if "body mass index" in str(call.body["messages"][0]["content"]).lower()
            else VERDICT
        )
    return json.dumps({"step_by_step_thinking": "Nothing to show.", "answer": "77777"})


def read_errors(folder: Path) -> dict[str, Any]:
    report = json_of(folder / "errors.json")
    assert report["schema_version"] == 2
    return dict(report["tasks"])


def read_error_items(folder: Path) -> list[dict[str, str]]:
    with (folder / "error_items.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_of_a_model(
    demos: Path, tmp_path: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ran(demos, tmp_path / "run", "medcalc", "openai-api/test-host/m")
    calls_before = len(server.calls)
    before = (folder / "answers.sqlite").stat().st_size
    assert main(["errors", str(folder), "--data", str(demos)]) == 0
    assert len(server.calls) == calls_before  # the answers come from the store
    assert (folder / "answers.sqlite").stat().st_size == before
    (entry,) = read_errors(folder).values()
    rows = read_error_items(folder)
    coverage = entry["rules"]["coverage"]
    assert (
        entry["examined"]
        == len(rows)
        == coverage["asked"]
        == coverage["scored"] + coverage["undetermined"]
        >= 20
    )
    assert entry["wrong"] == entry["examined"] + entry["label_not_borne_out"]
    counts = {kind: figure["count"] for kind, figure in entry["rules"]["types"].items()}
    assert Counter(row["error_type"] for row in rows) == Counter(
        {**counts, "undetermined": coverage["undetermined"]}
    )
    for figure in entry["rules"]["types"].values():
        assert figure["bound_low"] == pytest.approx(figure["count"] / coverage["asked"])
        assert figure["bound_high"] == pytest.approx(
            (figure["count"] + coverage["undetermined"]) / coverage["asked"]
        )
    assert {row["source"] for row in rows} == {"rules"}
    assert sum(point["n"] for point in entry["attributes"]["points"]) == entry["items"]
    out = capsys.readouterr().out
    assert (
        f"rules: {coverage['undetermined']} of {coverage['asked']} answers are undetermined"
        in out
    )
    for name in (
        "attributes_medcalc.csv",
        "attributes_medcalc_equation.svg",
        "attributes_medcalc_rule.svg",
    ):
        assert (folder / name).is_file()
        assert name in out


def test_with_a_judge(
    demos: Path, tmp_path: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ran(demos, tmp_path / "run", "medcalc", "openai-api/test-host/m")
    words = [
        "errors",
        str(folder),
        "--data",
        str(demos),
        "--judge",
        "openai-api/test-host/judge",
    ]
    assert main(words) == 5
    assert "no verdict on every error (medcalc: " in capsys.readouterr().err
    judged = read_errors(folder)["medcalc"]["judge"]
    missing = judged["coverage"]["asked"] - judged["n"]
    assert missing >= 1
    assert list(judged["coverage"]["unscored"]) == ["judge: unreadable reply"]
    assert judged["types"]["C"]["count"] == judged["n"]
    assert judged["types"]["C"]["bound_low"] == pytest.approx(
        judged["n"] / (judged["n"] + missing)
    )
    assert "undetermined" not in judged["types"]
    assert judged["model"]["name"] == "openai-api/test-host/judge"
    assert Counter(row["source"] for row in read_error_items(folder)) == {
        "rules": judged["n"] + missing,
        "judge": judged["n"] + missing,
    }
    calls_before = len(server.calls)
    assert main(words) == 5
    assert len(server.calls) == calls_before


def test_without_errors_and_with_empty_answers(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ran(demos, tmp_path / "run", "medcalc", "baseline/reference")
    capsys.readouterr()
    assert main(["errors", str(folder), "--data", str(demos), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json_of(folder / "errors.json")
    (entry,) = read_errors(folder).values()
    assert entry["examined"] == 0
    assert {figure["value"] for figure in entry["rules"]["types"].values()} == {None}
    assert read_error_items(folder) == []
    folder = ran(
        demos, tmp_path / "empty", "medcalc", "baseline/empty", ("--max-samples", "6")
    )
    assert main(["errors", str(folder), "--data", str(demos)]) == 0
    (entry,) = read_errors(folder).values()
    assert entry["rules"]["types"]["D"]["count"] == entry["examined"] >= 1


def test_a_run_of_score_needs_its_responses(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = load_task_data(MEDCALC, DATASET, data=demos, config="demo").items
    file, folder = tmp_path / "answers.jsonl", tmp_path / "scored"
    texts = [
        json.dumps({"id": item.id, "response": f"Done {item.id}. Answer: 77777"})
        for item in items
    ]
    file.write_text("\n".join(texts))
    data = ["--data", str(demos)]
    score = [
        "score",
        "medcalc",
        "--responses",
        str(file),
        "--config",
        "demo",
        *data,
        "--out",
        str(folder),
    ]
    assert main(score) == 0
    words = ["errors", str(folder), *data]
    assert main(words) == 3
    stderr = capsys.readouterr().err
    assert (
        "answers.jsonl: this run scored it and keeps no texts. Give it with --responses FILE."
        in stderr
    )
    assert main([*words, "--responses", str(file)]) == 0
    assert len(read_error_items(folder)) == sum(
        row["accuracy_agreed"] == 0.0 for row in read_items(folder)
    )
    file.write_text(file.read_text().replace("Done", "Made"))
    assert main([*words, "--responses", str(file)]) == 2
    assert "not the file that was scored" in capsys.readouterr().err


def test_wrong_use(
    demos: Path, tmp_path: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["errors", str(tmp_path)]) == 3
    folder = ran(
        demos,
        tmp_path / "run",
        "medcalc",
        "openai-api/test-host/m",
        ("--max-samples", "3"),
    )
    words = ["errors", str(folder), "--data", str(demos)]
    assert main([*words, "--responses", "x.jsonl"]) == 2
    results = json_of(folder / "results.json")
    recipe = results["tasks"]["medcalc"]["recipe"]
    capsys.readouterr()
    for change, code, message in (
        (
            {"prompts": {"set": "own", "sha256": "0" * 64}},
            2,
            "asked with other prompts",
        ),
        ({"data": {**recipe["data"], "rows_sha256": "0" * 64}}, 2, "ran on other rows"),
        ({"model": {**recipe["model"], "model": "other"}}, 2, "are not in its store"),
    ):
        entry = {**results["tasks"]["medcalc"], "recipe": {**recipe, **change}}
        (folder / "results.json").write_text(
            json.dumps({**results, "tasks": {"medcalc": entry}})
        )
        assert main(words) == code
        assert message in capsys.readouterr().err
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "answers.sqlite").unlink()
    assert main(words) == 3
    assert "answers.sqlite: not there" in capsys.readouterr().err
    assert not (folder / "errors.json").exists()
