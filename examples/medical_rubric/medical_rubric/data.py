"""The dataset: invented first messages, what the patient knows, and criteria of a good reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from medical_rubric.declarations import DATASET
from medical_tasks.data.dataset_source import DatasetSource, Row
from medical_tasks.io.columns import Column
from medical_tasks.io.files import packaged


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    yield from packaged(__file__, "demo.json")


PARTS = (
    Column(name="text", description="what a reply does"),
    Column(name="points", description="what it earns; below 0 for a fault", dtype="float64"),
)
SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary="Invented messages of patients, with criteria of a good reply.",
        changes=("`demo` was written for this package.",),
        columns=(
            Column(name="id", description="name of the conversation"),
            Column(name="theme", description="what it is about"),
            Column(name="message", description="the patient's first message"),
            Column(name="facts", description="what the patient tells if asked"),
            Column(name="reply", description="a reply that earns all points"),
            Column(
                name="criteria", description="rubric", dtype="struct", repeated=True, fields=PARTS
            ),
        ),
        key="id",
        splits={"demo": ("test",)},
        files={"demo": {}},
        read=_read,
        published="2026-11-28",
        creators=("The medical-tasks developers",),
    ),
)
