"""Answers about one's own texts, scored from two files by a single command."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.declarations import demo_entries
from medical_tasks.benchmarks.kqa.data import question_id
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import source_files
from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.io.user_folders import private_home
from tests.cli.wrong_use import refuse, wrong_use
from tests.run_files import task_entry

QUESTION = "Is tea fine?"
GOLD = {
    "Question": QUESTION,
    "Free_form_answer": "Yes.",
    "Must_have": ["Tea is fine."],
    "Nice_to_have": [],
}
NOTES = [
    {"example_id": text["id"], "input": text["source"], "reference": text["reference"]}
    for text in demo_entries("texts", "test")
]


def write(name: str, content: Any) -> Path:
    Path(name).write_text(json.dumps(content), encoding="utf-8")
    return Path(name)


def test_an_open_dataset_of_ones_own_needs_no_build(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("gold.jsonl", GOLD)
    write("out.json", [{"example_id": question_id(QUESTION), "output": "Tea is fine."}])
    responses = ["--responses", "out.json", "--out", "s"]
    score = ["score", "kqa", "--source", "gold.jsonl", *responses]
    assert main(score) == 0
    scored = task_entry("s", "kqa")
    assert scored["metrics"]["comprehensiveness"]["value"] == 1.0
    digest = hashlib.sha256(Path("gold.jsonl").read_bytes()).hexdigest()
    assert scored["recipe"]["data"]["config"] == "own"
    assert scored["recipe"]["data"]["source"] == {"gold.jsonl": digest}
    assert scored["recipe"]["model"]["name"] == "responses/out.json"
    assert list(private_home().iterdir()) == []
    # Built beforehand the rows are the same, so this is the same scoring.
    build = "build kqa --config own --source gold.jsonl --out built"
    assert main(build.split()) == 0
    assert main(["score", "kqa", "--data", "built", *responses]) == 0
    capsys.readouterr()
    # Another file is another scoring.
    write("gold.jsonl", {**GOLD, "Must_have": ["Tea is tea."]})
    assert main(score) == 2
    assert "holds another run" in capsys.readouterr().err


@wrong_use("score_source")
def test_wrong_use(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("notes.json", NOTES)
    write("out.json", [{"example_id": "call-1", "output": "SECRET"}])
    write(
        "gap.json",
        [{"example_id": "1", "input": "[0] SECRET. [2] SECRET", "reference": "SECRET"}],
    )
    assert "SECRET" not in refuse(line, code, message, capsys)
    assert not Path("s").exists()
    assert not private_home().exists() or list(private_home().iterdir()) == []


@pytest.mark.slow
def test_own_notes_by_the_real_command() -> None:
    write("notes.json", NOTES)
    write(
        "outputs.json",
        [
            {"example_id": record["example_id"], "output": record["reference"]}
            for record in NOTES[1:]
        ],
    )
    command = "-m medical_tasks score doclens_own --source notes.json"
    process = subprocess.run(
        [
            sys.executable,
            *command.split(),
            "--responses",
            "outputs.json",
            "--out",
            "scores",
        ],
        env={**os.environ, "PYTHONWARNINGS": "error::ResourceWarning"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert f"1 of {len(NOTES)} questions have no answer in the file" in process.stderr
    scored = task_entry("scores", "doclens_own")
    assert scored["coverage"]["unscored"] == {"no answer: none given": 1}
    assert (
        scored["metrics"]["claim_recall"]["value"]
        == scored["metrics"]["claim_precision"]["value"]
        == 1.0
    )
    assert scored["metrics"]["citation_recall"]["value"] == 0.0
    digest = hashlib.sha256(Path("notes.json").read_bytes()).hexdigest()
    assert scored["recipe"]["data"]["source"] == {"notes.json": digest}
    # The folder has none of the texts, and the private store nothing of the dataset.
    assert check_leaks(Path("scores"), source_files("notes.json")).found == {}
    assert [path.name for path in private_home().rglob("*.parquet")] == []
    assert len(list(private_home().iterdir())) == 1
