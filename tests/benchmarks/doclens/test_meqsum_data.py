"""MeQSum: rows of the official files, what is refused, and the demo."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.doclens.data import (
    MEQSUM_COLUMNS,
    MEQSUM_OFFICIAL_COLUMNS,
    MEQSUM_SOURCE,
    read_meqsum_rows,
)
from medical_tasks.benchmarks.doclens.datasets import MEQSUM
from medical_tasks.data.dataset_store import read_rows as built_rows
from medical_tasks.errors import MissingError, UsageError
from tests.support import SHARED, needs_shared
from tests.tiny_xlsx import write_xlsx

FOLDER = SHARED / "data" / "meqsum"
FILES = {
    "train": "MeQSum_ACL2019_BenAbacha_Demner-Fushman.xlsx",
    "validation": "MEDIQA2021-Task1-QuestionSummarization-ValidationSet.xlsx",
    "test": "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx",
}
SIZES = {"train": 1000, "validation": 50, "test": 100}
NAMES = [column.name for column in MEQSUM_COLUMNS]


def sheet(split: str, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [tuple(MEQSUM_OFFICIAL_COLUMNS[split].values()), *rows]


def rows_of(path: Path, split: str) -> list[dict[str, Any]]:
    return list(read_meqsum_rows("full", split, {split: path}))


def test_a_row_of_each_split(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    write_xlsx(path, sheet("train", [("7.txt", "Hi. Is it safe?  ", "Is it safe? ")]))
    (row,) = rows_of(path, "train")
    assert list(row) == NAMES
    assert row == {
        "id": "7.txt",
        "question": "Hi. Is it safe?  ",
        "sentences": ["Hi.", "Is it safe?"],
        "summary": "Is it safe? ",
        "focus": "",
        "types": [],
    }
    write_xlsx(path, sheet("validation", [("3", "Is it?", "Is it?", "gout ", "Treatment; Side Effect ;")]))
    (row,) = rows_of(path, "validation")
    assert (row["id"], row["focus"], row["types"]) == ("3", "gout", ["Treatment", "Side Effect"])
    write_xlsx(path, sheet("test", [("96", "Is it?", "Is it?")]))
    (row,) = rows_of(path, "test")
    assert list(row.values()) == ["96", "Is it?", ["Is it?"], "Is it?", "", []]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("", "a", "b"), "row 3, column 'q_id': must be a text that is not empty"),
        (("1", "", "b"), "row 3, column 'NLM Question': must be a text that is not empty"),
        (("1", "a", " "), "row 3, column 'Summary': must be a text that is not empty"),
        (("1.5", "a", "b"), "row 3, column 'q_id': must be a whole number, got '1.5'"),
    ],
)
def test_a_wrong_row(tmp_path: Path, row: tuple[str, ...], message: str) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", sheet("test", [("2", "a", "b"), row]))
    with pytest.raises(UsageError, match=f"x.xlsx: {message}.* Download the file again"):
        rows_of(path, "test")


def test_one_file_in_place_of_another(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "x.xlsx", sheet("test", [("2", "a", "b")]))
    with pytest.raises(UsageError, match="wrong columns for the MeQSum. missing: 'File', 'CHQ'; unexpected: 'q_id'"):
        rows_of(path, "train")


def write_release(folder: Path, **sizes: int) -> Path:
    for split, name in FILES.items():
        more = len(MEQSUM_OFFICIAL_COLUMNS[split]) - 3
        count = sizes.get(split, SIZES[split])
        rows = [
            (str(number), f"Is {number} safe?", f"Is {number} safe?") + ("x",) * more for number in range(1, count + 1)
        ]
        place = folder / ("" if split == "train" else "Task1") / name
        write_xlsx(place, sheet(split, rows))
    return folder


def test_files_as_their_repositories_have_them(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "official")
    built = build_dataset("meqsum", source=folder, config="full", out=tmp_path / "out")
    assert (built.splits, built.notes) == (SIZES, ())
    (folder / FILES["train"]).unlink()
    with pytest.raises(
        MissingError, match=r"lacks\n  MeQSum, an XLSX file: MeQSum/MeQSum_ACL2019(.|\n)*How to get MeQSum"
    ):
        build_dataset("meqsum", source=folder, config="full", out=tmp_path / "out")


def test_a_file_with_rows_missing_is_not_built(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "official", test=99)
    with pytest.raises(UsageError, match="config full: split test has 99 rows, 100 were published"):
        build_dataset("meqsum", source=folder, config="full", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_demo() -> None:
    rows = {split: list(read_meqsum_rows("demo", split, {})) for split in MEQSUM_SOURCE.splits["demo"]}
    assert {split: len(each) for split, each in rows.items()} == {"train": 2, "validation": 3, "test": 7}
    everything = [row for each in rows.values() for row in each]
    assert len({row["id"] for row in everything}) == 12
    for row in everything:
        assert list(row) == NAMES
        assert row["summary"].endswith("?")
        assert "".join("".join(row["sentences"]).split()) == "".join(row["question"].split())
    assert all(row["focus"] and row["types"] for row in rows["validation"])
    assert not any(row["focus"] or row["types"] for row in rows["train"] + rows["test"])
    # One sentence and many.
    counts = [len(row["sentences"]) for row in rows["test"]]
    assert (min(counts), max(counts)) == (1, 8)


@needs_shared
@pytest.mark.upstream
def test_the_release(tmp_path: Path) -> None:
    built = build_dataset("meqsum", source=FOLDER, config="full", out=tmp_path / "meqsum")
    assert (built.splits, built.notes) == (SIZES, ())
    rows = {split: built_rows(built.folder, "full", split, spec=MEQSUM) for split in SIZES}
    assert [len(each) for each in rows.values()] == [1000, 50, 100]
    questions = {split: [" ".join(row["question"].lower().split()) for row in each] for split, each in rows.items()}
    # One question of the test set is among the training questions as well.
    assert sum(question in set(questions["train"]) for question in questions["test"]) == 1
    assert sum(question in set(questions["train"]) for question in questions["validation"]) == 0
    types = Counter(name for row in rows["validation"] for name in row["types"])
    assert types.most_common(2) == [("Treatment", types["Treatment"]), ("Information", types["Information"])]
    assert all(row["types"] and row["focus"] for row in rows["validation"])


@needs_shared
@pytest.mark.upstream
@pytest.mark.parametrize(
    ("split", "sha256"),
    [
        ("train", "80a3a152f53b8765a6679e1b0340e35a045d72171a01907a77dbb5270be62596"),
        ("validation", "49fcd248f9fb316c3a25a0f643fac963be639717b151ea4516b6c8c2a43b5e3e"),
        ("test", "d8343d3e7879cb033b301cb92572f0b8c7e2179ec74cdb83c14d8d4576cb0cf8"),
    ],
)
def test_texts_of_the_release_are_what_another_reader_finds(split: str, sha256: str) -> None:
    """Sums of ids, questions and summaries as openpyxl 3.1.5 reads them, each cell as a text."""
    texts = [[row["id"], row["question"], row["summary"]] for row in rows_of(FOLDER / FILES[split], split)]
    assert hashlib.sha256(json.dumps(texts).encode()).hexdigest() == sha256
