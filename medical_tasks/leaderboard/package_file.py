"""A package from a file, read no further than a package may be long."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.submission_package.limits import DEFAULT_LIMITS

__all__ = ["package_bytes"]


def package_bytes(path: Path) -> bytes:
    """Reads a file; of one that is too long for a package one byte more than it may have.

    Raises:
        UsageError: It is a folder or a device.
        MissingError: It is not there, or cannot be read.
    """
    place = path.expanduser()
    if place.exists() and not place.is_file():
        raise UsageError(f"{path}: is no file. Give the .zip that `medical-tasks submit RUN --to space` wrote.")
    try:
        with place.open("rb") as file:
            return file.read(DEFAULT_LIMITS.package_bytes + 1)
    except OSError as error:
        raise MissingError(
            f"{path}: cannot be read ({system_reason(error)}). Give the .zip that `medical-tasks submit RUN --to space` wrote."
        ) from error
