"""What a command says on standard output.

Text for people as it comes, or, with `--json`, one JSON value at its end.
"""

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
    """What a command has said so far.

    Named facts, or one whole content, and the lines for people.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: dict[str, object] = {}
        self.content: object = None

    def value(self) -> object:
        """The facts, or the content with the facts beside it."""
        if self.content is None or (isinstance(self.content, dict) and self.facts):
            return {**(self.content or {}), **self.facts}
        return self.content

    def text(self) -> str:
        """The value as JSON."""
        return json.dumps(self.value(), indent=2, allow_nan=False, default=_plain)


_told: ContextVar[AsJson | None] = ContextVar("told", default=None)


def tell(text: str | None, content: object = None, /, **facts: object) -> None:
    """Says `text` to people (None for nothing).

    To programs a whole `content`, a mapping, list or dataclass, and facts by name.
    """
    kept = _told.get()
    if kept is None:
        if text is not None:
            print(text)

        return

    if text is not None:
        kept.lines.append(text)
    if content is not None:
        kept.content = _plain(content) if dataclasses.is_dataclass(content) else content

    kept.facts |= facts


@contextlib.contextmanager
def as_json() -> Iterator[AsJson]:
    """Collects what is said in the block; anything else that is printed goes to standard error."""
    kept = AsJson()
    before = _told.set(kept)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield kept
    finally:
        _told.reset(before)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def styled(text: str, style: str, *, stream: TextIO | None = None) -> str:
    """A text bold or in colour where it goes to a terminal (and NO_COLOR is not set), as it is elsewhere."""
    if os.environ.get("NO_COLOR") or not (stream or sys.stdout).isatty():
        return text
    return f"\x1b[{_SIGNS[style]}m{text}\x1b[0m"


def check_out(out: Path | None, read: Iterable[Path], what: str) -> None:
    """Refuses to write over a file that is read."""
    if (
        out is not None
        and out.exists()
        and any(path.exists() and out.samefile(path) for path in read)
    ):
        raise UsageError(f"{out}: is {what}. Give --out another name.")


def write_figures(content: Mapping[str, object], out: Path) -> None:
    """Writes what `--json` prints."""
    with WholeFile(out) as stream:
        stream.write(
            json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )


def tell_figures(text: str, content: Mapping[str, object], out: Path | None) -> None:
    """Prints figures; with `out` what --json prints is written there too."""
    if out is not None:
        write_figures(content, out)
    tell(text + (f"\n\n{out}" if out is not None else ""), content)


def tell_private(folder: Path) -> int:
    """Says that a folder is for its owner alone; the exit code."""
    tell(
        f"{folder} holds credentialed text, for your eyes alone. Keep it on this machine.",
        folder=folder,
    )
    return 0
