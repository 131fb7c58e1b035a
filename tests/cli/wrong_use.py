"""Usage errors of the verbs: a command line, its exit code and its message."""

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
    """Runs a command that must be refused; returns its standard error."""
    try:
        exit_code = main(shlex.split(line))
    except SystemExit as stop:  # argparse ends the program itself
        exit_code = int(str(stop.code))
    captured = capsys.readouterr()
    assert (exit_code, captured.out) == (code, ""), captured
    assert "error: " in captured.err
    assert message in captured.err
    assert "Traceback" not in captured.err
    return captured.err
