"""MeQSum from `build` to `load_dataset`, Croissant and the builder class of the Hub folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.doclens.data import MEQSUM_COLUMNS, read_meqsum_rows
from tests.support import ROOT, SHARED, needs_shared

HUB_FOLDER = ROOT / "dataset_builders" / "meqsum"
OFFICIAL = SHARED / "data" / "meqsum"
SPLITS = ("train", "validation", "test")


def demo_rows(split: str) -> list[dict[str, Any]]:
    return list(read_meqsum_rows("demo", split, {}))


def builder(**arguments: Any) -> Any:
    """The builder class, from `build.py` loaded by its path as a user without the package's help would."""
    location = importlib.util.spec_from_file_location("build", HUB_FOLDER / "build.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module.MeQSum(**arguments)


def test_demo_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build_dataset("meqsum", source=None, config="demo", out=tmp_path / "meqsum").folder
    loaded = datasets.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert tuple(loaded) == SPLITS
    for split in SPLITS:
        assert list(loaded[split]) == demo_rows(split)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_demo_as_croissant(tmp_path: Path) -> None:
    import mlcroissant

    folder = build_dataset("meqsum", source=None, config="demo", out=tmp_path / "meqsum").folder
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert dataset.metadata.issues.report() == ""
    for split in SPLITS:
        records = list(dataset.records(f"demo/{split}"))
        assert records
        for record, row in zip(records, demo_rows(split), strict=True):
            for column in MEQSUM_COLUMNS:
                value = record[f"demo/{split}/{column.name}"]
                if column.repeated:
                    parts = [] if value is None else list(value)
                    texts = [each.decode() if isinstance(each, bytes) else each for each in parts]
                    assert texts == row[column.name]
                else:
                    assert value == row[column.name].encode()


def test_the_class_streams(tmp_path: Path) -> None:
    made = builder(config_name="demo", cache_dir=str(tmp_path / "cache"))
    assert list(made.as_streaming_dataset(split="train")) == demo_rows("train")


def test_the_hub_folder_has_no_script_that_load_dataset_refuses() -> None:
    assert {path.name for path in HUB_FOLDER.iterdir() if path.suffix == ".py"} == {"build.py"}


@needs_shared
@pytest.mark.upstream
def test_the_release_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build_dataset("meqsum", source=OFFICIAL, config="full", out=tmp_path / "meqsum").folder
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 1000, "validation": 50, "test": 100}
    assert loaded["train"].column_names == [column.name for column in MEQSUM_COLUMNS]
