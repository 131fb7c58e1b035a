"""A board and benchmarks of other packages: accepted and shown if installed, otherwise kept and listed as not shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks._version import __version__
from medical_tasks.cli import main
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import (
    PackageError,
    UnknownTaskError,
)
from medical_tasks.leaderboard.submission_package.privacy import scrub
from medical_tasks.leaderboard.submission_package.reading import check_results
from medical_tasks.plugins import using
from tests.case_tables import json_of
from tests.leaderboard.made_packages import accepted, package
from tests.support import ROOT

MCQ = ROOT / "examples" / "medical_mcq"
POINTS = """MetricSpec(
            name="points",
            kind="mean",
            description="1 for the right letter, a third off for a wrong one",
            limits=(float("-inf"), 1.0),
        ),
        *order_metrics("""
TOY = {
    "medical-mcq": "toy-bench",
    'version = "1.0"': 'version = "1.2"',
    # Its data count as official, and its metrics have a signed one without a least value.
    'configs=("demo",)': 'configs=("demo", "v1")',
    'default_config="demo"': 'default_config="v1"',
    '{"demo": ("test",)}': '{"demo": ("test",), "v1": ("test",)}',
    'files={"demo": {}}': 'files={"demo": {}, "v1": {}}',
    "*order_metrics(": POINTS,
    "values={": 'values={"points": 1.0 if right else -1 / 3, ',
}


def write_toy(folder: Path, *, access: str = "open") -> Path:
    """Writes the example's project with data that count as official.

    Module and task have the name of the folder, because a module stays imported.
    """
    changes = {"medical_mcq": folder.name, 'access="open"': f'access="{access}"', **TOY}
    for path in MCQ.rglob("*"):
        if path.suffix not in (".py", ".toml", ".json") or path.name.startswith(
            "test_"
        ):
            continue
        text = path.read_text(encoding="utf-8")
        for before, after in changes.items():
            text = text.replace(before, after)
        target = folder / str(path.relative_to(MCQ)).replace("medical_mcq", folder.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def leaderboard(*words: str) -> int:
    return main(["leaderboard", *words, "--store", "store"])


def submit_toy(project: Path) -> str:
    """Builds, runs, packs and submits the toy, as its users do; returns the submission's id."""
    with using([str(project)]):
        assert main(["build", project.name, "--config", "v1"]) == 0
        run = ["--tasks", project.name, "--model", "baseline/random", "--out", "run"]
        assert main(["run", *run]) == 0
        named = ["--model-name", "Toy Model", "--out", "toy.zip"]
        assert main(["submit", "run", "--to", "space", *named]) == 0
        assert leaderboard("submit", "toy.zip") == 0
    (submission,) = Path("store/submissions").iterdir()
    return submission.name


@pytest.mark.parametrize("access", ["open", "credentialed"])
def test_a_task_of_another_package_is_accepted_shown_and_kept(
    access: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = f"toy_{access}"
    project = write_toy(here / task, access=access)
    name = submit_toy(project)
    store = Board(LocalStorage(here / "store"))
    other_model = accepted(store, package("Another model", of=40))
    by = ["--by", "Ann", *(["--unverified"] if access == "credentialed" else [])]
    with using([str(project)]):
        assert leaderboard("accept", name, *by) == 0
        assert leaderboard("site", "--out", "site") == 0
    board = json_of(here / "site" / "data" / "board.json")
    own, other = board["packages"]
    assert (own["name"], own["version"]) == ("medical-tasks", __version__)
    assert "medcalc" in own["tasks"]
    assert other == {"name": "toy-bench", "version": "1.2", "tasks": [task]}
    assert board["unshown"] == []
    page = (here / "site" / "index.html").read_text(encoding="utf-8")
    assert page.index("<h4>medical-tasks ") < page.index("<h4>toy-bench 1.2</h4>")
    (spec,) = [spec for spec in board["tasks"] if spec["name"] == task]
    assert spec["open"] is (access == "open")
    shown = json_of(here / "site" / "data" / "tasks" / f"{task}.json")
    points = dict(zip(shown["columns"], shown["results"][name]["points"], strict=True))
    assert points["low"] < points["value"] < 0
    assert (points["first"], points["last"]) == (1, 1)

    # The package is uninstalled: accepted results are kept, and listed as not shown.
    capsys.readouterr()
    assert leaderboard("site", "--out", "site") == 0
    assert leaderboard("entries") == 0
    stderr = capsys.readouterr().err
    message = f"{task} of Toy Model ({name}) is kept and not shown: nothing here has"
    assert stderr.count(message) == 2
    assert "Install toy-bench 1.2, or name it in MEDICAL_TASKS_PLUGINS" in stderr
    board = json_of(here / "site" / "data" / "board.json")
    assert [listed["name"] for listed in board["packages"]] == ["medical-tasks"]
    column = board["columns"].index("submission")
    assert {row[column] for row in board["rows"] if row[column]} == {other_model}
    (left,) = board["unshown"]
    assert (left["task"], left["package"], left["submission"]) == (
        task,
        "toy-bench 1.2",
        name,
    )
    assert leaderboard("check") == 0
    assert f"note: {name}: is the file that was submitted" in capsys.readouterr().out
    # It comes back with its package.
    with using([str(project)]):
        assert leaderboard("site", "--out", "site") == 0
    assert json_of(here / "site" / "data" / "board.json")["unshown"] == []


def test_an_unknown_task_is_refused_with_its_package_and_the_next_step(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = write_toy(here / "toy_mcq")
    submit_toy(project)
    capsys.readouterr()
    assert main(["leaderboard", "submit", "toy.zip", "--store", "other"]) == 2
    stderr = capsys.readouterr().err
    for message in (
        "not known here: the task 'toy_mcq' of the package 'toy-bench 1.2'",
        f"Known are those of medical-tasks {__version__}.",
        "Give it again, as it is, where 'toy-bench 1.2' is installed",
    ):
        assert message in stderr
    assert not list(here.glob("other/submissions/*"))

    # Of several tasks all are named at once, and how to submit the rest.
    entry = json.loads((here / "run" / "results.json").read_text())["tasks"]["toy_mcq"]
    tasks = {"toy_mcq": entry, "medcalc": {}, "odd\u202e": {"recipe": 1}}
    with pytest.raises(UnknownTaskError) as refused:
        check_results({"tasks": tasks}, tuple(tasks))
    assert "; the task 'odd\\u202e' of a package it does not name" in str(refused.value)
    assert "medical-tasks submit RUN --to space --task medcalc." in str(refused.value)

    # A package of another name has a task of the same name: it is another task.
    entry["recipe"]["package"]["name"] = "other-bench"
    with using([str(project)]):
        assert leaderboard("check") == 0
        with pytest.raises(
            PackageError, match=r"'other-bench 1\.2'.* from toy-bench 1\.2"
        ):
            check_results(
                scrub({"schema_version": 1, "tasks": {"toy_mcq": entry}}), ("toy_mcq",)
            )


def test_a_run_with_roles_cannot_be_submitted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = write_toy(here / "toy_mcq")
    submit_toy(project)
    results = json_of(here / "run" / "results.json")
    results["tasks"]["toy_mcq"]["recipe"]["roles"] = {"patient": {"name": "hf/a/b"}}
    (here / "run" / "results.json").write_text(json.dumps(results), encoding="utf-8")
    words = ["submit", "run", "--to", "space", "--model-name", "M", "--out", "b.zip"]
    with using([str(project)]):
        assert main(words) == 2
    assert "in toy_mcq another model played a role (--role)" in capsys.readouterr().err
    assert not (here / "b.zip").exists()
