"""The results in a package of the store, without reading all of its items again.

The package was read and checked when it was handed in. That it is the same file still is known by its hash, which the first event
of its submission holds; so its `results.json` needs no second check, and hundreds of packages can be shown at once.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from medical_tasks.leaderboard.events import DamagedError, HandedIn
from medical_tasks.leaderboard.numbers import is_number
from medical_tasks.runs.recipe_differences import mapping

__all__ = ["check_hash", "read_stored_results"]


def check_hash(name: str, content: bytes, handed_in: HandedIn) -> None:
    """Sees whether a package is the one that was handed in.

    Raises:
        DamagedError: It is not.
    """
    digest = hashlib.sha256(content).hexdigest()
    if digest != handed_in.package_sha256:
        raise DamagedError(
            f"{name}: not the file that was handed in (SHA-256 {digest[:12]}..., the first event says "
            f"{handed_in.package_sha256[:12]}...)."
        )


def read_stored_results(name: str, content: bytes, handed_in: HandedIn) -> Mapping[str, Any]:
    """Reads `results.json` of a package in the store.

    Args:
        name: of the package, for messages.
        content: the zip file.
        handed_in: what its first event says.

    Raises:
        DamagedError: It is not the file that was handed in, or not one with results.
    """
    check_hash(name, content, handed_in)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            found: Mapping[str, Any] = json.loads(package.read("results.json"))
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RecursionError, RuntimeError) as error:
        # Its first event was changed with it.
        raise DamagedError(f"{name}: no package with results ({type(error).__name__}).") from error
    tasks = mapping(mapping(found).get("tasks"))
    odd = [task for task in handed_in.tasks if not _is_result(tasks.get(task))]
    if odd:
        raise DamagedError(f"{name}: has no results of {', '.join(odd)[:200]}, which its first event names.")
    return found


def _is_result(entry: Any) -> bool:
    parts = [mapping(entry).get(key) for key in ("metrics", "breakdown", "coverage", "recipe")]
    coverage = mapping(parts[2])
    return all(isinstance(part, Mapping) for part in parts) and all(
        is_number(coverage.get(key)) for key in ("asked", "scored")
    )
