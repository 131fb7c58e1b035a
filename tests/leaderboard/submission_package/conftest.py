"""Valid packages of demo records, and a judge that replies to prompts by a rule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.cli.entry import main
from medical_tasks.data.fetching import build_dataset
from medical_tasks.data.task_data import load_task_data
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import asked_sha256
from medical_tasks.leaderboard.submission_package.contents import Submitter
from medical_tasks.leaderboard.submission_package.package_file import write_package
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.finishing import score_responses

DATASETS = ("medcalc_bench", "kqa", "aci_bench", "meqsum", "mimic_rrs")
CREDENTIALED = ("mimic_rrs", "--model", "baseline/reference", "--max-samples", "3")
KQA = ("kqa", "--model", "baseline/random", "--max-samples", "5")
MEDCALC = ("medcalc", "--model", "baseline/random", "--max-samples", "9")


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of the demo datasets, which are also the user's own for these tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("demo")
        patch.setenv("MEDICAL_TASKS_DATA", str(folder))
        patch.setenv("MEDICAL_TASKS_HOME", str(tmp_path_factory.mktemp("home")))
        for name in DATASETS:
            build_dataset(name, source=None, config="demo", out=folder / name)
        yield folder


class Runs:
    """Runs and packages by the words of their command; each run is made once."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folders: dict[str, Path] = {}

    def folder(self, *words: str) -> Path:
        """The folder of a finished run."""
        key = " ".join(words)
        if key not in self._folders:
            folder = self._parent / f"run-{len(self._folders)}"
            assert (
                main(
                    ["run", "--config", "demo", "--out", str(folder), "--tasks", *words]
                )
                == 0
            )
            self._folders[key] = folder
        return self._folders[key]

    def package(self, *words: str, **more: Any) -> bytes:
        """The package of a run."""
        folder = self.folder(*words)
        out = folder.with_suffix(".zip")
        write_package(
            folder, out, Submitter(model="A model"), allow_partial=True, **more
        )
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
    """The package of a model that is right on every item."""
    return runs.package(
        "medcalc", "--model", "baseline/reference", "--max-samples", "3"
    )


@pytest.fixture(scope="package")
def credentialed(runs: Runs) -> bytes:
    return runs.package(*CREDENTIALED)


@pytest.fixture(scope="package")
def chat_judged(
    runs: Runs, demo: Path, tmp_path_factory: pytest.TempPathFactory
) -> bytes:
    """K-QA judged by a file of a judge that reads prompts and gives reasons."""
    file = tmp_path_factory.mktemp("verdicts") / "verdicts.jsonl"
    file.write_text(
        "".join(f"{json.dumps(row)}\n" for row in recorded_verdicts("kqa")),
        encoding="utf-8",
    )
    return runs.package(
        "kqa",
        "--model",
        "baseline/reference",
        "--max-samples",
        "5",
        "--judge",
        f"recorded/{file}",
    )


class _Scripted:
    name = "scripted"
    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        verdicts: list[Verdict | Unscored] = []
        for question in questions:
            text = next(
                text for text in _REPLIES if isinstance(question.read(text), str | bool)
            )
            value, sha256 = question.read(text), asked_sha256(question.messages)
            verdicts.append(
                Verdict(
                    id=question.id,
                    value=value,
                    votes=(value,),
                    text=text,
                    sha256=sha256,
                )
            )
            self.rows.append(
                {"id": question.id, "value": value, "text": text, "sha256": sha256}
            )
        return verdicts


_REPLIES = (
    json.dumps({"reason": "It is said.", "verdict": "entailed"}),
    json.dumps({"reason": "It is one.", "answered": True}),
    "It is so. True",
)


def recorded_verdicts(name: str) -> list[dict[str, Any]]:
    """Returns the scripted judge's verdicts on the reference answers to a task's demo records."""
    task = task_spec(name)
    data = load_task_data(task, dataset_spec(task.dataset), config="demo")
    answered = run_baseline("reference", task, data, max_samples=None)
    judge = _Scripted()
    score_responses(
        answered, Judging(judge=judge, prompts=load_judge_prompts(task, "own", None))
    )
    return judge.rows
