"""A folder to work in, beside the built demo."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def work_folder(demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(demos))
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
