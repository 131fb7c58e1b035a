"""What is said at the end about questions without a score: what would help, and not what cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from tests.fault_server import Fault, FaultServer


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The demo's questions of level 1, with the data and everything private in a folder of the test's."""
    build_dataset("ehrnoteqa", source=None, config="demo", out=tmp_path / "data" / "ehrnoteqa")
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return [row for row in read_rows(tmp_path / "data" / "ehrnoteqa", "demo", "test") if row["level"] == 1]


def write(path: Path, answers: dict[object, object]) -> str:
    lines = (json.dumps({"id": name, "response": json.dumps(answer)}) + "\n" for name, answer in answers.items())
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def unscored(folder: str) -> dict[str, int]:
    (entry,) = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))["tasks"].values()
    found: dict[str, int] = entry["coverage"]["unscored"]
    return found


def test_log_probabilities_not_told(
    rows: list[dict[str, object]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    untold = {"logprobs": [None] * 5, "tokens": [1] * 5, "below": -3.0}
    file = write(tmp_path / "answers.jsonl", {row["id"]: untold for row in rows})
    asked = ["score", "ehrnoteqa_mc_prob_index_level1", "--config", "demo", "--responses", file, "--out", "s"]
    assert main(asked) == 5
    assert unscored("s") == {"choice not among the log-probabilities told": len(rows)}
    said = capfd.readouterr().err
    assert "top_logprobs=N asks for more" in said
    assert "same command again" not in said


def test_questions_that_a_run_left_unanswered(rows: list[dict[str, object]], capfd: pytest.CaptureFixture[str]) -> None:
    with FaultServer([Fault.status_code(500)], answer=lambda call: "D.") as server:
        run = [
            "run",
            "--tasks",
            "ehrnoteqa_mc_level1",
            "--config",
            "demo",
            "--model",
            "openai-api/local/m",
            "--out",
            "r",
        ]
        assert main([*run, "--model-args", f"base_url={server.base_url},max_retries=0"]) == 5
    assert unscored("r") == {"no answer: http 500": 1}
    capfd.readouterr()
    assert main(["score", "ehrnoteqa_mc_level1", "--responses", "r", "--out", "s"]) == 5
    assert unscored("s") == {"no answer: not answered in the run": 1}
    said = capfd.readouterr().err
    assert "Give that run's command again" in said
    assert "missing lines" not in said
    assert len(rows) > 1
