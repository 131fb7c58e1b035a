"""Answers about one's own texts scored by one command, from two files."""

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
from tests.case_tables import json_of
from tests.cli.wrong_use import refuse, wrong_use

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


def entry(folder: str, task: str) -> dict[str, Any]:
    found: dict[str, Any] = json_of(Path(folder) / "results.json")["tasks"][task]
    return found


def test_an_open_dataset_of_ones_own_needs_no_build(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("gold.jsonl", GOLD)
    write("out.json", [{"example_id": question_id(QUESTION), "output": "Tea is fine."}])
    score = [
        "score",
        "kqa",
        "--source",
        "gold.jsonl",
        "--responses",
        "out.json",
        "--out",
        "s",
    ]
    assert main(score) == 0
    found = entry("s", "kqa")
    assert found["metrics"]["comprehensiveness"]["value"] == 1.0
    digest = hashlib.sha256(Path("gold.jsonl").read_bytes()).hexdigest()
    assert found["recipe"]["data"]["config"] == "own"
    assert found["recipe"]["data"]["source"] == {"gold.jsonl": digest}
    assert found["recipe"]["model"]["name"] == "responses/out.json"
    assert list(private_home().iterdir()) == []
    # Built by hand they are the same rows, so the same scoring goes on.
    assert (
        main(
            [
                "build",
                "kqa",
                "--config",
                "own",
                "--source",
                "gold.jsonl",
                "--out",
                "built",
            ]
        )
        == 0
    )
    assert (
        main(
            ["score", "kqa", "--data", "built", "--responses", "out.json", "--out", "s"]
        )
        == 0
    )
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
    command = [
        sys.executable,
        "-m",
        "medical_tasks",
        "score",
        "doclens_own",
        "--source",
        "notes.json",
    ]
    done = subprocess.run(
        [*command, "--responses", "outputs.json", "--out", "scores"],
        env={**os.environ, "PYTHONWARNINGS": "error::ResourceWarning"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"1 of {len(NOTES)} questions have no answer in the file" in done.stderr
    found = entry("scores", "doclens_own")
    assert found["coverage"]["unscored"] == {"no answer: none given": 1}
    assert (
        found["metrics"]["claim_recall"]["value"]
        == found["metrics"]["claim_precision"]["value"]
        == 1.0
    )
    assert found["metrics"]["citation_recall"]["value"] == 0.0
    digest = hashlib.sha256(Path("notes.json").read_bytes()).hexdigest()
    assert found["recipe"]["data"]["source"] == {"notes.json": digest}
    # Of the texts nothing is in the folder, and nothing of the dataset in the private
    # store.
    assert check_leaks(Path("scores"), source_files("notes.json")).found == {}
    assert [path.name for path in private_home().rglob("*.parquet")] == []
    assert len(list(private_home().iterdir())) == 1
