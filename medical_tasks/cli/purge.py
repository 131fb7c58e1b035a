"""The verb `purge` on the command line; `Purge` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.guard.private_store import PrivateFolder, purge
from medical_tasks.io.output import tell
from medical_tasks.io.user_folders import private_home
from medical_tasks.options import Purge


def run(arguments: Purge) -> int:
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
