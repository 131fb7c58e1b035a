"""The verbs of the command line, one module each: `run(options) -> exit code`."""

from __future__ import annotations

from medical_tasks.cli.entry import main

__all__ = ["main"]
