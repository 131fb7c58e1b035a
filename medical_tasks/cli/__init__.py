"""The verbs of the command line, one module each: `add_arguments(parser)` and `run(arguments) -> exit code`."""

from __future__ import annotations

from medical_tasks.cli.entry import main

__all__ = ["main"]
