"""Writes a command's standard output: text for people, or one JSON value with `--json`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile

_SIGNS = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


class AsJson:
    """The output of a command so far: named facts, or one content, and the lines for people."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: dict[str, object] = {}
        self.content: object = None

    def value(self) -> object:
        """Returns the facts, or the content together with the facts."""
        if self.content is None or (isinstance(self.content, dict) and self.facts):
            return {**(self.content or {}), **self.facts}
        return self.content

    def text(self) -> str:
        """Returns the value as JSON."""
        return json.dumps(self.value(), indent=2, allow_nan=False, default=_plain)


_recorder: ContextVar[AsJson | None] = ContextVar("told", default=None)


def tell(text: str | None, content: object = None, /, **facts: object) -> None:
    """Outputs `text` for people (None for nothing), and a `content` and named facts for programs.

    The content is a mapping, list or dataclass.
    """
    record = _recorder.get()
    if record is None:
        if text is not None:
            print(text)

        return

    if text is not None:
        record.lines.append(text)
    if content is not None:
        record.content = (
            _plain(content) if dataclasses.is_dataclass(content) else content
        )

    record.facts |= facts


@contextlib.contextmanager
def as_json() -> Iterator[AsJson]:
    """Collects the output in the block; anything else that is printed goes to standard error."""
    record = AsJson()
    before = _recorder.set(record)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield record
    finally:
        _recorder.reset(before)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def styled(text: str, style: str, *, stream: TextIO | None = None) -> str:
    """Styles a text for a terminal, unless NO_COLOR is set; elsewhere it stays unchanged."""
    if os.environ.get("NO_COLOR") or not (stream or sys.stdout).isatty():
        return text
    return f"\x1b[{_SIGNS[style]}m{text}\x1b[0m"


def check_out(out: Path | None, read: Iterable[Path], what: str) -> None:
    """Refuses to overwrite an input file."""
    if (
        out is not None
        and out.exists()
        and any(path.exists() and out.samefile(path) for path in read)
    ):
        raise UsageError(f"{out}: is {what}. Give --out another name.")


def write_figures(content: Mapping[str, object], out: Path) -> None:
    """Writes the figures that `--json` prints."""
    with WholeFile(out) as stream:
        stream.write(
            json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )


def tell_figures(text: str, content: Mapping[str, object], out: Path | None) -> None:
    """Prints figures, and writes what `--json` prints to `out`, if it is given."""
    if out is not None:
        write_figures(content, out)
    tell(text + (f"\n\n{out}" if out is not None else ""), content)


def tell_private(folder: Path) -> int:
    """Tells the user that a folder is private; returns the exit code."""
    tell(
        f"{folder} holds credentialed text, for your eyes alone. Keep it on this machine.",
        folder=folder,
    )
    return 0
