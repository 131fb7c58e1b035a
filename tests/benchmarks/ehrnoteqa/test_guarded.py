"""EHRNoteQA's text stays where it is: every task refuses a host elsewhere, and no note stands in results, logs or reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.guard.private_store import private_home
from medical_tasks.spec import TaskSpec
from tests.fault_server import Call, FaultServer
from tests.recording_proxy import RecordingProxy

REMOTE = "http://api.remote.example/v1"
WORDS_IN_A_ROW = 8


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    build_dataset("ehrnoteqa", source=None, config="demo", out=folder / "ehrnoteqa")
    return folder


@pytest.fixture(autouse=True)
def place(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def words(tasks: str, model: str, judge: str | None = None) -> list[str]:
    asked = ["run", "--tasks", tasks, "--config", "demo", "--out", "run", "--model", "openai-api/asked/m"]
    asked += ["--model-args", f"base_url={model},max_retries=0"]
    if judge is not None:
        asked += ["--judge", "openai-api/judging/j", "--judge-args", f"base_url={judge},max_retries=0"]
    return asked


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_model_or_judge_elsewhere_gets_nothing(
    proxy: RecordingProxy, capfd: pytest.CaptureFixture[str], task: TaskSpec
) -> None:
    assert main(words(task.name, REMOTE)) == 4
    assert task.name in capfd.readouterr().err
    assert not (Path("run") / "results.json").exists()
    if task.judge:
        with FaultServer() as server:
            assert main(words(task.name, server.base_url, REMOTE)) == 4
            assert server.calls == []
    assert proxy.seen == []


def test_no_note_stands_in_results_logs_or_reports(
    home: Path, place: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def quoting(call: Call) -> str:
        return call.prompt[-600:]  # question, choices or answer, as a model would repeat them

    caplog.set_level(0)
    with FaultServer(answer=quoting) as model, FaultServer(answer=quoting) as judge:
        asked = words("ehrnoteqa_open_level1,ehrnoteqa_mc_level1", model.base_url, judge.base_url)
        assert main(asked) == 5  # the judge says nothing readable
        assert len(model.calls) >= 16
        assert len(judge.calls) > 16
    said = capfd.readouterr()
    shown = [said.out, said.err, caplog.text]
    files = [path for path in place.rglob("*") if path.is_file()]
    assert {"results.json", "items.parquet", "report.md", "verdicts.jsonl"} <= {path.name for path in files}
    shown += [path.read_text(encoding="utf-8", errors="replace") for path in files]
    runs = {run for row in read_rows(home / "ehrnoteqa", "demo", "test", spec=DATASET) for run in _runs(row)}
    assert len(runs) > 1000
    assert not {run for text in shown for run in _runs_of(text)} & runs
    # It was asked and answered all the same: the private store holds it.
    assert any(path.stat().st_size > 10_000 for path in private_home().rglob("*.sqlite"))
    assert main(["leakcheck", "run", "--source", "ehrnoteqa"]) == 0
    assert "clean: " in capfd.readouterr().out


def _runs(row: dict[str, object]) -> set[str]:
    notes = row["notes"]
    assert isinstance(notes, list)
    return {run for text in [str(row["question"]), *(note["text"] for note in notes)] for run in _runs_of(text)}


def _runs_of(text: str) -> set[str]:
    parts = text.lower().split()
    return {" ".join(parts[place : place + WORDS_IN_A_ROW]) for place in range(len(parts) - WORDS_IN_A_ROW + 1)}
