from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import dataset_source
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.data.task_data import built_from, source_configs
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.private_store import private_home

LINES = [
    {
        "Question": f"Is tea {n} fine?",
        "Free_form_answer": "Yes.",
        "Must_have": [f"Tea {n} is fine."],
        "Nice_to_have": [],
    }
    for n in range(2)
]


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    file = tmp_path / "gold.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in LINES), encoding="utf-8")
    return file


def kept() -> list[Path]:
    return sorted(private_home().rglob("*")) if private_home().exists() else []


def test_built_for_a_while_where_nobody_else_can_read(gold: Path) -> None:
    with built_from(dataset_source("kqa"), gold) as folder:
        assert [row["question"] for row in read_rows(folder, "own", "test")] == [line["Question"] for line in LINES]
        assert list(built_configs(folder)["own"].source) == ["gold.jsonl"]
        assert folder.is_relative_to(private_home())
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert kept() == []


def test_nothing_stays_when_it_fails(gold: Path) -> None:
    with pytest.raises(RuntimeError, match="in the block"), built_from(dataset_source("kqa"), gold):
        raise RuntimeError("in the block")
    gold.write_text("{}", encoding="utf-8")
    for place, error, message in (
        (gold, UsageError, "gold.jsonl: line 1 has the wrong fields"),
        (Path("none.jsonl"), MissingError, "none.jsonl is not there"),
        (gold.parent, UsageError, "is a folder. Give --source the file"),
    ):
        with pytest.raises(error, match=message), built_from(dataset_source("kqa"), place):
            pass
    assert kept() == []


def test_datasets_that_are_made_of_one_file() -> None:
    for name in ("kqa", "ehrnoteqa", "doclens_own"):
        assert source_configs(dataset_source(name)) == ("own",)
    with pytest.raises(UsageError, match="the dataset meqsum is not made of one file of your own"):
        source_configs(dataset_source("meqsum"))
