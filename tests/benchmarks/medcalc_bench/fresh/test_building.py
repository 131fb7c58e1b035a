"""The fresh configuration from the command line to a run's recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset, dataset_spec
from medical_tasks.benchmarks.medcalc_bench.fresh import fresh_rows
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.cli.entry import main
from medical_tasks.data.dataset_store import built_configs, read_rows
from medical_tasks.data.task_data import load_task_data

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

SPEC = dataset_spec("medcalc_bench")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_same_seed_same_bytes_another_seed_other_rows(tmp_path: Path) -> None:
    one, two, other = tmp_path / "one", tmp_path / "two", tmp_path / "other"
    for folder, seed in ((one, 7), (two, 7), (other, 8)):
        built = build_dataset("medcalc_bench", source=None, config="fresh", out=folder, options={"seed": seed, "n": 60})
        assert built.rows == 60
    assert files_of(one) == files_of(two)
    assert len(files_of(one)) == 4
    assert read_rows(one, "fresh", "test", spec=SPEC) == list(fresh_rows(7, 60))
    notes = [{row["patient_note"] for row in read_rows(folder, "fresh", "test")} for folder in (one, other)]
    assert notes[0] & notes[1] == set()


def test_the_command_builds_and_the_recipe_tells_seed_and_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["build", "medcalc_bench", "--config", "fresh", "--seed", "3", "--n", "55", "--out", str(tmp_path / "data")]
    assert main(words) == 0
    assert "configuration fresh: 55 rows" in capsys.readouterr().out
    data = load_task_data(MEDCALC, SPEC, data=tmp_path / "data", config="fresh")
    assert data.revision["source"] == {"seed": "3", "n": "55"}
    assert len({item.groups["calculator"] for item in data.items}) == 55
    assert built_configs(tmp_path / "data")["fresh"].splits["test"].rows == 55


@pytest.mark.parametrize(("words", "message"), TABLES["wrong_use"])
def test_wrong_use(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "medcalc_bench", *words, "--out", str(tmp_path / "data")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
