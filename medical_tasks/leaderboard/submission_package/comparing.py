"""Where two JSON values differ. Numbers are the same within a billionth: other processors round sums otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from medical_tasks.leaderboard.submission_package.problems import shown

__all__ = ["TOLERANCE", "Difference", "differences", "same_value", "told"]

TOLERANCE: Final = 1e-9
Difference = tuple[tuple[str, ...], Any, Any]
"""Where, what the package says, what was computed here."""

_ABSENT: Final = object()


def same_value(said: Any, here: Any) -> bool:
    """Whether two single values are the same; `nan` is the same as `nan`, true is not 1."""
    if isinstance(said, bool) or isinstance(here, bool):
        return said is here
    if isinstance(said, int | float) and isinstance(here, int | float):
        if math.isnan(said) or math.isnan(here):
            return math.isnan(said) and math.isnan(here)
        return math.isclose(said, here, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(said == here)


def differences(said: Any, here: Any, place: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Compares JSON values.

    Args:
        said: of the package.
        here: computed here.
        place: names on the way to them.

    Yields:
        Each difference.
    """
    if isinstance(said, Mapping) and isinstance(here, Mapping):
        for name in dict.fromkeys((*said, *here)):
            yield from differences(said.get(name, _ABSENT), here.get(name, _ABSENT), (*place, name))
    elif isinstance(said, list | tuple) and isinstance(here, list | tuple):
        if len(said) != len(here):
            yield place, said, here
            return
        for number, (one, other) in enumerate(zip(said, here, strict=True), start=1):
            yield from differences(one, other, (*place, str(number)))
    elif not same_value(said, here):
        yield place, said, here


def told(difference: Difference) -> str:
    """A difference in words; without any value that is more than a line of plain text."""
    place, said, here = difference
    where = ", ".join(part if part.isascii() and part.isprintable() else shown(part) for part in place)
    return f"{where}: {_shown(said)} in the package, {_shown(here)} computed"


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else shown(value)
