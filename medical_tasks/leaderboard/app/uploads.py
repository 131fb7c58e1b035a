"""An uploaded file: read once, within the limit, and deleted as soon as it is refused or handed in."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import MissingError, system_reason
from medical_tasks.submission_package.limits import DEFAULT_LIMITS, ReadLimits
from medical_tasks.submission_package.problems import PackageError

__all__ = ["KEPT_SECONDS", "discard", "megabytes", "upload_path", "uploaded"]

KEPT_SECONDS: Final = 3600
"""How long an upload that nobody confirms is kept."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def upload_path(value: Any, folder: Path) -> Path:
    """Finds an upload. What names it comes from the browser, so that it may name anything.

    Args:
        value: what the upload field holds, as Gradio sends it.
        folder: where Gradio puts uploads: each in a folder of its own, named by the SHA-256 of its content.

    Returns:
        Its path, of the form that uploads have and no other.

    Raises:
        MissingError: It names nothing that was uploaded, or something that is not here any more.
    """
    path = Path(str(value.get("path", ""))) if isinstance(value, Mapping) else Path()
    inside = path.parent.parent == folder and _HASH.fullmatch(path.parent.name) is not None
    if not inside or path.name in ("", ".", "..") or path.is_symlink() or not path.is_file():
        raise MissingError("the uploaded file is not here any more: it is kept for an hour at most. Upload it again.")
    return path


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
        with path.open("rb") as file:
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
    """Deletes an uploaded file and the folder that was made for it."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    # Not if another visitor has uploaded the same content under another name: then that one's file is in it.
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def megabytes(count: int) -> str:
    """Writes a limit as people say it."""
    return f"{count / (1 << 20):g} MiB"
