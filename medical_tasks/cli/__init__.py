"""The verbs of the command line, one module each: `add_arguments(parser)` and `run(arguments) -> exit code`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError

__all__ = ["Options", "add_options", "check_options", "main"]

Options = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What a verb takes, by group ("" for none) and name, as argparse wants it."""


def add_options(parser: ArgumentParser, options: Options) -> None:
    """Declares what a verb takes."""
    for title, group in options.items():
        place = parser.add_argument_group(title) if title else parser
        for name, about in group.items():
            place.add_argument(name, **about)


def check_options(
    arguments: Namespace, command: str, needed: Sequence[str], allowed: Sequence[str], *, words: Mapping[str, str]
) -> None:
    """Options of one step mean nothing for another, and are not passed over in silence; `words` are what is no option."""
    given = [
        name
        for name, value in vars(arguments).items()
        if words.get(name, name) and name != "json" and value not in (None, False, [])
    ]
    shown = {name: words.get(name) or f"--{name.replace('_', '-')}" for name in (*given, *needed)}
    if missing := [shown[name] for name in needed if name not in given]:
        raise UsageError(f"{command} needs {', '.join(missing)}. See: medical-tasks {command.split()[0]} --help")
    if stray := [shown[name] for name in given if name not in (*needed, *allowed)]:
        raise UsageError(f"{command} takes no {', '.join(stray)}. Leave it out.")
