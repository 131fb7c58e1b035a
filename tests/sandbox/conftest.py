from __future__ import annotations

from collections.abc import Iterator

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
def clean(sandbox: None) -> Iterator[None]:
    """Nothing of the test's programs stays on the machine."""
    with nothing_left():
        yield
