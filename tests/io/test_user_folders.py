"""One variable moves everything that the suite writes for a user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from medical_tasks.io import user_folders
from medical_tasks.io.user_folders import (
    audit_path,
    datasets_home,
    metrics_home,
    private_home,
    user_places,
)
from tests.support import ROOT, run_python

_XDG = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (user_folders.HOME_VARIABLE, user_folders.DATA_VARIABLE, *_XDG):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def _by_use() -> dict[str, tuple[Path, str]]:
    return {folder.use: (folder.path, folder.decided_by) for folder in user_places()}


def test_without_a_variable_the_folders_are_those_of_the_system(tmp_path: Path) -> None:
    user = tmp_path / "user"
    assert _by_use() == {
        "datasets": (user / ".local/share/medical-tasks/datasets", "default"),
        "private store": (user / ".cache/medical-tasks/private", "default"),
        "audit log": (user / ".local/state/medical-tasks/audit.jsonl", "default"),
        "metrics": (user / ".cache/medical-tasks/metrics", "default"),
    }
    functions = (datasets_home, private_home, audit_path, metrics_home)
    paths = [path for path, _ in _by_use().values()]
    assert [function() for function in functions] == paths


def test_one_variable_moves_them_all_and_a_finer_one_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in _XDG:
        monkeypatch.setenv(name, str(tmp_path / "xdg"))
    assert {decided for _, decided in _by_use().values()} == set(_XDG)
    monkeypatch.setenv("MEDICAL_TASKS_HOME", "~/suite")
    home = tmp_path / "user" / "suite"
    moved = {path.relative_to(home).as_posix() for path, _ in _by_use().values()}
    assert moved == {"datasets", "private", "audit.jsonl", "metrics"}
    monkeypatch.setenv("MEDICAL_TASKS_DATA", str(tmp_path / "data"))
    places = _by_use()
    assert places.pop("datasets") == (tmp_path / "data", "MEDICAL_TASKS_DATA")
    assert {decided for _, decided in places.values()} == {"MEDICAL_TASKS_HOME"}
    monkeypatch.setenv("MEDICAL_TASKS_DATA", "~/mine")
    assert datasets_home() == tmp_path / "user" / "mine"
    for name in ("MEDICAL_TASKS_HOME", "MEDICAL_TASKS_DATA"):
        monkeypatch.setenv(name, "")
    assert {decided for _, decided in _by_use().values()} == set(_XDG)


def test_a_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in zip(_XDG, ("relative/path", "relative", ""), strict=True):
        monkeypatch.setenv(name, folder)
    assert {decided for _, decided in _by_use().values()} == {"default"}


def test_the_private_store_has_an_absolute_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDICAL_TASKS_HOME", "relative")
    assert private_home() == tmp_path / "relative" / "private"


@pytest.mark.slow
def test_commands_write_into_the_one_folder_and_nowhere_else_of_the_user(
    tmp_path: Path,
) -> None:
    user, home, work = (tmp_path / name for name in ("user", "suite", "work"))
    user.mkdir()
    work.mkdir()
    environment = {
        "MEDICAL_TASKS_HOME": str(home),
        "HOME": str(user),
        "PYTHONPATH": str(ROOT),
    }
    commands = (
        "build medcalc_bench --config demo",
        "build ehrnoteqa --config demo",
        "run --tasks medcalc --config demo --model baseline/reference --out open",
        "run --tasks ehrnoteqa_mc_level1 --config demo --model baseline/reference --out closed",
    )
    program = (
        "import sys\nfrom medical_tasks.cli.entry import main\n"
        "for words in sys.argv[1:]:\n    assert main(words.split()) == 0"
    )
    run_python("-c", program, *commands, cwd=work, environment=environment)
    assert list(user.iterdir()) == []
    assert {"datasets"} <= {path.name for path in home.iterdir()}
    assert {path.name for path in work.iterdir()} == {"open", "closed"}


def test_no_other_module_reads_the_users_home() -> None:
    paths = sorted((ROOT / "medical_tasks").rglob("*.py"))
    assert len(paths) > 100
    asking = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if _asks_for_home(path.read_text(encoding="utf-8"))
    }
    assert asking == {
        "medical_tasks/io/user_folders.py",
        "medical_tasks/report/texts.py",  # writes ~ for it in reports
        "medical_tasks/sandbox/probe.py",  # tries whether the sandbox hides it
    }


def _asks_for_home(source: str) -> bool:
    if not any(word in source for word in ("home", "XDG_", ".cache")):
        return False  # parsing takes long, and most modules have none of the words
    return any(
        ast.unparse(node) == "Path.home"
        if isinstance(node, ast.Attribute) and node.attr == "home"
        else _names_a_user_folder(node)
        for node in ast.walk(ast.parse(source))
    )


def _names_a_user_folder(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value.startswith("XDG_") or node.value == ".cache"
