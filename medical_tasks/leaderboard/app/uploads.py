"""Uploads: the app's own folder, which never holds more than it may; files are read once and deleted as soon as it is decided."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import open_file
from medical_tasks.leaderboard.submission_package.limits import DEFAULT_LIMITS, ReadLimits
from medical_tasks.leaderboard.submission_package.problems import PackageError

__all__ = [
    "FOLDER_VARIABLE",
    "KEPT_SECONDS",
    "MOST_BYTES",
    "discard",
    "is_upload",
    "keep",
    "make_room",
    "megabytes",
    "own_folder",
    "upload_path",
    "uploaded",
]

FOLDER_VARIABLE: Final = "GRADIO_TEMP_DIR"
MOST_BYTES: Final = 1 << 30
"""All uploads that nobody has confirmed yet, together."""
KEPT_SECONDS: Final = 3600
"""How long an upload that nobody confirms is kept."""
_BEGINS: Final = b"PK\3\4"
"""Every zip file that has a file in it."""
_NAME: Final = "medical-tasks-leaderboard"
_TOKEN: Final = re.compile(r"[0-9a-f]{64}\.zip")


def own_folder() -> Path:
    """Makes the folder and tells Gradio of it, inside the one that the environment names.

    Raises:
        UsageError: It cannot be made, or it is somebody else's.
    """
    above = Path(os.environ.get(FOLDER_VARIABLE) or tempfile.gettempdir()).absolute()
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
    """Deletes what lies there for too long, and then the oldest of what is too much.

    Args:
        folder: of uploads.
        most_bytes: how much may stay.
        oldest_s: for how long, in seconds.
    """
    now = time.time()
    found: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # submitted meanwhile
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode):
                found.append((about.st_mtime, about.st_size, path))
    left = sum(size for _, size, _ in found)
    for changed, size, path in sorted(found):
        if left <= most_bytes and now - changed <= oldest_s:
            return
        path.unlink(missing_ok=True)
        left -= size


def keep(folder: Path, file: BinaryIO) -> str:
    """Keeps an upload, whole, under a name that nobody can guess; returns the name, which is all that a visitor learns of it.

    Raises:
        PackageError: It does not begin as a package does, whatever its name is.
    """
    file.seek(0)
    if file.read(len(_BEGINS)) != _BEGINS:
        raise PackageError("This is no package: upload the .zip that `medical-tasks submit RUN --to space` wrote.")
    file.seek(0)
    place = folder / f"{secrets.token_hex(32)}.zip"
    try:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as kept:
            shutil.copyfileobj(file, kept, 1 << 20)
    except OSError:
        discard(place)
        raise
    return place.name


def is_upload(name: str) -> bool:
    """Whether a text is the name of an upload, which no path and no address is."""
    return _TOKEN.fullmatch(name) is not None


def upload_path(value: Any, folder: Path) -> Path:
    """Finds an upload. What names it comes from the browser, so that it may name anything.

    Args:
        value: what the upload field holds, as the door passes it on.
        folder: of uploads.

    Returns:
        Its path.

    Raises:
        MissingError: It names nothing that was uploaded, or something that is not here any more.
    """
    path = Path(str(value.get("path"))) if isinstance(value, Mapping) else Path()
    if path.parent == folder and is_upload(path.name) and path.is_file():
        return path
    raise MissingError("the uploaded file is not here any more: it is kept for an hour at most. Upload it again.")


def uploaded(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """Reads an uploaded file.

    Args:
        path: where the server put it.
        limits: how large a package may be.

    Returns:
        Its bytes.

    Raises:
        PackageError: It is larger than a package may be; not more of it than that was read.
        MissingError: It is not there any more.
    """
    try:
        with open_file(path) as file:
            content = file.read(limits.package_bytes + 1)
    except OSError as error:
        raise MissingError(
            f"the uploaded file is not here any more ({system_reason(error)}): it is kept for an hour at most. Upload it again."
        ) from error
    if len(content) > limits.package_bytes:
        raise PackageError(
            f"the file has more than {megabytes(limits.package_bytes)}, the most a package may have. Submit fewer tasks in one "
            "package: medical-tasks submit RUN --to space --task NAME"
        )
    return content


def discard(path: Path) -> None:
    """Deletes an uploaded file."""
    path.unlink(missing_ok=True)


def megabytes(count: int) -> str:
    """Writes a limit as people say it."""
    return f"{count / (1 << 20):g} MiB"
