"""Sound packages of demo records, made once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.cli.entry import main
from medical_tasks.leaderboard.submission_package.contents import Submitter
from medical_tasks.leaderboard.submission_package.writing import write_package

DATASETS = ("medcalc_bench", "kqa", "aci_bench", "meqsum", "mimic_rrs")
CREDENTIALED = ("mimic_rrs", "--model", "baseline/reference", "--max-samples", "3")
KQA = ("kqa", "--model", "baseline/random", "--max-samples", "5")
MEDCALC = ("medcalc", "--model", "baseline/random", "--max-samples", "9")


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of the demo datasets, which are also the user's own for these tests."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("demo")
        patch.setenv("MEDICAL_TASKS_DATA", str(place))
        patch.setenv("MEDICAL_TASKS_HOME", str(tmp_path_factory.mktemp("home")))
        for name in DATASETS:
            build_dataset(name, source=None, config="demo", out=place / name)
        yield place


class Runs:
    """Runs and packages by the words of their command, each made once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._made: dict[str, Path] = {}

    def folder(self, *words: str) -> Path:
        """The folder of a finished run."""
        key = " ".join(words)
        if key not in self._made:
            folder = self._place / f"run-{len(self._made)}"
            assert main(["run", "--config", "demo", "--out", str(folder), "--tasks", *words]) == 0
            self._made[key] = folder
        return self._made[key]

    def package(self, *words: str, **more: Any) -> bytes:
        """The package of a run."""
        folder = self.folder(*words)
        out = folder.with_suffix(".zip")
        write_package(folder, out, Submitter(model="A model"), allow_partial=True, **more)
        return out.read_bytes()


@pytest.fixture(scope="package")
def runs(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="package")
def medcalc(runs: Runs) -> bytes:
    return runs.package(*MEDCALC)


@pytest.fixture(scope="package")
def kqa(runs: Runs) -> bytes:
    return runs.package(*KQA)


@pytest.fixture(scope="package")
def right(runs: Runs) -> bytes:
    """Of a model that is right on every item."""
    return runs.package("medcalc", "--model", "baseline/reference", "--max-samples", "3")


@pytest.fixture(scope="package")
def credentialed(runs: Runs) -> bytes:
    return runs.package(*CREDENTIALED)


@pytest.fixture(scope="package")
def chat_judged(runs: Runs, demo: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """K-QA judged by one who reads prompts and says why, from a file."""
    from tests.leaderboard.submission_package.scripted_judge import recorded_verdicts

    file = tmp_path_factory.mktemp("verdicts") / "verdicts.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in recorded_verdicts("kqa")), encoding="utf-8")
    return runs.package("kqa", "--model", "baseline/reference", "--max-samples", "5", "--judge", f"recorded/{file}")
