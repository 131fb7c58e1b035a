"""Radiology reports from `build` to `load_dataset`, Croissant and the builder class of the Hub folder, on twins and the demo."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
from medical_tasks.benchmarks.doclens.mimic_report import TRAIN_KINDS
from medical_tasks.benchmarks.doclens.mimic_twin import NOTES_FILE, write_twin
from medical_tasks.data.building import BuiltDataset, build_source
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.errors import UsageError

SPLITS = ("train", "test")


def build(folder: Path, config: str, place: Path | None = None) -> BuiltDataset:
    return build_source(MIMIC_SOURCE, place=place, config=config, folder=folder)


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
