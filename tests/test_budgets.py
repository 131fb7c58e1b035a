"""`scripts/budgets.py` on a tiny project whose figures are counted by hand."""

from __future__ import annotations

import doctest
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts import budgets
from tests.support import ROOT

# Nodes, in this order: the module; its docstring, a statement and a constant; two
# imports with an alias each; the function; its arguments, the list, two entries, and a
# name with its role; `if` with a name and its role; two times `return` with a constant.
GENERIC = '''\
"""Chooses."""

from medical_tasks import runs
from argparse import Namespace


def choose(one, b: Namespace):
    # A comment.
    if one:
        return "kqa"
    return 1
'''
GENERIC_NODES = 1 + 2 + (2 + 2) + 1 + (1 + 2 + 2) + 3 + (2 + 2)

# A circle with the module above, closed by an import inside a function.
RUNS = """\
def late():
    from medical_tasks import generic
"""
RUNS_NODES = 1 + 2 + 2

ONE_NODE = "pass\n"  # the module and the statement: two nodes

FILES = {
    "medical_tasks/generic.py": GENERIC,
    "medical_tasks/runs.py": RUNS,
    "medical_tasks/leaderboard/site.py": ONE_NODE,
    "medical_tasks/benchmarks/kqa/__init__.py": "",
    "medical_tasks/benchmarks/stranger/__init__.py": GENERIC,
    "tests/test_generic.py": ONE_NODE,
    "examples/other/data.py": "for each in range(3):\n    pass\n",
    "measurements/speed.py": "def told(seconds):\n    _found = seconds\n",
    "scripts/write.py": "name = [line for part in 'ab' for line in part]\n",
    "tests/benchmarks/stranger/test_stranger.py": GENERIC,
    "docs/page.md": "four words of docs",
    "docs/reference/python.md": "generated from docstrings",
    "README.md": "two words",
}
FIGURES: dict[str, float] = {
    "core nodes": GENERIC_NODES + RUNS_NODES + 1,  # an empty file is one node
    "package nodes": GENERIC_NODES + RUNS_NODES + 1 + 2,
    "nodes per line": 2.15,  # 28 nodes; 14 lines, of which one is a docstring
    "branches per 100 lines": 7.7,  # 1 of 13
    "line length, 90th percentile": 30,  # the tenth of 11 lines: 37 characters, 30, 30, 30, ...
    "lines over 100 characters, %": 0,
    "comments and docstrings, %": 14.3,  # 2 of 14
    "functions over 15 branches": 0,
    "functions taking a Namespace": 1,
    "lines with Any": 0,
    "vague names": 1,
    "vague names in tests and scripts": 4,  # each; told and _found; part
    "modules in import circles": 2,
    "benchmarks in generic code": 1,
    "test nodes": 2,
    "words of docs": 4,
    "words of README": 2,
}


def pyproject(ratchets: Mapping[str, float], goals: Mapping[str, float]) -> str:
    def table(numbers: Mapping[str, float]) -> str:
        return "".join(f'"{name}" = {value}\n' for name, value in numbers.items())

    return f"""\
[tool.medical-tasks]
air = 0.01
wings = ["leaderboard"]
benchmarks = ["kqa"]

[tool.medical-tasks.budgets]
{table(ratchets)}
[tool.medical-tasks.goals]
{table(goals)}"""


NO_GOALS = dict.fromkeys(FIGURES, 0)


def tiny_project(root: Path, changes: Mapping[str, str] = MappingProxyType({})) -> Path:
    files = {**FILES, "pyproject.toml": pyproject(FIGURES, NO_GOALS), **changes}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return root


def ratchets(root: Path) -> Mapping[str, float]:
    return budgets.read_settings(
        (root / "pyproject.toml").read_text(encoding="utf-8")
    ).ratchets


def test_figures_are_those_counted_by_hand(tmp_path: Path) -> None:
    root = tiny_project(tmp_path)
    settings = budgets.read_settings(
        (root / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert budgets.measure(budgets.read_project(root, settings)) == FIGURES


def test_a_figure_that_counts_places_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert budgets.run(tiny_project(tmp_path), places=True) == 0
    out = capsys.readouterr().out
    assert "benchmarks in generic code:\nmedical_tasks/generic.py:10 'kqa'\n" in out
    assert (
        "modules in import circles:\nmedical_tasks.generic\nmedical_tasks.runs\n" in out
    )


@pytest.mark.parametrize(
    ("changed", "figure"),
    [
        (
            {"medical_tasks/more.py": "x = 1\n"},
            "core nodes: 31 is worse than the ratchet of 26; ",
        ),
        (
            {"docs/more.md": "one"},
            "words of docs: 5 is worse than the ratchet of 4; at most 4.0",
        ),
        (
            {"medical_tasks/more.py": "\n" * 20},
            "comments and docstrings, %: 5.9 is worse than the ratchet of 14.3; at least 14.16",
        ),
        (
            {"medical_tasks/more.py": "def f():\n" + "    if x: pass\n" * 16},
            "functions over 15 branches: 1 is worse than the ratchet of 0; at most 0.0",
        ),
        (
            {"medical_tasks/runs.py": "from medical_tasks.benchmarks import kqa\n"},
            "benchmarks in generic code: 2 is worse than the ratchet of 1; ",
        ),
    ],
)
def test_a_figure_worse_than_its_ratchet_fails_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: Mapping[str, str],
    figure: str,
) -> None:
    assert budgets.run(tiny_project(tmp_path, changed)) == 1
    out = capsys.readouterr().out
    assert figure in out
    assert "docs/adr/" in out


def test_a_benchmark_of_others_changes_no_figure_of_size(tmp_path: Path) -> None:
    others = {
        "medical_tasks/benchmarks/another/__init__.py": GENERIC,
        "tests/benchmarks/another/test_another.py": GENERIC,
    }
    assert budgets.run(tiny_project(tmp_path, others)) == 0


def test_air_is_a_share_of_the_ratchet() -> None:
    figure = budgets.Figure("words", measure=lambda project: 0)
    limit = figure.limit(100, air=0.01)
    assert [figure.is_worse(value, limit) for value in (100, 101, 102)] == [
        False,
        False,
        True,
    ]
    more = budgets.Figure("comments", measure=lambda project: 0, more_is_better=True)
    limit = more.limit(100, air=0.01)
    assert [more.is_worse(value, limit) for value in (100, 99, 98)] == [
        False,
        False,
        True,
    ]


def test_write_lowers_improved_ratchets_and_raises_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    better = {
        "test nodes": 1_000,
        "words of README": 500,
        "comments and docstrings, %": 10,
    }
    worse = {"words of docs": 3}
    goals = NO_GOALS | {"words of README": 300, "comments and docstrings, %": 12}
    before = FIGURES | better | worse
    root = tiny_project(tmp_path, {"pyproject.toml": pyproject(before, goals)})

    assert budgets.run(root, write=True) == 1
    assert "words of docs: 4 is worse than the ratchet of 3" in capsys.readouterr().out
    # The README's ratchet and that of comments stop at their goals.
    after = {"test nodes": 2, "words of README": 300, "comments and docstrings, %": 12}
    assert ratchets(root) == before | after

    # A second time there is nothing to lower, and all but the numbers is the same text.
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    budgets.run(root, write=True)
    assert (root / "pyproject.toml").read_text(encoding="utf-8") == text
    assert text == pyproject(before | after, goals)


@given(
    ratchet=st.integers(0, 1_000),
    value=st.integers(0, 1_000),
    goal=st.integers(0, 1_000),
    more_is_better=st.booleans(),
)
def test_no_lowered_ratchet_is_looser_or_makes_its_figure_fail(
    ratchet: int, value: int, goal: int, more_is_better: bool
) -> None:
    figure = budgets.Figure(
        "any", measure=lambda project: 0, more_is_better=more_is_better
    )
    lowered = figure.lowered(ratchet, value, goal)
    assert not figure.is_worse(lowered, limit=ratchet)
    if not figure.is_worse(value, limit=ratchet):
        assert not figure.is_worse(value, limit=lowered)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"lines with Any" = 0\n',
            "",
            "budgets] needs a number for 'lines with Any', and has N",
        ),
        (
            '"words of docs" = 4\n',
            '"words of docs" = "4"\n',
            "budgets] needs a number for 'words of docs', and has '4'",
        ),
        (
            "[tool.medical-tasks.goals]\n",
            '"lines" = 3\n\\g<0>',
            "budgets] has 'lines'. The figur",
        ),
        ("air = 0.01\n", "", "needs 'air'"),
        (
            "air = 0.01\n",
            "air = 1\n",
            "air is a share from 0 to below 1, such as 0.01: 1",
        ),
        (
            '["leaderboard"]',
            '"leaderboard"',
            "wings is a list of folder names, not 'leaderboard'",
        ),
        ("air = 0.01", "air = ", "pyproject.toml: Invalid value"),
    ],
)
def test_wrong_settings_are_refused_by_name(old: str, new: str, message: str) -> None:
    text = pyproject(FIGURES, NO_GOALS)
    assert old in text
    new = new.replace("\\g<0>", old)
    with pytest.raises(budgets.BudgetsError) as error:
        budgets.read_settings(text.replace(old, new, 1))
    assert message in str(error.value)


def test_files_that_cannot_be_measured_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        budgets.BudgetsError, match=r"medical_tasks/generic.py:1: .*\. Correct"
    ):
        budgets.run(tiny_project(tmp_path, {"medical_tasks/generic.py": "def"}))
    for path in (tmp_path / "medical_tasks").rglob("*.py"):
        path.unlink()
    with pytest.raises(
        budgets.BudgetsError, match="no Python file below .*medical_tasks"
    ):
        budgets.run(tmp_path)


def test_a_ratchet_that_is_not_a_line_of_its_table_is_not_written() -> None:
    with pytest.raises(budgets.BudgetsError, match='one line `"test nodes" = NUMBER`'):
        budgets.with_ratchets(
            "[tool.medical-tasks.budgets]\n'test nodes' = 3\n", {"test nodes": 2}
        )


def test_the_project_has_its_numbers_and_its_own_benchmarks() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = budgets.read_settings(text)
    assert settings.benchmarks
    for name in settings.benchmarks:
        assert (ROOT / budgets.BENCHMARKS / name / "spec.py").is_file()

    written = budgets.with_ratchets(text, settings.ratchets)
    assert tomllib.loads(written) == tomllib.loads(text)


def test_examples_of_the_script_hold() -> None:
    results = doctest.testmod(budgets)
    assert results.attempted > 0
    assert results.failed == 0
