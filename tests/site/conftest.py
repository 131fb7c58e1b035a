"""Fixtures of several tests of a site."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.site.site_cases import build_data
from tests.site.walk import STEPS, make_demo, run_step

CheckedDemo = Callable[[Path, str], Path]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of 80 rows with a run that is all right, as `site_cases.score` needs them."""
    return build_data(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def checked_demo(tmp_path_factory: pytest.TempPathFactory) -> CheckedDemo:
    """Creates the folder of a use's demo of 20 patients whose items people have checked, as a copy of one that is made once."""
    parent = tmp_path_factory.mktemp("checked")

    @cache
    def original(use: str) -> Path:
        demo = make_demo(parent / use, use, "--patients", "20")
        for step, *words in STEPS[:4]:
            assert run_step(demo, step, *words) == 0
        return demo

    def copied(folder: Path, use: str) -> Path:
        return Path(shutil.copytree(original(use), folder))

    return copied
