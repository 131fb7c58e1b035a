"""A file of credentialed text that the user asks for: where it may lie, and written so that only its owner can read it.

Such text lies in the private store; a submission is the exception, since somebody must be able to take it elsewhere. It may not lie
where it would be passed on along with something else: in a run's folder, or in a git work tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from medical_tasks.errors import RefusedError
from medical_tasks.guard.private_store import SETTINGS_FILE
from medical_tasks.io.files import WholeFile

__all__ = ["check_place", "write_private"]

_GIT: Final = ".git"
_GIT_WAIT_S: Final = 30


def check_place(path: Path) -> None:
    """Refuses a place from which the file would be passed on: a run's folder, a git work tree that does not ignore it."""
    place = path.expanduser().resolve()
    for folder in place.parents:
        if (folder / SETTINGS_FILE).is_file():
            raise RefusedError(
                f"{path}: lies in the run's folder {folder}, which holds no text of credentialed data and may be passed on. Choose "
                "another --out."
            )
        if (folder / _GIT).exists():
            if _ignored(place, folder):
                return
            raise RefusedError(
                f"{path}: lies in the git work tree {folder}, with which text of credentialed data would be published. Choose "
                "another --out, or add the file to .gitignore."
            )


def write_private(path: Path, content: bytes) -> None:
    """Writes the file whole or not at all, mode 0600 from its first byte on."""
    with WholeFile(path, private=True) as part:
        part.write_bytes(content)


def _ignored(place: Path, work_tree: Path) -> bool:
    """Whether git leaves the file out; without git nobody knows."""
    git = shutil.which("git")
    if git is None:
        return False
    # Such a variable could name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, "-C", str(work_tree), "check-ignore", "--quiet", "--", str(place)]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_GIT_WAIT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
