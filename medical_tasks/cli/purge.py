"""Empty the private store: the answers, verdicts and server logs of tasks on credentialed data.

    medical-tasks purge --dry-run
    medical-tasks purge

Runs that a command is using are left, and named. Results, reports and the audit log are not touched. A run whose answers are
gone keeps its numbers; giving its command again asks the model again.
"""

from __future__ import annotations

import argparse

from medical_tasks.guard.private_store import PrivateFolder, private_home, purge
from medical_tasks.io.output import tell


def run(arguments: argparse.Namespace) -> int:
    """Empties the store, and says what and how much went."""
    found = purge(dry_run=arguments.dry_run)
    would = "would be deleted" if arguments.dry_run else "deleted"
    lines = [f"{would}: {_shown(folder)}" for folder in found.removed]
    lines += [f"in use, kept: {_shown(folder)}" for folder in found.used]
    lines += [f"not of medical-tasks, kept: {name}" for name in found.strange]
    total = sum(folder.bytes for folder in found.removed)
    files = sum(folder.files for folder in found.removed)
    lines.append(
        f"{private_home()}: {len(found.removed)} runs, {files} files, {_size(total)} {would}; {len(found.used)} in use."
    )
    tell("\n".join(lines), found, dry_run=arguments.dry_run)
    return 0


def _shown(folder: PrivateFolder) -> str:
    of = f" of run {folder.run}" if folder.run else ""
    return f"{folder.private_id}{of}: {folder.files} files, {_size(folder.bytes)}"


def _size(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1e6:.2f} MB"
