"""Tables of test cases in `cases/` beside the tests: `cases/test_this.json` holds those of `test_this.py`, by name."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])


def json_of(path: Path) -> Any:
    """Reads a file of JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def tables(file: str, name: str = "") -> Any:
    """Reads `cases/NAME.json` beside a test; without a name, the JSON file with the name of the test."""
    beside = Path(file).with_suffix(".json")
    return json_of(beside.parent / "cases" / f"{name}.json" if name else beside)


def cases(file: str, name: str) -> Any:
    """Reads a table of the JSON file of a test module."""
    return checked_table(_tables(Path(file))[name], name)


def checked_table(table: Any, name: str) -> Any:
    """Refuses a text between rows: JSON has no comments, so a table with comments is Python.

    Example: `["a", "b"]` is a table of texts; `["on the row", ["a", 1]]` is refused.
    """
    rows = table if isinstance(table, list) else []
    texts = [row for row in rows if isinstance(row, str)]
    if texts and any(isinstance(row, list) for row in rows):
        raise ValueError(
            f"{name}: a text stands among rows that are lists, {texts[0]!r}. Move the table into "
            "its test module, with a comment above the row"
        )
    return table


@functools.cache
def _tables(test: Path) -> dict[str, Any]:
    table: dict[str, Any] = tables(str(test), test.stem)
    return table


def tabled(*names: str) -> Callable[[Test], Test]:
    """Runs a test with each row of the table that has its name; `names` are those of its arguments."""

    def decorate(test: Test) -> Test:
        rows = cases(test.__code__.co_filename, test.__name__)
        decorated: Test = pytest.mark.parametrize(
            names if len(names) > 1 else names[0], rows
        )(test)
        return decorated

    return decorate
