"""Texts of one's own from `build` to `load_dataset` and the builder class of the Hub folder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.doclens.own_data import OWN_COLUMNS, read_own_rows
from medical_tasks.errors import UsageError
from tests.support import ROOT

HUB_FOLDER = ROOT / "dataset_builders" / "doclens_own"


def demo_rows() -> list[dict[str, Any]]:
    return list(read_own_rows("demo", "test", {}))


def test_demo_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build_dataset("doclens_own", source=None, config="demo", out=tmp_path / "doclens_own").folder
    loaded = datasets.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert tuple(loaded) == ("test",)
    assert list(loaded["test"]) == demo_rows()
    assert loaded["test"].column_names == [column.name for column in OWN_COLUMNS]


def test_a_file_of_ones_own_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    records = [{"example_id": n, "input": f"[0] note {n}", "reference": ""} for n in range(3)]
    file.write_text(json.dumps(records), encoding="utf-8")
    built = build_dataset("doclens_own", source=file, config="own", out=tmp_path / "own")
    assert built.splits == {"test": 3}
    assert built.folder.stat().st_mode & 0o077 == 0
    file.write_text(json.dumps([*records, records[0]]), encoding="utf-8")
    with pytest.raises(UsageError, match="record 4: example_id '0' stands twice"):
        build_dataset("doclens_own", source=file, config="own", out=tmp_path / "own")


def test_the_class_streams(tmp_path: Path) -> None:
    location = importlib.util.spec_from_file_location("build", HUB_FOLDER / "build.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    made = module.DocLensOwn(config_name="demo", cache_dir=str(tmp_path / "cache"))
    assert list(made.as_streaming_dataset(split="test")) == demo_rows()


def test_the_hub_folder_has_no_script_that_load_dataset_refuses() -> None:
    assert {path.name for path in HUB_FOLDER.iterdir() if path.suffix == ".py"} == {"build.py"}
