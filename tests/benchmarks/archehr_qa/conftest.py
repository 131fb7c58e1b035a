"""The built demo, and a folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.data.fetching import build_dataset


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    build_dataset("archehr_qa", source=None, config="demo", out=folder / "archehr_qa")
    return folder


@pytest.fixture
def work(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
