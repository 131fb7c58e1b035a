"""ArchEHR-QA's texts stay private.

Tasks refuse a remote host, and results, logs, reports and items contain no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.declarations import DATASET
from medical_tasks.benchmarks.archehr_qa.spec import TASKS
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.io.user_folders import private_home
from medical_tasks.runs.results import read_items
from medical_tasks.spec import TaskSpec
from tests.fault_server import Call, FaultServer
from tests.recording_proxy import RecordingProxy

REMOTE = "http://api.remote.example/v1"
WORDS_IN_A_ROW = 8
MODEL_TASKS = [task for task in TASKS if not task.baseline]


pytestmark = pytest.mark.usefixtures("work_folder")


def run_arguments(tasks: str, model: str, *more: str) -> list[str]:
    command = (
        f"run --tasks {tasks} --config demo --out run --model openai-api/asked/m "
        f"--model-args base_url={model},max_retries=0"
    )
    return [*command.split(), *more]


@pytest.mark.parametrize("task", MODEL_TASKS, ids=lambda task: task.name)
def test_a_remote_model_gets_no_request(
    proxy: RecordingProxy, capfd: pytest.CaptureFixture[str], task: TaskSpec
) -> None:
    assert main(run_arguments(task.name, REMOTE)) == 4
    assert proxy.seen == []
    assert task.name in capfd.readouterr().err
    assert not (Path("run") / "results.json").exists()


def test_the_task_without_a_model_sends_no_request(proxy: RecordingProxy) -> None:
    assert main(run_arguments("archehr_heuristic", REMOTE)) == 0
    assert proxy.seen == []
    assert (len(TASKS), len(MODEL_TASKS), DATASET.access) == (8, 7, "credentialed")
    # With a task that does ask the model, the whole run is refused.
    assert (
        main(
            run_arguments(
                "archehr_heuristic,archehr_evidence", REMOTE, "--out", "other"
            )
        )
        == 4
    )
    assert proxy.seen == []


def test_results_logs_reports_and_items_contain_no_text(
    demos: Path,
    work_folder: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def quoting(call: Call) -> str:
        return f"{call.prompt[-900:]} |1,2|"  # repeats the note or the answer

    caplog.set_level(0)
    with FaultServer(answer=quoting) as model:
        names = ",".join(task.name for task in TASKS)
        assert main(run_arguments(names, model.base_url, "--task-args", "tries=2")) == 0
        assert len(model.calls) > 60
        assert any("What is wrong with it:" in prompt for prompt in model.prompts)
    captured = capfd.readouterr()
    shown = [captured.out, captured.err, caplog.text]
    files = [path for path in work_folder.rglob("*") if path.is_file()]
    assert {"results.json", "items.parquet", "report.md"} <= {
        path.name for path in files
    }
    shown += [path.read_text(encoding="utf-8", errors="replace") for path in files]
    items = read_items(Path("run"))
    cases = {"test": 6, "test_2026": 2, "test+test_2026": 8}
    assert len(items) == sum(cases[task.split] for task in TASKS) == 38
    shown += [str(value) for row in items for value in row.values()]
    rows = read_rows(demos / "archehr_qa", "demo", "dev+test+test_2026", spec=DATASET)
    runs = {run for row in rows for text in _texts(dict(row)) for run in _runs_of(text)}
    assert len(runs) > 1000
    assert not {run for text in shown for run in _runs_of(text)} & runs
    # The texts were sent and answered: they are in the private store.
    assert any(
        path.stat().st_size > 10_000 for path in private_home().rglob("*.sqlite")
    )
    assert main(["leakcheck", "run", "--source", "archehr_qa"]) == 0
    assert "clean: " in capfd.readouterr().out
    # A submission of two splits is packed and verified like that of one.
    submit = "submit run --to space --model-name m --allow-partial --out m.zip"
    assert main(submit.split()) == 0
    assert main(["verify", "m.zip", "--responses", "run"]) == 0
    assert "archehr_qa/demo, split test+test_2026, rows" in capfd.readouterr().out
    # The check works: it finds a quotation in a log.
    canary = " ".join(rows[-1]["patient_narrative"].split()[:20])
    (Path("run") / "notes.log").write_text(
        f"the model said: {canary}", encoding="utf-8"
    )
    assert main(["leakcheck", "run", "--source", "archehr_qa"]) == 4
    assert "notes.log" in capfd.readouterr().err


def test_items_have_the_number_of_prompts_of_their_case() -> None:
    names = "archehr_together,archehr_answer_first,archehr_evidence"
    options = "--task-args tries=3 --max-samples 2".split()
    with FaultServer(answer=lambda call: "He slept.") as model:
        assert main(run_arguments(names, model.base_url, *options)) == 0
    # Three tries without citations; an answer and three tries to cite it; and one
    # prompt of a task without tries.
    times = {"archehr_together": 3, "archehr_answer_first": 4, "archehr_evidence": None}
    assert [row["asked"] for row in read_items(Path("run"))] == [
        times[task] for task in times for _ in range(2)
    ]


def _texts(row: dict[str, object]) -> Iterator[str]:
    for name in (
        "patient_narrative",
        "patient_question",
        "clinician_question",
        "clinician_answer",
    ):
        yield str(row[name])
    sentences = row["sentences"]
    assert isinstance(sentences, list)
    yield " ".join(sentences)


def _runs_of(text: str) -> set[str]:
    tokens = text.lower().split()
    return {
        " ".join(tokens[start : start + WORDS_IN_A_ROW])
        for start in range(len(tokens) - WORDS_IN_A_ROW + 1)
    }
