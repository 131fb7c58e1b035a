"""Where the files of a release are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, find_splits, split_of
from medical_tasks.errors import UsageError

NAME = "archehr-qa.xml"


def put(root: Path, *folders: str) -> Path:
    for folder in folders:
        assert not folder.startswith("/")
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / NAME).touch()
    return root


@pytest.mark.parametrize("above", ["", "1.3", "archehr-qa-bionlp-task-2025/1.3", "archehr-qa-a-long-title-1.3"])
@pytest.mark.parametrize("splits", [("dev",), ("test",), ("dev", "test"), ("test_2026",), ("dev", "test", "test_2026")])
def test_folders_of_splits(tmp_path: Path, above: str, splits: tuple[str, ...]) -> None:
    put(tmp_path / above, *(FOLDERS[split] for split in splits))
    found = find_splits(tmp_path)
    assert found == {split: tmp_path / above / FOLDERS[split] / NAME for split in splits}
    assert tuple(found) == splits


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("dev", "dev"),
        ("test", "test"),
        ("test-2026", "test_2026"),
        ("archehr TEST_2026", "test_2026"),
        ("archehr-2026", "dev"),
        ("My_TEST", "test"),
        ("archehr", "dev"),
        ("latest", "dev"),
        ("contest1", "dev"),
    ],
)
def test_one_folder_with_the_files(tmp_path: Path, folder: str, split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, folder)
    assert split_of(tmp_path / folder) == split
    assert find_splits(tmp_path / folder) == {split: tmp_path / folder / NAME}
    monkeypatch.chdir(tmp_path / folder)
    assert find_splits(Path()) == {split: Path(NAME)}


def test_what_is_not_clear(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has several releases: 1.2, 1.3. Give --source the folder of one"):
        find_splits(put(tmp_path / "a", "1.2/dev", "1.3/dev", "1.3/test"))
    with pytest.raises(UsageError, match=r"has archehr-qa.xml in itself and in dev"):
        find_splits(put(tmp_path / "b", "", "dev"))
    with pytest.raises(UsageError, match=r"is a file. Give --source its folder, since key and mapping"):
        find_splits(tmp_path / "b" / NAME)


def test_nothing(tmp_path: Path) -> None:
    assert find_splits(tmp_path) == {}
    assert find_splits(tmp_path / "none") == {}
    assert find_splits(put(tmp_path, "other/dev")) == {}
