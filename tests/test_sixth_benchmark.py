"""`examples/medical_mcq`, installed as a separate package, works in every harness and changes no file of the project."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.budgets import count_nodes, read_modules
from tests.case_tables import json_of
from tests.run_files import task_entry
from tests.support import ROOT, install_copies, run_python
from tests.warm_process import WarmProcess

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "medical_mcq"
COUNTING = (
    "tests/benchmarks/test_hub_cards.py::test_the_checked_in_files_are_as_generated",
    "tests/data/test_manifest.py",
    "tests/test_catalog.py",
    "tests/test_source_rules.py::test_benchmarks_and_hub_folders_have_the_same_files",
)
"""Tests that count benchmarks, tasks or datasets, of which some now belong to another package."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed in `site`, and the demo built in `data`."""
    folder = tmp_path_factory.mktemp("sixth")
    install_copies({EXAMPLE: folder / "source"}, folder / "site")
    medical_tasks(folder, "build", "medical_mcq", "--config", "demo")
    return folder


def python(folder: Path, *words: str, cwd: Path | None = None, code: int = 0) -> str:
    """Runs Python with the installed example and its data."""
    return run_python(
        *words, cwd=cwd or folder, environment=environment(folder), code=code
    )


def environment(folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "site")]),
        "HF_HUB_OFFLINE": "1",
        "MEDICAL_TASKS_DATA": str(folder / "data"),
    }


def medical_tasks(folder: Path, *words: str, code: int = 0) -> str:
    return python(folder, "-m", "medical_tasks", *words, code=code)


def accuracy(run: Path) -> float:
    entry = task_entry(run, "medical_mcq")
    return float(entry["metrics"]["accuracy"]["value"])


def test_the_command_line_runs_the_package(installed: Path) -> None:
    options = ["--tasks", "medical|medical_mcq", "--config", "demo", "--model"]
    medical_tasks(
        installed, "run", *options, "baseline/reference", "--out", "runs/reference"
    )
    answers = [
        json.dumps({"id": f"mcq-{number:02}", "response": "Answer: A"})
        for number in range(1, 11)
    ]
    (installed / "answers.jsonl").write_text("\n".join(answers), encoding="utf-8")
    scoring = [
        "--responses",
        "answers.jsonl",
        "--config",
        "demo",
        "--out",
        "runs/scored",
    ]
    medical_tasks(installed, "score", "medical_mcq", *scoring)
    assert [accuracy(installed / "runs" / run) for run in ("reference", "scored")] == [
        1.0,
        0.3,
    ]
    assert "Medical MCQ" in medical_tasks(installed, "list")
    runs = ["runs/reference", "runs/scored"]
    medical_tasks(installed, "report", *runs, "--data", "data", "--out", "report.html")
    assert "Which antibody is typical of Graves" in (
        installed / "report.html"
    ).read_text("utf-8")
    assert "accuracy" in medical_tasks(installed, "compare", *runs)
    rule = '[[rule]]\ntask = "medical_mcq"\nmetric = "accuracy"\nat_least = 0.9'
    (installed / "policy.toml").write_text(rule, encoding="utf-8")
    assert "1 NO-GO" in medical_tasks(installed, "gate", "policy.toml", runs[1], code=6)
    assert "plugin medical-mcq 1.0: registers medical_mcq" in medical_tasks(
        installed, "doctor"
    )


@pytest.mark.skipif(
    find_spec("lighteval") is None or find_spec("inspect_ai") is None,
    reason="the harnesses are not installed",
)
def test_python_and_the_harnesses_run_the_package(
    installed: Path, warm: WarmProcess
) -> None:
    script = installed / "harnesses.py"
    script.write_text(
        "import datasets, medical_tasks as mt\n"
        "from medical_tasks import _registry, lighteval_tasks\n"
        "rows = datasets.load_dataset('data/medical_mcq', 'demo', split='test')\n"
        "results = mt.run('medical_mcq', model='baseline/reference', config='demo', out='runs/py')\n"
        "(config,) = [each for each in lighteval_tasks.TASKS_TABLE if each.name == 'medical:medical_mcq']\n"
        "print(len(rows), results['medical_mcq'].metrics['accuracy'].value, config.hf_subset,"
        " len(_registry.medical_mcq(config='demo').dataset))"
    )
    done = warm.run(
        [script], cwd=installed, environment=os.environ | environment(installed)
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].split() == ["10", "1.0", "demo", "10"]


def test_no_file_of_the_project_changes(installed: Path) -> None:
    medical_tasks(installed, "manifest", "--check", "--root", str(ROOT))
    python(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", *COUNTING, cwd=ROOT
    )


def test_generated_files_are_written_into_the_packages_folder(installed: Path) -> None:
    output = medical_tasks(
        installed, "manifest", "--package", str(installed / "source")
    )
    assert "cards/medical_mcq/croissant.json" in output
    manifest = json_of(installed / "source" / "tasks.json")
    assert [benchmark["name"] for benchmark in manifest["benchmarks"]] == [
        "medical_mcq"
    ]


def test_the_packages_own_test_passes(installed: Path) -> None:
    python(
        installed,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(installed / "source"),
    )


def test_the_example_is_small() -> None:
    # The contract requires little of a newcomer: CONTRIBUTING.md states about 1,150 nodes, of
    # which the other orders of choices, code and test, are 150.
    modules = read_modules(ROOT, "examples/medical_mcq")
    assert 0 < count_nodes(modules) <= 1_200
