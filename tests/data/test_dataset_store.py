"""Built datasets on disk, and temporary builds of a user's own file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.catalog import dataset_source
from medical_tasks.data import dataset_store
from medical_tasks.data.building import build_source
from medical_tasks.data.dataset_store import (
    MARKER,
    built_configs,
    built_name,
    built_split,
    read_rows,
    rows_hash,
)
from medical_tasks.data.task_data import built_from, rows_sha256, source_configs
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.user_folders import private_home
from tests.case_tables import json_of, tabled
from tests.tiny_dataset import SOURCE, SPEC, make_rows, write_official


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "tiny_notes"
    build_source(
        SOURCE,
        source_path=write_official(folder.parent / "official"),
        config="full",
        folder=folder,
    )
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    import shutil

    return Path(shutil.copytree(built, tmp_path / "tiny_notes"))


def edit_marker(folder: Path, **values: Any) -> None:
    content = json_of(folder / MARKER)
    content["configs"]["full"]["splits"]["test"] |= values
    (folder / MARKER).write_text(json.dumps(content))


def test_built_configurations_and_rows_with_their_types(built: Path) -> None:
    (config,) = built_configs(built).values()
    assert (config.version, list(config.source)) == ("2.0.0", ["notes.jsonl"])
    assert built_name(built) == "tiny_notes"
    for split, entry in config.splits.items():
        assert entry.rows == 3
        assert read_rows(built, "full", split, spec=SPEC) == make_rows(split)


def test_rows_hold_no_text_but_columns_of_the_latest_row_group(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(dataset_store, "_GROUPS_KEPT", 1)
    read: list[str] = []
    whole = pq.ParquetFile.read_row_group

    def counted(file: Any, number: int, *, columns: list[str], **options: Any) -> Any:
        read.extend(columns)
        return whole(file, number, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    names = list(built_configs(built)["full"].splits)
    rows = read_rows(built, "full", "+".join(names), spec=SPEC)
    expected = [row for name in names for row in make_rows(name)]
    columns = list(expected[0])
    assert (len(rows), read) == (9, [])
    assert [row[columns[0]] for row in rows[:3]] == [
        row[columns[0]] for row in expected[:3]
    ]
    assert read == columns[:1]
    assert [rows[0], *rows] == [expected[0], *expected]
    assert read == columns * 3
    assert list(rows[0]) == columns
    assert rows[0] == expected[0]
    assert read == columns * 4
    with pytest.raises(KeyError, match="absent"):
        rows[0]["absent"]
    assert read == columns * 4


def test_hash_of_the_rows_is_recorded_and_is_that_of_the_rows(
    built: Path, copy: Path
) -> None:
    splits = built_configs(built)["full"].splits
    assert len(splits) > 1
    for name, split in splits.items():
        rows = read_rows(built, "full", name, spec=SPEC)
        assert split.rows_sha256 == rows_hash(rows) == rows_hash(make_rows(name))
        assert rows_sha256(built, "full", name, spec=SPEC) == split.rows_sha256
    of_sum = rows_sha256(built, "full", "+".join(splits), spec=SPEC)
    assert of_sum == rows_hash(row for name in splits for row in make_rows(name))
    content = json_of(copy / MARKER)
    del content["configs"]["full"]["splits"]["test"]["rows_sha256"]
    (copy / MARKER).write_text(json.dumps(content))  # as earlier versions built it
    assert rows_sha256(copy, "full", "test", spec=SPEC) == (
        built_configs(built)["full"].splits["test"].rows_sha256
    )


def test_nothing_built_and_a_missing_config(built: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        assert built_configs(folder) == {}
        assert built_name(folder) is None
    with pytest.raises(MissingError, match="config full is not built") as caught:
        read_rows(tmp_path / "absent", "full", "test", spec=SPEC)
    assert all(step in str(caught.value) for step in SPEC.how_to_get)
    with pytest.raises(
        MissingError,
        match="config demo is not built in .*; built there: full. Build it, no download needed",
    ):
        read_rows(built, "demo", "test", spec=SPEC)
    with pytest.raises(
        MissingError, match="Build it: medical-tasks build tiny_notes --config other"
    ):
        read_rows(built, "other", "test")


def test_missing_split(built: Path) -> None:
    has = "it has train, dev, test"
    with pytest.raises(
        UsageError,
        match=f"config full: split valid is not built; {has}. Use --split train or --split dev",
    ):
        read_rows(built, "full", "valid")
    with pytest.raises(
        UsageError,
        match=rf"full: splits no, nil are not built; {has}. Use --split dev, or",
    ):
        read_rows(built, "full", "no+dev+nil")
    for wrong in ("", "dev+", "dev+dev"):
        with pytest.raises(
            UsageError,
            match=r"a split is a name, or different names with \+ between .*, got '",
        ):
            read_rows(built, "full", wrong)


@given(
    st.permutations(("train", "dev", "test")),
    st.integers(1, 3),
    st.sampled_from(("+", " + ")),
)
def test_a_sum_of_splits_is_the_rows_of_each_in_the_order_they_were_built(
    built: Path, names: list[str], count: int, plus: str
) -> None:
    selected = names[:count]
    kept = [name for name in ("train", "dev", "test") if name in selected]
    assert built_split(built, "full", plus.join(selected)) == "+".join(kept)
    assert read_rows(built, "full", plus.join(selected)) == [
        row for name in kept for row in read_rows(built, "full", name)
    ]


def test_changed_files_are_not_read(copy: Path) -> None:
    path = copy / built_configs(copy)["full"].splits["test"].path
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(
        UsageError,
        match=r"not the file that was built \(SHA-256 .*Build it again: medical-tasks build tiny_notes",
    ):
        read_rows(copy, "full", "test", spec=SPEC)
    assert read_rows(copy, "full", "train") == make_rows("train")
    path.write_bytes(whole)
    edit_marker(copy, rows=4)
    with pytest.raises(
        UsageError, match="has 3 rows, the marker medical_tasks.json says 4"
    ):
        read_rows(copy, "full", "test")
    path.unlink()
    with pytest.raises(MissingError, match="is gone since config full was built"):
        read_rows(copy, "full", "test", spec=SPEC)


@tabled("text", "message")
def test_damaged_marker(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(UsageError, match=message):
        built_configs(tmp_path)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../other.parquet", "full/../../other.parquet"]
)
def test_a_marker_cannot_lead_out_of_its_folder(copy: Path, path: str) -> None:
    edit_marker(copy, path=path)
    with pytest.raises(UsageError, match="leaves the folder"):
        read_rows(copy, "full", "test")


QUESTIONS = [f"Is tea {n} fine?" for n in range(2)]


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    file = tmp_path / "gold.jsonl"
    more = {
        "Free_form_answer": "Yes.",
        "Must_have": ["Tea is fine."],
        "Nice_to_have": [],
    }
    file.write_text(
        "".join(
            f"{json.dumps({'Question': question} | more)}\n" for question in QUESTIONS
        ),
        encoding="utf-8",
    )
    return file


def private_files() -> list[Path]:
    return sorted(private_home().rglob("*")) if private_home().exists() else []


def test_a_temporary_build_is_readable_by_its_owner_alone(gold: Path) -> None:
    with built_from(dataset_source("kqa"), gold, "own") as folder:
        assert [
            row["question"] for row in read_rows(folder, "own", "test")
        ] == QUESTIONS
        assert list(built_configs(folder)["own"].source) == ["gold.jsonl"]
        assert folder.is_relative_to(private_home())
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert private_files() == []


def test_a_failed_temporary_build_leaves_nothing(gold: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="in the block"),
        built_from(dataset_source("kqa"), gold, "own"),
    ):
        raise RuntimeError("in the block")
    gold.write_text("{}", encoding="utf-8")
    for path, error, message in (
        (gold, UsageError, "gold.jsonl: line 1 has the wrong fields"),
        (Path("none.jsonl"), MissingError, "none.jsonl is not there"),
        (gold.parent, UsageError, "is a folder. Give --source the file"),
    ):
        with (
            pytest.raises(error, match=message),
            built_from(dataset_source("kqa"), path, "own"),
        ):
            pass
    assert private_files() == []


def test_datasets_that_are_made_from_one_file() -> None:
    for name in ("kqa", "ehrnoteqa", "doclens_own"):
        assert source_configs(dataset_source(name)) == ("own",)
    with pytest.raises(
        UsageError, match="the dataset meqsum is not made from one file of your own"
    ):
        source_configs(dataset_source("meqsum"))


def test_rows_are_read_in_several_threads(tmp_path: Path) -> None:
    """pyarrow's reader of a file, used in two threads at once, ends the process or raises."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    names = [f"column_{number}" for number in range(8)]
    content = {
        name: [f"{name}, row {row}, " * 100 for row in range(400)] for name in names
    }
    pq.write_table(pa.table(content), path, row_group_size=50)
    for _ in range(10):
        rows = dataset_store._rows_of(pq.ParquetFile(path))
        with ThreadPoolExecutor(8) as threads:
            values = threads.map(lambda row: [row[name] for name in names], rows)
            assert list(values) == [
                list(row) for row in zip(*content.values(), strict=True)
            ]
