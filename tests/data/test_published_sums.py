from __future__ import annotations

from pathlib import Path

import pytest

from medical_tasks.data.building import SUMS_FILE, check_published_sum
from medical_tasks.errors import UsageError

RIGHT, WRONG = "a" * 64, "b" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "note" / "discharge.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    return path


def test_no_list_is_no_check(file: Path) -> None:
    assert not check_published_sum(file, RIGHT)


@pytest.mark.parametrize(
    "entry", ["discharge.csv.gz", "note/discharge.csv.gz", "*discharge.csv.gz", "./note/discharge.csv.gz"]
)
def test_a_list_beside_counts_for_the_name(file: Path, entry: str) -> None:
    separator = " " if entry.startswith("*") else "  "
    (file.parent / SUMS_FILE).write_text(f"{WRONG}  other.csv\n{RIGHT.upper()}{separator}{entry}\n")
    assert check_published_sum(file, RIGHT)
    with pytest.raises(UsageError, match=f"SHA-256 is {WRONG}, but .*{SUMS_FILE}, line 2, says {RIGHT}"):
        check_published_sum(file, WRONG)


def test_a_list_above_counts_for_the_folder_and_name_alone(file: Path) -> None:
    sums = file.parent.parent / SUMS_FILE
    sums.write_text(f"{WRONG}  discharge.csv.gz\n{WRONG}  old/note/discharge.csv.gz\n")
    assert not check_published_sum(file, RIGHT)
    sums.write_text(f"{RIGHT}  note/discharge.csv.gz\r\n")
    assert check_published_sum(file, RIGHT)
    with pytest.raises(UsageError, match="cut off, changed or of another release"):
        check_published_sum(file, WRONG)


def test_two_entries_of_a_name(file: Path) -> None:
    (file.parent / SUMS_FILE).write_text(f"{WRONG}  a/discharge.csv.gz\n{RIGHT}  b/discharge.csv.gz\n")
    assert check_published_sum(file, RIGHT)


def test_a_list_of_something_else(file: Path) -> None:
    (file.parent / SUMS_FILE).write_bytes(b"\xff\xfe not a list\n" + RIGHT.encode() + b"\n")
    assert not check_published_sum(file, WRONG)
