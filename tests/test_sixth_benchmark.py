"""`examples/medical_mcq` becomes a benchmark by the steps of CONTRIBUTING.md, and works wherever the five do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.budgets import count_nodes, read_modules
from tests.support import ROOT

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "medical_mcq"
GROUP = "medical_tasks.benchmarks =\n"
ENTRY = "    medical_mcq = medical_tasks.benchmarks.medical_mcq.spec:BENCHMARK\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the example in it: its folders, and an entry point."""
    project = tmp_path_factory.mktemp("project")
    for name in ("medical_tasks", "dataset_builders", "metrics"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(EXAMPLE / name, project / name, dirs_exist_ok=True)
    settings = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    (project / "setup.cfg").write_text(settings.replace(GROUP, GROUP + ENTRY), encoding="utf-8")
    return project


def python(project: Path, *words: str, code: int = 0) -> str:
    environment = os.environ | {
        "PYTHONPATH": str(project),
        "HF_HUB_OFFLINE": "1",
        "MEDICAL_TASKS_DATA": str(project / "data"),
    }
    done = subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def medical_tasks(project: Path, *words: str, code: int = 0) -> str:
    return python(project, "-m", "medical_tasks", *words, code=code)


@pytest.fixture(scope="module")
def built(project: Path) -> Path:
    medical_tasks(project, "build", "medical_mcq", "--config", "demo")
    return project / "data" / "medical_mcq"


def test_the_command_line_knows_it(project: Path, built: Path) -> None:
    runs = [f"runs/{name}" for name in ("reference", "random")]
    for run in runs:
        model = f"baseline/{Path(run).name}"
        medical_tasks(
            project,
            "run",
            "--tasks",
            "medical|medical_mcq",
            "--model",
            model,
            "--config",
            "demo",
            "--out",
            run,
        )
    answers = [
        json.dumps({"id": f"mcq-{number:02}", "response": "Answer: A"}) for number in range(1, 11)
    ]
    (project / "answers.jsonl").write_text("\n".join(answers), encoding="utf-8")
    medical_tasks(
        project,
        "score",
        "medical_mcq",
        "--responses",
        "answers.jsonl",
        "--config",
        "demo",
        "--out",
        "runs/scored",
    )
    found = [
        json.loads((project / run / "results.json").read_text(encoding="utf-8"))["tasks"][
            "medical_mcq"
        ]["metrics"]
        for run in (runs[0], "runs/scored")
    ]
    assert [metrics["accuracy"]["value"] for metrics in found] == [1.0, 0.3]
    assert "Medical MCQ" in medical_tasks(project, "list")
    medical_tasks(project, "report", *runs, "--data", "data", "--out", "report.html")
    assert "Which antibody is typical of Graves" in (project / "report.html").read_text(
        encoding="utf-8"
    )
    assert "accuracy" in medical_tasks(project, "compare", runs[0], "runs/scored")


def test_it_is_small() -> None:
    # The contract asks a newcomer for little: CONTRIBUTING.md says about 1,000 nodes.
    modules = read_modules(ROOT, "examples/medical_mcq")
    assert 0 < count_nodes(modules) <= 1_100


def test_the_manifest_and_its_cards_are_made(project: Path) -> None:
    told = medical_tasks(project, "manifest", "--write")
    assert "medical_mcq/croissant.json" in told
    medical_tasks(project, "manifest", "--check")
    assert "    medical_tasks.benchmarks.medical_mcq\n" in (project / "setup.cfg").read_text(
        encoding="utf-8"
    )


def test_datasets_and_evaluate_load_it(project: Path, built: Path) -> None:
    told = python(
        project,
        "-c",
        f"import datasets, evaluate; rows = datasets.load_dataset({str(built)!r}, 'demo', split='test')\n"
        "metric = evaluate.load('metrics/medical_mcq')\n"
        "answers = [f'Answer: {letter}' for letter in rows['answer']]\n"
        "print(len(rows), metric.compute(predictions=answers, references=rows['answer'])['accuracy'])",
    )
    assert told.split() == ["10", "1.0"]


def test_the_harnesses_find_it(project: Path, built: Path) -> None:
    pytest.importorskip("lighteval")
    pytest.importorskip("inspect_ai")
    told = python(
        project,
        "-c",
        "from medical_tasks import _registry, lighteval_tasks\n"
        "(config,) = [each for each in lighteval_tasks.TASKS_TABLE if each.name == 'medical:medical_mcq']\n"
        "print(config.hf_subset, config.evaluation_splits[0], len(_registry.medical_mcq(config='demo').dataset))",
    )
    assert told.split() == ["demo", "test", "10"]
