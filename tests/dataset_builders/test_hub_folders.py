"""Every Hub folder from `build` to `load_dataset`, Croissant and its builder class, on the demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset, dataset_source, datasets
from medical_tasks.data.cards import card_text, croissant_text
from medical_tasks.errors import MissingError
from tests.dataset_builders.hub_class import builder_of
from tests.support import ROOT

CASES = json.loads(Path(__file__).with_name("cases").joinpath("hub_folders.json").read_text(encoding="utf-8"))

FOLDERS = ROOT / "dataset_builders"
NAMES = sorted(datasets())
# Rows of each split of the demo.
ROWS = CASES["ROWS"]


def demo_rows(name: str, split: str) -> list[dict[str, Any]]:
    return [dict(row) for row in dataset_source(name).read("demo", split, {})]


def plain(value: Any) -> Any:
    """What mlcroissant gives, in the types of the rows."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {name.rpartition("/")[2]: plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_every_dataset_has_a_folder_and_a_test_here() -> None:
    assert sorted(path.parent.name for path in FOLDERS.glob("*/build.py")) == NAMES == sorted(ROWS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_demo_through_load_dataset_croissant_and_the_class(name: str, tmp_path: Path) -> None:
    import datasets as library
    import mlcroissant

    source = dataset_source(name)
    folder = build_dataset(name, source=None, config="demo", out=tmp_path / name).folder
    loaded = library.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert tuple(loaded) == source.splits["demo"]
    assert [len(rows) for rows in loaded.values()] == ROWS[name]
    description = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert description.metadata.issues.report() == ""
    made = builder_of(name, config_name="demo", cache_dir=str(tmp_path / "cache"))
    for split, rows in loaded.items():
        wanted = demo_rows(name, split)
        assert list(rows) == wanted
        assert rows.column_names == [column.name for column in source.columns]
        assert list(made.as_streaming_dataset(split=split)) == wanted
        records = [plain(record) for record in description.records(f"demo/{split}")]
        # mlcroissant gives an empty list as nothing.
        empty = {column.name for column in source.columns if column.repeated}
        assert [
            {key: [] if value is None and key in empty else value for key, value in row.items()} for row in records
        ] == wanted


@pytest.mark.parametrize("name", NAMES)
def test_what_the_folder_holds(name: str) -> None:
    source = dataset_source(name)
    assert {path.name for path in (FOLDERS / name).iterdir() if path.suffix == ".py"} == {"build.py"}
    card = (FOLDERS / name / "README.md").read_text(encoding="utf-8")
    croissant = (FOLDERS / name / "croissant.json").read_text(encoding="utf-8")
    assert (card, croissant) == (card_text(source), croissant_text(source))
    credentialed = source.spec.access == "credentialed"
    assert ("extra_gated_prompt" in card) == ("conditionsOfAccess" in json.loads(croissant)) == credentialed


@pytest.mark.parametrize(("name", "config", "message"), CASES["what_is_needed_is_told"])
def test_what_is_needed_is_told(name: str, config: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=message):
        build_dataset(name, source=None, config=config, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
