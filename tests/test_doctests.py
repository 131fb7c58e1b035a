"""Examples in docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from tests.support import ROOT

PACKAGE = ROOT / "medical_tasks"


def module_name(path: Path) -> str:
    """The name that imports a file: `medical_tasks/io/__init__.py` is `medical_tasks.io`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = sorted(
    module_name(path)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_modules_with_examples_are_found() -> None:
    assert MODULES


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some examples write files
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert results.attempted
    assert not results.failed
