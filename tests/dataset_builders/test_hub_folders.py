"""Hub folders, releases, twins and users' own files, from `build` to `load_dataset`, Croissant and the builder classes."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from measurements.archehr_twin import write_twin as write_archehr_twin
from measurements.mimic_twin import NOTES_FILE, write_twin
from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, source_at
from medical_tasks.benchmarks.doclens.mimic_data import MIMIC_SOURCE
from medical_tasks.benchmarks.doclens.mimic_report import TRAIN_KINDS
from medical_tasks.catalog import dataset_source
from medical_tasks.data.building import BuiltDataset, build_source
from medical_tasks.data.cards import card_text, croissant_text
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.data.fetching import build_dataset
from medical_tasks.errors import MissingError, UsageError
from tests.benchmarks.medcalc_bench.official_csv import (
    official_row,
    v12_rows,
    write_csv,
)
from tests.case_tables import tables
from tests.data.test_croissant import described, issues, records
from tests.support import ROOT, SHARED, file_modes, needs_shared, own_datasets
from tests.tiny_dataset import files_of


def builder_of(name: str, **arguments: Any) -> Any:
    """Makes the builder from `build.py`, loaded by its path."""
    path = ROOT / "dataset_builders" / name / "build.py"
    location = importlib.util.spec_from_file_location("build", path)
    assert location is not None
    assert location.loader is not None
    module = importlib.util.module_from_spec(location)
    location.loader.exec_module(module)
    (exported,) = module.__all__
    return getattr(module, exported)(**arguments)


CASES = tables(__file__, "hub_folders")

FOLDER = ROOT / "dataset_builders"
NAMES = sorted(own_datasets())
# Rows of each split of the demo.
ROWS = CASES["ROWS"]


def demo_rows(name: str, split: str) -> list[dict[str, Any]]:
    return [dict(row) for row in dataset_source(name).read("demo", split, {})]


def test_every_dataset_has_a_folder_and_a_test_here() -> None:
    assert (
        sorted(path.parent.name for path in FOLDER.glob("*/build.py"))
        == NAMES
        == sorted(ROWS)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_demo_through_load_dataset_croissant_and_the_class(
    name: str, tmp_path: Path
) -> None:
    import datasets as library

    source = dataset_source(name)
    folder = build_dataset(name, source=None, config="demo", out=tmp_path / name).folder
    loaded = library.load_dataset(
        str(folder), "demo", cache_dir=str(tmp_path / "cache")
    )
    assert tuple(loaded) == source.splits["demo"]
    assert [len(rows) for rows in loaded.values()] == ROWS[name]
    assert issues(folder / "croissant.json") == ""
    builder = builder_of(name, config_name="demo", cache_dir=str(tmp_path / "cache"))
    for split, rows in loaded.items():
        expected = demo_rows(name, split)
        assert list(rows) == expected
        assert rows.column_names == [column.name for column in source.columns]
        assert list(builder.as_streaming_dataset(split=split)) == expected
        # mlcroissant gives an empty list as nothing.
        empty = {column.name for column in source.columns if column.repeated}
        assert [
            {
                key: [] if value is None and key in empty else value
                for key, value in row.items()
            }
            for row in records(folder / "croissant.json", f"demo/{split}")
        ] == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", NAMES)
def test_contents_of_a_folder(name: str) -> None:
    source = dataset_source(name)
    assert {
        path.name for path in (FOLDER / name).iterdir() if path.suffix == ".py"
    } == {"build.py"}
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    croissant = (FOLDER / name / "croissant.json").read_text(encoding="utf-8")
    assert (card, croissant) == (card_text(source), croissant_text(source))
    credentialed = source.spec.access == "credentialed"
    assert (
        ("extra_gated_prompt" in card)
        == ("conditionsOfAccess" in json.loads(croissant))
        == credentialed
    )
    read, properties = (
        described(FOLDER / name / "croissant.json"),
        source.responsible_ai,
    )
    assert read.issues.report() == ""
    assert [str(key).partition("croissant/")[2] for key in read.conforms_to] == [
        "1.1",
        "RAI/1.0",
    ]
    assert properties.keys() >= {
        "personalSensitiveInformation",
        "dataLimitations",
        "dataUseCases",
    }
    assert {
        key: getattr(read, re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", key))
        for key in properties
    } == properties
    assert all(f"\n- {limit}\n" in card for limit in properties["dataLimitations"])
    names = {column.name for column in source.columns}.union(
        source.spec.configs, *source.splits.values()
    )
    assert names.issuperset(re.findall("`(.*?)`", json.dumps(properties)))


@pytest.mark.parametrize(("name", "config", "message"), CASES["missing_official_files"])
def test_missing_official_files_are_named(
    name: str, config: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(MissingError, match=message):
        build_dataset(name, source=None, config=config, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_of_ones_own_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    records = [
        {"example_id": n, "input": f"[0] note {n}", "reference": ""} for n in range(3)
    ]
    file.write_text(json.dumps(records), encoding="utf-8")
    built = build_dataset(
        "doclens_own", source=file, config="own", out=tmp_path / "own"
    )
    assert built.splits == {"test": 3}
    assert built.folder.stat().st_mode & 0o077 == 0
    file.write_text(json.dumps([*records, records[0]]), encoding="utf-8")
    with pytest.raises(UsageError, match="record 4: example_id '0' appears twice"):
        build_dataset("doclens_own", source=file, config="own", out=tmp_path / "own")


SPLITS = ("train", "test")


def build(folder: Path, config: str, source: Path | None = None) -> BuiltDataset:
    return build_source(MIMIC_SOURCE, source_path=source, config=config, folder=folder)


def test_a_twin_is_built_for_its_owner_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = write_twin(
        tmp_path / "files", seed=2, notes=1_500, ct_mr=0.6, compresslevel=1
    )
    out = tmp_path / "mimic_rrs"
    built = build(out, "notes", source)
    assert built.splits["test"] == 200
    assert built.notes == ()
    rows = {split: read_rows(out, "notes", split) for split in SPLITS}
    kinds = {(row["modality"], row["anatomy"]) for row in rows["train"]}
    assert kinds == set(TRAIN_KINDS)
    assert {row["patient_id"] for row in rows["train"]}.isdisjoint(
        row["patient_id"] for row in rows["test"]
    )
    assert set(built_configs(out)["notes"].source) == {NOTES_FILE}
    assert file_modes(out) == {0o600}
    # the file was read once for both splits
    assert capfd.readouterr().err.count("reports can be used") == 1

    tree = tmp_path / "physionet.org" / "files"
    release = tree / "mimiciii" / "1.4"
    release.mkdir(parents=True)
    for name in (NOTES_FILE, "SHA256SUMS.txt"):
        (source / name).rename(release / name)
    before = files_of(out)
    path = release / NOTES_FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        UsageError,
        match=r"SHA256SUMS.txt, line 1, says .* truncated, changed, or from another release",
    ):
        build(out, "notes", tree)
    (release / "SHA256SUMS.txt").unlink()
    with pytest.raises(
        UsageError, match=r"NOTEEVENTS.csv.gz: cut off, the gzip data end amid"
    ):
        build(out, "notes", tree)
    assert files_of(out) == before


V1_FILE = SHARED / "data" / "medcalc" / "test_data_v1.csv"


def later_release(rows: int) -> list[dict[str, str]]:
    """A test set as the later releases write it, of any size."""
    first = v12_rows()
    more = [
        official_row(number, Category="lab test")
        for number in range(len(first) + 1, rows + 1)
    ]
    return [*first, *more][:rows]


@pytest.mark.parametrize("config", ["v1.2", "verified"])
@pytest.mark.parametrize("rows", [4, 1100, 1103])
def test_a_later_release_of_another_size_is_built_with_a_note(
    tmp_path: Path, config: str, rows: int
) -> None:
    path = write_csv(tmp_path / "test_data.csv", later_release(rows))
    built = build_dataset(
        "medcalc_bench",
        source=path,
        config=config,
        out=tmp_path / "out",
        partial=rows < 1000,
    )
    assert built.rows == rows
    assert [row["source_category"] for row in read_rows(built.folder, config, "test")][
        :2
    ] == [
        "lab test",
        "dosage conversion",
    ]
    note_text = (
        f"config {config}: split test has {rows:,} rows, 1,100 were published; right if"
    )
    assert [note_text in note for note in built.notes] == [True] * (rows != 1100)


@needs_shared
@pytest.mark.upstream
def test_v1_file_under_another_name_or_cut_anywhere_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for config in ("v1.2", "verified"):
        message = (
            f"is the official file of config v1.0, not of {config}. Give --config v1.0"
        )
        with pytest.raises(UsageError, match=message):
            build_dataset("medcalc_bench", source=V1_FILE, config=config, out=out)
    content = V1_FILE.read_bytes()
    path = tmp_path / "test_data.csv"
    for share in (0.5, 0.9999):
        path.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(UsageError, match="cut off|left open"):
            build_dataset("medcalc_bench", source=path, config="v1.0", out=out)
    assert not out.exists()


def build_archehr(
    folder: Path, config: str, source: Path | None = None
) -> BuiltDataset:
    return build_source(
        source_at(config, source),
        source_path=source,
        config=config,
        folder=folder,
        partial=True,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_archehr(tmp_path_factory.mktemp("demo") / "archehr_qa", "demo").folder


def test_a_sum_of_splits_through_load_dataset_and_the_class_of_a_release(
    demo: Path, tmp_path: Path
) -> None:
    import datasets

    both = datasets.load_dataset(
        str(demo), "demo", split="test+test_2026", cache_dir=str(tmp_path / "cache")
    )
    assert list(both) == read_rows(demo, "demo", "test+test_2026")
    twin = write_archehr_twin(tmp_path / "twin", seed=1, dev=2, test=3)
    builder = builder_of(
        "archehr_qa",
        config_name="official",
        data_dir=str(twin),
        cache_dir=str(tmp_path / "cache"),
    )
    assert [row["id"] for row in builder.as_streaming_dataset(split="test")] == [
        "3",
        "4",
        "5",
    ]


def test_a_release_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    twin = write_archehr_twin(tmp_path / "files" / "1.3", seed=2, test_2026=47)
    sums = [
        f"{file_sha256(path)} {path.relative_to(twin).as_posix()}\n"
        for path in twin.rglob("*.*")
    ]
    (twin / "SHA256SUMS.txt").write_text("".join(sums), encoding="utf-8")
    out = tmp_path / "archehr_qa"
    built = build_archehr(out, "official", tmp_path / "files")
    assert (built.splits, built.notes) == (
        {"dev": 20, "test": 100, "test_2026": 47},
        (),
    )
    assert set(built_configs(out)["official"].source) == {
        f"1.3/{folder}/archehr-qa{end}"
        for folder in FOLDERS.values()
        for end in (".xml", "_key.json", "_mapping.json")
    }
    assert file_modes(out) == {0o600}
    assert len(read_rows(out, "official", "test")) == 100
    # A changed key is detected by the publisher's checksum before anything is read.
    (twin / "test" / "archehr-qa_key.json").write_text("[]", encoding="utf-8")
    with pytest.raises(
        UsageError,
        match=r"SHA256SUMS.txt, line \d, says .* truncated, changed, or from another release",
    ):
        build_archehr(out, "official", tmp_path / "files")
    assert len(read_rows(out, "official", "test")) == 100


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_release_with_one_split(tmp_path: Path, split: str) -> None:
    other = {"dev": "test", "test": "dev"}[split]
    twin = write_archehr_twin(
        tmp_path / "twin",
        seed=3,
        dev=2 if split == "dev" else 0,
        test=2 if split == "test" else 0,
        keys=(),
    )
    built = build_archehr(tmp_path / "out", "official", twin)
    assert built.splits == {split: 2}
    assert any(f"split {split} has 2 rows" in note for note in built.notes)
    assert [
        row["relevance"] for row in read_rows(tmp_path / "out", "official", split)
    ] == [[], []]
    with pytest.raises(
        UsageError,
        match=f"split {other} is not built; it has {split}. Use --split {split}, or",
    ):
        read_rows(tmp_path / "out", "official", other)
