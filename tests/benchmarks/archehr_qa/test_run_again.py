"""A run's stored answers are used for scoring and submitting.

If the settings behind them have changed, the commands refuse.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa import evidence
from medical_tasks.benchmarks.archehr_qa.data import demo_cases
from medical_tasks.cli.entry import main
from medical_tasks.report import finished
from tests.benchmarks.common import write_jsonl
from tests.case_tables import json_of
from tests.fault_server import FaultServer

COMMANDS = (
    "score {task} --responses run --out again",
    "submit run --to archehr",
)


pytestmark = pytest.mark.usefixtures("work_folder")


@pytest.mark.parametrize("task", ["archehr_heuristic", "archehr_evidence_first"])
def test_a_changed_similarity_is_refused(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultServer(answer=lambda call: "He slept. |1|") as server:
        run = (
            f"run --tasks {task} --config demo --out run --model openai-api/asked/m "
            f"--model-args base_url={server.base_url}"
        )
        assert main([*run.split(), "--task-args", ""]) == 0
    commands = [command.format(task=task).split() for command in COMMANDS]
    for command in commands:
        assert main(command) == 0
    ran, again = (
        json_of(Path(name) / "results.json")["tasks"][task] for name in ("run", "again")
    )
    assert again["metrics"] == ran["metrics"]
    before = Path("submission.json").read_bytes()
    capsys.readouterr()
    # As if the folder of an embedder contained another checkpoint.
    changed = {**evidence.Words.identity, "k1": 9.0}
    monkeypatch.setattr(evidence.Words, "identity", changed)
    for command in commands:
        assert main(command) == 2
        stderr = capsys.readouterr().err
        assert "error: run: the run's answers cannot be found again" in stderr
        assert "'k1': 1.5" in stderr
        assert "'k1': 9.0" in stderr
        assert "or run again." in stderr
    assert Path("submission.json").read_bytes() == before


@pytest.mark.parametrize(
    ("task", "reply"),
    [("archehr_evidence", "1, 99"), ("archehr_together", "He slept.")],
)
def test_answers_that_stop_the_official_script_can_be_submitted(
    task: str, reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = {full_case.case.id: "He slept. |1|" for full_case in demo_cases()["test"]}
    replies[next(iter(replies))] = reply
    answers = [{"id": name, "response": text} for name, text in replies.items()]
    write_jsonl(Path("answers.jsonl"), answers)
    score = (
        f"score {task} --responses answers.jsonl --config demo --split test --out run"
    )
    assert main(score.split()) == 0
    metrics = json_of(Path("run/results.json"))["tasks"][task]["metrics"]
    official = [entry for name, entry in metrics.items() if name.endswith("_official")]
    assert {entry["reason"].split(" (")[1] for entry in official} == {
        f"1 of {len(replies)} items)"
    }
    submit = (
        "submit run --to space --out run.zip --allow-partial --model-name Toy "
        "--organisation Org --responses answers.jsonl"
    )
    assert main(submit.split()) == 0
    capsys.readouterr()
    assert main(["verify", "run.zip", "--responses", "answers.jsonl"]) == 0
    assert "It matches: 7 match, 0 mismatch, 0 not checked." in capsys.readouterr().out


def test_a_closed_pipe_does_not_prevent_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken_pipe(*args: object, **named: object) -> str:
        raise BrokenPipeError

    monkeypatch.setattr(finished, "render_table", broken_pipe)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", io.StringIO())  # closed by then
        run = "run --tasks archehr_heuristic --config demo --model x --out run"
        assert main(run.split()) == 0
    assert "archehr_heuristic" in (Path("run") / "report.md").read_text(
        encoding="utf-8"
    )
