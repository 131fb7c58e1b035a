"""Writing a file of bytes that is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from medical_tasks.errors import IncompleteError, UsageError, system_reason

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Writes beside the place and renames into it; folders on the way are made.

    Raises:
        UsageError: There is something else than a file under that name.
        IncompleteError: It cannot be written; what was there is as it was.
    """
    place = path.expanduser()
    if place.exists() and not place.is_file():
        raise UsageError(f"{path}: is a folder or a device; --out takes the name of a file to write.")
    place = place.resolve()
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise IncompleteError(
            f"{path}: cannot be written ({system_reason(error)}). Free some space or choose another --out, and give the command "
            "again."
        ) from error
