"""A comparison on the terminal and as Markdown."""

from __future__ import annotations

import html
from collections.abc import Sequence

from medical_tasks.comparison.sections import Section
from medical_tasks.io.table import align

__all__ = ["as_markdown", "as_text"]

_SPECIAL = "\\`*_[]|~$"


def as_text(names: Sequence[str], parts: Sequence[Section], more: Sequence[str] = ()) -> str:
    """Sets tables for a terminal.

    Args:
        names: of the runs, a line each.
        parts: the tables.
        more: sentences for the end.
    """
    lines = [*names, ""]
    for part in parts:
        if part.title:
            lines += ["", part.title]
        if part.rows:
            lines += [*([""] if part.title else []), *align(part.header, part.rows), *([""] if part.notes else [])]
        lines += part.notes
    if more and not parts[-1].notes:
        lines.append("")
    return "\n".join([*lines, *more])


def as_markdown(names: Sequence[str], parts: Sequence[Section], more: Sequence[str] = ()) -> str:
    """Sets tables as Markdown, everything in them escaped.

    Args:
        names: of the runs, an entry of a list each.
        parts: the tables.
        more: sentences for the end.
    """
    lines = ["# Comparison", "", *(f"- {_plain(name)}" for name in names), ""]
    for part in parts:
        if part.title:
            lines += [f"## {_plain(part.title)}", ""]
        if part.rows:
            lines += [_row(part.header), "|" + "---|" * len(part.header), *map(_row, part.rows), ""]
        lines += [f"- {_plain(note)}" for note in part.notes]
        lines += [""] if part.notes else []
    lines += [f"- {_plain(note)}" for note in more]
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """A text of one line that Markdown and HTML read as nothing but itself."""
    text = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)
