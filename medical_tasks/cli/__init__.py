"""The verbs of the command line, one module each: `run(arguments) -> exit code`.

What a verb takes stands in `options.json`, and what depends on more than the verb in its `add_arguments(parser)`.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.cli.entry import Options, add_options, main
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.output import tell

__all__ = [
    "Options",
    "add_options",
    "check_options",
    "check_out",
    "main",
    "tell_figures",
    "write_figures",
]


def check_options(
    arguments: Namespace,
    command: str,
    needed: Sequence[str],
    allowed: Sequence[str],
    *,
    words: Mapping[str, str],
) -> None:
    """Options of one step mean nothing for another, and are not passed over in silence; `words` are what is no option."""
    given = [
        name
        for name, value in vars(arguments).items()
        if words.get(name, name) and name != "json" and value not in (None, False, [])
    ]
    shown = {name: words.get(name) or f"--{name.replace('_', '-')}" for name in (*given, *needed)}
    if missing := [shown[name] for name in needed if name not in given]:
        raise UsageError(
            f"{command} needs {', '.join(missing)}. See: medical-tasks {command.split()[0]} --help"
        )
    if stray := [shown[name] for name in given if name not in (*needed, *allowed)]:
        raise UsageError(f"{command} takes no {', '.join(stray)}. Leave it out.")


def check_out(out: Path | None, read: Iterable[Path], what: str) -> None:
    """Refuses to write over a file that is read."""
    if (
        out is not None
        and out.exists()
        and any(path.exists() and out.samefile(path) for path in read)
    ):
        raise UsageError(f"{out}: is {what}. Give --out another name.")


def write_figures(content: Mapping[str, Any], out: Path) -> None:
    """Writes what `--json` prints."""
    with WholeFile(out) as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def tell_figures(text: str, content: Mapping[str, Any], out: Path | None) -> None:
    """Prints figures; with `out` what --json prints is written there too."""
    if out is not None:
        write_figures(content, out)
    tell(text + (f"\n\n{out}" if out is not None else ""), content)
