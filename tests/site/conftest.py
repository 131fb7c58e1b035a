"""What several tests of a site share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.site_cases import build_data


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of 80 rows with a run that is right, as `site_cases.score` takes them."""
    return build_data(tmp_path_factory.mktemp("home"))
