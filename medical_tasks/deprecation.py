"""Deprecates interfaces: one warning that names the replacement and the version of removal.

CONTRIBUTING.md has the policy. The version must be in the future:
`tests/test_deprecation.py` reads every use of this module and fails from the announced
version on.

Example:
    >>> @deprecated(since="0.2.0", removed_in="0.4.0", instead="mt.score")
    ... def rate() -> int:
    ...     return 1

    `rate()` is 1, and the first call in a process warns:

    rate() is deprecated since 0.2.0 and goes away in 0.4.0: use mt.score.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar, cast

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")

_warned: set[Deprecation] = set()  # the warnings of this process so far


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """A deprecated interface.

    Attributes:
        what: The interface as users write it, such as `rate()` or `--rate`.
        since: The first version that warns.
        removed_in: The first version without it.
        instead: The replacement.
    """

    what: str
    since: str
    removed_in: str
    instead: str

    def __str__(self) -> str:
        """The message."""
        return (
            f"{self.what} is deprecated since {self.since} and goes away in "
            f"{self.removed_in}: use {self.instead}."
        )

    def overdue(self, version: str = __version__) -> bool:
        """Whether a version should no longer have it."""
        return version_numbers(version) >= version_numbers(self.removed_in)


def version_numbers(version: str) -> tuple[int, ...]:
    """Parses "0.10.1" as (0, 10, 1), so that 0.10 is after 0.9.

    Raises:
        ValueError: The version has another form.
    """
    return tuple(int(number) for number in version.split("."))


def warn_once(deprecation: Deprecation, *, stacklevel: int = 2) -> None:
    """Warns once in a process, for example for an option, a value or a file format.

    The warning is a `FutureWarning`, which Python shows to users, unlike a
    `DeprecationWarning`.
    """
    if deprecation in _warned:
        return
    _warned.add(deprecation)
    warnings.warn(str(deprecation), FutureWarning, stacklevel=stacklevel + 1)


def deprecated(
    *, since: str, removed_in: str, instead: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Marks a function as deprecated; it still works."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        notice = Deprecation(
            what=f"{_name(function)}()",
            since=since,
            removed_in=removed_in,
            instead=instead,
        )

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            warn_once(notice)
            return function(*args, **kwargs)

        return called

    return decorate


def renamed_parameter(
    old: str, new: str, *, since: str, removed_in: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accepts the old name of a function's parameter for a while.

    The function itself has only the new name. Giving both raises `UsageError`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = _name(function)
        notice = Deprecation(
            what=f"{name}({old}=...)",
            since=since,
            removed_in=removed_in,
            instead=f"{name}({new}=...)",
        )

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            named = cast(dict[str, object], kwargs)
            if old in named:
                if new in named:
                    raise UsageError(
                        f"{name}() got {old} and {new}, which are the same: give {new}."
                    )

                warn_once(notice)
                named[new] = named.pop(old)

            return function(*args, **kwargs)

        return called

    return decorate


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", repr(function))
