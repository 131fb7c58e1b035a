"""Every test of a verb runs in a folder of its own; commands that are killed start without their imports."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.warm_process import WarmProcess, warm_process

_MODULES = (
    "medical_tasks.cli.run",
    "medical_tasks.runs.evaluating",
    "medical_tasks.models.batches",
    "medical_tasks.models.endpoint",
    "medical_tasks.models.wire",
    "openai.resources.chat.completions",
    "openai.resources.batches",
    "openai.resources.files",
    "medical_tasks.benchmarks.medcalc_bench.scoring",
    "medical_tasks.benchmarks.medcalc_bench.prompts",
    "pyarrow.parquet",
    "sqlite3",
    "yaml",
)


@pytest.fixture(autouse=True)
def _in_own_folder(here: None) -> None:
    """See `here`."""


@pytest.fixture(scope="session")
def warm_verbs() -> Iterator[WarmProcess]:
    """Starts this project's commands, in processes of their own, without the second that their imports take."""
    with warm_process(_MODULES, os.environ) as started:
        yield started
