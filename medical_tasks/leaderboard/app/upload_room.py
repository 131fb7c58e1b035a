"""Where uploads lie until they are refused or handed in: a folder of the app's own, that never holds more than it may."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from medical_tasks.errors import UsageError, system_reason

__all__ = ["FOLDER_VARIABLE", "MOST_BYTES", "make_room", "own_folder"]

FOLDER_VARIABLE: Final = "GRADIO_TEMP_DIR"
MOST_BYTES: Final = 1 << 30
"""All uploads that nobody has confirmed yet, together."""
_NAME: Final = "medical-tasks-leaderboard"
_NEW_S: Final = 60.0
"""A folder so new may be about to get its file."""


def own_folder() -> Path:
    """Makes the folder and tells Gradio of it, inside the one that the environment names.

    Raises:
        UsageError: It cannot be made, or it is somebody else's.
    """
    above = Path(os.environ.get(FOLDER_VARIABLE) or tempfile.gettempdir())
    folder = above if above.name == _NAME else above / _NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.lstat().st_uid
    except OSError as error:
        raise UsageError(
            f"{folder}: no folder for uploads can be made ({system_reason(error)}). Set {FOLDER_VARIABLE} to another."
        ) from error
    if owner != os.getuid():
        raise UsageError(f"{folder}: belongs to another user. Set {FOLDER_VARIABLE} to a folder of yours for uploads.")
    os.environ[FOLDER_VARIABLE] = str(folder)
    return folder


def make_room(folder: Path, *, most_bytes: int, oldest_s: float) -> None:
    """Deletes what lies there for too long, also halves of uploads that broke off, and the oldest of what is too much.

    Args:
        folder: of uploads: files of unfinished ones, and a folder for each finished one.
        most_bytes: how much may stay.
        oldest_s: for how long, in seconds.
    """
    now = time.time()
    found: list[tuple[float, int, Path]] = []
    for place in [folder, *(path for path in folder.glob("*") if path.is_dir() and not path.is_symlink())]:
        for path in place.glob("*"):
            with contextlib.suppress(FileNotFoundError):  # handed in meanwhile
                about = path.lstat()
                if not path.is_dir():
                    found.append((about.st_mtime, about.st_size, path))
        with contextlib.suppress(OSError):  # there is something in it
            if place != folder and now - place.lstat().st_mtime > _NEW_S:
                place.rmdir()
    left = sum(size for _, size, _ in found)
    for changed, size, path in sorted(found):
        if left <= most_bytes and now - changed <= oldest_s:
            return
        path.unlink(missing_ok=True)
        left -= size
