from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all metrics, as users have it: the package in it is imported once a process."""
    return tmp_path_factory.mktemp("modules")


@pytest.fixture
def load_metric(modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    import evaluate

    monkeypatch.setenv("HF_EVALUATE_OFFLINE", "1")
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(modules))
    monkeypatch.syspath_prepend(str(modules))
    return lambda folder: evaluate.load(str(folder), cache_dir=str(tmp_path / "cache"))
