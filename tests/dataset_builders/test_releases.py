"""The open releases, and texts of one's own, through `build`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.doclens.data import ACI_COLUMNS, MEQSUM_COLUMNS
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from tests.support import SHARED, needs_shared


@needs_shared
@pytest.mark.upstream
@pytest.mark.parametrize(
    ("name", "config", "columns", "rows"),
    [
        ("aci_bench", "doclens", ACI_COLUMNS, {"train": 67, "validation": 20, "test1": 40}),
        ("meqsum", "full", MEQSUM_COLUMNS, {"train": 1000, "validation": 50, "test": 100}),
    ],
)
def test_the_release_through_load_dataset(
    name: str, config: str, columns: tuple[Column, ...], rows: dict[str, int], tmp_path: Path
) -> None:
    import datasets

    folder = build_dataset(name, source=SHARED / "data" / name, config=config, out=tmp_path / name).folder
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {split: len(part) for split, part in loaded.items()} == rows
    assert loaded["train"].column_names == [column.name for column in columns]


KQA_OFFICIAL = SHARED / "data" / "kqa"


@needs_shared
@pytest.mark.upstream
def test_the_release_of_kqa_is_that_of_its_files(tmp_path: Path) -> None:
    import datasets

    for config, name, count in (("answered", "questions_w_answers", 201), ("questions", "questions", 1212)):
        folder = build_dataset("kqa", source=KQA_OFFICIAL, config=config, out=tmp_path / "kqa").folder
        loaded = datasets.load_dataset(str(folder), config, split="test", cache_dir=str(tmp_path / "cache"))
        official = [
            json.loads(line) for line in (KQA_OFFICIAL / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        assert len(official) == count
        assert loaded["question"][:] == [line["Question"] for line in official]
        assert loaded["icd_10_diag"][:] == [line["ICD_10_diag"] or "" for line in official]
        if config == "answered":
            assert loaded["must_have"][:] == [line["Must_have"] for line in official]
        else:
            assert loaded["entity_tag"][:] == [line["entity_tag"] or [] for line in official]


def test_a_file_of_ones_own_is_built_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    records = [{"example_id": n, "input": f"[0] note {n}", "reference": ""} for n in range(3)]
    file.write_text(json.dumps(records), encoding="utf-8")
    built = build_dataset("doclens_own", source=file, config="own", out=tmp_path / "own")
    assert built.splits == {"test": 3}
    assert built.folder.stat().st_mode & 0o077 == 0
    file.write_text(json.dumps([*records, records[0]]), encoding="utf-8")
    with pytest.raises(UsageError, match="record 4: example_id '0' stands twice"):
        build_dataset("doclens_own", source=file, config="own", out=tmp_path / "own")
