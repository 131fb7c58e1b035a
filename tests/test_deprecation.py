"""A deprecated interface warns once, names its replacement, and is removed on time."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks import deprecation
from medical_tasks._version import __version__
from medical_tasks.deprecation import (
    Deprecation,
    deprecated,
    renamed_parameter,
    version_numbers,
    warn_once,
)
from medical_tasks.errors import UsageError
from tests.support import ROOT

_MAKERS = {"deprecated", "renamed_parameter", "Deprecation"}


@pytest.fixture(autouse=True)
def _nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecation, "_warned", set())


@deprecated(since="0.2.0", removed_in="99.0.0", instead="newer()")
def older(number: int) -> int:
    """Doubles."""
    return 2 * number


@renamed_parameter("answers", "responses", since="0.2.0", removed_in="99.0.0")
def count(responses: list[str]) -> int:
    return len(responses)


def test_a_deprecated_function_works_and_warns_the_first_time_where_it_is_called() -> (
    None
):
    with pytest.warns(FutureWarning) as caught:
        assert older(2) == 4
    assert [str(warning.message) for warning in caught] == [
        "older() is deprecated since 0.2.0 and goes away in 99.0.0: use newer()."
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert older(3) == 6
    assert (older.__name__, older.__doc__) == ("older", "Doubles.")


def test_an_old_parameter_is_passed_as_the_new_one() -> None:
    with pytest.warns(FutureWarning, match=r"use count\(responses=\.\.\.\)") as caught:
        assert count(answers=["a", "b"]) == 2  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    assert count(["a"]) == count(responses=["a"]) == 1
    with pytest.raises(
        UsageError, match="got answers and responses, which are the same"
    ):
        count(responses=[], answers=[])  # type: ignore[call-arg]


def test_anything_else_warns_once_by_hand() -> None:
    notice = Deprecation(
        what="--rate", since="0.2.0", removed_in="0.10.0", instead="--speed"
    )
    with pytest.warns(FutureWarning, match="--rate is deprecated"):
        warn_once(notice)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once(notice)
    assert [notice.overdue(version) for version in ("0.9.9", "0.10.0", "1.0.0")] == [
        False,
        True,
        True,
    ]


def uses(source: str) -> Iterator[tuple[int, str]]:
    """The line of each deprecation in a source, and its version of removal."""
    if not any(maker in source for maker in _MAKERS):
        return  # parsing all the sources that deprecate nothing takes seconds
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        named = ast.unparse(node.func).rpartition(".")[2]
        if named in _MAKERS:
            arguments = {word.arg: word.value for word in node.keywords}
            value = arguments.get("removed_in")
            assert isinstance(value, ast.Constant), "removed_in is written out"
            yield node.lineno, str(value.value)


def overdue(source: str, version: str) -> list[int]:
    now = version_numbers(version)
    return [line for line, removed in uses(source) if version_numbers(removed) <= now]


def test_a_removal_that_is_overdue_is_found() -> None:
    source = (
        "@deprecated(since='0.2.0', removed_in='0.4.0', instead='x')\ndef f(): ...\n"
        "@deprecation.renamed_parameter('a', 'b', since='0.2.0', removed_in='0.10.0')\n"
        "def g(b): ...\n"
    )
    assert overdue(source, "0.3.9") == []
    assert overdue(source, "0.4.0") == [1]
    assert overdue(source, "0.10.0") == [1, 3]


def test_no_deprecation_of_the_suite_is_overdue() -> None:
    paths = _paths()
    assert len(paths) > 100
    late = {
        str(path.relative_to(ROOT)): lines
        for path in paths
        if (lines := overdue(path.read_text(encoding="utf-8"), __version__))
    }
    assert late == {}


def _paths() -> list[Path]:
    """Every module but the one that defines the marks, whose examples are none."""
    own = Path(deprecation.__file__).resolve()
    paths = sorted((ROOT / "medical_tasks").rglob("*.py"))
    return [path for path in paths if path.resolve() != own]
