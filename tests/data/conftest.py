"""The official files of the tiny dataset, and where it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_dataset import write_official


@pytest.fixture
def official(tmp_path: Path) -> Path:
    write_official(tmp_path / "official")
    return tmp_path / "official"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "built" / "tiny_notes"
