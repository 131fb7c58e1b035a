"""A reader that works beside its caller begins before the files are hashed; what it says comes after what checksums say."""

from __future__ import annotations

import dataclasses
import hashlib
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.data import building
from medical_tasks.data.building import build_source
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.errors import UsageError
from tests.tiny_dataset import SOURCE, SPEC, SPLITS, make_rows, write_official


class Begun(Iterator[Mapping[str, Any]]):
    """Rows of an iterator that a test can watch."""

    def __init__(self, rows: Iterator[Mapping[str, Any]]) -> None:
        self.rows = rows

    def __next__(self) -> Mapping[str, Any]:
        return next(self.rows)


@pytest.fixture
def official(tmp_path: Path) -> Path:
    return write_official(tmp_path / "official").parent


def wrong_sum(official: Path) -> None:
    (official / "SHA256SUMS.txt").write_text(f"{hashlib.sha256().hexdigest()}  notes.jsonl\n")


def test_each_split_is_read_once_and_the_first_begins_first(
    official: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Mapping[str, Any]]:
        order.append(split)
        return SOURCE.read(config, split, files)

    def told(path: Path) -> str:
        order.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(building, "file_sha256", told)
    build_source(
        dataclasses.replace(SOURCE, read=read), place=official, config="full", folder=tmp_path / "built" / "tiny_notes"
    )
    assert order[:4] == ["train", "notes.jsonl", "dev", "test"]
    for split in SPLITS:
        assert read_rows(tmp_path / "built" / "tiny_notes", "full", split, spec=SPEC) == make_rows(split)


def test_a_checksum_is_told_first_and_the_reading_dropped(official: Path, tmp_path: Path) -> None:
    begun: list[weakref.ref[Begun]] = []

    def read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Mapping[str, Any]]:
        rows = Begun(SOURCE.read(config, split, files))
        begun.append(weakref.ref(rows))
        return rows

    wrong_sum(official)
    with pytest.raises(UsageError, match="SHA-256 is"):
        build_source(
            dataclasses.replace(SOURCE, read=read), place=official, config="full", folder=tmp_path / "tiny_notes"
        )
    assert [rows() for rows in begun] == [None]


def test_what_a_reader_refuses_at_once_is_told_after_the_checksum(official: Path, tmp_path: Path) -> None:
    def read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Mapping[str, Any]]:
        raise UsageError("not of the official form")

    source = dataclasses.replace(SOURCE, read=read)
    with pytest.raises(UsageError, match="not of the official form"):
        build_source(source, place=official, config="full", folder=tmp_path / "tiny_notes")
    wrong_sum(official)
    with pytest.raises(UsageError, match="SHA-256 is"):
        build_source(source, place=official, config="full", folder=tmp_path / "tiny_notes")
