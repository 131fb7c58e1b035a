"""A small dataset to test building, cards and Croissant files with every kind of column and access class."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from medical_tasks.data.dataset_source import DatasetSource, OfficialFile, file_sha256
from medical_tasks.data.dataset_store import (
    MARKER,
    BuiltConfig,
    BuiltSplit,
    marker_text,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.spec import DatasetSpec

SPLITS = ("train", "dev", "test")

SPEC = DatasetSpec(
    name="tiny_notes",
    title="Tiny Notes",
    access="open",
    licence="CC-BY-4.0",
    homepage="https://example.org/tiny",
    paper="https://example.org/tiny/paper",
    citation="@misc{tiny, title = {Tiny Notes}}",
    configs=("full", "demo"),
    default_config="full",
    how_to_get=(
        "download notes.jsonl from https://example.org/tiny",
        "medical-tasks build tiny_notes --source DIR",
    ),
    version="2.0.0",
)

COLUMNS = (
    Column(name="id", description="id"),
    Column(name="count", dtype="int64", description="a number"),
    Column(name="weight", dtype="float64", description="a fraction"),
    Column(name="checked", dtype="bool", description="a truth value"),
    Column(name="statements", repeated=True, description="texts"),
    Column(
        name="sentences",
        dtype="struct",
        repeated=True,
        description="numbered sentences",
        fields=(
            Column(name="number", dtype="int64", description="from 1"),
            Column(name="text", description="the sentence"),
        ),
    ),
)


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of a folder's files, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write_built(
    home: Path, name: str, rows: Sequence[Mapping[str, Any]], *, version: str = "1.0.0"
) -> Path:
    """Writes rows as the built demo of a dataset in a data home, and returns its folder."""
    folder = home / name
    path = folder / "demo" / "test.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    split = BuiltSplit(
        path="demo/test.parquet",
        rows=len(rows),
        sha256=file_sha256(path),
        file_bytes=path.stat().st_size,
        num_bytes=1,
    )
    config = BuiltConfig(version=version, suite="0", source={}, splits={"test": split})
    (folder / MARKER).write_text(marker_text(name, {"demo": config}))
    return folder


def make_rows(
    split: str, *, count: int = 3, word: str = "first"
) -> list[dict[str, Any]]:
    """Rows of a split; `word` distinguishes releases."""
    return [
        {
            "id": f"{split}-{number}",
            "count": number,
            "weight": number / 4,
            "checked": number % 2 == 0,
            "statements": [f"{word} {index}" for index in range(number)],
            "sentences": [
                {"number": index + 1, "text": f"{word} µ {index}"}
                for index in range(number)
            ],
        }
        for number in range(count)
    ]


def write_official(folder: Path, *, count: int = 3, word: str = "first") -> Path:
    """Writes the official file of the dataset."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "notes.jsonl"
    lines = [
        json.dumps({"split": split, "row": row})
        for split in SPLITS
        for row in make_rows(split, count=count, word=word)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read(
    config: str, split: str, files: Mapping[str, Path]
) -> Iterator[dict[str, Any]]:
    if config == "demo":
        yield from make_rows(split, word="demo")
        return
    for number, line in enumerate(
        files["notes"].read_text(encoding="utf-8").splitlines(), start=1
    ):
        entry = json.loads(line)
        if entry["row"]["count"] < 0:
            raise UsageError(f"{files['notes']}: line {number}: negative count")
        if entry["split"] == split:
            yield entry["row"]


SOURCE = DatasetSource(
    spec=SPEC,
    summary="Notes for tests.",
    changes=("Nothing is changed.",),
    columns=COLUMNS,
    key="id",
    splits={"full": SPLITS, "demo": SPLITS},
    files={
        "full": {
            "notes": OfficialFile(
                places=("notes.jsonl", "data/notes.jsonl"), description="the notes"
            )
        },
        "demo": {},
    },
    read=read,
    published="2024-01-31",
    creators=("A. Person",),
    tags=("medical",),
)


def with_spec(source: DatasetSource = SOURCE, **changes: Any) -> DatasetSource:
    """The source with a changed `DatasetSpec`."""
    return dataclasses.replace(source, spec=dataclasses.replace(source.spec, **changes))


CREDENTIALED = with_spec(access="credentialed", licence="PhysioNet-Credentialed-1.5.0")
