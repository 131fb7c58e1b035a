from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.run_folder import default_folder, open_run_folder


def test_the_same_settings_enter_again(tmp_path: Path) -> None:
    open_run_folder(tmp_path / "run", {"model": "a", "n": None})
    assert open_run_folder(tmp_path / "run", {"n": None, "model": "a"}).path == tmp_path / "run"


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    open_run_folder(tmp_path / "run", {"model": "a", "tasks": ["medcalc"]})
    with pytest.raises(UsageError, match=r"holds another run \(model: 'a' there, 'b' now\). Choose another --out"):
        open_run_folder(tmp_path / "run", {"model": "b", "tasks": ["medcalc"]})
    assert json.loads((tmp_path / "run" / "run.json").read_text())["model"] == "a"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    with pytest.raises(UsageError, match="is a file. Choose another --out"):
        open_run_folder(tmp_path / "run", {})


def test_damaged_settings_are_said(tmp_path: Path) -> None:
    open_run_folder(tmp_path / "run", {})
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"run\.json: not valid JSON"):
        open_run_folder(tmp_path / "run", {})


def test_the_default_folder_is_the_same_for_the_same_command() -> None:
    one = default_folder("hf/models/my model", {"tasks": ["medcalc"], "n": 1})
    assert one == default_folder("hf/models/my model", {"n": 1, "tasks": ["medcalc"]})
    assert one != default_folder("hf/models/my model", {"n": 2, "tasks": ["medcalc"]})
    assert one.parent == Path("runs")
    assert one.name.startswith("hf_models_my_model-")


@pytest.mark.parametrize("name", ["..", "../../etc", "hf/../..", "///"])
def test_a_model_name_cannot_leave_the_runs_folder(name: str) -> None:
    folder = default_folder(name, {})
    assert folder.parent == Path("runs")
    assert ".." not in folder.parts
