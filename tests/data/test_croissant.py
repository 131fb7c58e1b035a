from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.data.building import build_source
from medical_tasks.data.cards import croissant_text
from medical_tasks.data.dataset_store import built_configs
from tests.case_tables import json_of
from tests.tiny_dataset import CREDENTIALED, SOURCE, SPLITS, make_rows, write_official

# mlcroissant and what it imports still use names that their own libraries deprecate.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("croissant")
    build_source(
        SOURCE,
        source_path=write_official(home / "official"),
        config="full",
        folder=home / "tiny",
    )
    build_source(SOURCE, source_path=None, config="demo", folder=home / "tiny")
    return home / "tiny"


def records(path: Path, record_set: str) -> Iterator[dict[str, Any]]:
    """Rows as mlcroissant reads them, in the form of our own rows."""
    import mlcroissant

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, dict):
            return {
                name.rpartition("/")[2]: plain(item) for name, item in value.items()
            }
        if hasattr(value, "tolist"):  # a list, also an empty one of records
            return plain(value.tolist())
        return [plain(item) for item in value] if isinstance(value, list) else value

    for record in mlcroissant.Dataset(jsonld=str(path)).records(record_set):
        yield plain(record)


def described(path: Path) -> Any:
    import mlcroissant

    return mlcroissant.Dataset(jsonld=str(path)).metadata


def issues(path: Path) -> str:
    return str(described(path).issues.report())


@pytest.mark.parametrize(
    ("config", "word", "split"),
    [("full", "first", "train"), ("full", "first", "test"), ("demo", "demo", "dev")],
)
def test_records_load_with_their_types(
    folder: Path, config: str, word: str, split: str
) -> None:
    assert list(records(folder / "croissant.json", f"{config}/{split}")) == make_rows(
        split, word=word
    )


def test_the_built_file_validates_and_has_the_hashes_of_the_files(
    folder: Path,
) -> None:
    assert issues(folder / "croissant.json") == ""
    content = json_of(folder / "croissant.json")
    named = {file["contentUrl"]: file["sha256"] for file in content["distribution"]}
    built = {
        split.path: split.sha256
        for config in built_configs(folder).values()
        for split in config.splits.values()
    }
    assert named == built
    assert len(named) == 6


def test_the_checked_in_form_loads_built_files_and_the_built_one_none_that_changed(
    folder: Path, tmp_path: Path
) -> None:
    import mlcroissant

    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    path = copy / built_configs(copy)["demo"].splits["dev"].path
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(mlcroissant.GenerationError):
        list(records(copy / "croissant.json", "demo/dev"))
    (copy / "croissant.json").write_text(croissant_text(SOURCE), encoding="utf-8")
    assert [row["id"] for row in records(copy / "croissant.json", "full/dev")] == [
        "dev-0",
        "dev-1",
        "dev-2",
    ]


@pytest.mark.parametrize("source", [SOURCE, CREDENTIALED], ids=["open", "credentialed"])
def test_the_checked_in_form_validates_and_has_no_hash(
    source: Any, tmp_path: Path
) -> None:
    from mlcroissant._src.core.rdf import make_context

    path = tmp_path / "croissant.json"
    path.write_text(croissant_text(source), encoding="utf-8")
    read = described(path)
    assert (read.issues.report(), read.conforms_to) == (
        "",
        ["http://mlcommons.org/croissant/1.1"],
    )
    assert make_context(read.ctx).items() <= json_of(path)["@context"].items()
    assert "sha256" not in path.read_text()
    assert [entry["@id"] for entry in json_of(path)["recordSet"]] == [
        f"{config}/{split}" for config in ("full", "demo") for split in SPLITS
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"dataBias": ["few"]}, {"dataBiases": "few"}, {"dataCollection": ["by hand"]}],
)
def test_properties_of_responsible_ai_are_those_of_croissant(wrong: Any) -> None:
    with pytest.raises(
        ValueError,
        match=f"tiny_notes: responsible_ai has {next(iter(wrong))}; texts are annotations",
    ):
        dataclasses.replace(SOURCE, responsible_ai=wrong)
