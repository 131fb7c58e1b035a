from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.data.building import builder_class
from medical_tasks.data.dataset_source import DatasetSource
from medical_tasks.errors import MissingError, UsageError
from tests.tiny_dataset import SOURCE, SPEC, SPLITS, make_rows, write_official


def reading(rows: list[dict[str, Any]]) -> DatasetSource:
    def read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        yield from rows

    return dataclasses.replace(SOURCE, read=read)


def test_it_is_a_builder_with_the_spec_s_configs() -> None:
    import datasets

    cls = builder_class(SOURCE)
    assert issubclass(cls, datasets.GeneratorBasedBuilder)
    assert list(cls.builder_configs) == ["full", "demo"]
    assert str(cls.VERSION) == SPEC.version
    assert cls.DEFAULT_CONFIG_NAME == "full"


def test_build_into_the_cache_and_stream(tmp_path: Path) -> None:
    write_official(tmp_path / "official")
    cls = builder_class(SOURCE)
    builder = cls(cache_dir=str(tmp_path / "cache"), config_name="full", data_dir=str(tmp_path / "official"))
    builder.download_and_prepare()
    rows = builder.as_dataset()
    assert set(rows) == set(SPLITS)
    assert list(rows["dev"]) == make_rows("dev")
    info = rows["dev"].info
    assert (info.license, info.citation, str(info.version)) == (SPEC.licence, SPEC.citation, "2.0.0")
    streamed = cls(cache_dir=str(tmp_path / "cache2"), config_name="demo").as_streaming_dataset(split="test")
    assert list(streamed) == make_rows("test", word="demo")


def test_missing_files_are_our_own_error(tmp_path: Path) -> None:
    builder = builder_class(SOURCE)(cache_dir=str(tmp_path), config_name="full")
    with pytest.raises(MissingError, match="needs the official files, none given"):
        builder.download_and_prepare()


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            [make_rows("test")[1], make_rows("test")[1]],
            UsageError,
            "tiny_notes, config demo, split train: two rows have id 'test-1'; it must be unique",
        ),
        ([{"id": "a"}], ValueError, r"row 'a' has columns \['id'\], declared \['id', 'count'"),
        ([{**make_rows("test")[1], "extra": 1}], ValueError, "'extra'"),
    ],
)
def test_rows_that_are_not_as_declared(
    tmp_path: Path, rows: list[dict[str, Any]], error: type[Exception], message: str
) -> None:
    from datasets.exceptions import DatasetGenerationError

    builder = builder_class(reading(rows))(cache_dir=str(tmp_path), config_name="demo")
    with pytest.raises(DatasetGenerationError) as caught:
        builder.download_and_prepare()
    assert isinstance(caught.value.__cause__, error)
    with pytest.raises(error, match=message):
        raise caught.value.__cause__
