"""The tasks of ArchEHR-QA in the catalogue, whether they are there already or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medical_tasks import catalog
from medical_tasks.archehr_qa.spec import BENCHMARK, DATASET, TASKS


def put_in_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    if TASKS[0].name in catalog.tasks():
        return
    others = (benchmark for benchmark in catalog.BENCHMARKS if benchmark.name != BENCHMARK.name)
    benchmarks = (*others, replace(BENCHMARK, datasets=(DATASET,), tasks=TASKS))
    monkeypatch.setattr("medical_tasks.catalog.BENCHMARKS", benchmarks)
    monkeypatch.setattr("medical_tasks.building.BENCHMARKS", benchmarks)
