"""Fixtures of several tests of a site."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.site_cases import build_data


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of 80 rows with a run that is all right, as `site_cases.score` needs them."""
    return build_data(tmp_path_factory.mktemp("home"))
