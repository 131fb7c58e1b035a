"""Names of files in a store: what both stores take, and nothing that could lead out of them."""

from __future__ import annotations

import re
from typing import Final

from medical_tasks.errors import UsageError

__all__ = ["check_name", "is_name"]

_LONGEST: Final = 200
# A part begins with a letter or digit: no `..`, no hidden file, no option. Lower case alone: two names never differ in case only,
# which some file systems take for one.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")


def is_name(name: str) -> bool:
    """Whether a store can have a file of this name."""
    return len(name) <= _LONGEST and _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Gives the name back when a store can have it.

    Raises:
        UsageError: It cannot.
    """
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!a}: no name of a stored file. Its parts, joined by `/`, begin with a lower-case letter or digit and "
            f"have no more than these, `.`, `-` and `_`; {_LONGEST} characters at most."
        )
    return name
