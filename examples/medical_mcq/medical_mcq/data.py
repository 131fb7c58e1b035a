"""The dataset: ten questions that are written here and under this package's licence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from medical_mcq.declarations import DATASET
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.io.columns import Column
from medical_tasks.io.files import packaged
from medical_tasks.spec import Row

__all__ = ["SOURCES"]


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    yield from packaged(__file__, "demo.json")


SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary="Ten invented questions with four choices each.",
        changes=("`demo` was written for this package.",),
        columns=(
            Column(name="id", description="name of the question"),
            Column(name="topic", description="what it is about"),
            Column(name="question", description="the question"),
            Column(
                name="choices", description="what can be answered, A to D in order", repeated=True
            ),
            Column(name="answer", description="letter of the right choice"),
        ),
        key="id",
        splits={"demo": ("test",)},
        files={"demo": {}},
        read=_read,
        published="2026-11-22",
        creators=("The medical-tasks developers",),
    ),
)
