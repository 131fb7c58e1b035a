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
    """Reads a table; of a list, texts that begin with `# ` are comments on the row behind them."""
    table = _tables(Path(file))[name]
    return (
        [row for row in table if not str(row).startswith("# ")]
        if isinstance(table, list)
        else table
    )


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
