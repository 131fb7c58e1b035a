"""Every test of a verb runs in a folder of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _in_own_folder(here: None) -> None:
    """See `here`."""
