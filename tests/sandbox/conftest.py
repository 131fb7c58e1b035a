from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.sandbox.probe import probe
from tests.sandbox.traces import nothing_left


@pytest.fixture(scope="session")
def sandbox() -> None:
    """Skips, with the reason, where no sandbox can be made; the tests of the refusal run there all the same."""
    missing = probe()
    if missing is not None:
        pytest.skip(f"no sandbox on this machine: {missing}")


@pytest.fixture
def clean(
    sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Nothing of the test's programs stays on the machine."""
    # A folder of its own for temporary files, so that those of tests at work beside
    # this one do not count.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with nothing_left():
        yield
