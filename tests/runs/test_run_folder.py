from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.runs.folder import default_folder, locked, open_run_folder
from tests.case_tables import json_of


def test_a_folder_opens_again_with_the_same_settings_alone(
    tmp_path: Path,
) -> None:
    first = open_run_folder(tmp_path / "run", {"model": "a", "tasks": ["medcalc"]})
    first.answers.touch()
    again = open_run_folder(tmp_path / "run", {"tasks": ["medcalc"], "model": "a"})
    assert again.path == tmp_path / "run"
    with pytest.raises(
        UsageError,
        match=r"holds another run \(model: 'a' there, 'b' now\). Choose another --out",
    ):
        open_run_folder(tmp_path / "run", {"model": "b", "tasks": ["medcalc"]})
    assert json_of(tmp_path / "run" / "run.json")["model"] == "a"


@pytest.mark.parametrize("private", [False, True])
def test_a_folder_without_answers_can_be_used_by_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    first = open_run_folder(tmp_path / "run", {"model": "mistyped"}, private=private)
    second = open_run_folder(tmp_path / "run", {"model": "right"}, private=private)
    assert second.answers == first.answers
    assert json_of(tmp_path / "run" / "run.json")["model"] == "right"
    second.answers.touch()
    with pytest.raises(UsageError, match="holds another run"):
        open_run_folder(tmp_path / "run", {"model": "third"}, private=private)


def test_one_command_at_a_time(tmp_path: Path) -> None:
    first = open_run_folder(tmp_path / "run", {"model": "a"})
    with locked(first):
        with pytest.raises(UsageError, match="another command is using this folder"):
            open_run_folder(tmp_path / "run", {"model": "b"})
        with (
            pytest.raises(UsageError, match="another command is using this folder"),
            locked(first),
        ):
            pass
    with locked(first):
        assert json_of(tmp_path / "run" / "run.json")["model"] == "a"


@pytest.mark.parametrize("private", [False, True])
def test_only_the_main_process_has_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    first = open_run_folder(tmp_path / "run", {}, private=private)
    assert first.answers.parent == (
        tmp_path / "run" if not private else first.logs.parent
    )
    monkeypatch.setenv("RANK", "1")
    other = open_run_folder(tmp_path / "run", {}, private=private)
    assert other.private == first.private == private
    with pytest.raises(UsageError, match=r"RANK=1.*give the plain command"):
        _ = other.answers
    open_run_folder(tmp_path / "other", {})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", r"run\.json: not valid JSON"), ("[]", "not the settings of a run")],
)
def test_damaged_settings_are_refused(tmp_path: Path, text: str, message: str) -> None:
    open_run_folder(tmp_path / "run", {})
    (tmp_path / "run" / "run.json").write_text(text)
    with pytest.raises(UsageError, match="is a file. Choose another --out"):
        open_run_folder(tmp_path / "run" / "run.json", {})
    with pytest.raises(UsageError, match=message):
        open_run_folder(tmp_path / "run", {})


def test_the_default_folder_is_the_same_for_the_same_command() -> None:
    default = default_folder("hf/models/my model", {"tasks": ["medcalc"], "n": 1})
    assert default == default_folder(
        "hf/models/my model", {"n": 1, "tasks": ["medcalc"]}
    )
    assert default != default_folder(
        "hf/models/my model", {"n": 2, "tasks": ["medcalc"]}
    )
    assert default.name.startswith("hf_models_my_model-")
    for folder in (
        default,
        *(default_folder(name, {}) for name in ("..", "../../etc", "hf/../..", "///")),
    ):
        assert folder.parent == Path("runs")
        assert ".." not in folder.parts


def _open_folders(path: Path, barrier: Any) -> None:
    for number in range(100):
        barrier.wait(30)
        open_run_folder(path / str(number), {"a": 1})


def test_two_commands_that_start_at_the_same_time(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    processes = [
        context.Process(target=_open_folders, args=(tmp_path, barrier))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
