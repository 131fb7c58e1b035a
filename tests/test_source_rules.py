"""Rules of CONTRIBUTING that a machine can see in the source."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Callable, Mapping

import pytest
from setuptools import find_packages

from tests.support import ROOT

SOURCES = sorted((ROOT / "medical_tasks").rglob("*.py"))


def test_the_sources_are_found() -> None:
    assert len(SOURCES) > 40


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its path, read once: there are hundreds."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def _lines(trees: Mapping[str, ast.Module], is_wrong: Callable[[ast.AST], bool]) -> list[str]:
    return [
        f"{name}:{getattr(node, 'lineno', 0)}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if is_wrong(node)
    ]


def test_a_module_says_what_it_is_and_stays_small(trees: Mapping[str, ast.Module]) -> None:
    assert [name for name, tree in trees.items() if not ast.get_docstring(tree)] == []
    long = {path.name for path in SOURCES if len(path.read_text(encoding="utf-8").splitlines()) > 600}
    assert long == {"criteria.py", "errors.py"}  # a whole idea of 200 to 600 lines; these two are to be made smaller


def test_no_assert_stands_for_a_check(trees: Mapping[str, ast.Module]) -> None:
    # Asserts are gone under -O: what a user can cause is an error type instead.
    assert _lines(trees, lambda node: isinstance(node, ast.Assert)) == []


def test_model_text_never_runs(trees: Mapping[str, ast.Module]) -> None:
    banned = {"eval", "exec", "compile", "__import__"}

    def runs(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in banned

    assert _lines({"probe": ast.parse("x = eval('1')")}, runs) == ["probe:1"]
    assert _lines(trees, runs) == []


def test_files_are_opened_by_one_helper(trees: Mapping[str, ast.Module]) -> None:
    # It refuses what is no file: a pipe would be waited on for ever, a device never ends. Resources of the package are files.
    def opens(node: ast.AST) -> bool:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return False
        name, text = node.func.attr, ast.unparse(node)
        mode = next((ast.literal_eval(each) for each in node.args if isinstance(each, ast.Constant)), "r")
        reads = name in ("read_bytes", "read_text") or (
            name == "open" and mode in ("r", "rb") and not text.startswith(("os.", "web"))
        )
        return reads and not (
            "files(" in text or "__file__" in text or "member" in text or "info)" in text or "tarfile" in text
        )

    assert _lines({"probe": ast.parse("path.open('rb')\npath.read_text()\npath.open('wb')")}, opens) == [
        "probe:1",
        "probe:2",
    ]
    found = {line.partition(":")[0] for line in _lines(trees, opens)}
    # A sandboxed program and the supervisor, which run by themselves, read of the system; a record of estimates is no file.
    own = {"medical_tasks/whole_file.py", "medical_tasks/estimation.py", "medical_tasks/models/supervisor.py"}
    assert {name for name in found if "/sandbox/" not in name} == own


def test_setup_lists_every_package() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    hub = {"medical_tasks.hub_datasets", "medical_tasks.hub_metrics"}
    assert listed - hub == set(find_packages(str(ROOT), include=["medical_tasks", "medical_tasks.*"]))
    assert hub <= listed


def test_every_verb_has_a_module_and_every_module_a_verb() -> None:
    from medical_tasks.cli import VERBS, module_name

    modules = {path.stem for path in (ROOT / "medical_tasks" / "commands").glob("*.py")} - {"__init__"}
    assert modules == set(map(module_name, VERBS))


def test_benchmarks_have_the_same_files() -> None:
    from medical_tasks.catalog import BENCHMARKS

    expected = {"spec.py", "data.py", "prompts.py", "scoring.py", "lighteval_task.py", "inspect_task.py", "__init__.py"}
    assert len(BENCHMARKS) >= 1
    for benchmark in BENCHMARKS:
        # A benchmark that has no tasks yet is a dataset alone.
        needed = expected if benchmark.tasks else {"spec.py", "data.py", "__init__.py"}
        names = {path.name for path in (ROOT / "medical_tasks" / benchmark.name).glob("*.py")}
        assert needed <= names, benchmark.name


def test_hub_folders_match_the_specs() -> None:
    from medical_tasks.catalog import datasets

    builders = {path.parent.name for path in (ROOT / "dataset_builders").glob("*/build.py")}
    assert builders == set(datasets())
    for name in builders:
        files = {path.name for path in (ROOT / "dataset_builders" / name).iterdir()}
        assert {"build.py", "README.md", "croissant.json"} <= files
    metrics = [path.parent for path in (ROOT / "metrics").glob("*/README.md")]
    assert len(metrics) >= 1
    for folder in metrics:
        assert {f"{folder.name}.py", "README.md", "requirements.txt", "app.py"} <= {
            path.name for path in folder.iterdir()
        }
