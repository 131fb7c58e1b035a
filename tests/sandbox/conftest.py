from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.sandbox.probe import probe
from tests.sandbox.traces import nothing_left


@pytest.fixture(scope="session")
def sandbox() -> None:
    """Skips a test, with the reason, where no sandbox can be made; tests of the refusal do not use it."""
    missing = probe()
    if missing is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")


@pytest.fixture
def clean(
    sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Asserts that the test's programs leave nothing on the machine."""
    # Temporary files go to a separate folder, so that those of other running tests do
    # not count.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with nothing_left():
        yield
