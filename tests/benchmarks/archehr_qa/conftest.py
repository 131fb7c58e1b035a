"""The built demo, and a folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="package")
def home(demos: Path) -> Path:
    return demos


@pytest.fixture
def work(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(home))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
