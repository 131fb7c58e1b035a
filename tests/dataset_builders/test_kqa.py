"""K-QA from `build` to `load_dataset`, Croissant and the builder class of the Hub folder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.kqa.data import COLUMNS, demo_rows
from tests.support import ROOT, SHARED, needs_shared

HUB_FOLDER = ROOT / "dataset_builders" / "kqa"
OFFICIAL = SHARED / "data" / "kqa"


def builder(**arguments: Any) -> Any:
    """The builder class, from `build.py` loaded by its path as a user without the package's help would."""
    location = importlib.util.spec_from_file_location("build", HUB_FOLDER / "build.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module.KQA(**arguments)


def test_demo_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build_dataset("kqa", source=None, config="demo", out=tmp_path / "kqa").folder
    loaded = datasets.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"]
    assert list(loaded["test"]) == demo_rows()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_demo_as_croissant(tmp_path: Path) -> None:
    import mlcroissant

    folder = build_dataset("kqa", source=None, config="demo", out=tmp_path / "kqa").folder
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert dataset.metadata.issues.report() == ""
    records = list(dataset.records("demo/test"))
    assert len(records) == 13
    for record, row in zip(records, demo_rows(), strict=True):
        for column in COLUMNS:
            value = record[f"demo/test/{column.name}"]
            if column.repeated:
                texts = [] if value is None else [each.decode() if isinstance(each, bytes) else each for each in value]
                assert texts == row[column.name]
            else:
                assert value == row[column.name].encode()


def test_the_class_streams(tmp_path: Path) -> None:
    streamed = builder(config_name="demo", cache_dir=str(tmp_path / "cache")).as_streaming_dataset(split="test")
    assert list(streamed) == demo_rows()


def test_the_hub_folder_has_no_script_that_load_dataset_refuses() -> None:
    assert {path.name for path in HUB_FOLDER.iterdir() if path.suffix == ".py"} == {"build.py"}


@needs_shared
@pytest.mark.upstream
def test_the_release_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    for config, name, count in (("answered", "questions_w_answers", 201), ("questions", "questions", 1212)):
        folder = build_dataset("kqa", source=OFFICIAL, config=config, out=tmp_path / "kqa").folder
        loaded = datasets.load_dataset(str(folder), config, split="test", cache_dir=str(tmp_path / "cache"))
        official = [json.loads(line) for line in (OFFICIAL / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert len(official) == count
        assert loaded["question"][:] == [line["Question"] for line in official]
        assert loaded["icd_10_diag"][:] == [line["ICD_10_diag"] or "" for line in official]
        if config == "answered":
            assert loaded["must_have"][:] == [line["Must_have"] for line in official]
        else:
            assert loaded["entity_tag"][:] == [line["entity_tag"] or [] for line in official]
