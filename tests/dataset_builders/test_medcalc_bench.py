"""MedCalc-Bench from its official file to `load_dataset`, Croissant and the builder class of the Hub folder."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset, dataset_spec
from medical_tasks.benchmarks.medcalc_bench.data import OFFICIAL_COLUMNS, V1_TEST_SHA256
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.errors import MissingError, UsageError
from tests.benchmarks.medcalc_bench.official_csv import official_row, v12_rows, write_csv
from tests.dataset_builders.hub_class import builder_of
from tests.support import SHARED, needs_shared

SPEC = dataset_spec("medcalc_bench")
V1_FILE = SHARED / "data" / "medcalc" / "test_data_v1.csv"


def load(folder: Path, config: str | None, cache: Path, **options: Any) -> Any:
    import datasets

    return datasets.load_dataset(str(folder), config, cache_dir=str(cache), **options)


def test_the_class_builds_from_an_official_file(tmp_path: Path) -> None:
    import datasets

    write_csv(tmp_path / "official" / "test_data.csv", v12_rows())
    made = builder_of(
        "medcalc_bench", config_name="v1.2", data_dir=str(tmp_path / "official"), cache_dir=str(tmp_path / "cache")
    )
    assert isinstance(made, datasets.GeneratorBasedBuilder)
    made.download_and_prepare()
    rows = made.as_dataset(split="test")
    assert rows["category"][:] == ["lab", "dosage", "date", "date"]
    assert rows.info.license == "CC-BY-SA-4.0"


def later_release(rows: int) -> list[dict[str, str]]:
    """A test set as the later releases write it, of any size."""
    first = v12_rows()
    more = [official_row(number, Category="lab test") for number in range(len(first) + 1, rows + 1)]
    return [*first, *more][:rows]


@pytest.mark.parametrize("config", ["v1.2", "verified"])
@pytest.mark.parametrize("rows", [4, 1100, 1103])
def test_a_later_release_of_another_size_is_built_with_a_note(tmp_path: Path, config: str, rows: int) -> None:
    path = write_csv(tmp_path / "test_data.csv", later_release(rows))
    built = build_dataset("medcalc_bench", source=path, config=config, out=tmp_path / "out", partial=rows < 1000)
    assert built.rows == rows
    assert [row["source_category"] for row in read_rows(built.folder, config, "test")][:2] == [
        "lab test",
        "dosage conversion",
    ]
    said = f"config {config}: split test has {rows:,} rows, 1,100 were published; right if"
    assert [said in note for note in built.notes] == [True] * (rows != 1100)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent", r"absent is not there. It should hold\n  the test set, a CSV file: test_data_v1.csv or"),
        ("empty folder", r"empty folder lacks\n  the test set, a CSV file: test_data_v1.csv or MedCalc-Bench/dataset"),
    ],
)
def test_missing_source(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "empty folder").mkdir()
    with pytest.raises(MissingError, match=message) as caught:
        build_dataset("medcalc_bench", source=tmp_path / source, config="v1.0", out=tmp_path / "out")
    assert caught.value.exit_code == 3
    assert not (tmp_path / "out").exists()


def test_a_bad_file_leaves_nothing_and_is_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "test_data.csv", [official_row(1), official_row(2, **{"Calculator ID": "x"})])
    with pytest.raises(UsageError, match=r"test_data.csv: line 5, Row Number 2, column 'Calculator ID'") as caught:
        build_dataset("medcalc_bench", source=path, config="v1.0", out=tmp_path / "out")
    assert caught.value.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_too_few_rows_for_v1(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "test_data.csv", [official_row(number) for number in range(1, 1001)])
    with pytest.raises(
        UsageError, match=r"config v1.0: split test has 1,000 rows, 1,047 were published. The file is cut off"
    ):
        build_dataset("medcalc_bench", source=path, config="v1.0", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@needs_shared
@pytest.mark.upstream
def test_v1_every_cell_through_load_dataset(tmp_path: Path) -> None:
    built = build_dataset("medcalc_bench", source=V1_FILE.parent, config="v1.0", out=tmp_path / "out")
    assert (built.rows, built.notes) == (1047, ())
    assert dict(built_configs(built.folder)["v1.0"].source) == {"test_data_v1.csv": V1_TEST_SHA256}
    loaded = load(built.folder, "v1.0", tmp_path / "cache", split="test")
    assert list(loaded) == read_rows(built.folder, "v1.0", "test", spec=SPEC)
    with V1_FILE.open(encoding="utf-8", newline="") as stream:
        official = list(csv.DictReader(stream, strict=True))
    same = {theirs: ours for theirs, ours in OFFICIAL_COLUMNS.items() if theirs != "Relevant Entities"}
    for theirs, ours in same.items():
        assert [str(value) for value in loaded[ours][:]] == [row[theirs] for row in official], theirs


@needs_shared
@pytest.mark.upstream
@pytest.mark.parametrize("config", ["v1.2", "verified"])
def test_v1_file_is_not_built_under_another_name(tmp_path: Path, config: str) -> None:
    with pytest.raises(UsageError, match=f"is the official file of config v1.0, not of {config}. Give --config v1.0"):
        build_dataset("medcalc_bench", source=V1_FILE, config=config, out=tmp_path / "out")


@needs_shared
@pytest.mark.upstream
@pytest.mark.parametrize("part", [0.5, 0.9999])
def test_v1_file_cut_anywhere_is_refused(tmp_path: Path, part: float) -> None:
    content = V1_FILE.read_bytes()
    path = tmp_path / "test_data.csv"
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(UsageError, match="cut off|left open"):
        build_dataset("medcalc_bench", source=path, config="v1.0", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
