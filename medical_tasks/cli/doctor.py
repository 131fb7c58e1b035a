"""Say what is installed, what is missing and how to get it, and which versions are known to break.

Ends with 0 when nothing will break (missing optional parts are only listed), with 3 when a warning was given.
"""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's options."""
    parser.add_argument("--json", action="store_true", help="machine-readable")


def run(arguments: argparse.Namespace) -> int:
    """Prints the findings."""
    import dataclasses
    import json

    from medical_tasks.cli.diagnosis import examine

    findings = examine()
    if arguments.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.level:<8} {finding.subject}: {finding.text}")
    return 3 if any(finding.level == "warning" for finding in findings) else 0
