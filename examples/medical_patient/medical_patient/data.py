"""The dataset: invented records of patients, written for this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from medical_patient.spec import DATASET
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.io.columns import Column
from medical_tasks.io.files import packaged
from medical_tasks.spec import Row


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    yield from packaged(__file__, "demo.json")


FACT = (
    Column(name="text", description="what the patient knows"),
    Column(name="words", description="words, one of which tells it", repeated=True),
)
SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary="Invented records of patients, with a question that the history answers.",
        changes=("`demo` was written for this package.",),
        columns=(
            Column(name="id", description="name of the patient"),
            Column(name="topic", description="what it is about"),
            Column(name="complaint", description="what the patient writes first"),
            Column(name="facts", description="facts", dtype="struct", repeated=True, fields=FACT),
            Column(name="question", description="what has to be decided"),
            Column(name="choices", description="the choices, A to D in order", repeated=True),
            Column(name="answer", description="letter of the right choice"),
        ),
        key="id",
        splits={"demo": ("test",)},
        files={"demo": {}},
        read=_read,
        published="2026-11-28",
        creators=("The medical-tasks developers",),
    ),
)
