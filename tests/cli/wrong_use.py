"""Wrong use of the verbs: each row is a command line, its exit code and its message."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from tests.case_tables import tables

CASES: dict[str, list[list[Any]]] = tables(__file__, "wrong_use")


def wrong_use(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("line", "code", "message"), CASES[name])


def refuse(
    line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """Gives the command, expects the refusal, and returns all that it said."""
    try:
        got = main(shlex.split(line))
    except SystemExit as stop:  # argparse ends the program itself
        got = int(str(stop.code))
    told = capsys.readouterr()
    assert (got, told.out) == (code, ""), told
    assert "error: " in told.err
    assert message in told.err
    assert "Traceback" not in told.err
    return told.err
