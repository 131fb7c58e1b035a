"""The command `purge`."""

from __future__ import annotations

from medical_tasks.guard.private_store import PrivateFolder, purge
from medical_tasks.io.output import tell
from medical_tasks.io.user_folders import private_home
from medical_tasks.options import Purge


def run(arguments: Purge) -> int:
    """Empties the store, and reports what was deleted."""
    purged = purge(dry_run=arguments.dry_run)
    would = "would be deleted" if arguments.dry_run else "deleted"
    lines = [f"{would}: {_shown(folder)}" for folder in purged.removed]
    lines += [f"in use, kept: {_shown(folder)}" for folder in purged.used]
    lines += [f"not of medical-tasks, kept: {name}" for name in purged.strange]
    total = sum(folder.bytes for folder in purged.removed)
    files = sum(folder.files for folder in purged.removed)
    lines.append(
        f"{private_home()}: {len(purged.removed)} runs, {files} files, {_size(total)} {would}; {len(purged.used)} in use."
    )
    tell("\n".join(lines), purged, dry_run=arguments.dry_run)

    return 0


def _shown(folder: PrivateFolder) -> str:
    owner = f" of run {folder.run}" if folder.run else ""
    return f"{folder.private_id}{owner}: {folder.files} files, {_size(folder.bytes)}"


def _size(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1e6:.2f} MB"
