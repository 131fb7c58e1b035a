"""Radiology reports from `build` to `load_dataset`, Croissant and the builder class of the Hub folder, on twins and the demo."""

from __future__ import annotations

import importlib.util
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE, read_mimic_rows
from medical_tasks.benchmarks.doclens.mimic_report import TRAIN_KINDS
from medical_tasks.benchmarks.doclens.mimic_sample import MIMIC_COLUMNS
from medical_tasks.benchmarks.doclens.mimic_twin import NOTES_FILE, write_twin
from medical_tasks.data.building import BuiltDataset, build_source
from medical_tasks.data.cards import card_text, croissant_text
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.errors import MissingError, UsageError
from tests.support import ROOT

HUB_FOLDER = ROOT / "dataset_builders" / "mimic_rrs"
SPLITS = ("train", "test")


def demo_rows(split: str) -> list[dict[str, Any]]:
    return list(read_mimic_rows("demo", split, {}))


def build(folder: Path, config: str, place: Path | None = None) -> BuiltDataset:
    return build_source(MIMIC_SOURCE, place=place, config=config, folder=folder)


def builder(**arguments: Any) -> Any:
    """The builder class, from `build.py` loaded by its path as a user without the package's help would."""
    location = importlib.util.spec_from_file_location("build", HUB_FOLDER / "build.py")
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    return module.MimicRRS(**arguments)


def test_demo_through_load_dataset(tmp_path: Path) -> None:
    import datasets

    folder = build(tmp_path / "mimic_rrs", "demo").folder
    loaded = datasets.load_dataset(str(folder), "demo", cache_dir=str(tmp_path / "cache"))
    assert tuple(loaded) == SPLITS
    for split in SPLITS:
        assert list(loaded[split]) == demo_rows(split)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_demo_as_croissant(tmp_path: Path) -> None:
    import mlcroissant

    folder = build(tmp_path / "mimic_rrs", "demo").folder
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert dataset.metadata.issues.report() == ""
    for split in SPLITS:
        records = list(dataset.records(f"demo/{split}"))
        assert len(records) == 12
        for record, row in zip(records, demo_rows(split), strict=True):
            for column in MIMIC_COLUMNS:
                value = record[f"demo/{split}/{column.name}"]
                if column.repeated:
                    assert [each.decode() if isinstance(each, bytes) else each for each in value] == row[column.name]
                else:
                    assert value == row[column.name].encode()


def test_the_class_streams(tmp_path: Path) -> None:
    made = builder(config_name="demo", cache_dir=str(tmp_path / "cache"))
    assert list(made.as_streaming_dataset(split="test")) == demo_rows("test")


def test_the_hub_folder() -> None:
    assert {path.name for path in HUB_FOLDER.iterdir() if path.suffix == ".py"} == {"build.py"}
    card = (HUB_FOLDER / "README.md").read_text(encoding="utf-8")
    assert card == card_text(MIMIC_SOURCE)
    assert "extra_gated_prompt" in card
    croissant = (HUB_FOLDER / "croissant.json").read_text(encoding="utf-8")
    assert croissant == croissant_text(MIMIC_SOURCE)
    assert "conditionsOfAccess" in json.loads(croissant)


def test_a_twin_is_built_for_its_owner_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = write_twin(tmp_path / "files", seed=2, notes=1_500, ct_mr=0.6, compresslevel=1)
    out = tmp_path / "mimic_rrs"
    built = build(out, "notes", source)
    assert built.splits["test"] == 200
    assert built.notes == ()
    rows = {split: read_rows(out, "notes", split) for split in SPLITS}
    kinds = {(row["modality"], row["anatomy"]) for row in rows["train"]}
    assert kinds == set(TRAIN_KINDS)
    assert {row["patient_id"] for row in rows["train"]}.isdisjoint(row["patient_id"] for row in rows["test"])
    assert set(built_configs(out)["notes"].source) == {NOTES_FILE}
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*") if path.is_file()} == {0o600}
    assert capfd.readouterr().err.count("reports can be used") == 1  # the file was read once for both splits

    tree = tmp_path / "physionet.org" / "files"
    place = tree / "mimiciii" / "1.4"
    place.mkdir(parents=True)
    for name in (NOTES_FILE, "SHA256SUMS.txt"):
        (source / name).rename(place / name)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    path = place / NOTES_FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"SHA256SUMS.txt, line 1, says .* cut off, changed or of another release"):
        build(out, "notes", tree)
    (place / "SHA256SUMS.txt").unlink()
    with pytest.raises(UsageError, match=r"NOTEEVENTS.csv.gz: cut off, the gzip data end amid"):
        build(out, "notes", tree)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_table(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(
        "id,split,findings,impression\n1,test,Seen. And seen.,Is so\n2,train,Seen,Is so\n", encoding="utf-8"
    )
    built = build(tmp_path / "out", "table", table)
    assert built.splits == {"train": 1, "test": 1}
    (row,) = read_rows(tmp_path / "out", "table", "test")
    assert row["sentences"] == ["Seen.", "And seen."]
    table.write_text("id,split,findings,impression\n1,test,Seen. And seen.,Is so\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no row whose 'split' is 'train'"):
        build(tmp_path / "out", "table", table)
    assert built_configs(tmp_path / "out")["table"].splits["train"].rows == 1


def test_what_is_needed_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"needs the official files, none given(.|\n)*NOTEEVENTS.csv.gz"):
        build(tmp_path / "out", "notes")
    assert not (tmp_path / "out").exists()
